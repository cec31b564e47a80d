// Loads and stores of every Dtype against a table that other software made.
#include "estoc/numeric.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "dtype_table.h"

namespace estoc {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Dtype named(const std::string& name) {
  return parse_dtype(name).value();
}

std::uint32_t stored_code(Dtype dtype, double value) {
  std::uint32_t code = 0;
  store_element(dtype, &code, 0, value);
  return code;
}

double loaded_value(Dtype dtype, std::uint32_t code) {
  return load_element(dtype, &code, 0);
}

bool same_value(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

/// CRC-32 of zlib, four bytes of each word, low byte first.
std::uint32_t crc32(const std::vector<std::uint32_t>& words) {
  std::uint32_t crc = ~0U;
  for (const std::uint32_t word : words) {
    for (int byte = 0; byte < 4; ++byte) {
      crc ^= (word >> (8 * byte)) & 0xFFU;
      for (int bit = 0; bit < 8; ++bit)
        crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
    }
  }
  return ~crc;
}

/// The value of a 16-bit IEEE-like code by the definition of the format.
double value_by_definition(std::uint32_t code, int mantissa_bits, int bias) {
  const auto mantissa = static_cast<int>(code & ((1U << mantissa_bits) - 1U));
  const auto exponent = static_cast<int>((code & 0x7FFFU) >> mantissa_bits);
  const double sign = code >= 0x8000U ? -1 : 1;
  const int top = (1 << (15 - mantissa_bits)) - 1;
  if (exponent == top) return mantissa == 0 ? sign * kInfinity : kNan;
  const int implicit = exponent == 0 ? 0 : 1 << mantissa_bits;
  const int scale = std::max(exponent, 1) - bias - mantissa_bits;
  return sign * std::ldexp(implicit + mantissa, scale);
}

void check_16_bit_type(Dtype dtype, int mantissa_bits, int bias) {
  std::vector<std::uint32_t> f32_bits;
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const double value = loaded_value(dtype, code);
    ASSERT_TRUE(same_value(value, value_by_definition(code, mantissa_bits, bias))) << code;
    const bool is_nan = std::isnan(value);
    f32_bits.push_back(is_nan ? 0x7FC0'0000U
                              : __builtin_bit_cast(std::uint32_t, static_cast<float>(value)));
    if (is_nan) {
      ASSERT_TRUE(std::isnan(round_to(dtype, value)));
    } else {
      ASSERT_EQ(stored_code(dtype, value), code);
    }
  }
  EXPECT_EQ(crc32(f32_bits), test::dtype_table().crcs.at(std::string(dtype_name(dtype))));
}

TEST(Numeric, EveryF16CodeDecodesByDefinitionAndAsInNumpy) {
  check_16_bit_type(Dtype::f16, 10, 15);
}

TEST(Numeric, EveryBf16CodeDecodesByDefinitionAndAsInMlDtypes) {
  check_16_bit_type(Dtype::bf16, 7, 127);
}

TEST(Numeric, EveryNarrowCodeDecodesAsInMlDtypesAndEncodesBack) {
  ASSERT_EQ(test::dtype_table().decoded.size(), 4U);
  for (const auto& [name, values] : test::dtype_table().decoded) {
    const Dtype dtype = named(name);
    ASSERT_EQ(values.size(), std::size_t{1} << dtype_bits(dtype));
    for (std::uint32_t code = 0; code < values.size(); ++code) {
      EXPECT_TRUE(same_value(loaded_value(dtype, code), values[code])) << name << " " << code;
      if (std::isnan(values[code])) continue;
      EXPECT_EQ(stored_code(dtype, values[code]), code) << name;
    }
  }
}

class StoreElement : public testing::TestWithParam<const char*> {};

TEST_P(StoreElement, RoundsOnceAndSaturatesAsInTheTable) {
  const std::vector<test::EncodeCase>& cases = test::dtype_table().encoded.at(GetParam());
  ASSERT_GT(cases.size(), 100U);
  for (const test::EncodeCase& expected : cases) {
    EXPECT_EQ(stored_code(named(GetParam()), expected.value), expected.code)
        << std::hexfloat << expected.value << " = " << std::defaultfloat << expected.value;
  }
}

INSTANTIATE_TEST_SUITE_P(Numeric, StoreElement,
                         testing::Values("f32", "tf32", "f16", "bf16", "e4m3", "e5m2", "e2m1",
                                         "e8m0"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(Numeric, IntegersRoundToEvenAndSaturate) {
  struct Case {
    Dtype dtype;
    double value;
    double expected;
  };
  for (const Case& c : {Case{Dtype::i8, 0.5, 0},
                        Case{Dtype::i8, 1.5, 2},
                        Case{Dtype::i8, -2.5, -2},
                        Case{Dtype::i8, 127.4, 127},
                        Case{Dtype::i8, 127.5, 127},
                        Case{Dtype::i8, -128.5, -128},
                        Case{Dtype::i8, -1e300, -128},
                        Case{Dtype::i8, kInfinity, 127},
                        Case{Dtype::i8, kNan, 0},
                        Case{Dtype::u8, -1, 0},
                        Case{Dtype::u8, 254.5, 254},
                        Case{Dtype::u8, 256, 255},
                        Case{Dtype::u8, kNan, 0},
                        Case{Dtype::i32, 2147483646.5, 2147483646},
                        Case{Dtype::i32, 2147483647.5, 2147483647},
                        Case{Dtype::i32, 1e10, 2147483647},
                        Case{Dtype::i32, -kInfinity, -2147483648.0},
                        Case{Dtype::i4, 7.5, 7},
                        Case{Dtype::i4, -9, -8},
                        Case{Dtype::i4, -0.5, 0},
                        Case{Dtype::u4, 15.5, 15},
                        Case{Dtype::u4, -3, 0},
                        Case{Dtype::u4, 2.5, 2}}) {
    EXPECT_EQ(round_to(c.dtype, c.value), c.expected) << dtype_name(c.dtype) << " " << c.value;
  }
}

TEST(Numeric, EveryIntegerCodeRoundTrips) {
  for (const Dtype dtype : {Dtype::i8, Dtype::u8, Dtype::i4, Dtype::u4}) {
    for (std::uint32_t code = 0; code < (dtype_bits(dtype) == 8 ? 256U : 16U); ++code) {
      EXPECT_EQ(stored_code(dtype, loaded_value(dtype, code)), code) << dtype_name(dtype);
    }
  }
  EXPECT_EQ(loaded_value(Dtype::i8, 0x80), -128);
  EXPECT_EQ(loaded_value(Dtype::i4, 0x8), -8);
  EXPECT_EQ(loaded_value(Dtype::u4, 0x8), 8);
  EXPECT_EQ(loaded_value(Dtype::i32, 0x8000'0000U), -2147483648.0);
}

TEST(Numeric, BooleanIsWhetherTheValueOrByteIsNotZero) {
  EXPECT_EQ(stored_code(Dtype::boolean, 0.0), 0U);
  EXPECT_EQ(stored_code(Dtype::boolean, -0.0), 0U);
  EXPECT_EQ(stored_code(Dtype::boolean, 1e-300), 1U);
  EXPECT_EQ(stored_code(Dtype::boolean, kNan), 1U);
  EXPECT_EQ(loaded_value(Dtype::boolean, 2), 1);
}

TEST(Numeric, F64AndF32KeepTheirBits) {
  rc::check("f64 and f32 stores keep what they can hold", [](double wide, float narrow) {
    std::uint64_t bits = 0;
    store_element(Dtype::f64, &bits, 0, wide);
    RC_ASSERT(bits == __builtin_bit_cast(std::uint64_t, wide));
    RC_ASSERT(stored_code(Dtype::f32, narrow) == __builtin_bit_cast(std::uint32_t, narrow));
    RC_ASSERT(stored_code(Dtype::f32, wide) ==
              __builtin_bit_cast(std::uint32_t, static_cast<float>(wide)));
  });
}

TEST(Numeric, Tf32IsReadWithoutRounding) {
  const float value = 1.0F + std::numeric_limits<float>::epsilon();
  EXPECT_EQ(load_element(Dtype::tf32, &value, 0), double{value});
  EXPECT_EQ(round_to(Dtype::tf32, double{value}), 1.0);
}

TEST(Numeric, PackedStoresKeepTheOtherHalfByte) {
  for (const Dtype dtype : {Dtype::e2m1, Dtype::i4, Dtype::u4}) {
    std::array<std::uint8_t, 3> bytes{0x00, 0xFF, 0x00};
    store_element(dtype, bytes.data(), 2, 0.0);
    EXPECT_EQ(bytes, (std::array<std::uint8_t, 3>{0x00, 0xF0, 0x00}));
    store_element(dtype, bytes.data(), 3, 1.0);
    store_element(dtype, bytes.data(), 0, 2.0);
    EXPECT_EQ(load_element(dtype, bytes.data(), 0), 2.0);
    EXPECT_EQ(load_element(dtype, bytes.data(), 1), 0.0);
    EXPECT_EQ(load_element(dtype, bytes.data(), 3), 1.0);
    EXPECT_EQ(bytes[2], 0x00);
  }
}

TEST(Numeric, ElementsAreFoundByIndexWithoutAlignment) {
  for (const Dtype dtype : all_dtypes()) {
    std::array<std::byte, 64> memory{};
    std::byte* const data = memory.data() + 1;
    for (int i = 0; i < 5; ++i)
      store_element(dtype, data, i, i % 2 + 1);
    for (int i = 0; i < 5; ++i) {
      const double expected = dtype == Dtype::boolean ? 1 : i % 2 + 1;
      EXPECT_EQ(load_element(dtype, data, i), expected) << dtype_name(dtype) << " " << i;
    }
    const auto end = static_cast<std::size_t>(1 + storage_bytes(dtype, 5));
    EXPECT_EQ(memory[0], std::byte{0});
    EXPECT_EQ(memory[end], std::byte{0}) << dtype_name(dtype);
  }
}

TEST(Numeric, LimitsAreThoseOfTheFormats) {
  EXPECT_EQ(max_finite(Dtype::f16), 65504);
  EXPECT_EQ(max_finite(Dtype::e4m3), 448);
  EXPECT_EQ(max_finite(Dtype::e5m2), 57344);
  EXPECT_EQ(max_finite(Dtype::e2m1), 6);
  EXPECT_EQ(max_finite(Dtype::e8m0), std::ldexp(1, 127));
  EXPECT_EQ(max_finite(Dtype::bf16), std::ldexp(255, 120));
  EXPECT_EQ(max_finite(Dtype::tf32), std::ldexp(2047, 117));
  EXPECT_EQ(max_finite(Dtype::boolean), 1);
}

TEST(Numeric, LargestValueIsKeptAndTheNextOneIsBeyondRange) {
  for (const Dtype dtype : all_dtypes()) {
    const double largest = max_finite(dtype);
    EXPECT_EQ(round_to(dtype, largest), largest) << dtype_name(dtype);
    if (dtype == Dtype::f64) continue;
    const double beyond = round_to(dtype, largest * 4);
    EXPECT_TRUE(beyond == largest || std::isinf(beyond)) << dtype_name(dtype);
  }
}

TEST(Numeric, EpsilonIsTheStepAfterOne) {
  for (const Dtype dtype : all_dtypes()) {
    const double step = epsilon(dtype);
    if (!is_float(dtype)) {
      EXPECT_EQ(step, 0);
      continue;
    }
    EXPECT_EQ(round_to(dtype, 1 + step), 1 + step) << dtype_name(dtype);
    if (dtype == Dtype::f64) continue;
    EXPECT_EQ(round_to(dtype, 1 + step * 0.49), 1) << dtype_name(dtype);
  }
}

}  // namespace
}  // namespace estoc
