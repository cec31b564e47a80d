// Loads and stores of every Dtype against the definitions of the formats.
#include "estoc/numeric.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace estoc {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

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

/// A narrow float by its definition: IEEE 754, OCP 8-bit floating point and OCP microscaling.
/// Codes are without sign.
struct FloatDefinition {
  Dtype dtype;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  std::uint32_t largest;   ///< code of the largest finite value
  std::uint32_t overflow;  ///< code of what is beyond the range: infinity if there is one
  std::uint32_t nan;       ///< code that a NaN becomes
  int unused_bits = 0;     ///< low bits of the stored word

  bool has_nan() const { return nan != largest; }
  bool has_sign() const { return dtype != Dtype::e8m0; }
  std::uint32_t sign() const { return has_sign() ? 1U << (exponent_bits + mantissa_bits) : 0; }

  /// The value of a code, if no code stood for infinity or NaN: so also for the code after the
  /// largest.
  double value(std::uint32_t code) const {
    if (!has_sign()) return std::ldexp(1, static_cast<int>(code) - bias);
    const auto mantissa = static_cast<int>(code & ((1U << mantissa_bits) - 1));
    const auto exponent = static_cast<int>(code >> mantissa_bits);
    const int implicit = exponent == 0 ? 0 : 1 << mantissa_bits;
    return std::ldexp(implicit + mantissa, std::max(exponent, 1) - bias - mantissa_bits);
  }

  /// The value half way between that of a code and the next; exact.
  double midpoint(std::uint32_t code) const { return (value(code) + value(code + 1)) / 2; }

  double decode(std::uint32_t code) const {
    const double factor = (code & sign()) != 0 ? -1 : 1;
    code &= ~sign();
    if (code <= largest) return factor * value(code);
    return code == overflow ? factor * kInfinity : kNan;
  }

  /// The code of the nearest value: of two the even code, but in e8m0 the larger.
  std::uint32_t encode(double real) const {
    const bool negative = std::signbit(real);
    if (std::isnan(real)) return nan | (negative && has_nan() ? sign() : 0);
    if (negative && !has_sign()) return 0;
    real = std::abs(real);
    std::uint32_t low = 0, high = largest + 1;  // value(low) <= real < value(high), or an end
    while (low + 1 < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      (value(middle) <= real ? low : high) = middle;
    }
    const bool up_on_tie = low % 2 == 1 || !has_sign();
    const bool up = real > midpoint(low) || (real == midpoint(low) && up_on_tie);
    const std::uint32_t code = low + (up ? 1 : 0);
    return (code > largest ? overflow : code) | (negative ? sign() : 0);
  }
};

// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest looks for
void PrintTo(const FloatDefinition& format, std::ostream* out) {
  *out << dtype_name(format.dtype);
}

constexpr FloatDefinition kDefinitions[] = {
    {Dtype::f32, 8, 23, 127, 0x7F7F'FFFF, 0x7F80'0000, 0x7FC0'0000},
    {Dtype::tf32, 8, 10, 127, 0x3FBFF, 0x3FC00, 0x3FE00, 13},
    {Dtype::f16, 5, 10, 15, 0x7BFF, 0x7C00, 0x7E00},
    {Dtype::bf16, 8, 7, 127, 0x7F7F, 0x7F80, 0x7FC0},
    {Dtype::e4m3, 4, 3, 7, 0x7E, 0x7E, 0x7F},
    {Dtype::e5m2, 5, 2, 15, 0x7B, 0x7C, 0x7E},
    {Dtype::e2m1, 2, 1, 1, 7, 7, 7},
    {Dtype::e8m0, 8, 0, 127, 254, 254, 255},
};

class NarrowFloat : public testing::TestWithParam<FloatDefinition> {
 protected:
  /// All codes of finite values up to 16 bits wide; of wider ones those around powers of two, and
  /// random ones.
  static std::set<std::uint32_t> codes() {
    const FloatDefinition& format = GetParam();
    std::set<std::uint32_t> codes;
    if (format.largest < 65536) {
      for (std::uint32_t code = 0; code <= format.largest; ++code)
        codes.insert(codes.end(), code);
      return codes;
    }
    const std::uint32_t step = 1U << format.mantissa_bits;
    for (std::uint32_t power = 0; power <= format.largest; power += step) {
      for (const std::uint32_t code : {power, power + 1, power + step - 2, power + step - 1})
        codes.insert(code);
    }
    std::mt19937 random(1);
    for (int i = 0; i < 20'000; ++i)
      codes.insert(static_cast<std::uint32_t>(random()) % format.largest);
    return codes;
  }

  static void expect_stored(double value) {
    const FloatDefinition& format = GetParam();
    for (const double real : {value, -value}) {
      ASSERT_EQ(stored_code(format.dtype, real), format.encode(real) << format.unused_bits)
          << std::hexfloat << real << " = " << std::defaultfloat << real;
    }
  }
};

TEST_P(NarrowFloat, EveryCodeIsReadAsDefined) {
  const FloatDefinition& format = GetParam();
  for (const std::uint32_t magnitude : codes()) {
    for (const std::uint32_t code : {magnitude, magnitude | format.sign()}) {
      const double value = format.decode(code);
      const std::uint32_t stored = code << format.unused_bits;
      ASSERT_TRUE(same_value(loaded_value(format.dtype, stored), value)) << code;
      ASSERT_EQ(stored_code(format.dtype, value), stored);
    }
  }
  const std::uint32_t end = format.has_sign() ? format.sign() : 256;
  for (std::uint32_t code = format.largest + 1; code < std::min(end, format.largest + 5000);
       ++code) {
    const double value = loaded_value(format.dtype, code << format.unused_bits);
    ASSERT_TRUE(same_value(value, format.decode(code))) << code;
  }
}

TEST_P(NarrowFloat, StoresRoundOnceToTheNearestValueAndSaturate) {
  const FloatDefinition& format = GetParam();
  for (const std::uint32_t code : codes()) {
    const double middle = format.midpoint(code);
    // What is near the midpoint equals it in f32: rounding twice would be seen.
    for (const double near :
         {format.value(code), middle, std::nextafter(middle, 0.0),
          std::nextafter(middle, kInfinity), middle * (1 - 0x1p-40), middle * (1 + 0x1p-40)})
      expect_stored(near);
  }
  const double smallest = format.value(1), largest = format.value(format.largest);
  for (const double value : {kInfinity, kNan, 5e-324, 1e-310, 1e308, smallest / 4, smallest / 8,
                             largest * 1.5, largest * 2, largest * 4})
    expect_stored(value);
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> exponent(std::log2(smallest) - 3, std::log2(largest) + 2);
  for (int i = 0; i < 10'000; ++i)
    expect_stored(std::exp2(exponent(random)));
}

INSTANTIATE_TEST_SUITE_P(Numeric, NarrowFloat, testing::ValuesIn(kDefinitions),
                         [](const auto& instance) {
                           return std::string(dtype_name(instance.param.dtype));
                         });

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
  EXPECT_TRUE(
      rc::check("f64 and f32 stores keep what they can hold", [](double wide, float narrow) {
        std::uint64_t bits = 0;
        store_element(Dtype::f64, &bits, 0, wide);
        RC_ASSERT(bits == __builtin_bit_cast(std::uint64_t, wide));
        RC_ASSERT(stored_code(Dtype::f32, narrow) == __builtin_bit_cast(std::uint32_t, narrow));
        RC_ASSERT(stored_code(Dtype::f32, wide) ==
                  __builtin_bit_cast(std::uint32_t, static_cast<float>(wide)));
      }));
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
