// Kernels of kernel classes under the emulator: their plans, memory, workspace and refusals.
#include <gmock/gmock.h>

#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "emulated.h"
#include "estoc/cuda_kernel_class.hpp"

namespace estoc::run_test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kCount = 96;
constexpr Target kTarget = Target::sm(90, true);

// The first kernel adds A to the workspace, which was filled with ones in every byte; the second
// copies that to the output.
constexpr const char* kTwoSteps = R"(
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>
using namespace estoc;
struct Step { u64 from, to; };
__device__ u32 at() { return 4 * (ptx::ctaid_x() * ptx::ntid() + ptx::tid()); }
extern "C" __global__ void add(Step s, int factor) {
  Words<1> word = ptx::ld_global<1>(s.to + at());
  word.word[0] += factor * ptx::ld_global<1>(s.from + at()).word[0];
  ptx::st_global<1>(s.to + at(), word);
}
extern "C" __global__ void copy(Step s) {
  ptx::st_global<1>(s.to + at(), ptx::ld_global<1>(s.from + at()));
}
)";

struct Step {
  const void* from;
  void* to;
};

/// What a plan of a test's own says.
struct Wishes {
  bool fills = true;
  bool too_large = false;
  bool past_the_end = false;
  bool writes_a = false;
  bool fills_too_much = false;
  std::size_t entry = 1;
  const char* second = "copy";  ///< name of the second entry
};

class TwoSteps final : public CudaKernelClass {
 public:
  explicit TwoSteps(Wishes wishes) : wishes_(wishes) {}
  std::string_view name() const override { return "two_steps"; }
  Operation operation() const override { return Operation::elementwise; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  CudaCode code(const DesignPoint& /*point*/, Target /*target*/) const override {
    return {.source = kTwoSteps, .image = {}, .entries = {"add", wishes_.second}};
  }
  std::size_t workspace_size(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
                             const RuntimeArguments& /*arguments*/) const override {
    return 4 * kCount;
  }
  void plan(const DesignPoint& /*point*/, const Knobs& /*knobs*/, const RuntimeArguments& arguments,
            const Workspace& workspace, LaunchPlan& plan) const override {
    const auto& elementwise = dynamic_cast<const ElementwiseArguments&>(arguments);
    const auto sms = static_cast<unsigned>(plan.device().multiprocessors);
    CudaGeometry geometry{.grid = {3, 1, 1}, .block = {kCount / 3, 1, 1}};
    if (wishes_.past_the_end) geometry.grid = {sms, 1, 1};
    if (wishes_.too_large) geometry.shared_bytes = 1U << 20;
    if (wishes_.fills) plan.fill(workspace.data, 1, workspace.bytes);
    if (wishes_.fills_too_much) plan.fill(workspace.data, 0, workspace.bytes + 1);
    plan.kernel(0, geometry, Step{elementwise.a().data(), workspace.data}, 2);
    const TensorView& to = wishes_.writes_a ? elementwise.a() : elementwise.out();
    plan.kernel(wishes_.entry, geometry, Step{workspace.data, to.data()});
  }

 private:
  Wishes wishes_;
  static constexpr ElementwiseOp kOp = ElementwiseOp::identity;
  std::shared_ptr<const DesignSpace> space_ =
      DesignSpace::Builder().ops({&kOp, 1}).dtypes(Role::a_dtype, {Dtype::i32}).build();
};

class EmulatorRun : public EmulatedKernels {
 protected:
  EmulatorRun() { std::iota(a_.begin(), a_.end(), 0); }

  static Kernel kernel(Wishes wishes = {}) {
    auto kernel_class = std::make_shared<TwoSteps>(wishes);
    return {kernel_class, "mine", kernel_class->space()->at(0)};
  }
  ElementwiseArguments arguments() {
    return {ElementwiseOp::identity, TensorView::row_major(a_.data(), Dtype::i32, {kCount}),
            TensorView::row_major(out_.data(), Dtype::i32, {kCount})};
  }
  emulator::Report run(Wishes wishes, const emulator::RunOptions& options = {}) {
    return emulator::run(kernel(wishes), kTarget, arguments(), options);
  }

  std::vector<std::int32_t> a_ = std::vector<std::int32_t>(kCount);
  std::vector<std::int32_t> out_ = std::vector<std::int32_t>(kCount, -1);
};

ErrorKind kind_of(const std::function<void()>& action, std::string& message) {
  try {
    action();
  } catch (const Error& error) {
    message = error.what();
    return error.kind();
  }
  throw std::logic_error("nothing was thrown");
}

TEST_F(EmulatorRun, CarriesOutEveryStepOfAPlan) {
  const emulator::Report report = run({});
  EXPECT_TRUE(report.clean()) << report.text();
  for (int i = 0; i < kCount; ++i)
    ASSERT_EQ(out_[static_cast<std::size_t>(i)], 0x01010101 + 2 * i);
}

TEST_F(EmulatorRun, AWorkspaceHoldsNothingAtFirst) {
  const emulator::Report report = run({.fills = false});
  EXPECT_TRUE(report.has(emulator::Fault::uninitialised)) << report.text();
  EXPECT_EQ(out_, std::vector<std::int32_t>(kCount, -1)) << "the steps after it are left out";
}

TEST_F(EmulatorRun, OperandsEndWhereTheyEnd) {
  emulator::RunOptions options;
  options.multiprocessors = 3;
  EXPECT_TRUE(run({.past_the_end = true}, options).clean());
  options.multiprocessors = 4;
  const emulator::Report report = run({.past_the_end = true}, options);
  ASSERT_TRUE(report.has(emulator::Fault::out_of_bounds)) << report.text();
  EXPECT_THAT(report.text(), HasSubstr("after the start of workspace, which has 384"));
}

TEST_F(EmulatorRun, OperandsAreNotWritten) {
  const emulator::Report report = run({.writes_a = true});
  ASSERT_TRUE(report.has(emulator::Fault::read_only)) << report.text();
  EXPECT_EQ(a_[5], 5);
}

TEST_F(EmulatorRun, AFillStaysInsideWhatItIsFor) {
  std::string message;
  EXPECT_EQ(kind_of([&] { (void)run({.fills_too_much = true}); }, message), ErrorKind::value);
  EXPECT_THAT(message, HasSubstr("expected a fill of the output or the workspace"));
}

TEST_F(EmulatorRun, AnOutputInPlaceHoldsItsInput) {
  const ElementwiseArguments in_place(ElementwiseOp::identity,
                                      TensorView::row_major(a_.data(), Dtype::i32, {kCount}),
                                      TensorView::row_major(a_.data(), Dtype::i32, {kCount}));
  const emulator::Report report = emulator::run(kernel(), kTarget, in_place);
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(a_[5], 0x01010101 + 10);
}

TEST_F(EmulatorRun, WhatADriverRefusesIsAnError) {
  std::string message;
  EXPECT_EQ(kind_of([&] { (void)run({.too_large = true}); }, message), ErrorKind::driver);
  EXPECT_THAT(message, HasSubstr("1048576 bytes of shared memory"));
  EXPECT_EQ(kind_of([&] { (void)run({.entry = 2}); }, message), ErrorKind::value);
  EXPECT_THAT(message, HasSubstr("no entry number 2"));
}

TEST_F(EmulatorRun, AnEntryThatTheCodeLacksIsRefused) {
  std::string message;
  EXPECT_EQ(kind_of([&] { (void)run({.second = "kopy"}); }, message), ErrorKind::compile);
  EXPECT_THAT(message, HasSubstr("expected its code to have the entry 'kopy', which it has not"));
}

TEST_F(EmulatorRun, SaysWhatItCannotBeGiven) {
  const KernelList cpu = get_kernels(arguments(), {});
  ASSERT_FALSE(cpu.empty());
  EXPECT_THAT(emulator::can_emulate(cpu.front(), kTarget).error(), HasSubstr("provider cpu"));
  EXPECT_THAT(emulator::can_emulate(kernel(), Target::cpu()).error(), HasSubstr("got cpu"));
  EXPECT_TRUE(emulator::can_emulate(kernel(), kTarget));
  std::string message;
  EXPECT_EQ(kind_of([&] { emulator::BuiltKernel(cpu.front(), kTarget); }, message),
            ErrorKind::unsupported);
}

TEST_F(EmulatorRun, WantsHostMemory) {
  const auto described = TensorView::describe(Dtype::i32, std::vector<std::int64_t>{kCount},
                                              std::vector<std::int64_t>{1}, Device::cuda(0));
  const ElementwiseArguments arguments(ElementwiseOp::identity, described, described);
  std::string message;
  EXPECT_EQ(kind_of([&] { (void)emulator::run(kernel(), kTarget, arguments); }, message),
            ErrorKind::value);
  EXPECT_THAT(message, HasSubstr("expected host memory"));
}

TEST_F(EmulatorRun, OneKernelServesSeveralThreads) {
  const emulator::BuiltKernel built(kernel(), kTarget);
  std::vector<std::vector<std::int32_t>> outputs(4, std::vector<std::int32_t>(kCount));
  std::vector<std::thread> threads;
  for (auto& output : outputs) {
    threads.emplace_back([&] {
      const ElementwiseArguments mine(ElementwiseOp::identity,
                                      TensorView::row_major(a_.data(), Dtype::i32, {kCount}),
                                      TensorView::row_major(output.data(), Dtype::i32, {kCount}));
      for (int i = 0; i < 8; ++i)
        EXPECT_TRUE(built.run(mine).clean());
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (const auto& output : outputs)
    EXPECT_EQ(output[7], 0x01010101 + 14);
}

}  // namespace
}  // namespace estoc::run_test
