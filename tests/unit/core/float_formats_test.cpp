// The fast float conversions against the conversions by way of double.
#include "core/float_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "estoc/numeric.hpp"

namespace estoc::core {
namespace {

constexpr int kRandomFloats = 10'000'000;

static_assert(f32_to_bf16(1.0F) == 0x3F80);
static_assert(f32_to_f16(65520.0F) == 0x7C00);
static_assert(f16_to_f32(0x0001) == 0x1p-24F);
static_assert(e4m3_to_f32(0x7E) == 448.0F);
static_assert(f32_to_e5m2(-1e9F) == 0xFC);
static_assert(f32_to_tf32(1.0F + 0x1p-11F) == 1.0F);
static_assert(f64_to_e8m0(1.0) == 127);

std::uint32_t bits_of(float value) {
  return __builtin_bit_cast(std::uint32_t, value);
}

/// Equal bits, or both NaN.
bool same_float(float a, float b) {
  return bits_of(a) == bits_of(b) || (std::isnan(a) && std::isnan(b));
}

template <class Code, class Decode>
void expect_decodes_as_double(Dtype dtype, Decode decode) {
  const std::uint32_t count = 1U << dtype_bits(dtype);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Code code = static_cast<Code>(i);
    const auto expected = static_cast<float>(load_element(dtype, &code, 0));
    ASSERT_TRUE(same_float(decode(code), expected)) << dtype_name(dtype) << " " << i;
  }
}

TEST(FloatFormats, FastDecodesEqualTheDoublePathForEveryCode) {
  expect_decodes_as_double<std::uint16_t>(Dtype::f16, [](auto c) { return f16_to_f32(c); });
  expect_decodes_as_double<std::uint16_t>(Dtype::bf16, [](auto c) { return bf16_to_f32(c); });
  expect_decodes_as_double<std::uint8_t>(Dtype::e4m3, [](auto c) { return e4m3_to_f32(c); });
  expect_decodes_as_double<std::uint8_t>(Dtype::e5m2, [](auto c) { return e5m2_to_f32(c); });
  expect_decodes_as_double<std::uint8_t>(Dtype::e8m0, [](auto c) { return e8m0_to_f32(c); });
  expect_decodes_as_double<std::uint8_t>(Dtype::e2m1, [](auto c) { return e2m1_to_f32(c); });
}

void expect_encodes_as_double(float value) {
  const double wide = value;
  ASSERT_EQ(f32_to_f16(value), encode<kFormat<Dtype::f16>>(wide)) << value;
  ASSERT_EQ(f32_to_bf16(value), encode<kFormat<Dtype::bf16>>(wide)) << value;
  ASSERT_EQ(f32_to_e4m3(value), encode<kFormat<Dtype::e4m3>>(wide)) << value;
  ASSERT_EQ(f32_to_e5m2(value), encode<kFormat<Dtype::e5m2>>(wide)) << value;
  ASSERT_EQ(f32_to_e2m1(value), encode<kFormat<Dtype::e2m1>>(wide)) << value;
  ASSERT_EQ(bits_of(f32_to_tf32(value)), encode<kFormat<Dtype::tf32>>(wide) << 13) << value;
}

TEST(FloatFormats, FastEncodesEqualTheDoublePathForEveryUpperHalf) {
  for (std::uint32_t upper = 0; upper < 65536; ++upper) {
    for (const std::uint32_t lower : {0x0000U, 0x0001U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
      expect_encodes_as_double(__builtin_bit_cast(float, (upper << 16) | lower));
    }
  }
}

TEST(FloatFormats, FastEncodesEqualTheDoublePathForRandomFloats) {
  std::mt19937 generator(20);
  std::uint64_t differences = 0;
  for (int i = 0; i < kRandomFloats; ++i) {
    const auto value = __builtin_bit_cast(float, static_cast<std::uint32_t>(generator()));
    const double wide = value;
    differences += f32_to_f16(value) != encode<kFormat<Dtype::f16>>(wide) ? 1U : 0U;
    differences += f32_to_bf16(value) != encode<kFormat<Dtype::bf16>>(wide) ? 1U : 0U;
    differences += f32_to_e4m3(value) != encode<kFormat<Dtype::e4m3>>(wide) ? 1U : 0U;
    differences += f32_to_e5m2(value) != encode<kFormat<Dtype::e5m2>>(wide) ? 1U : 0U;
    differences += f32_to_e2m1(value) != encode<kFormat<Dtype::e2m1>>(wide) ? 1U : 0U;
    differences +=
        bits_of(f32_to_tf32(value)) != encode<kFormat<Dtype::tf32>>(wide) << 13 ? 1U : 0U;
  }
  EXPECT_EQ(differences, 0U);
}

TEST(FloatFormats, NanStaysNanWhateverItsPayload) {
  for (const std::uint32_t bits : {0x7F80'0001U, 0x7FC0'0000U, 0x7FFF'FFFFU, 0xFF80'0001U}) {
    const auto nan = __builtin_bit_cast(float, bits);
    EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(nan))));
    EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(nan))));
    EXPECT_TRUE(std::isnan(e4m3_to_f32(f32_to_e4m3(nan))));
    EXPECT_TRUE(std::isnan(e5m2_to_f32(f32_to_e5m2(nan))));
    EXPECT_TRUE(std::isnan(f32_to_tf32(nan)));
    EXPECT_EQ(e2m1_to_f32(f32_to_e2m1(nan)), 6.0F);
  }
}

TEST(FloatFormats, NibblesLieLowHalfFirst) {
  std::uint8_t bytes[] = {0x21, 0x43};
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(load_nibble(bytes, i), i + 1);
  store_nibble(bytes, 1, 0xF);
  store_nibble(bytes, 2, 0xA);
  EXPECT_EQ(bytes[0], 0xF1);
  EXPECT_EQ(bytes[1], 0x4A);
  EXPECT_EQ(nibble_to_i4(0x7), 7);
  EXPECT_EQ(nibble_to_i4(0x8), -8);
  EXPECT_EQ(nibble_to_i4(0xF), -1);
}

}  // namespace
}  // namespace estoc::core
