// What kernels with an epilogue are handed: operands, scalars, places for parts of reductions.
#include "providers/cuda/epilogue_launch.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <vector>

#include "estoc/arguments.hpp"
#include "estoc/design_space.hpp"
#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"
#include "providers/cuda/simt_gemm.h"

namespace estoc::cuda {
namespace {

constexpr std::int64_t kM = 100;
constexpr std::int64_t kN = 72;
constexpr std::int64_t kK = 16;

using Modes = std::vector<std::int64_t>;

TensorView view(std::vector<float>& data, const Modes& shape, const Modes& strides) {
  return {data.data(), Dtype::f32, shape, strides};
}

/// alpha by value, beta from memory, C in column-major order, sums of rows and of everything.
struct Problem {
  std::vector<float> a = std::vector<float>(kM * kK);
  std::vector<float> b = std::vector<float>(kK * kN);
  std::vector<float> out = std::vector<float>(kM * kN);
  std::vector<float> c = std::vector<float>(kM * kN);
  std::vector<float> rows = std::vector<float>(kM);
  float beta = 3;
  float total = 0;
  std::vector<float> workspace = std::vector<float>(1 << 16);
  GemmArguments gemm = make();

  GemmArguments make() {
    return {view(a, {kM, kK}, {kK, 1}),
            view(b, {kK, kN}, {kN, 1}),
            view(out, {kM, kN}, {kN, 1}),
            Dtype::f32,
            {},
            EpilogueArguments("D = alpha * accum + beta * C; total = sum(D); rows = max(accum)",
                              {{"alpha", 0.5},
                               {"beta", TensorView(&beta, Dtype::f32, {1}, {1})},
                               {"C", view(c, {kM, kN}, {1, kM})},
                               {"total", TensorView(&total, Dtype::f32, {1}, {1})},
                               {"rows", view(rows, {kM, 1}, {1, 1})}})};
  }
};

std::uint64_t address(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data);
}

using Parameters = abi::EpilogueParameters<1, 2, 1, 2>;

struct Planned {
  LaunchPlan plan;
  std::array<void*, LaunchPlan::kMaxParameters> first{};
  std::array<void*, LaunchPlan::kMaxParameters> second{};

  const Parameters& epilogue() const { return *static_cast<const Parameters*>(first[1]); }
  const abi::EpilogueResults<2>& results() const {
    return *static_cast<const abi::EpilogueResults<2>*>(second[0]);
  }
};

void plan_of(const KernelClass& kernel_class, std::string_view suffix, Problem& problem,
             Planned& to) {
  const auto point = kernel_class.space()->parse(suffix);
  ASSERT_TRUE(point) << suffix;
  const std::size_t bytes = kernel_class.workspace_size(*point, {}, problem.gemm);
  EXPECT_GT(bytes, 0U);
  EXPECT_LE(bytes, problem.workspace.size() * 4);
  static_cast<const CudaKernelClass&>(kernel_class)
      .plan(*point, {}, problem.gemm, {problem.workspace.data(), bytes}, to.plan);
  ASSERT_EQ(to.plan.size(), 2U);
  EXPECT_EQ(to.plan.step(0).parameters, 2U);
  to.plan.parameters_of(to.plan.step(0), to.first.data());
  to.plan.parameters_of(to.plan.step(1), to.second.data());
}

TEST(EpilogueLaunch, HandsOverOperandsAndScalars) {
  Problem problem;
  Planned planned;
  plan_of(*make_simt_gemm(), "-f32-f32-f32-f32-ttt-alignA16-alignB16-alignOut16-tile32x32x16",
          problem, planned);
  const Parameters& p = planned.epilogue();
  EXPECT_EQ(p.tensor[0].at.address, address(problem.c.data()));
  EXPECT_EQ(p.tensor[0].at.row_stride, 1);
  EXPECT_EQ(p.tensor[0].at.column_stride, kM);
  EXPECT_EQ(p.tensor[0].vectors, 0);
  EXPECT_EQ(p.store[0].at.address, address(problem.out.data()));
  EXPECT_EQ(p.store[0].at.row_stride, kN);
  EXPECT_EQ(p.store[0].vectors, 1);
  const EpilogueBinding& binding = *problem.gemm.epilogue_binding();
  for (std::size_t i = 0; i < 2; ++i) {
    if (binding.scalars[i].data != nullptr) {
      EXPECT_EQ(p.scalar[i].address, address(&problem.beta));
    } else {
      EXPECT_EQ(p.scalar[i].address, 0U);
      EXPECT_EQ(std::bit_cast<float>(static_cast<unsigned>(p.scalar[i].bits)), 0.5F);
    }
  }
}

TEST(EpilogueLaunch, PartsOfReductionsLieApart) {
  Problem problem;
  Planned planned;
  plan_of(*make_simt_gemm(), "-f32-f32-f32-f32-ttt-alignA16-alignB16-alignOut16-tile32x32x16",
          problem, planned);
  const EpilogueGraph& graph = *problem.gemm.epilogue_graph();
  for (std::size_t i = 0; i < 2; ++i) {
    const bool by_rows = graph.reduced[i].keeps.m;
    const abi::EpiloguePartials& left = planned.epilogue().partial[i];
    const abi::EpilogueResult& result = planned.results().result[i];
    EXPECT_EQ(left.address, result.from.address);
    EXPECT_EQ(left.results, by_rows ? kM : 1);
    // 4 x 3 tiles of two warps side by side.
    EXPECT_EQ(left.parts, by_rows ? 3 * 2 : 4 * 3 * 2);
    EXPECT_EQ(result.from.parts, left.parts);
    EXPECT_EQ(result.to.address, address(by_rows ? problem.rows.data() : &problem.total));
    EXPECT_EQ(result.inner, by_rows ? kM : 1);
  }
  EXPECT_NE(planned.epilogue().partial[0].address, planned.epilogue().partial[1].address);
}

// Its launch is hidden behind the product where the device can do that.
TEST(EpilogueLaunch, SecondStagesBeginEarlyOnSm90) {
  Problem problem;
  Planned simt;
  plan_of(*make_simt_gemm(), "-f32-f32-f32-f32-ttt-alignA16-alignB16-alignOut16-tile32x32x16",
          problem, simt);
  EXPECT_FALSE(simt.plan.step(0).programmatic);
  EXPECT_FALSE(simt.plan.step(1).programmatic);
  const PlanDevice device{
      .multiprocessors = 4,
      .encode_tiled = [](void*, int, unsigned, void*, const std::uint64_t*, const std::uint64_t*,
                         const std::uint32_t*, const std::uint32_t*, int, int, int,
                         int) { return 0; }};
  KernelQuery query;
  query.target = Target::sm(90, true);
  query.filter = MetadataFilter::parse("class=sm90_gemm");
  const auto gemm = estoc::Problem::parse(
                        "gemm m=128 n=128 k=64 a=bf16:t b=bf16:n out=bf16 amax=f32:column "
                        "epi=\"D = accum; amax = absmax(accum)\"")
                        .arguments(Device::cuda(0));
  const Kernel kernel = get_kernels(*gemm, query).front();
  std::vector<float> workspace(1 << 16);
  LaunchPlan plan(device);
  static_cast<const CudaKernelClass&>(kernel.kernel_class())
      .plan(kernel.point(), kernel.knobs(), *gemm, {workspace.data(), workspace.size() * 4}, plan);
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_FALSE(plan.step(0).programmatic);
  EXPECT_TRUE(plan.step(1).programmatic);
}

// Of a column-major output the code computes the transpose.
TEST(EpilogueLaunch, TransposesOperandsWithTheProblem) {
  std::vector<float> a(kM * kK);
  std::vector<float> b(kK * kN);
  std::vector<float> out(kM * kN);
  std::vector<float> c(kM * kN);
  const GemmArguments gemm(view(a, {kM, kK}, {kK, 1}), view(b, {kK, kN}, {kN, 1}),
                           view(out, {kM, kN}, {1, kM}), Dtype::f32, {},
                           EpilogueArguments("D = accum + C", {{"C", view(c, {kM, kN}, {1, kM})}}));
  const EpilogueView transposed(gemm, true);
  const abi::Matrix at = transposed.matrix(gemm.epilogue_binding()->tensors[0]);
  EXPECT_EQ(at.row_stride, kM);
  EXPECT_EQ(at.column_stride, 1);
  EXPECT_TRUE(transposed.transpose_modes({false, true, false}).n);
}

}  // namespace
}  // namespace estoc::cuda
