// explain: one reason for each class, naming operand, expected and got.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_class.h"

namespace estoc::testing {
namespace {

using ::testing::SizeIs;

/// The only class's explanation.
Explanation explain_one(const RuntimeArguments& arguments, const KernelQuery& query = {}) {
  const auto explanations = explain(arguments, query);
  EXPECT_THAT(explanations, SizeIs(1));
  return explanations.at(0);
}

std::string why(const RuntimeArguments& arguments, const KernelQuery& query = {}) {
  const Explanation explanation = explain_one(arguments, query);
  EXPECT_EQ(explanation.supported, 0U);
  return explanation.status.error();
}

TEST(Explain, CountsWhatIsDescribedAndSupported) {
  const Registered there(make_class("small", small_space()), "mine");
  const Explanation explanation = explain_one(gemm());
  EXPECT_EQ(explanation.provider, "mine");
  EXPECT_EQ(explanation.kernel_class, "small");
  EXPECT_EQ(explanation.described, 48U);
  EXPECT_EQ(explanation.supported, 4U);
  EXPECT_TRUE(explanation.status.ok());
}

TEST(Explain, NamesAllMismatches) {
  const Registered there(make_class("small", small_space()));
  EXPECT_EQ(why(gemm({.a = Dtype::i8,
                      .b = Dtype::f64,
                      .out = Dtype::f64,
                      .accumulator_type = Dtype::f64,
                      .layouts = "ntt",
                      .alignment = 8})),
            "A.dtype: expected f16 or bf16, got i8; "
            "B.dtype: expected f16 or bf16, got f64; "
            "accumulator_type: expected f32, got f64; "
            "out.dtype: expected f16, bf16 or f32, got f64; "
            "A.layout: expected last mode contiguous (t), got strides (1, 128)");
  EXPECT_EQ(why(gemm({.alignment = 2})), "A.alignment: expected a multiple of 4 bytes, got 2");
}

TEST(Explain, NamesWhatDoesNotGoTogether) {
  const Registered there(make_class("small", small_space()));
  EXPECT_EQ(why(gemm({.a = Dtype::f16, .b = Dtype::bf16})),
            "A.dtype: expected bf16 with the rest as it is, got f16; "
            "B.dtype: expected f16 with the rest as it is, got bf16");
}

TEST(Explain, NamesWhatAConstraintForbids) {
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::f16, Dtype::bf16})
      .dtypes(Role::out_dtype, {Dtype::f16, Dtype::bf16, Dtype::f32})
      .require({"a", "out"}, [](const DesignPoint& point) {
        const Dtype out = point.dtype(Role::out_dtype);
        return out == Dtype::f32 || out == point.dtype(Role::a_dtype);
      });
  const Registered there(make_class("narrow", builder.build()));
  EXPECT_EQ(why(gemm({.out = Dtype::bf16})),
            "out.dtype: expected f16 or f32 with the rest as it is, got bf16");
}

TEST(Explain, NamesOperationTargetAndEpilogue) {
  const Registered there(make_class("small", small_space()));
  const TensorView view = describe(Dtype::f16, 4, 4, 't');
  EXPECT_EQ(why(ElementwiseArguments(ElementwiseOp::relu, view, view)),
            "operation: expected gemm, got elementwise");
  EXPECT_EQ(why(gemm(), {.target = Target::sm(90, true)}),
            "target: expected one of cpu, got sm_90a");
  EXPECT_EQ(why(gemm({}, {}, {"D = relu(accum)"})),
            "epilogue: expected none, got relu(accum) in f32 of \"acc f32; v1 = relu accum; store "
            "f16 v1\"");
  EXPECT_EQ(why(gemm({.accumulator_type = Dtype::f16}, {}, {"D = relu(accum)"})),
            "accumulator_type: expected f32, got f16");
  EXPECT_EQ(why(gemm({.a = Dtype::i8, .b = Dtype::i8}), {.target = Target::sm(80)}),
            "A.dtype: expected f16 or bf16, got i8; B.dtype: expected f16 or bf16, got i8; "
            "target: expected one of cpu, got sm_80");
}

TEST(Explain, GivesTheReasonOfTheFirstKernelThatFits) {
  auto picky = make_class("picky", small_space());
  picky->on_supports = [](const DesignPoint& point, const RuntimeArguments&) {
    return Status::fail(Reason::shape, "out.shape: too small for " + point.value(Role::tile).text);
  };
  const Registered there(picky);
  const Explanation explanation = explain_one(gemm());
  EXPECT_EQ(explanation.status.reason(), Reason::shape);
  EXPECT_EQ(explanation.status.error(), "out.shape: too small for 64x64x32");
}

TEST(Explain, AsksNoKernelOfAClassThatRefuses) {
  auto closed = make_class("closed", small_space());
  int asked = 0;
  closed->on_supports_any = [](const RuntimeArguments&) {
    return Status::fail(Reason::layout, "A: expected odd strides, got even ones");
  };
  closed->on_supports = [&asked](const DesignPoint&, const RuntimeArguments&) {
    ++asked;
    return Status::success();
  };
  const Registered there(closed);
  EXPECT_EQ(explain_one(gemm()).status.error(), "A: expected odd strides, got even ones");
  EXPECT_EQ(asked, 0);
}

TEST(Explain, CountsWhatGetKernelsReturns) {
  auto hungry = make_class("hungry", plain_space(2));
  hungry->workspace_bytes = 1000;
  hungry->on_predict = [](const DesignPoint& point) {
    return Prediction{1e-6, {.split = static_cast<std::int16_t>(point.index(1) + 1)}};
  };
  const Registered there(hungry);
  EXPECT_EQ(explain_one(f32_gemm(at_most(1500))).supported, 1U);
  EXPECT_EQ(why(f32_gemm(at_most(10))), "workspace: expected at most 10 bytes, got 1000");
}

TEST(Explain, GivesTheKernelToUseFirst) {
  auto fake = make_class("two", plain_space(2));
  fake->on_predict = [](const DesignPoint& point) {
    return Prediction{1e-6 * (2 - point.index(1)), {}};
  };
  const Registered there(fake);
  const Explanation explanation = explain_one(f32_gemm());
  ASSERT_TRUE(explanation.first);
  EXPECT_EQ(*explanation.first, get_kernels(f32_gemm()).front());
  EXPECT_EQ(explanation.first->predicted_seconds(), 1e-6);
  EXPECT_FALSE(explain_one(gemm()).first);
}

TEST(Explain, SaysWhenTheFilterLeavesNothing) {
  const Registered there(make_class("small", small_space()));
  const KernelQuery none{.filter = MetadataFilter([](const KernelMetadata&) { return false; })};
  EXPECT_EQ(why(gemm(), none), "filter: expected a kernel that passes, got 4 that do not");
}

TEST(Explain, AClassThatThrowsIsExplainedToo) {
  auto fake = make_class("broken", plain_space());
  fake->on_space = []() -> Space { throw std::runtime_error("no space left"); };
  const Registered broken(fake);
  const Registered sound(make_class("sound", plain_space()));
  const auto explanations = explain(f32_gemm());
  ASSERT_THAT(explanations, SizeIs(2));
  EXPECT_EQ(explanations[0].status.error(), "the class threw: no space left");
  EXPECT_EQ(explanations[0].supported, 0U);
  EXPECT_EQ(explanations[1].supported, 1U);
}

TEST(Explain, KeepsToTheProvidersOfTheQuery) {
  const Registered first(make_class("one", plain_space()), "p1");
  const Registered second(make_class("two", plain_space()), "p2");
  EXPECT_EQ(explain_one(f32_gemm(), {.providers = {"p2"}}).kernel_class, "two");
  EXPECT_EQ(error_of([] { (void)explain(f32_gemm(), {.providers = {"p3"}}); }).kind(),
            ErrorKind::not_found);
}

}  // namespace
}  // namespace estoc::testing
