// What is found in kernels that are built on demand: outputs and workspaces that are not written,
// plain pointers, and loops without an end.
#include <gmock/gmock.h>

#include <csignal>
#include <string>
#include <vector>

#include "emulated.h"
#include "estoc/cuda_kernel_class.hpp"

namespace estoc::findings_test {
namespace {

using emulator::Fault;
using testing::HasSubstr;

constexpr std::int64_t kCount = 96;
constexpr Target kTarget = Target::sm(90, true);

constexpr const char* kBegin = R"(
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>
using namespace estoc;
struct Step { const int* from; int* to; };
__device__ u32 at() { return ptx::ctaid_x() * ptx::ntid() + ptx::tid(); }
__device__ void copy(Step s) {
  ptx::st_global<1>(reinterpret_cast<u64>(s.to + at()),
                    ptx::ld_global<1>(reinterpret_cast<u64>(s.from + at())));
}
)";

/// A to the workspace by `first`, from there to out by `second`: three CTAs of 32 threads each.
class Copies final : public CudaKernelClass {
 public:
  Copies(std::string first, std::string second)
      : source_(kBegin + ("extern \"C\" __global__ void first(Step s) {" + std::move(first)) +
                "}\nextern \"C\" __global__ void second(Step s) {" + std::move(second) + "}\n") {}
  std::string_view name() const override { return "copies"; }
  Operation operation() const override { return Operation::elementwise; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  CudaCode code(const DesignPoint& /*point*/, Target /*target*/) const override {
    return {.source = source_, .image = {}, .entries = {"first", "second"}};
  }
  std::size_t workspace_size(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
                             const RuntimeArguments& /*arguments*/) const override {
    return 4 * kCount;
  }
  void plan(const DesignPoint& /*point*/, const Knobs& /*knobs*/, const RuntimeArguments& arguments,
            const Workspace& workspace, LaunchPlan& plan) const override {
    struct Step {
      const void* from;
      void* to;
    };
    const auto& elementwise = dynamic_cast<const ElementwiseArguments&>(arguments);
    const CudaGeometry geometry{.grid = {3, 1, 1}, .block = {kCount / 3, 1, 1}};
    plan.kernel(0, geometry, Step{elementwise.a().data(), workspace.data});
    plan.kernel(1, geometry, Step{workspace.data, elementwise.out().data()});
  }

 private:
  std::string source_;
  static constexpr ElementwiseOp kOp = ElementwiseOp::identity;
  std::shared_ptr<const DesignSpace> space_ =
      DesignSpace::Builder().ops({&kOp, 1}).dtypes(Role::a_dtype, {Dtype::i32}).build();
};

class EmulatorFindings : public EmulatedKernels {
 protected:
  emulator::Report run(std::string first, std::string second,
                       const emulator::RunOptions& options = {}) {
    auto kernel_class = std::make_shared<Copies>(std::move(first), std::move(second));
    const Kernel kernel(kernel_class, "mine", kernel_class->space()->at(0));
    const ElementwiseArguments arguments(ElementwiseOp::identity,
                                         TensorView::row_major(a_.data(), Dtype::i32, {kCount}),
                                         TensorView::row_major(out_.data(), Dtype::i32, {kCount}));
    return emulator::run(kernel, kTarget, arguments, options);
  }

  std::vector<std::int32_t> a_ = std::vector<std::int32_t>(kCount, 3);
  std::vector<std::int32_t> out_ = std::vector<std::int32_t>(kCount, -1);
};

TEST_F(EmulatorFindings, NothingInWhatIsRight) {
  const emulator::Report report = run("copy(s);", "copy(s);");
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(report.statistics.launches, 2U);
  EXPECT_EQ(report.statistics.watched, 4U * kCount);
  EXPECT_EQ(out_[95], 3);
}

TEST_F(EmulatorFindings, AWorkspaceThatIsWrittenInPart) {
  const emulator::Report report = run("if (at() != 70) copy(s);", "copy(s);");
  ASSERT_TRUE(report.has(Fault::uninitialised)) << report.text();
  EXPECT_EQ(report.findings[0].cta[0], 2U);
  EXPECT_EQ(report.findings[0].thread, 6U);
}

TEST_F(EmulatorFindings, AnOutputThatIsWrittenInPart) {
  const emulator::Report report = run("copy(s);", "if (at() < 40) copy(s);");
  ASSERT_TRUE(report.has(Fault::unwritten_output)) << report.text();
  EXPECT_THAT(report.text(), HasSubstr("wrote 56 of the elements of out, the first at (40)"));
}

TEST_F(EmulatorFindings, PlainPointersAreNotWatched) {
  const emulator::Report report = run("s.to[at()] = s.from[at()];", "s.to[at()] = s.from[at()];");
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(report.statistics.launches, 2U);
  EXPECT_EQ(report.statistics.watched, 0U);
  EXPECT_EQ(out_[95], 3);
}

TEST_F(EmulatorFindings, PlainPointersThatLeadNowhere) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer reports it";
#endif
  struct sigaction before {};
  ::sigaction(SIGSEGV, nullptr, &before);
  const emulator::Report report =
      run("copy(s);", "if (at() == 70) s.to[1l << 40] = 1; else copy(s);");
  ASSERT_TRUE(report.has(Fault::trap)) << report.text();
  EXPECT_EQ(report.findings[0].kernel, "copies");
  EXPECT_EQ(report.findings[0].cta[0], 2U);
  EXPECT_EQ(report.findings[0].thread, 6U);
  EXPECT_THAT(report.text(), HasSubstr("a plain pointer leads to 0x"));
  struct sigaction after {};
  ::sigaction(SIGSEGV, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler) << "handlers are as they were";
}

TEST_F(EmulatorFindings, ADivisionByZero) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer reports it";
#endif
  const emulator::Report report =
      run("copy(s);", "s.to[at()] = s.from[at()] / (static_cast<int>(at()) - 33);");
  ASSERT_TRUE(report.has(Fault::trap)) << report.text();
  EXPECT_EQ(report.findings[0].cta[0], 1U);
  EXPECT_EQ(report.findings[0].thread, 1U);
}

TEST_F(EmulatorFindings, ALoopWithoutAnEnd) {
  emulator::RunOptions options;
  options.launch.seconds = 0.1;
  const std::string plain = "volatile int* word = s.to; while (*word != 7) {}";
  const std::string watched =
      "while (ptx::ld_global<1>(reinterpret_cast<u64>(s.from)).word[0] != 7) {}";
  for (const std::string& loop : {plain, watched}) {
    const emulator::Report report = run("copy(s);", "if (at() == 34) {" + loop + "}", options);
    ASSERT_TRUE(report.has(Fault::time_limit)) << report.text();
    EXPECT_EQ(report.findings[0].cta[0], 1U);
    EXPECT_EQ(report.findings[0].thread, 2U);
  }
}

}  // namespace
}  // namespace estoc::findings_test
