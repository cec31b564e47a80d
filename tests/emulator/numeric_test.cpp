// Whole numbers as narrow floats: one rounding, whatever is between.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "emulator/conversions.h"
#include "emulator/runtime.h"

#include <estoc/numeric.cuh>

namespace estoc {
namespace {

/// The bits of the nearest number of so many digits, ties to even; infinity beyond `largest`.
u32 nearest(i32 value, int digits, double largest, bool is_bf16) {
  const auto exact = static_cast<double>(value);
  double rounded = exact;
  if (value != 0) {
    const double unit = std::ldexp(1.0, std::max(std::ilogb(exact) - digits + 1, 0));
    rounded = std::nearbyint(exact / unit) * unit;
  }
  if (std::fabs(rounded) > largest) rounded = std::copysign(HUGE_VAL, exact);
  const auto single = static_cast<float>(rounded);
  return is_bf16 ? emulator::float_to_bfloat(single) : emulator::float_to_half(single);
}

void expect_nearest(i32 value) {
  const u32 bf16 = nearest(value, 8, 3.4e38, true);
  const u32 f16 = nearest(value, 11, 65504, false);
  ASSERT_EQ(encode<Type::bf16>(value), bf16) << value;
  ASSERT_EQ(encode<Type::f16>(value), f16) << value;
  ASSERT_EQ((std::bit_cast<u32>(encode_pair<Type::bf16>(value, 3))), bf16 | 0x4040U << 16) << value;
  ASSERT_EQ((std::bit_cast<u32>(encode_pair<Type::f16>(3, value))), f16 << 16 | 0x4200U) << value;
}

TEST(WholeNumbers, AreRoundedOnceToNarrowFloats) {
  for (i32 value = -70000; value <= 70000; ++value)
    expect_nearest(value);
  // Halfway between two numbers of bf16, and next to that.
  for (int exponent = 8; exponent < 31; ++exponent) {
    for (i32 mantissa = 128; mantissa < 256; ++mantissa) {
      const std::int64_t middle = (std::int64_t{2} * mantissa + 1) << (exponent - 8);
      for (std::int64_t near = middle - 2; near <= middle + 2; ++near) {
        if (near > std::numeric_limits<i32>::max()) continue;
        expect_nearest(static_cast<i32>(near));
        expect_nearest(static_cast<i32>(-near));
      }
    }
  }
  expect_nearest(std::numeric_limits<i32>::max());
  expect_nearest(std::numeric_limits<i32>::min());
  std::mt19937 random(5);
  for (int i = 0; i < 200000; ++i)
    expect_nearest(static_cast<i32>(random()));
}

}  // namespace
}  // namespace estoc
