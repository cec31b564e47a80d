// TensorView: what it accepts, what it derives, and how it words what it refuses.
#include "estoc/tensor.hpp"

#include <limits>

#include "support.h"

namespace estoc::test {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TensorView view(const Extents& shape, const Extents& strides, Dtype dtype = Dtype::f32,
                std::uintptr_t address = 4096) {
  return {at_address(address), dtype, shape, strides, Device::cpu(), "A"};
}

TEST(TensorView, IsEmptyByDefault) {
  const TensorView empty;
  EXPECT_EQ(empty.rank(), 0);
  EXPECT_EQ(empty.data(), nullptr);
  EXPECT_FALSE(empty.described());
  EXPECT_EQ(empty.span_bytes(), 0);
}

TEST(TensorView, KeepsWhatItWasGiven) {
  const TensorView a = view({2, 3, 4}, {100, 1, 3}, Dtype::bf16);
  EXPECT_EQ(a.rank(), 3);
  EXPECT_THAT(a.shape(), testing::ElementsAre(2, 3, 4));
  EXPECT_THAT(a.strides(), testing::ElementsAre(100, 1, 3));
  EXPECT_EQ(a.dtype(), Dtype::bf16);
  EXPECT_EQ(a.data(), at_address(4096));
  EXPECT_EQ(a.elements(), 24);
  EXPECT_EQ(a.span_bytes(), (100 + 2 + 9 + 1) * 2);
  EXPECT_EQ(a.to_string(), "bf16 (2, 3, 4) strides (100, 1, 3) on cpu");
}

TEST(TensorView, HasOneElementWithoutModes) {
  const TensorView scalar = view({}, {}, Dtype::f64);
  EXPECT_EQ(scalar.elements(), 1);
  EXPECT_EQ(scalar.span_bytes(), 8);
  EXPECT_EQ(scalar.to_string(), "f64 () strides () on cpu");
}

TEST(TensorView, MeasuresPackedTypesInHalfBytes) {
  EXPECT_EQ(view({3}, {1}, Dtype::i4).span_bytes(), 2);
  EXPECT_EQ(view({4}, {1}, Dtype::e2m1).span_bytes(), 2);
  EXPECT_EQ(view({2, 4}, {8, 1}, Dtype::u4).span_bytes(), 6);
}

TEST(TensorView, TakesEmptyTensorsWithoutMemory) {
  const TensorView empty(nullptr, Dtype::f32, {0, 4}, {4, 1});
  EXPECT_EQ(empty.elements(), 0);
  EXPECT_EQ(empty.span_bytes(), 0);
  EXPECT_FALSE(empty.described());
  EXPECT_NO_THROW(TensorView(nullptr, Dtype::f64, {0, kMax, kMax}, {kMax, kMax, 1}));
}

TEST(TensorView, MakesContiguousStrides) {
  void* data = at_address(64);
  EXPECT_THAT(TensorView::row_major(data, Dtype::f32, {2, 3, 4}).strides(),
              testing::ElementsAre(12, 4, 1));
  EXPECT_THAT(TensorView::column_major(data, Dtype::f32, {2, 3, 4}).strides(),
              testing::ElementsAre(12, 1, 3));
  EXPECT_THAT(TensorView::column_major(data, Dtype::f32, {5}).strides(), testing::ElementsAre(1));
  EXPECT_THAT(TensorView::row_major(nullptr, Dtype::f32, {2, 0, 4}).strides(),
              testing::ElementsAre(4, 4, 1));
}

TEST(TensorView, RefusesStridesOfAnotherRank) {
  expect_error(
      [] {
        view({2, 3}, {6, 3, 1});
      },
      "A.strides: expected 2 strides (one for each mode), got 3");
  expect_error(
      [] {
        view({2, 3}, {1});
      },
      "A.strides: expected 2 strides (one for each mode), got 1");
}

TEST(TensorView, RefusesTooManyModes) {
  const Extents seven(7, 1);
  expect_error([&] { view(seven, seven); }, "A.shape: expected at most 6 modes, got 7");
  expect_error([&] { TensorView::row_major(at_address(64), Dtype::f32, seven); },
               "tensor.shape: expected at most 6 modes, got 7");
}

TEST(TensorView, RefusesNegativeExtentsAndStrides) {
  expect_error(
      [] {
        view({2, -3}, {3, 1});
      },
      "A.shape: expected extents of 0 or more, got (2, -3)");
  expect_error(
      [] {
        view({2, 3}, {-3, 1});
      },
      "A.strides: expected strides of 0 or more, got (-3, 1)");
  expect_error(
      [] {
        TensorView::row_major(at_address(64), Dtype::f32, {4, -1});
      },
      "tensor.shape: expected extents of 0 or more, got (4, -1)");
}

TEST(TensorView, RefusesWhatDoesNotFit63Bits) {
  expect_error([] { view({kMax}, {1}); },
               "A.shape: expected at most 2^63 - 1 bytes, got extents (9223372036854775807) with "
               "strides (1)");
  expect_error(
      [] {
        view({3, 3}, {kMax / 2, kMax / 2}, Dtype::i8);
      },
      "A.shape: expected at most 2^63 - 1 bytes, got extents (3, 3) with strides "
      "(4611686018427387903, 4611686018427387903)");
  // The memory is one element, but their number is not an int64.
  EXPECT_TRUE(error_of([] { view({kMax, 2}, {0, 0}); }));
  EXPECT_TRUE(error_of([] { TensorView::row_major(at_address(64), Dtype::i8, {2, kMax, kMax}); }));
  EXPECT_TRUE(error_of([] { view({1000}, {1}, Dtype::f32, ~std::uintptr_t{0} - 1023); }));
}

TEST(TensorView, SpansUpTo63Bits) {
  EXPECT_EQ(TensorView::describe(Dtype::i8, Extents{kMax}, Extents{1}).span_bytes(), kMax);
  EXPECT_EQ(TensorView::describe(Dtype::f64, Extents{kMax / 8}, Extents{1}).span_bytes(), kMax - 7);
  EXPECT_TRUE(
      error_of([] { TensorView::describe(Dtype::f64, Extents{kMax / 8 + 1}, Extents{1}); }));
  EXPECT_EQ(TensorView::describe(Dtype::i4, Extents{kMax}, Extents{1}).span_bytes(),
            std::int64_t{1} << 62);
}

TEST(TensorView, RefusesANullPointerToElements) {
  expect_error(
      [] {
        TensorView(nullptr, Dtype::f32, {2, 3}, {3, 1});
      },
      "tensor.data: expected memory for 6 elements, got a null pointer");
}

TEST(TensorView, RefusesMisalignedPointers) {
  expect_error([] { view({2}, {1}, Dtype::f64, 4100); },
               "A.data: expected an address that is a multiple of 8 bytes (f64), got 0x1004");
  EXPECT_TRUE(error_of([] { view({2}, {1}, Dtype::bf16, 4097); }));
  EXPECT_NO_THROW(view({2}, {1}, Dtype::i8, 4097));
  EXPECT_NO_THROW(view({2}, {1}, Dtype::i4, 4097));
}

TEST(TensorView, AlignmentIsThatOfAddressAndStrides) {
  EXPECT_EQ(view({4, 4}, {4, 1}, Dtype::f32, 4096).alignment(), 16);
  EXPECT_EQ(view({4, 128}, {128, 1}, Dtype::f32, 4096).alignment(), 256);
  EXPECT_EQ(view({4, 128}, {128, 1}, Dtype::f32, 4096 + 32).alignment(), 32);
  EXPECT_EQ(view({4, 3}, {3, 1}, Dtype::f32, 4096).alignment(), 4);
  EXPECT_EQ(view({4, 3}, {3, 1}, Dtype::bf16, 4096).alignment(), 2);
  EXPECT_EQ(view({4, 4}, {6, 1}, Dtype::bf16, 4096).alignment(), 4);
  EXPECT_EQ(view({2, 8, 64}, {513, 64, 1}, Dtype::i8, 4096).alignment(), 1);
}

TEST(TensorView, AlignmentLeavesOutModesThatNobodyStepsAlong) {
  EXPECT_EQ(view({1, 64}, {3, 1}).alignment(), 256);   // one row
  EXPECT_EQ(view({64, 64}, {0, 1}).alignment(), 256);  // every row the same
  EXPECT_EQ(view({7}, {1}).alignment(), 256);          // the extent does not count
  EXPECT_EQ(view({1, 1}, {1, 5}).alignment(), 256);
}

TEST(TensorView, AlignmentOfPackedTypesIsAtLeastAByte) {
  EXPECT_EQ(view({2, 8}, {8, 1}, Dtype::i4, 4096).alignment(), 4);
  EXPECT_EQ(view({2, 8}, {9, 1}, Dtype::i4, 4096).alignment(), 1);
  EXPECT_EQ(view({2, 8}, {64, 1}, Dtype::i4, 4096).alignment(), 32);
}

TEST(TensorView, DescribesTensorsThatAreNotThere) {
  const TensorView a =
      TensorView::describe(Dtype::f32, Extents{4, 64}, Extents{64, 1}, Device::cuda(1));
  EXPECT_TRUE(a.described());
  EXPECT_EQ(a.data(), nullptr);
  EXPECT_EQ(a.alignment(), 256);
  EXPECT_EQ(a.device().name(), "cuda:1");
  EXPECT_EQ(TensorView::describe(Dtype::f32, Extents{4, 3}, Extents{3, 1}).alignment(), 4);
  EXPECT_EQ(TensorView::describe(Dtype::f32, Extents{4, 64}, Extents{64, 1}, {}, 8).alignment(), 8);
  EXPECT_FALSE(TensorView::describe(Dtype::f32, Extents{0}, Extents{1}).described());
}

TEST(TensorView, RefusesAlignmentsThatAreNone) {
  const auto describe = [](Dtype dtype, std::int64_t alignment) {
    return error_of([&] {
      TensorView::describe(dtype, Extents{4}, Extents{1}, Device::cpu(), alignment, "B");
    });
  };
  EXPECT_STREQ(describe(Dtype::f32, 3)->what(),
               "B.alignment: expected a power of two from 4 (f32) to 256 bytes, got 3");
  EXPECT_TRUE(describe(Dtype::f32, 2));
  EXPECT_TRUE(describe(Dtype::f32, 0));
  EXPECT_TRUE(describe(Dtype::f32, -16));
  EXPECT_TRUE(describe(Dtype::f32, 512));
  EXPECT_FALSE(describe(Dtype::i8, 1));
}

TEST(TensorView, CanBeSeenWithAnotherDtypeOfItsWidth) {
  EXPECT_EQ(view({2}, {1}).with_dtype(Dtype::tf32).dtype(), Dtype::tf32);
  expect_error([] { (void)view({2}, {1}).with_dtype(Dtype::f16); },
               "tensor.dtype: expected a type of 32 bits like f32, got f16", ErrorKind::type);
}

TEST(TensorView, TransposesItsLastTwoModes) {
  const TensorView a = view({2, 3, 4}, {12, 4, 1}).transposed();
  EXPECT_THAT(a.shape(), testing::ElementsAre(2, 4, 3));
  EXPECT_THAT(a.strides(), testing::ElementsAre(12, 1, 4));
  EXPECT_EQ(a.alignment(), view({2, 3, 4}, {12, 4, 1}).alignment());
  EXPECT_TRUE(error_of([] { (void)view({3}, {1}).transposed(); }));
}

}  // namespace
}  // namespace estoc::test
