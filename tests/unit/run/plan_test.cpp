// Plans: launched again, given other operands, and refused those that do not fit.
#include "estoc/plan.hpp"

#include <gmock/gmock.h>

#include "operands.h"

namespace estoc::run_test {
namespace {

using testing::HasSubstr;

TEST(Plan, RunsOnWhatItWasMadeWith) {
  Operands first(1);
  Plan plan = estoc::plan(first.arguments());
  for (int round = 0; round < 3; ++round) {
    first.out.assign(first.out.size(), 77.0F);
    plan.run();
    first.expect();
  }
  EXPECT_EQ(plan.kernel().name(), "cpu_gemm-f32-f32-f32-f32");
  EXPECT_EQ(plan.workspace_size(), 0);
}

TEST(Plan, IsGivenOtherOperands) {
  Operands first(1);
  Operands second(2);
  Plan plan = estoc::plan(first.arguments());
  for (int round = 0; round < 12; ++round) {
    for (Operands* each : {&first, &second}) {
      each->out.assign(each->out.size(), 77.0F);
      const float* const a = each->a.data();  // inputs may be const
      plan.rebind(a, each->b.data(), each->out.data());
      for (int launch = 0; launch <= round; ++launch)
        plan.run();
      each->expect();
    }
  }
  EXPECT_EQ(plan.arguments().operands()[2].tensor->data(), second.out.data());
}

TEST(Plan, IsGivenOtherOperandsOfTheEpilogue) {
  Operands first(1);
  Operands second(2);
  Plan plan = estoc::plan(
      first.arguments({"D = alpha * accum + bias", {{"bias", first.bias_view()}, {"alpha", 1.0}}}));
  plan.run();
  first.expect(1, true);

  const EpilogueOperand others[] = {{"alpha", 2.0}, {"bias", second.bias_view()}};
  plan.rebind(second.a.data(), second.b.data(), second.out.data(), others);
  plan.run();
  second.expect(2, true);

  const EpilogueOperand scalar[] = {{"alpha", -3.0}};
  plan.rebind(scalar);  // all others stay
  plan.run();
  second.expect(-3, true);

  plan.rebind(first.a.data(), first.b.data(), first.out.data());
  const EpilogueOperand bias[] = {{"bias", first.bias_view()}};
  plan.rebind(bias);
  plan.run();
  first.expect(-3, true);
}

TEST(Plan, IsGivenArgumentsOfOtherSizes) {
  Operands first(1);
  Operands longer(2, kM + 9);
  Plan plan = estoc::plan(first.arguments());
  for (int round = 0; round < 3; ++round) {
    for (Operands* each : {&first, &longer}) {
      each->out.assign(each->out.size(), 77.0F);
      plan.rebind(each->arguments());
      plan.run();
      each->expect();
    }
  }
  Operands third(3, kM + 9);
  plan.rebind(third.a.data(), third.b.data(), third.out.data());
  plan.run();
  third.expect();
}

TEST(Plan, NamesTheOperandThatDoesNotFitAndStaysAsItWas) {
  Operands first(1);
  Operands second(2);
  Plan plan = estoc::plan(
      first.arguments({"D = alpha * accum + bias", {{"bias", first.bias_view()}, {"alpha", 1.0}}}));
  auto refused = [&](const void* a, const void* b, void* out,
                     const std::vector<EpilogueOperand>& epilogue = {}) {
    return message_of(ErrorKind::value, [&] { plan.rebind(a, b, out, epilogue); });
  };
  float* const a = second.a.data();
  float* const b = second.b.data();
  float* const out = second.out.data();
  EXPECT_THAT(refused(nullptr, b, out), HasSubstr("A.data: expected memory"));
  EXPECT_THAT(refused(a, reinterpret_cast<char*>(b) + 1, out), HasSubstr("B"));
  EXPECT_THAT(refused(a, b, a), HasSubstr("out"));
  EXPECT_THAT(refused(a, b, out, {{"bias", second.out_view()}}),
              HasSubstr("bias: expected a tensor like f32 (5) strides (1) on cpu, got f32 (6, 5)"));
  EXPECT_THAT(refused(a, b, out, {{"alpha", second.bias_view()}}),
              HasSubstr("alpha: expected the scalar 1, got f32 (5)"));
  EXPECT_THAT(refused(a, b, out, {{"beta", 1.0}}),
              HasSubstr("beta: expected an operand of the epilogue \"D = "));
  EXPECT_THAT(refused(a, b, out, {{"alpha", 5.0}, {"beta", 1.0}}), HasSubstr("beta"));
  plan.run();
  first.expect(1, true);

  Operands doubles(3);
  const GemmArguments other(doubles.a_view(), doubles.b_view(), doubles.out_view(), Dtype::f64);
  EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { plan.rebind(other); }),
              HasSubstr("accumulator_type: expected f32, got f64"));
  plan.rebind(second.a.data(), second.b.data(), second.out.data());
  plan.run();
  second.out = first.out = std::vector<float>(first.out.size(), 77.0F);
  plan.run();
  const EpilogueOperand bias[] = {{"bias", second.bias_view()}};
  plan.rebind(bias);
  plan.run();
  second.expect(1, true);
}

TEST(Plan, WithoutAnEpilogueTakesNoOperandsOfOne) {
  Operands first(1);
  Plan plan = estoc::plan(first.arguments());
  const EpilogueOperand alpha[] = {{"alpha", 1.0}};
  EXPECT_THAT(message_of(ErrorKind::value, [&] { plan.rebind(alpha); }),
              HasSubstr("alpha: expected no operand, as the plan has no epilogue"));
}

TEST(Plan, OfDescribedOperandsRunsOnceItHasOthers) {
  Operands first(1);
  const std::int64_t shape[] = {kM, kK};
  const std::int64_t strides[] = {kK, 1};
  const GemmArguments described(TensorView::describe(Dtype::f32, shape, strides, Device::cpu(), 4),
                                first.b_view(), first.out_view(), Dtype::f32);
  Plan plan = estoc::plan(described);
  EXPECT_THAT(message_of(ErrorKind::value, [&] { plan.run(); }), HasSubstr("A: expected a tensor"));
  plan.rebind(first.a.data(), first.b.data(), first.out.data());
  plan.run();
  first.expect();
}

TEST(Plan, OfAnArtifact) {
  Operands first(1);
  const GemmArguments arguments = first.arguments();
  const Kernel kernel = get_kernels(arguments).front();
  Plan plan(kernel.compile(arguments), arguments, {.threads = 1});
  Plan moved = std::move(plan);
  moved.run();
  first.expect();

  const GemmArguments other(first.a_view(), first.b_view(), first.out_view(), Dtype::f64);
  EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { Plan(moved.artifact(), other); }),
              HasSubstr("kernel cpu_gemm-f32-f32-f32-f32: accumulator_type: expected f32"));
}

TEST(Plan, SaysWhyThereIsNoKernel) {
  std::vector<std::uint8_t> bytes(64);
  const TensorView view = TensorView::row_major(bytes.data(), Dtype::boolean, {4, 4});
  const TensorView out = TensorView::row_major(bytes.data() + 16, Dtype::boolean, {4, 4});
  EXPECT_THAT(message_of(ErrorKind::unsupported,
                         [&] { estoc::plan(GemmArguments(view, view, out, Dtype::f32)); }),
              HasSubstr("no kernel supports the arguments; cpu_gemm: A.dtype: expected"));
}

/// Tensors of the numbers 1, 2, 3, ... times a factor, and what is written.
struct Vectors {
  explicit Vectors(float factor, std::size_t size = 12) : a(size), b(size, factor), out(size) {
    for (std::size_t i = 0; i < size; ++i)
      a[i] = factor * static_cast<float>(i + 1);
  }

  static TensorView view(std::vector<float>& values) {
    return TensorView::row_major(values.data(), Dtype::f32,
                                 {static_cast<std::int64_t>(values.size())});
  }
  ElementwiseArguments sum() { return {ElementwiseOp::add, view(a), view(b), view(out)}; }
  void expect_sum() const {
    for (std::size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(out[i], a[i] + b[i]) << i;
  }

  std::vector<float> a;
  std::vector<float> b;
  std::vector<float> out;
};

TEST(Plan, OfAnElementwiseOperation) {
  Vectors first(1);
  Vectors second(2);
  Vectors longer(3, 40);
  Plan plan = estoc::plan(first.sum());
  plan.run();
  first.expect_sum();
  for (int round = 0; round < 12; ++round) {
    for (Vectors* each : {&second, &first}) {
      each->out.assign(each->out.size(), 77.0F);
      const void* const operands[] = {each->a.data(), each->b.data(), each->out.data()};
      plan.rebind(operands);
      for (int launch = 0; launch <= round; ++launch)
        plan.run();
      each->expect_sum();
    }
    plan.rebind(longer.sum());
    plan.run();
    longer.expect_sum();
    plan.rebind(first.sum());
  }
}

TEST(Plan, TakesOneAddressForEachOperand) {
  Vectors values(-1);
  const ElementwiseArguments arguments(ElementwiseOp::relu, Vectors::view(values.a),
                                       Vectors::view(values.out));
  Plan plan = estoc::plan(arguments);
  float* const a = values.a.data();
  EXPECT_THAT(message_of(ErrorKind::value, [&] { plan.rebind(a, a, values.out.data()); }),
              HasSubstr("operands: expected 2 addresses, got 3"));
  const void* const overlapping[] = {a, a + 1};
  EXPECT_THAT(message_of(ErrorKind::value, [&] { plan.rebind(overlapping); }), HasSubstr("out"));
  const void* const reversed[] = {values.b.data(), a};
  plan.rebind(reversed);
  plan.run();
  EXPECT_EQ(values.a[3], 0);
  EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { plan.rebind(values.sum()); }),
              HasSubstr("op: expected"));
  Operands product(1);
  EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { plan.rebind(product.arguments()); }),
              HasSubstr("operation: expected elementwise"));
}

}  // namespace
}  // namespace estoc::run_test
