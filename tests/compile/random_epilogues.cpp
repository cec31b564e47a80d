// Random epilogues of up to eight inputs and outputs on tensor-core kernels.
#include "random_epilogues.h"

#include <fmt/core.h>

#include <array>

#include "estoc/problem.hpp"
#include "support/operations.h"
#include "support/random_epilogue.h"

namespace estoc::compile_test {
namespace {

constexpr std::array kProducts{"a=bf16 out=bf16", "a=f16 out=f32", "a=tf32 out=f32", "a=i8 out=i8",
                               "a=f64 out=f64"};

/// Every class pairs columns of what is two bytes wide or more.
std::vector<AccumulatorPairs> pairs_of(const std::string& product) {
  if (product.find("a=i8") != std::string::npos) return {AccumulatorPairs::none};
  return {AccumulatorPairs::none, AccumulatorPairs::none, AccumulatorPairs::halves};
}

}  // namespace

RandomEpilogues random_epilogues(const std::vector<Target>& targets, std::size_t count,
                                 std::uint64_t seed) {
  RandomEpilogues found;
  KernelQuery query;
  query.providers = {"cuda"};
  query.filter = MetadataFilter::parse("class=sm80_gemm,sm90_gemm");
  for (std::size_t i = 0; i < count; ++i) {
    const std::string product =
        fmt::format("gemm m=256 n=256 k=256 {}", kProducts[i % kProducts.size()]);
    // The first of each product are as wide as eight inputs and outputs can be.
    const Problem problem =
        i < 2 * kProducts.size()
            ? Problem::parse(product + testing_support::widest_epilogue("t", i >= kProducts.size()))
            : testing_support::with_random_epilogue(Problem::parse(product), seed + i,
                                                    {.pairs = pairs_of(product)});
    const auto arguments = problem.arguments(Device::cuda(0));
    for (const Target target : targets) {
      query.target = target;
      const KernelList kernels = get_kernels(*arguments, query);
      const bool known = i == 2 * kProducts.size() - 1;  // f64, reduced: simt_gemm alone has it
      if (kernels.empty() && known) continue;
      if (kernels.empty()) {
        found.refused.push_back(fmt::format("{} for {}", problem.to_string(), target.name()));
        continue;
      }
      found.cases.push_back({kernels.front(), target});
      const std::size_t other = (seed + i) * 7919 % kernels.size();
      if (other > 0) found.cases.push_back({kernels[other], target});
    }
  }
  return found;
}

}  // namespace estoc::compile_test
