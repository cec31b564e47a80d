// Which kernels are left under batch_invariant: of one order of summation, whatever M is.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"

namespace estoc {
namespace {

constexpr std::int64_t kRows[] = {1, 2, 7, 16, 63, 64, 1000, 4096, 100000};

KernelQuery query_for(Target target) {
  KernelQuery query;
  query.target = target;
  query.providers = {"cuda"};
  return query;
}

std::unique_ptr<RuntimeArguments> problem(std::int64_t m, const std::string& rest) {
  return Problem::parse("gemm m=" + std::to_string(m) + " batch_invariant=1 " + rest)
      .arguments(Device::cuda(0));
}

/// The orders of summation of every kernel that is found for any M.
std::set<std::string> orders(const std::string& rest, Target target = Target::sm(90, true)) {
  std::set<std::string> orders;
  for (const std::int64_t m : kRows) {
    const auto arguments = problem(m, rest);
    const KernelList kernels = get_kernels(*arguments, query_for(target));
    EXPECT_FALSE(kernels.empty()) << m << " " << rest;
    for (const Kernel& kernel : kernels)
      orders.insert(kernel.kernel_class().summation(kernel.point(), kernel.epilogue().get()));
  }
  return orders;
}

TEST(BatchInvariance, OneOrderForEveryM) {
  for (const char* a : {"t", "n"}) {
    for (const char* b : {"t", "n"}) {
      for (const char* out : {"t", "n"}) {
        for (const char* types : {"bf16 bf16", "e4m3 f32", "f32 f32", "i8 i32", "f64 f64"}) {
          const std::string text(types);
          const std::string in = text.substr(0, text.find(' '));
          const std::string to = text.substr(text.find(' ') + 1);
          for (const char* sizes : {"n=4096 k=1024", "n=100 k=77", "n=1 k=512"}) {
            const std::string rest =
                fmt::format("{} a={}:{} b={}:{} out={}:{}", sizes, in, a, in, b, to, out);
            EXPECT_EQ(orders(rest).size(), 1U) << rest;
          }
        }
      }
    }
  }
}

TEST(BatchInvariance, KeepsTheFastClasses) {
  EXPECT_EQ(orders("n=4096 k=4096 a=bf16:t b=bf16:n out=bf16:t"),
            std::set<std::string>{"wgmma bf16 x bf16"});
  EXPECT_EQ(orders("n=4096 k=4096 a=f32:t b=f32:n out=f32:t allow_tf32=1"),
            std::set<std::string>{"wgmma tf32 x tf32"});
  EXPECT_EQ(orders("n=4096 k=4096 a=e4m3:t b=e4m3:n out=f32:t"),
            std::set<std::string>{"wgmma e4m3 x e4m3, added to f32 every 128 of K"});
  EXPECT_EQ(
      orders("n=4096 k=4096 a=bf16:t b=bf16:n out=bf16:t", Target::sm(80)).begin()->substr(0, 8),
      "mma.sync");
  EXPECT_EQ(orders("n=64 k=64 a=i8:t b=i8:n out=i32:t"), std::set<std::string>{"whole numbers"});
}

// Strides of M say how rows are aligned: at M = 64 they are, at M = 63 not.
TEST(BatchInvariance, AlignmentsThatDependOnMDoNotCount) {
  EXPECT_EQ(orders("n=4096 k=4096 a=bf16:n b=bf16:n out=bf16:t"),
            std::set<std::string>{"wgmma bf16 x bf16"});
  EXPECT_EQ(orders("n=4096 k=4096 a=bf16:t b=bf16:n out=bf16:n").size(), 1U);
  EXPECT_EQ(orders("n=4096 k=4096 a=bf16:n b=bf16:n out=bf16:t epi=\"D = relu(accum)\"").size(),
            1U);
}

TEST(BatchInvariance, TilesAreChosenForM) {
  std::set<std::string> names;
  for (const std::int64_t m : {16, 4096}) {
    const auto arguments = problem(m, "n=4096 k=4096 a=bf16:t b=bf16:n out=bf16:t");
    names.insert(get_kernels(*arguments, query_for(Target::sm(90, true))).front().name());
  }
  EXPECT_EQ(names.size(), 2U);
}

// Compilers fuse products and sums differently in each kernel.
TEST(BatchInvariance, WithAnEpilogueThereIsOneKernel) {
  const std::string rest =
      "n=4096 k=4096 a=bf16:t b=bf16:n out=bf16:t C=bf16:t bias=f32:row "
      "epi=\"D = gelu_tanh(accum + 0.5 * C + bias)\"";
  std::set<std::string> names;
  for (const std::int64_t m : kRows) {
    const auto arguments = problem(m, rest);
    for (const Kernel& kernel : get_kernels(*arguments, query_for(Target::sm(90, true))))
      names.insert(kernel.name());
  }
  EXPECT_EQ(names.size(), 1U);
}

// Neighbours that share a reciprocal must not be of different rows.
TEST(BatchInvariance, TransposedKernelsShareNoReciprocals) {
  const auto arguments =
      problem(64, "n=64 k=64 a=bf16:t b=bf16:n out=bf16:n epi=\"D = gelu_tanh(accum)\"");
  for (const Kernel& kernel : get_kernels(*arguments, query_for(Target::sm(90, true))))
    EXPECT_EQ(kernel.kernel_class().name(), "simt_gemm");
}

TEST(BatchInvariance, ExplainSaysWhatDropsOut) {
  const auto arguments = problem(64, "n=4096 k=4096 a=bf16:t b=bf16:n out=bf16:t");
  for (const Explanation& explanation : explain(*arguments, query_for(Target::sm(90, true)))) {
    if (explanation.kernel_class != "simt_gemm") continue;
    EXPECT_EQ(explanation.status.error(),
              "controls.batch_invariant: expected the order of summation of every M, "
              "'wgmma bf16 x bf16', got 'fma bf16 x bf16'");
    return;
  }
  ADD_FAILURE() << "no word of simt_gemm";
}

TEST(Zigzag, IsOffWhereBitsMustNotDependOnPlaces) {
  const std::string rest = "gemm m=4096 n=4096 k=4096 a=bf16:t b=bf16:n out=bf16:t ";
  for (const auto& [control, zigzag] :
       {std::pair{"", true}, {"deterministic=1", false}, {"batch_invariant=1", false}}) {
    const auto arguments = Problem::parse(rest + control).arguments(Device::cuda(0));
    KernelQuery query = query_for(Target::sm(90, true));
    query.filter = MetadataFilter::parse("class=sm90_gemm");
    EXPECT_EQ(get_kernels(*arguments, query).front().knobs().zigzag, zigzag) << control;
  }
}

}  // namespace
}  // namespace estoc
