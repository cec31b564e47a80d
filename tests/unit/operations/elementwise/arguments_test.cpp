// ElementwiseArguments: broadcasting, work in place, and the checks.
#include "estoc/arguments.hpp"
#include "support.h"

namespace estoc::test {
namespace {

TensorView at(std::uintptr_t address, const Extents& shape) {
  return TensorView::row_major(at_address(address), Dtype::f32, shape);
}

std::string complaint(const TensorView& a, const TensorView& b, const TensorView& out) {
  const auto error = error_of([&] { ElementwiseArguments(ElementwiseOp::add, a, b, out); });
  return error ? error->what() : "";
}

TEST(ElementwiseOp, HasNames) {
  EXPECT_EQ(elementwise_op_name(ElementwiseOp::add), "add");
  EXPECT_EQ(elementwise_op_name(ElementwiseOp::tanh), "tanh");
  for (int op = 0; op <= static_cast<int>(ElementwiseOp::tanh); ++op) {
    const auto value = static_cast<ElementwiseOp>(op);
    EXPECT_EQ(parse_elementwise_op(elementwise_op_name(value)), value);
  }
  EXPECT_EQ(parse_elementwise_op("plus"), std::nullopt);
  EXPECT_TRUE(is_binary(ElementwiseOp::minimum));
  EXPECT_FALSE(is_binary(ElementwiseOp::identity));
}

TEST(ElementwiseArguments, ExpandsItsInputs) {
  const ElementwiseArguments arguments(ElementwiseOp::add, at(1 << 20, {3, 1}),
                                       at(2 << 20, {2, 1, 4}), at(3 << 20, {2, 3, 4}));
  EXPECT_EQ(arguments.op(), ElementwiseOp::add);
  EXPECT_THAT(arguments.a().shape(), testing::ElementsAre(2, 3, 4));
  EXPECT_THAT(arguments.a().strides(), testing::ElementsAre(0, 1, 0));
  EXPECT_THAT(arguments.b().strides(), testing::ElementsAre(4, 0, 1));
  EXPECT_EQ(arguments.a().data(), at_address(1 << 20));
  EXPECT_TRUE(arguments.has_data());
  EXPECT_EQ(arguments.operation(), Operation::elementwise);
}

TEST(ElementwiseArguments, HasTheSameInputTwiceWhenUnary) {
  const ElementwiseArguments arguments(ElementwiseOp::relu, at(1 << 20, {4}), at(2 << 20, {4}));
  EXPECT_EQ(arguments.b().data(), arguments.a().data());
}

TEST(ElementwiseArguments, KeepsDescribedInputsDescribed) {
  const TensorView a =
      TensorView::describe(Dtype::f32, Extents{1, 64}, Extents{64, 1}, Device::cpu(), 8);
  const ElementwiseArguments arguments(ElementwiseOp::relu, a, at(1 << 20, {4, 64}));
  EXPECT_FALSE(arguments.has_data());
  EXPECT_TRUE(arguments.a().described());
  EXPECT_EQ(arguments.a().alignment(), 8);
}

TEST(ElementwiseArguments, TakesEmptyAndScalarTensors) {
  EXPECT_EQ(complaint(at(1 << 20, {0}), at(2 << 20, {1}), at(3 << 20, {0})), "");
  EXPECT_EQ(complaint(at(1 << 20, {}), at(2 << 20, {}), at(3 << 20, {})), "");
}

TEST(ElementwiseArguments, RefusesShapesThatDoNotBroadcast) {
  EXPECT_EQ(complaint(at(1 << 20, {3}), at(2 << 20, {2, 4}), at(3 << 20, {2, 4})),
            "A.shape: expected (2, 4) or extents of 1, got (3)");
  EXPECT_EQ(complaint(at(1 << 20, {4}), at(2 << 20, {1, 2, 4}), at(3 << 20, {2, 4})),
            "B.shape: expected at most the 2 modes of out, got 3");
}

TEST(ElementwiseArguments, RefusesTheWrongNumberOfOperands) {
  const TensorView a = at(1 << 20, {4});
  const TensorView out = at(2 << 20, {4});
  expect_error([&] { ElementwiseArguments(ElementwiseOp::add, a, out); },
               "op: expected an operation of one operand, got add");
  expect_error([&] { ElementwiseArguments(ElementwiseOp::relu, a, a, out); },
               "op: expected an operation of two operands, got relu");
}

TEST(ElementwiseArguments, WorksInPlace) {
  const TensorView out = at(1 << 20, {4, 4});
  EXPECT_EQ(complaint(out, at(2 << 20, {4, 4}), out), "");
  EXPECT_EQ(complaint(out, out, out), "");
  // The stride of a mode with one element says nothing.
  const TensorView row(at_address(1 << 20), Dtype::f32, {1, 4}, {4, 1});
  const TensorView same_row(at_address(1 << 20), Dtype::f32, {1, 4}, {100, 1});
  EXPECT_EQ(complaint(row, row, same_row), "");
}

TEST(ElementwiseArguments, RefusesViewsThatOverlapWithoutBeingTheSame) {
  const std::string expected = "out: expected memory apart from A's, got elements that coincide";
  const TensorView out = at(1 << 20, {4, 4});
  EXPECT_EQ(complaint(out.transposed(), out, out), expected);
  EXPECT_EQ(complaint(at((1 << 20) + 4, {4, 4}), out, out), expected);
  EXPECT_EQ(complaint(at(1 << 20, {4}), out, out), expected);
  EXPECT_EQ(complaint(out.with_dtype(Dtype::i32), out, out), expected);
}

TEST(ElementwiseArguments, RefusesAnOutputOnTopOfItself) {
  const TensorView out(at_address(1 << 20), Dtype::f32, {4, 4}, {1, 1});
  EXPECT_EQ(complaint(at(2 << 20, {4, 4}), at(3 << 20, {4, 4}), out),
            "out.strides: expected elements that do not coincide, got extents (4, 4) with strides "
            "(1, 1)");
}

TEST(ElementwiseArguments, RefusesOtherDevicesAndPointers) {
  const Extents shape{4};
  const Extents strides{1};
  const TensorView host = TensorView::describe(Dtype::f32, shape, strides);
  const TensorView device = TensorView::describe(Dtype::f32, shape, strides, Device::cuda(0));
  EXPECT_EQ(complaint(device, host, device), "B.device: expected cuda:0 like A, got cpu");
  EXPECT_EQ(complaint(device, device, host), "out.device: expected cuda:0 like A, got cpu");
  const TensorView lying(at_address(4096), Dtype::f32, {4}, {1}, Device::cuda(0));
  EXPECT_EQ(complaint(device, device, lying),
            "out.data: expected memory of cuda:0, got a host pointer");
}

}  // namespace
}  // namespace estoc::test
