// Device code in launches that no kernel class makes on a small problem: an output wider than any
// memory, batches and results that outnumber the CTAs of a grid.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <estoc/abi/epilogue.cuh>
#include <estoc/abi/simt_gemm.cuh>
#include <estoc/abi/sm80_gemm.cuh>

#include "emulator/run.h"
#include "estoc/cuda_kernel_class.hpp"

namespace estoc::own_launch_test {
namespace {

using abi::Type;
using MakePlan = std::function<void(const ElementwiseArguments&, LaunchPlan&)>;

constexpr abi::SimtGemmConfig kSimt{
    Type::f32, Type::f32, Type::f32, Type::f32, abi::Vectors::none, abi::Vectors::none, false, 32,
    32,        16,        4,         4};
constexpr abi::Sm80GemmConfig kSm80{
    Type::tf32, Type::tf32, Type::f32, Type::f32, false, true, 64, 64, 32, 2, 2, 3, 16, 16, true};

/// The function `kernel` of `source`, launched as `make_plan` says.
class OwnLaunchClass final : public CudaKernelClass {
 public:
  OwnLaunchClass(std::string source, MakePlan make_plan)
      : source_(std::move(source)), make_plan_(std::move(make_plan)) {}
  std::string_view name() const override { return "own_launch"; }
  Operation operation() const override { return Operation::elementwise; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  CudaCode code(const DesignPoint& /*point*/, Target /*target*/) const override {
    return {.source = source_, .image = {}, .entries = {"kernel"}};
  }
  void plan(const DesignPoint& /*point*/, const Knobs& /*knobs*/, const RuntimeArguments& arguments,
            const Workspace& /*workspace*/, LaunchPlan& plan) const override {
    make_plan_(dynamic_cast<const ElementwiseArguments&>(arguments), plan);
  }

 private:
  std::string source_;
  MakePlan make_plan_;
  static constexpr ElementwiseOp kOp = ElementwiseOp::identity;
  std::shared_ptr<const DesignSpace> space_ =
      DesignSpace::Builder().ops({&kOp, 1}).dtypes(Role::a_dtype, {Dtype::f32}).build();
};

/// The output, of as many elements as the input, whose elements are 1.
std::vector<float> run(const std::string& source, std::int64_t count, const MakePlan& make_plan) {
  std::vector<float> in(static_cast<std::size_t>(count), 1);
  std::vector<float> out(static_cast<std::size_t>(count), -1);
  const auto kernel_class = std::make_shared<OwnLaunchClass>(source, make_plan);
  const Kernel kernel(kernel_class, "own_launch", kernel_class->space()->at(0));
  const ElementwiseArguments arguments(ElementwiseOp::identity,
                                       TensorView::row_major(in.data(), Dtype::f32, {count}),
                                       TensorView::row_major(out.data(), Dtype::f32, {count}));
  const emulator::Report report = emulator::run(kernel, Target::sm(90, true), arguments);
  EXPECT_TRUE(report.clean()) << report.text();
  return out;
}

/// Row-major, with rows of 32 elements.
abi::Matrix matrix(const TensorView& view, std::int64_t batch_stride = 0) {
  return {reinterpret_cast<unsigned long long>(view.data()), 32, 1, batch_stride};
}

/// Three products of 32 x 32 by one CTA.
template <typename Parameters, typename Config>
void expect_three_products(const std::string& source, const Config& config) {
  const auto plan_of = [&](const ElementwiseArguments& arguments, LaunchPlan& plan) {
    Parameters p{};
    p.a = matrix(arguments.a(), 1024);
    p.b = matrix(arguments.a());
    p.out = matrix(arguments.out(), 1024);
    p.m = p.n = 32;
    p.k = 16;  // one step: each batch starts with the stage that the one before read last
    p.l = 3;
    p.tiles_m = p.tiles_n = p.group = 1;
    plan.kernel(0,
                {.block = {static_cast<unsigned>(config.threads()), 1, 1},
                 .shared_bytes = static_cast<unsigned>(config.shared_bytes())},
                p);
  };
  EXPECT_EQ(run(source, 3072, plan_of), std::vector<float>(3072, 16));
}

constexpr const char* kSimtText =
    "constexpr abi::SimtGemmConfig kConfig{Type::f32, Type::f32, Type::f32, Type::f32, "
    "abi::Vectors::none, abi::Vectors::none, false, 32, 32, 16, 4, 4};\n";

TEST(OwnLaunch, SimtBatchesOutnumberCtas) {
  expect_three_products<abi::SimtGemmParameters>(std::string(R"(
#include <estoc/kernels/simt_gemm.cuh>
using namespace estoc;
using abi::Type;
)") + kSimtText +
                                                     R"(
extern "C" __global__ void kernel(const abi::SimtGemmParameters p) {
  simt_gemm<kConfig>(p, epilogue::Identity{});
}
)",
                                                 kSimt);
}

TEST(OwnLaunch, Sm80BatchesOutnumberCtas) {
  expect_three_products<abi::Sm80GemmParameters>(R"(
#include <estoc/kernels/sm80_gemm.cuh>
using namespace estoc;
using abi::Type;
constexpr abi::Sm80GemmConfig kConfig{Type::tf32, Type::tf32, Type::f32, Type::f32, false, true,
                                      64, 64, 32, 2, 2, 3, 16, 16, true};
extern "C" __global__ void kernel(const abi::Sm80GemmParameters p) {
  sm80_gemm<kConfig>(p, epilogue::Identity{});
}
)",
                                                 kSm80);
}

// Epilogues draw random numbers by it. The output claims to be 2^28 columns wide; K is 0.
TEST(OwnLaunch, NumbersElementsBeyond32Bits) {
  constexpr std::int64_t kColumns = std::int64_t{1} << 28;
  const std::string source = std::string(R"(
#include <estoc/epilogue/direct.cuh>
#include <estoc/kernels/simt_gemm.cuh>
using namespace estoc;
using abi::Type;
)") + kSimtText + R"(
struct Epilogue {
  using Accumulator = float;
  static constexpr bool kTransposed = false;
  static constexpr bool kIndexed = true;
  static constexpr bool kPairs = false;
  static constexpr int kWidth = 4;
  static constexpr int kTensors = 0;
  static constexpr int kScalars = 0;
  static constexpr int kStores = 1;
  static constexpr int kReductions = 0;
  using Parameters = abi::EpilogueParameters<0, 0, 1, 0>;
  static constexpr epilogue::TensorSpec kTensor[1] = {};
  static constexpr epilogue::ScalarSpec kScalar[1] = {};
  static constexpr epilogue::StoreSpec kStore[] = {{Type::f32, Type::f32}};
  static constexpr epilogue::ReducedSpec kReduced[1] = {};
  template <typename In, typename Out>
  __device__ static void element(Accumulator, const In& in, Out& out) {
    out.template store<0>(static_cast<float>(in.index() >> 20));
  }
};
extern "C" __global__ void kernel(const abi::SimtGemmParameters p, const Epilogue::Parameters e) {
  simt_gemm<kConfig>(p, epilogue::Fused<Epilogue>{e});
}
)";
  const auto out = run(source, 1024, [](const ElementwiseArguments& arguments, LaunchPlan& plan) {
    abi::SimtGemmParameters p{};
    p.out = matrix(arguments.out());
    p.m = 32;
    p.n = kColumns;
    p.l = 1;
    p.tiles_m = p.tiles_n = p.group = 1;
    abi::EpilogueParameters<0, 0, 1, 0> epilogue{};
    epilogue.store[0].at = p.out;
    plan.kernel(0,
                {.block = {static_cast<unsigned>(kSimt.threads()), 1, 1},
                 .shared_bytes = static_cast<unsigned>(kSimt.shared_bytes())},
                p, epilogue);
  });
  for (std::int64_t m = 0; m < 32; ++m)
    ASSERT_EQ(out[static_cast<std::size_t>(m * 32)], static_cast<float>((m * kColumns) >> 20));
}

TEST(OwnLaunch, FinishesMoreResultsThanThreads) {
  const std::string source = R"(
#include <estoc/epilogue/reduce.cuh>
using namespace estoc;
using abi::Type;
struct Epilogue {
  static constexpr int kReductions = 1;
  static constexpr epilogue::ReducedSpec kReduced[] = {
      {abi::Reduction::sum, Type::f32, Type::f32, false, false, true}};
};
extern "C" __global__ void kernel(const abi::EpilogueResults<1> p) { epilogue::finish<Epilogue>(p); }
)";
  constexpr std::int64_t kResults = 200;
  const auto out =
      run(source, kResults, [](const ElementwiseArguments& arguments, LaunchPlan& plan) {
        abi::EpilogueResults<1> p{};
        p.result[0].from = {reinterpret_cast<unsigned long long>(arguments.a().data()), kResults,
                            1};
        p.result[0].to = {reinterpret_cast<unsigned long long>(arguments.out().data()), 1, 0, 0};
        p.result[0].inner = kResults;
        p.result[0].lanes = 8;
        plan.kernel(0, {.grid = {2, 1, 1}, .block = {256, 1, 1}, .shared_bytes = 2048}, p);
      });
  EXPECT_EQ(out, std::vector<float>(kResults, 1));
}

}  // namespace
}  // namespace estoc::own_launch_test
