// Kernel handles: metadata, the messages of supports, compilation, run and bind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "estoc/problem.hpp"
#include "fake_class.h"

namespace estoc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The kernel for f16 operands, out f16, layouts ttt, A aligned to 16 bytes, of "small".
Kernel small_kernel(const std::shared_ptr<FakeClass>& fake) {
  DesignPoint point(fake->design_space.get());
  point.set_index(4, 1);
  return {fake, "mine", point};
}

std::shared_ptr<FakeClass> small_class() {
  return make_class("small", small_space(), {Target::cpu(), Target::sm(90, true)});
}

TEST(KernelMetadata, ComesFromTheRolesOfTheDimensions) {
  const Kernel kernel = small_kernel(small_class());
  const KernelMetadata& metadata = kernel.metadata();
  EXPECT_EQ(metadata.name, "small" + kernel.point().space().suffix(kernel.point()));
  EXPECT_EQ(metadata.kernel_class, "small");
  EXPECT_EQ(metadata.provider, "mine");
  EXPECT_EQ(metadata.operation, Operation::gemm);
  EXPECT_THAT(metadata.targets, ElementsAre(Target::cpu(), Target::sm(90, true)));
  ASSERT_NE(metadata.gemm(), nullptr);
  EXPECT_EQ(metadata.elementwise(), nullptr);
  const GemmOperandsMetadata expected{{Dtype::f16, LayoutConstraint::t, 16},
                                      {Dtype::f16, LayoutConstraint::t, 2},
                                      {Dtype::f16, LayoutConstraint::t, 2},
                                      Dtype::f32};
  EXPECT_EQ(*metadata.gemm(), expected);
  DesignMetadata design;
  design.tile = Shape3{64, 64, 32};
  EXPECT_EQ(metadata.design, design);
  EXPECT_EQ(metadata.epilogue, "");
}

TEST(KernelMetadata, EveryDesignRoleIsRead) {
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::e2m1})
      .dtypes(Role::b_dtype, {Dtype::i8})
      .dtypes(Role::out_dtype, {Dtype::f64})
      .layouts({"nxt"})
      .alignments(Role::b_alignment, {8})
      .alignments(Role::out_alignment, {32})
      .shapes(Role::tile, {Shape3{1, 2, 3}})
      .shapes(Role::cluster, {Shape3{2, 1, 1}})
      .shapes(Role::instruction, {Shape3{64, 8, 16}})
      .integers(Role::stages, {4})
      .choices(Role::schedule, {"pingpong"})
      .integers(Role::split, {7});
  const auto fake = make_class("full", builder.build());
  const Kernel kernel(fake, "mine", fake->design_space->at(0));
  const GemmOperandsMetadata operands{{Dtype::e2m1, LayoutConstraint::n, 1},
                                      {Dtype::i8, LayoutConstraint::any, 8},
                                      {Dtype::f64, LayoutConstraint::t, 32},
                                      Dtype::f32};
  EXPECT_EQ(*kernel.metadata().gemm(), operands);
  const DesignMetadata design{
      Shape3{1, 2, 3}, Shape3{2, 1, 1}, Shape3{64, 8, 16}, 4, "pingpong", 7};
  EXPECT_EQ(kernel.metadata().design, design);
}

TEST(KernelMetadata, OfElementwiseKernels) {
  constexpr std::array kOps{ElementwiseOp::div};
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::bf16}).ops(kOps);
  auto fake = make_class("pointwise", builder.build());
  fake->kind = Operation::elementwise;
  const Kernel kernel(fake, "mine", fake->design_space->at(0));
  ASSERT_NE(kernel.metadata().elementwise(), nullptr);
  const TensorAttributes bf16{Dtype::bf16, LayoutConstraint::any, 2};
  const ElementwiseOperandsMetadata expected{bf16, bf16, bf16, ElementwiseOp::div};
  EXPECT_EQ(*kernel.metadata().elementwise(), expected);
}

TEST(KernelMetadata, ThePointMustBelongToTheClass) {
  const auto fake = small_class();
  const auto other = small_space();
  EXPECT_EQ(error_of([&] { (void)Kernel(fake, "mine", other->at(0)); }).kind(), ErrorKind::value);
  EXPECT_EQ(error_of([&] { (void)Kernel(fake, "mine", DesignPoint()); }).kind(), ErrorKind::value);
  EXPECT_EQ(error_of([&] { (void)Kernel(nullptr, "mine", other->at(0)); }).kind(),
            ErrorKind::value);
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::f32, Dtype::f16}).require({"a"}, [](const DesignPoint& p) {
    return p.dtype(Role::a_dtype) == Dtype::f32;
  });
  const auto narrow = make_class("narrow", builder.build());
  DesignPoint forbidden(narrow->design_space.get());
  forbidden.set_index(0, 1);
  EXPECT_EQ(error_of([&] { (void)Kernel(narrow, "mine", forbidden); }).kind(), ErrorKind::value);
}

TEST(KernelSupports, SaysWhatWasExpectedAndWhatCame) {
  const auto fake = small_class();
  const Kernel kernel = small_kernel(fake);
  const auto reason = [&](const GemmTypes& types) {
    const Status status = kernel.supports(gemm(types), Target::cpu());
    return std::pair(status.reason(), status.error());
  };
  using R = std::pair<Reason, std::string>;
  EXPECT_TRUE(kernel.supports(gemm()).ok());
  EXPECT_EQ(reason({.a = Dtype::bf16}), R(Reason::dtype, "A.dtype: expected f16, got bf16"));
  EXPECT_EQ(reason({.b = Dtype::bf16}), R(Reason::dtype, "B.dtype: expected f16, got bf16"));
  EXPECT_EQ(reason({.out = Dtype::f32}), R(Reason::dtype, "out.dtype: expected f16, got f32"));
  EXPECT_EQ(reason({.accumulator_type = Dtype::f16}),
            R(Reason::dtype, "accumulator_type: expected f32, got f16"));
  EXPECT_EQ(reason({.layouts = "ntt"}),
            R(Reason::layout, "A.layout: expected last mode contiguous (t), got strides (1, 128)"));
  EXPECT_EQ(
      reason({.layouts = "ttn"}),
      R(Reason::layout, "out.layout: expected last mode contiguous (t), got strides (1, 128)"));
  EXPECT_EQ(reason({.alignment = 4}),
            R(Reason::alignment, "A.alignment: expected a multiple of 16 bytes, got 4"));
}

TEST(KernelSupports, ComparesTheOperation) {
  const TensorView view = describe(Dtype::f16, 4, 4, 't');
  const Status status =
      small_kernel(small_class()).supports(ElementwiseArguments(ElementwiseOp::relu, view, view));
  EXPECT_EQ(status.reason(), Reason::operation);
  EXPECT_EQ(status.error(), "operation: expected gemm, got elementwise");
}

TEST(KernelSupports, ComparesTheOp) {
  constexpr std::array kOps{ElementwiseOp::add};
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::f16}).ops(kOps);
  auto fake = make_class("pointwise", builder.build());
  fake->kind = Operation::elementwise;
  const TensorView view = describe(Dtype::f16, 4, 4, 't');
  const Status status = Kernel(fake, "mine", fake->design_space->at(0))
                            .supports(ElementwiseArguments(ElementwiseOp::relu, view, view));
  EXPECT_EQ(status.error(), "op: expected add, got relu");
}

TEST(KernelSupports, ComparesTheTarget) {
  const Kernel kernel = small_kernel(small_class());
  EXPECT_TRUE(kernel.supports(gemm(), Target::sm(90, true)).ok());
  const Status status = kernel.supports(gemm(), Target::sm(80));
  EXPECT_EQ(status.reason(), Reason::target);
  EXPECT_EQ(status.error(), "target: expected one of cpu, sm_90a, got sm_80");
}

TEST(KernelSupports, TheTargetDefaultsToTheOneTheKernelWasFoundFor) {
  const Registered there(make_class("gpu", plain_space(), {Target::sm(80)}));
  EXPECT_TRUE(get_kernels(f32_gemm(), {.target = Target::sm(80)})[0].supports(f32_gemm()).ok());
  EXPECT_EQ(kernel_by_name("gpu-f32-v0").supports(f32_gemm()).error(),
            "target: expected one of sm_80, got cpu");
}

TEST(KernelSupports, AMissingDeviceIsAReason) {
  const Status status = small_kernel(small_class()).supports(gemm({}, {}, {}, Device::cuda(63)));
  EXPECT_EQ(status.reason(), Reason::device);
  EXPECT_THAT(status.error(), HasSubstr("cuda:63"));
}

TEST(KernelSupports, AsksTheClassOnlyAboutWhatFits) {
  const auto fake = small_class();
  int asked = 0;
  fake->on_supports = [&](const DesignPoint&, const RuntimeArguments&) {
    ++asked;
    return Status::fail(Reason::shape, "A.shape: expected M of at least 256, got 128");
  };
  const Kernel kernel = small_kernel(fake);
  EXPECT_EQ(kernel.supports(gemm()).reason(), Reason::shape);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(kernel.supports(gemm({.a = Dtype::bf16})).reason(), Reason::dtype);
  EXPECT_EQ(kernel.supports(gemm(), Target::sm(80)).reason(), Reason::target);
  EXPECT_EQ(asked, 1);
}

TEST(KernelSupports, KeepsToTheWorkspaceLimit) {
  const auto fake = small_class();
  fake->workspace_bytes = 100;
  const Kernel kernel = small_kernel(fake);
  EXPECT_TRUE(kernel.supports(gemm({}, at_most(100))).ok());
  const Status status = kernel.supports(gemm({}, at_most(99)));
  EXPECT_EQ(status.reason(), Reason::controls);
  EXPECT_EQ(status.error(), "workspace: expected at most 99 bytes, got 100");
  EXPECT_FALSE(kernel.with_knobs({.split = 2}).supports(gemm({}, at_most(199))).ok());
}

TEST(KernelSupports, RefusesAnEpilogueThatTheKernelDoesNotHave) {
  const Status status = small_kernel(small_class()).supports(gemm({}, {}, {"D = relu(accum)"}));
  EXPECT_EQ(status.reason(), Reason::epilogue);
  EXPECT_EQ(status.error(), "epilogue: expected none, got \"D = relu(accum)\"");
}

TEST(KernelSupports, ScalesOfBlocksGoToClassesThatTakeThem) {
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::e4m3});
  const auto fake = make_class("scaled", builder.build());
  const auto arguments = Problem::parse("gemm m=128 n=64 k=32 a=e4m3 b=e4m3*1x32").arguments();
  const Status status = Kernel(fake, "mine", fake->design_space->at(0)).supports(*arguments);
  EXPECT_EQ(status.reason(), Reason::dtype);
  EXPECT_EQ(status.error(),
            "B.scale: expected none, or those of the tensor or its rows, got those of blocks");
}

TEST(KernelPredictionParts, AreTheClassesForSupportedArguments) {
  const auto fake = small_class();
  const Kernel kernel = small_kernel(fake);
  EXPECT_TRUE(kernel.prediction_parts(gemm()).empty());
  const std::vector<PredictionPart> parts{
      {"tensor cores", 1.2e-6, PredictionPart::Unit::seconds},
      {"live CTAs", 66, PredictionPart::Unit::count},
  };
  std::vector<Target> asked;
  fake->on_parts = [&](const DesignPoint& point, Target target) {
    EXPECT_EQ(point, kernel.point());
    asked.push_back(target);
    return parts;
  };
  EXPECT_EQ(kernel.prediction_parts(gemm()), parts);
  EXPECT_EQ(kernel.prediction_parts(gemm(), Target::sm(90, true)), parts);
  EXPECT_THAT(asked, ElementsAre(Target::cpu(), Target::sm(90, true)));
  EXPECT_TRUE(kernel.prediction_parts(f32_gemm()).empty());
  EXPECT_TRUE(kernel.prediction_parts(gemm(), Target::sm(80)).empty());
  EXPECT_THAT(asked, ElementsAre(Target::cpu(), Target::sm(90, true)));
}

TEST(KernelPredictionParts, AreOfTheTargetThatTheKernelWasFoundFor) {
  const auto fake = small_class();
  Target asked = Target::cpu();
  fake->on_parts = [&](const DesignPoint&, Target target) {
    asked = target;
    return std::vector<PredictionPart>{{"memory", 1e-6}};
  };
  const Registered there(fake);
  const Kernel found = get_kernels(gemm(), {.target = Target::sm(90, true)}).front();
  EXPECT_EQ(found.prediction_parts(gemm()).size(), 1U);
  EXPECT_EQ(asked, Target::sm(90, true));
}

/// A GEMM of f32 with memory behind it.
struct Problem4x4 {
  std::vector<float> a = std::vector<float>(16), b = a, out = a;
  GemmArguments arguments{TensorView::row_major(a.data(), Dtype::f32, {4, 4}),
                          TensorView::row_major(b.data(), Dtype::f32, {4, 4}),
                          TensorView::row_major(out.data(), Dtype::f32, {4, 4}), Dtype::f32};
};

TEST(KernelRun, CompilesOnceAndLaunches) {
  const auto fake = make_class("plain", plain_space());
  const Registered there(fake);
  const Problem4x4 problem;
  int stream = 0;
  const Kernel kernel = get_kernels(problem.arguments).front();
  kernel.run(problem.arguments, {.stream = &stream, .threads = 3});
  EXPECT_EQ(fake->bound->kernel, "plain-f32-v0");
  EXPECT_EQ(fake->bound->launches, 1);
  EXPECT_EQ(fake->bound->threads, 3);
  EXPECT_EQ(fake->bound->stream, &stream);
  kernel.run(problem.arguments);
  get_kernels(problem.arguments).front().run(problem.arguments);
  EXPECT_EQ(fake->compilations, 1);
}

TEST(KernelRun, ThreadsThatComeTogetherCompileOnce) {
  const auto fake = make_class("plain", plain_space());
  fake->on_compile = [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
  const Registered there(fake);
  const Kernel kernel = kernel_by_name("plain-f32-v0");
  std::vector<std::future<Artifact>> artifacts;
  for (int i = 0; i < 4; ++i) {
    artifacts.push_back(std::async(std::launch::async, [&] { return kernel.compile(f32_gemm()); }));
  }
  const Artifact first = artifacts[0].get();
  for (std::size_t i = 1; i < artifacts.size(); ++i) {
    EXPECT_EQ(artifacts[i].get().compiled_object(), first.compiled_object());
  }
  EXPECT_EQ(fake->compilations, 1);
}

TEST(KernelRun, AFailedCompilationIsTriedAgain) {
  const auto fake = make_class("plain", plain_space());
  bool broken = true;
  fake->on_compile = [&] {
    if (broken) throw Error(ErrorKind::compile, "line 3: expected ';'");
  };
  const Registered there(fake);
  const Problem4x4 problem;
  const Kernel kernel = kernel_by_name("plain-f32-v0");
  EXPECT_EQ(error_of([&] { kernel.run(problem.arguments); }).kind(), ErrorKind::compile);
  broken = false;
  kernel.run(problem.arguments);
  EXPECT_EQ(fake->compilations, 2);
  EXPECT_EQ(fake->bound->launches, 1);
}

TEST(KernelRun, RefusesWhatItDoesNotSupport) {
  const auto fake = make_class("plain", plain_space());
  const Registered there(fake);
  const Kernel kernel = kernel_by_name("plain-f32-v0");
  const Error error = error_of([&] { kernel.run(gemm()); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_STREQ(error.what(), "kernel plain-f32-v0: A.dtype: expected f32, got f16");
  EXPECT_EQ(fake->compilations, 0);
}

TEST(KernelRun, RefusesDescriptionsNamingTheOperand) {
  const auto fake = make_class("plain", plain_space());
  const Registered there(fake);
  Problem4x4 problem;
  const GemmArguments arguments(problem.arguments.a(), describe(Dtype::f32, 4, 4, 't'),
                                problem.arguments.out(), Dtype::f32);
  const Kernel kernel = kernel_by_name("plain-f32-v0");
  const Error error = error_of([&] { kernel.run(arguments); });
  EXPECT_EQ(error.kind(), ErrorKind::value);
  EXPECT_STREQ(error.what(), "B: expected a tensor with data, got a description");
  EXPECT_EQ(fake->compilations, 0);
  EXPECT_EQ(kernel.compile(arguments).target(), Target::cpu());
}

TEST(KernelRun, SupportsIsSkippedOnRequest) {
  const auto fake = make_class("plain", plain_space());
  int asked = 0;
  fake->on_supports = [&](const DesignPoint&, const RuntimeArguments&) {
    ++asked;
    return Status::fail("never");
  };
  const Registered there(fake);
  const Problem4x4 problem;
  const Kernel kernel = kernel_by_name("plain-f32-v0");
  EXPECT_THROW(kernel.run(problem.arguments), Error);
  EXPECT_EQ(asked, 1);
  kernel.run(problem.arguments, {.assume_supported_args = true});
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(fake->bound->launches, 1);
}

TEST(KernelRun, AKernelForAnotherTargetDoesNotRunOnHostMemory) {
  const Registered there(make_class("gpu", plain_space(), {Target::sm(80)}));
  const Problem4x4 problem;
  const Kernel kernel = get_kernels(problem.arguments, {.target = Target::sm(80)}).front();
  const std::string why = "operands: expected memory that a kernel for sm_80 can reach, got cpu";
  EXPECT_EQ(kernel.supports(problem.arguments).error(), why);
  const Error error = error_of([&] { kernel.run(problem.arguments); });
  EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  EXPECT_EQ(error.what(), "kernel gpu-f32-v0: " + why);
  EXPECT_NO_THROW((void)kernel.compile(problem.arguments));
}

TEST(KernelRun, CpuKernelsGetTheWorkspaceThatTheCallerDoesNotBring) {
  const auto fake = make_class("plain", plain_space());
  fake->workspace_bytes = 1000;
  const Registered there(fake);
  const Problem4x4 problem;
  const Kernel kernel = kernel_by_name("plain-f32-v0");
  EXPECT_EQ(kernel.workspace_size(problem.arguments), 1000U);
  kernel.run(problem.arguments);
  EXPECT_NE(fake->bound->workspace.data, nullptr);
  EXPECT_EQ(fake->bound->workspace.bytes, 1000U);
  alignas(256) static std::byte own[1024];
  kernel.run(problem.arguments, {.workspace = {own, sizeof(own)}});
  EXPECT_EQ(fake->bound->workspace.data, own);
}

TEST(KernelRun, RefusesAWorkspaceTooSmallOrMisaligned) {
  const auto fake = make_class("plain", plain_space());
  fake->workspace_bytes = 1000;
  const Registered there(fake);
  const Problem4x4 problem;
  const Kernel kernel = kernel_by_name("plain-f32-v0");
  alignas(256) static std::byte own[2048];
  const auto message = [&](const Workspace& workspace) {
    return std::string(
        error_of([&] { kernel.run(problem.arguments, {.workspace = workspace}); }).what());
  };
  EXPECT_EQ(message({own, 999}), "workspace: expected at least 1000 bytes, got 999");
  EXPECT_THAT(message({own + 16, 1024}), HasSubstr("a multiple of 256 bytes"));
}

TEST(KernelBind, LaunchesAnyNumberOfTimes) {
  const auto fake = make_class("plain", plain_space());
  fake->workspace_bytes = 64;
  const Registered there(fake);
  const Problem4x4 problem;
  const Kernel kernel = kernel_by_name("plain-f32-v0");
  BoundKernel bound = kernel.bind(problem.arguments, kernel.compile(problem.arguments));
  EXPECT_EQ(fake->bound->launches, 0);
  bound.launch();
  bound.launch();
  EXPECT_EQ(fake->bound->launches, 2);
}

TEST(KernelBind, RefusesTheArtifactOfAnotherKernel) {
  const Registered there(make_class("plain", plain_space(2)));
  const Problem4x4 problem;
  const Artifact other = kernel_by_name("plain-f32-v1").compile(problem.arguments);
  const Error error =
      error_of([&] { kernel_by_name("plain-f32-v0").run(problem.arguments, other); });
  EXPECT_EQ(error.kind(), ErrorKind::value);
  EXPECT_STREQ(error.what(),
               "artifact: expected one of kernel plain-f32-v0, got one of plain-f32-v1");
}

TEST(KernelBind, AClassThatGivesNoLaunchIsAnError) {
  const auto fake = make_class("plain", plain_space());
  fake->bound = nullptr;
  const Registered there(fake);
  const Problem4x4 problem;
  EXPECT_EQ(error_of([&] { kernel_by_name("plain-f32-v0").run(problem.arguments); }).kind(),
            ErrorKind::value);
}

TEST(KernelCompile, ChecksArgumentsAndTarget) {
  const auto fake = small_class();
  const Kernel kernel = small_kernel(fake);
  EXPECT_EQ(kernel.compile(gemm(), Target::sm(90, true)).target(), Target::sm(90, true));
  EXPECT_EQ(kernel.compile(gemm()).target(), Target::cpu());
  EXPECT_EQ(fake->compilations, 2);
  EXPECT_EQ(error_of([&] { (void)kernel.compile(gemm(), Target::sm(80)); }).kind(),
            ErrorKind::unsupported);
  EXPECT_EQ(fake->compilations, 2);
}

TEST(KernelHandle, EqualityIsClassPointAndKnobs) {
  const Registered there(make_class("plain", plain_space(2)));
  const Kernel kernel = kernel_by_name("plain-f32-v0");
  EXPECT_EQ(kernel, kernel_by_name("plain-f32-v0"));
  EXPECT_FALSE(kernel == kernel_by_name("plain-f32-v1"));
  const Kernel split = kernel.with_knobs({.split = 4});
  EXPECT_FALSE(kernel == split);
  EXPECT_EQ(split.knobs().split, 4);
  EXPECT_EQ(split.with_knobs({}), kernel);
}

TEST(KernelHandle, OtherKnobsForgetThePrediction) {
  const auto fake = make_class("plain", plain_space());
  fake->on_predict = [](const DesignPoint&) { return Prediction{1e-6, {}}; };
  const Registered there(fake);
  const Kernel kernel = get_kernels(f32_gemm()).front();
  EXPECT_EQ(kernel.with_knobs({}).predicted_seconds(), 1e-6);
  EXPECT_EQ(kernel.with_knobs({.split = 2}).predicted_seconds(), std::nullopt);
}

}  // namespace
}  // namespace estoc::testing
