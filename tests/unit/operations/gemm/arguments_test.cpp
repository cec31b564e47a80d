// GemmArguments: extents and matrix views, and every check in the order it is made.
#include <limits>

#include "estoc/arguments.hpp"
#include "support.h"

namespace estoc::test {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

/// Row-major and without data.
TensorView tensor(const Extents& shape, Dtype dtype = Dtype::f32, Device device = Device::cpu()) {
  Extents strides(shape.size(), 1);
  for (std::size_t mode = shape.size(); mode-- > 1;)
    strides[mode - 1] = strides[mode] * shape[mode];
  return TensorView::describe(dtype, shape, strides, device);
}

TensorView at(std::uintptr_t address, const Extents& shape, Device device = Device::cpu()) {
  return TensorView::row_major(at_address(address), Dtype::f32, shape, device);
}

GemmArguments gemm(const TensorView& a, const TensorView& b, const TensorView& out,
                   Dtype accumulator = Dtype::f32) {
  return {a, b, out, accumulator};
}

std::string complaint(const TensorView& a, const TensorView& b, const TensorView& out) {
  const auto error = error_of([&] { gemm(a, b, out); });
  return error ? error->what() : "";
}

TEST(Operation, HasNames) {
  EXPECT_EQ(operation_name(Operation::gemm), "gemm");
  EXPECT_EQ(parse_operation("elementwise"), Operation::elementwise);
  EXPECT_EQ(parse_operation("Gemm"), std::nullopt);
}

TEST(GemmArguments, FindsItsExtents) {
  const GemmArguments two = gemm(tensor({5, 7}), tensor({7, 3}), tensor({5, 3}));
  EXPECT_EQ(two.extents(), (GemmExtents{5, 3, 7, 1}));
  const GemmArguments three = gemm(tensor({2, 5, 7}), tensor({2, 7, 3}), tensor({2, 5, 3}));
  EXPECT_EQ(three.extents(), (GemmExtents{5, 3, 7, 2}));
  EXPECT_EQ(three.operation(), Operation::gemm);
  EXPECT_EQ(three.accumulator_type(), Dtype::f32);
}

TEST(GemmArguments, MakesTheBatchModeExplicit) {
  const TensorView a = TensorView::column_major(at_address(1 << 20), Dtype::bf16, {4, 5, 7});
  const TensorView b = TensorView::row_major(at_address(2 << 20), Dtype::bf16, {7, 3});
  const TensorView out = TensorView::row_major(at_address(3 << 20), Dtype::bf16, {4, 5, 3});
  const GemmArguments arguments = gemm(a, b, out);
  const MatrixView& left = arguments.a_matrix();
  EXPECT_EQ(left.data, a.data());
  EXPECT_EQ(left.dtype, Dtype::bf16);
  EXPECT_EQ(left.rows, 5);
  EXPECT_EQ(left.columns, 7);
  EXPECT_EQ(left.batches, 4);
  EXPECT_EQ(left.row_stride, 1);
  EXPECT_EQ(left.column_stride, 5);
  EXPECT_EQ(left.batch_stride, 35);
  EXPECT_EQ(left.alignment, a.alignment());
  EXPECT_TRUE(left.is_column_major());
  EXPECT_FALSE(left.is_row_major());
  const MatrixView& right = arguments.b_matrix();
  EXPECT_EQ(right.batches, 4);
  EXPECT_EQ(right.batch_stride, 0);
  EXPECT_EQ(right.rows, 7);
  EXPECT_TRUE(right.is_row_major());
  EXPECT_EQ(arguments.out_matrix().batch_stride, 15);
}

TEST(GemmArguments, RepeatsABatchOfOne) {
  const GemmArguments arguments =
      gemm(tensor({1, 5, 7}), tensor({7, 3}), TensorView(tensor({4, 5, 3})));
  EXPECT_EQ(arguments.extents().l, 4);
  EXPECT_EQ(arguments.a_matrix().batches, 4);
  EXPECT_EQ(arguments.a_matrix().batch_stride, 0);
}

TEST(GemmArguments, KnowsWhetherThereIsData) {
  const TensorView a = at(1 << 20, {4, 4});
  const TensorView b = at(2 << 20, {4, 4});
  const TensorView out = at(3 << 20, {4, 4});
  EXPECT_TRUE(gemm(a, b, out).has_data());
  EXPECT_FALSE(gemm(tensor({4, 4}), b, out).has_data());
  EXPECT_FALSE(gemm(a, b, tensor({4, 4})).has_data());
  // Operands without elements need no memory.
  EXPECT_TRUE(gemm(tensor({4, 0}), tensor({0, 4}), out).has_data());
}

TEST(GemmArguments, TakesExtentsOfZero) {
  EXPECT_EQ(complaint(tensor({0, 7}), tensor({7, 3}), tensor({0, 3})), "");
  EXPECT_EQ(complaint(tensor({5, 7}), tensor({7, 0}), tensor({5, 0})), "");
  EXPECT_EQ(complaint(tensor({5, 0}), tensor({0, 3}), tensor({5, 3})), "");
  EXPECT_EQ(complaint(tensor({0, 5, 7}), tensor({0, 7, 3}), tensor({0, 5, 3})), "");
}

TEST(GemmArguments, CarriesControlsAndEpilogue) {
  PerformanceControls controls;
  controls.allow_tf32 = true;
  controls.workspace_limit = 5;
  const GemmArguments arguments(tensor({4, 4}), tensor({4, 4}), tensor({4, 4}), Dtype::f16,
                                controls, EpilogueArguments("D = relu(accum)"));
  EXPECT_EQ(arguments.controls(), controls);
  EXPECT_EQ(arguments.epilogue().text(), "D = relu(accum)");
}

TEST(GemmArguments, RefusesWrongRanks) {
  EXPECT_EQ(complaint(tensor({7}), tensor({7, 3}), tensor({5, 3})),
            "A.shape: expected 2 or 3 modes, got 1");
  EXPECT_EQ(complaint(tensor({5, 7}), tensor({1, 1, 7, 3}), tensor({5, 3})),
            "B.shape: expected 2 or 3 modes, got 4");
  EXPECT_EQ(complaint(tensor({5, 7}), tensor({7, 3}), tensor({})),
            "out.shape: expected 2 or 3 modes, got 0");
  EXPECT_EQ(complaint(tensor({1, 5, 7}), tensor({7, 3}), tensor({5, 3})),
            "A.shape: expected 2 modes like out, got 3");
}

TEST(GemmArguments, RefusesExtentsThatDiffer) {
  EXPECT_EQ(complaint(tensor({5, 96}), tensor({32, 3}), tensor({5, 3})),
            "B.shape: expected K = 96, got 32");
  EXPECT_EQ(complaint(tensor({5, 7}), tensor({7, 3}), tensor({6, 3})),
            "out.shape: expected M = 5, got 6");
  EXPECT_EQ(complaint(tensor({5, 7}), tensor({7, 3}), tensor({5, 4})),
            "out.shape: expected N = 3, got 4");
  EXPECT_EQ(complaint(tensor({3, 5, 7}), tensor({7, 3}), tensor({4, 5, 3})),
            "A.shape: expected L = 4 or 1, got 3");
  EXPECT_EQ(complaint(tensor({5, 7}), tensor({2, 7, 3}), tensor({1, 5, 3})),
            "B.shape: expected L = 1, got 2");
}

TEST(GemmArguments, RefusesMoreWorkThan63Bits) {
  const std::int64_t large = std::int64_t{1} << 22;
  const auto wide = [](std::int64_t rows, std::int64_t columns) {
    return TensorView::describe(Dtype::i8, Extents{rows, columns}, Extents{columns, 1});
  };
  EXPECT_EQ(complaint(wide(large, large), wide(large, large), wide(large, large)),
            "M * N * K * L: expected at most 2^63 - 1, got 4194304 * 4194304 * 4194304 * 1");
  EXPECT_EQ(complaint(wide(large, large), wide(large, large / 16), wide(large, large / 16)), "");
  // Without elements there is no work, whatever the other extents.
  EXPECT_EQ(complaint(wide(0, kMax),
                      TensorView::describe(Dtype::i8, Extents{kMax, 1}, Extents{1, 1}), wide(0, 1)),
            "");
}

TEST(GemmArguments, RefusesPackedRowsThatShareAByte) {
  const TensorView b = tensor({6, 4}, Dtype::i8);
  const TensorView out = tensor({4, 4}, Dtype::i32);
  EXPECT_EQ(complaint(tensor({4, 6}, Dtype::i4), b, out), "");
  EXPECT_EQ(complaint(tensor({4, 5}, Dtype::i4), tensor({5, 4}, Dtype::i8), out),
            "A.shape: expected an even extent in the contiguous mode of packed i4, got 5");
  EXPECT_EQ(complaint(tensor({4, 1}, Dtype::i4), tensor({1, 4}, Dtype::i8), out), "");
}

TEST(GemmArguments, RefusesOtherAccumulators) {
  const auto with = [](Dtype accumulator) {
    return error_of([&] { gemm(tensor({4, 4}), tensor({4, 4}), tensor({4, 4}), accumulator); });
  };
  for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::i32}) {
    EXPECT_FALSE(with(dtype)) << dtype_name(dtype);
  }
  const auto error = with(Dtype::bf16);
  ASSERT_TRUE(error);
  EXPECT_STREQ(error->what(), "accumulator_type: expected f64, f32, f16 or i32, got bf16");
  EXPECT_EQ(error->kind(), ErrorKind::type);
}

TEST(GemmArguments, RefusesOperandsOnSeveralDevices) {
  const Device cuda = Device::cuda(0);
  EXPECT_EQ(complaint(tensor({4, 4}, Dtype::f32, cuda), tensor({4, 4}), tensor({4, 4})),
            "B.device: expected cuda:0 like A, got cpu");
  EXPECT_EQ(complaint(tensor({4, 4}), tensor({4, 4}), tensor({4, 4}, Dtype::f32, cuda)),
            "out.device: expected cpu like A, got cuda:0");
  EXPECT_EQ(gemm(tensor({4, 4}, Dtype::f32, cuda), tensor({4, 4}, Dtype::f32, cuda),
                 tensor({4, 4}, Dtype::f32, cuda))
                .device(),
            cuda);
}

TEST(GemmArguments, RefusesPointersOfAnotherDevice) {
  const Device cuda = Device::cuda(0);
  const TensorView a = at(kDeviceMemory, {4, 4}, cuda);
  const TensorView b = at(kDeviceMemory + 4096, {4, 4}, cuda);
  const TensorView out = at(kDeviceMemory + 8192, {4, 4}, cuda);
  EXPECT_EQ(complaint(a, b, out), "");
  EXPECT_EQ(complaint(a, at(4096, {4, 4}, cuda), out),
            "B.data: expected memory of cuda:0, got a host pointer");
  const Device other = Device::cuda(1);
  EXPECT_EQ(complaint(at(kDeviceMemory, {4, 4}, other), at(kDeviceMemory + 4096, {4, 4}, other),
                      at(kDeviceMemory + 8192, {4, 4}, other)),
            "A.data: expected memory of cuda:1, got memory of cuda:0");
}

TEST(GemmArguments, RefusesAnOutputOnTopOfAnInput) {
  const TensorView a = at(4096, {4, 4});
  const TensorView b = at(8192, {4, 4});
  EXPECT_EQ(complaint(a, b, at(4096 + 64, {4, 4})), "");
  EXPECT_EQ(complaint(a, b, at(4096 + 60, {4, 4})),
            "out: expected memory apart from A's, got elements that coincide");
  EXPECT_EQ(complaint(a, b, at(8192, {4, 4})),
            "out: expected memory apart from B's, got elements that coincide");
  // Inputs may coincide.
  EXPECT_EQ(complaint(a, a, b), "");
}

TEST(GemmArguments, AcceptsInterleavedColumns) {
  const TensorView odd(at_address(4096 + 4), Dtype::f32, {8, 8}, {16, 2});
  const TensorView even(at_address(4096), Dtype::f32, {8, 8}, {16, 2});
  const TensorView b = at(1 << 20, {8, 8});
  EXPECT_EQ(complaint(odd, b, even), "");
  const TensorView shifted(at_address(4096 + 8), Dtype::f32, {8, 7}, {16, 2});
  EXPECT_EQ(complaint(shifted, at(1 << 20, {7, 8}), even),
            "out: expected memory apart from A's, got elements that coincide");
}

TEST(GemmArguments, RefusesAnOutputOnTopOfItself) {
  const TensorView a = tensor({4, 4});
  const auto out = [](std::int64_t row, std::int64_t column) {
    return TensorView::describe(Dtype::f32, Extents{4, 4}, Extents{row, column});
  };
  EXPECT_EQ(complaint(a, a, out(0, 1)),
            "out.strides: expected elements that do not coincide, got extents (4, 4) with strides "
            "(0, 1)");
  EXPECT_NE(complaint(a, a, out(3, 1)), "");
  EXPECT_NE(complaint(a, a, out(2, 2)), "");
  EXPECT_EQ(complaint(a, a, out(4, 1)), "");
  EXPECT_EQ(complaint(a, a, out(1, 4)), "");
  EXPECT_EQ(complaint(a, a, out(4, 5)), "");  // not nested, yet all different
  EXPECT_EQ(complaint(a, a, TensorView::describe(Dtype::f32, Extents{4, 4}, Extents{4, 3})), "");
}

TEST(GemmArguments, SaysWhatItCannotDecide) {
  // Whether some x, y, z give a sum of 0 takes about 2^20 attempts to find out.
  const std::int64_t m = 1 << 20;
  const TensorView out = TensorView::describe(Dtype::i8, Extents{m, m, m},
                                              Extents{1000000000039, 1618033988749, 2718281828459});
  const TensorView a = TensorView::describe(Dtype::i8, Extents{m, 1}, Extents{1, 1});
  const TensorView b = TensorView::describe(Dtype::i8, Extents{1, m}, Extents{1, 1});
  const auto error = error_of([&] { gemm(a, b, out); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), testing::HasSubstr("could not be decided within"));
}

void expect_alike(const MatrixView& one, const MatrixView& other) {
  EXPECT_EQ(one.data, other.data);
  EXPECT_EQ(one.dtype, other.dtype);
  EXPECT_EQ(one.rows, other.rows);
  EXPECT_EQ(one.columns, other.columns);
  EXPECT_EQ(one.batches, other.batches);
  EXPECT_EQ(one.row_stride, other.row_stride);
  EXPECT_EQ(one.column_stride, other.column_stride);
  EXPECT_EQ(one.batch_stride, other.batch_stride);
  EXPECT_EQ(one.alignment, other.alignment);
}

TEST(GemmArguments, CanBeMovedToOtherMemory) {
  const GemmArguments here =
      gemm(at(1 << 20, {2, 4, 8}), at(2 << 20, {1, 8, 6}), at(3 << 20, {2, 4, 6}));
  const GemmArguments wanted =
      gemm(at((4 << 20) + 4, {2, 4, 8}), at((5 << 20) + 16, {1, 8, 6}), at(6 << 20, {2, 4, 6}));
  const GemmArguments there =
      here.moved(at_address((4 << 20) + 4), at_address((5 << 20) + 16), at_address(6 << 20));
  expect_alike(there.a_matrix(), wanted.a_matrix());
  expect_alike(there.b_matrix(), wanted.b_matrix());
  expect_alike(there.out_matrix(), wanted.out_matrix());
  EXPECT_EQ(there.a().tensor().data(), wanted.a().tensor().data());
  EXPECT_EQ(there.a().tensor().alignment(), 4);
  EXPECT_EQ(there.b().tensor().alignment(), wanted.b().tensor().alignment());
  EXPECT_EQ(there.out().data(), wanted.out().data());
  EXPECT_EQ(there.extents(), wanted.extents());
  EXPECT_TRUE(there.has_data());
  EXPECT_EQ(here.a().tensor().data(), at_address(1 << 20));
}

TEST(GemmArguments, GetDataWhereTheyAreMovedTo) {
  const GemmArguments described = gemm(tensor({4, 8}), tensor({8, 6}), tensor({4, 6}));
  ASSERT_FALSE(described.has_data());
  EXPECT_TRUE(
      described.moved(at_address(1 << 20), at_address(2 << 20), at_address(3 << 20)).has_data());
}

TEST(GemmArguments, KeepTheirEpilogueWhereTheyAreMoved) {
  const TensorView bias = at(9 << 20, {6});
  const GemmArguments here(at(1 << 20, {4, 8}), at(2 << 20, {8, 6}), at(3 << 20, {4, 6}),
                           Dtype::f32, {}, EpilogueArguments("D = accum + bias", {{"bias", bias}}));
  const GemmArguments there =
      here.moved(at_address(4 << 20), at_address(5 << 20), at_address(6 << 20));
  ASSERT_NE(there.epilogue_binding(), nullptr);
  EXPECT_EQ(there.epilogue_graph()->canonical, here.epilogue_graph()->canonical);
  EXPECT_EQ(there.out_matrix().data, at_address(6 << 20));
}

TEST(GemmArguments, RefusesToMoveWhereItWouldRefuseToBe) {
  const auto cuda = Device::cuda(0);
  const GemmArguments host = gemm(at(1 << 20, {4, 8}), at(2 << 20, {8, 6}), at(3 << 20, {4, 6}));
  const auto moved = [&](std::uintptr_t a, std::uintptr_t b, std::uintptr_t out) {
    return [=, &host] { (void)host.moved(at_address(a), at_address(b), at_address(out)); };
  };
  expect_error(moved(4 << 20, 5 << 20, (4 << 20) + 124),
               "out: expected memory apart from A's, got elements that coincide");
  expect_error(moved(4 << 20, 5 << 20, (5 << 20) + 4),
               "out: expected memory apart from B's, got elements that coincide");
  expect_error(moved(4 << 20, 5 << 20, 0),
               "out.data: expected memory for 24 elements, got a null pointer");
  expect_error(moved(4 << 20, (5 << 20) + 2, 6 << 20),
               "B.data: expected an address that is a multiple of 4 bytes (f32), got 0x500002");
  expect_error(moved(~std::uintptr_t{63}, 5 << 20, 6 << 20),
               "A.shape: expected at most 63 bytes after the address 0xffffffffffffffc0, got 128");
  const GemmArguments device =
      gemm(at(kDeviceMemory, {4, 8}, cuda), at(kDeviceMemory + 4096, {8, 6}, cuda),
           at(kDeviceMemory + 8192, {4, 6}, cuda));
  expect_error(
      [&] {
        (void)device.moved(at_address(kDeviceMemory), at_address(4096),
                           at_address(kDeviceMemory + 8192));
      },
      "B.data: expected memory of cuda:0, got a host pointer");
  EXPECT_NO_THROW((void)device.moved(at_address(kDeviceMemory), at_address(4096),
                                     at_address(kDeviceMemory + 8192),
                                     GemmArguments::CheckDevice::no))
      << "whose caller knows";
}

TEST(GemmArguments, CanBeCopied) {
  GemmArguments first = gemm(tensor({5, 7}), tensor({7, 3}), tensor({5, 3}));
  const GemmArguments copy = first;
  first = gemm(tensor({1, 2}), tensor({2, 3}), tensor({1, 3}));
  EXPECT_EQ(copy.extents(), (GemmExtents{5, 3, 7, 1}));
  EXPECT_EQ(first.extents(), (GemmExtents{1, 3, 2, 1}));
}

}  // namespace
}  // namespace estoc::test
