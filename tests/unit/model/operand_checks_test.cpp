// The checks that operations share, and what they say of operands that fail them.
#include "model/operand_checks.h"

#include "support.h"

namespace estoc::model {
namespace {

using test::at_address;
using test::expect_error;
using test::Extents;

TensorView view_of(Dtype dtype, const Extents& shape, const Extents& strides,
                   Device device = Device::cpu(), std::uintptr_t address = 0x10000) {
  return {at_address(address), dtype, shape, strides, device};
}

TensorView described(Dtype dtype, const Extents& shape, const Extents& strides,
                     Device device = Device::cpu()) {
  return TensorView::describe(dtype, shape, strides, device);
}

TEST(CheckPacked, WantsAnEvenExtentWhereElementsShareBytes) {
  const auto check = [](const TensorView& view) { check_packed({&view, "B"}); };
  check(view_of(Dtype::e2m1, {3, 8}, {8, 1}));
  check(view_of(Dtype::f32, {3, 7}, {7, 1}));
  check(view_of(Dtype::e2m1, {8, 1}, {1, 1}));
  expect_error(
      [&] {
        check(described(Dtype::e2m1, {3, 7}, {8, 1}));
      },
      "B.shape: expected an even extent in the contiguous mode of packed e2m1, got 7");
  expect_error(
      [&] {
        check(described(Dtype::i4, {5, 2}, {1, 6}));
      },
      "B.shape: expected an even extent in the contiguous mode of packed i4, got 5");
}

TEST(CheckDevice, NamesBothOperands) {
  const TensorView host = view_of(Dtype::f32, {2}, {1});
  const TensorView other = described(Dtype::f32, {2}, {1}, Device::cuda(1));
  check_device({&host, "A"}, {&host, "B"});
  expect_error(
      [&] {
        check_device({&other, "B"}, {&host, "A"});
      },
      "B.device: expected cpu like A, got cuda:1");
}

TEST(CheckPointer, LooksAtMemoryOfDevicesAlone) {
  const auto check = [](const TensorView& view) { check_pointer({&view, "A"}); };
  check(view_of(Dtype::f32, {2}, {1}, Device::cpu(), 0x1000));
  check(described(Dtype::f32, {2}, {1}, Device::cuda(0)));
  check(view_of(Dtype::f32, {2}, {1}, Device::cuda(0), test::kDeviceMemory));
  check(view_of(Dtype::f32, {0}, {1}, Device::cuda(0), 0x1000));
  const auto error =
      test::error_of([&] { check(view_of(Dtype::f32, {2}, {1}, Device::cuda(0), 0x1000)); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), testing::StartsWith("A.data: "));
}

TEST(CheckSelfOverlap, SaysWhichStridesCoincide) {
  const TensorView apart = view_of(Dtype::f32, {2, 3}, {3, 1});
  check_self_overlap({&apart, "out"});
  const TensorView repeated = view_of(Dtype::f32, {2, 3}, {0, 1});
  expect_error(
      [&] {
        check_self_overlap({&repeated, "out"});
      },
      "out.strides: expected elements that do not coincide, got extents (2, 3) with "
      "strides (0, 1)");
}

TEST(CheckOverlap, OfTwoOperands) {
  const TensorView out = view_of(Dtype::f32, {4}, {1}, Device::cpu(), 0x10000);
  const TensorView behind = view_of(Dtype::f32, {4}, {1}, Device::cpu(), 0x10010);
  const TensorView between = view_of(Dtype::f32, {4}, {1}, Device::cpu(), 0x1000c);
  check_overlap({&out, "out"}, {&behind, "B"});
  expect_error(
      [&] {
        check_overlap({&out, "out"}, {&between, "B"});
      },
      "out: expected memory apart from B's, got elements that coincide");
}

TEST(FailOverlap, SaysWhenItCouldNotBeDecided) {
  const TensorView out = view_of(Dtype::f32, {2, 3}, {5, 7});
  const auto alone = test::error_of([&] { fail_overlap({&out, "out"}, Overlap::undecided); });
  ASSERT_TRUE(alone);
  EXPECT_THAT(alone->what(), testing::HasSubstr("could not be decided within"));
  EXPECT_THAT(alone->what(), testing::EndsWith("for extents (2, 3) and strides (5, 7)"));
  const auto both = test::error_of([&] {
    fail_overlap({&out, "out"}, {&out, "A"}, Overlap::undecided);
  });
  ASSERT_TRUE(both);
  EXPECT_THAT(both->what(), testing::StartsWith("out: expected memory apart from A's, but"));
}

}  // namespace
}  // namespace estoc::model
