// Implements the bounds on rounding errors.
#include "check/rounding.h"

#include <algorithm>
#include <cmath>

#include "estoc/numeric.hpp"

namespace estoc::check {
namespace {

/// Unit roundoff of the reference itself.
constexpr double kReferenceUnit = 0x1p-53;

/// Significant bits of a number type, the implicit one included.
int significant_bits(Dtype dtype) {
  switch (dtype) {
    case Dtype::i32:
      return 32;
    case Dtype::i8:
    case Dtype::u8:
    case Dtype::i4:
    case Dtype::u4:
    case Dtype::boolean:
      return 8;
    default:
      return 1 - std::ilogb(epsilon(dtype));
  }
}

/// Exponent of the smallest subnormal number of an accumulator.
int lowest_exponent(Dtype accumulator) {
  switch (accumulator) {
    case Dtype::f64:
      return -1074;
    case Dtype::f16:
      return -24;
    default:
      return -149;
  }
}

// What a tensor core keeps of sums of 8-bit floats that may be fast.
constexpr int kFastBits = 13;
constexpr double kFastUnit = 0x1p-13;

bool is_narrow(Dtype dtype) {
  return dtype == Dtype::e4m3 || dtype == Dtype::e5m2;
}

bool is_wide(Dtype dtype) {
  return dtype == Dtype::f64 || dtype == Dtype::f32;
}

/// How many of A and B may be rounded to tf32 first.
int tf32_operands(const GemmArguments& arguments) {
  if (!arguments.controls().allow_tf32 || arguments.accumulator_type() != Dtype::f32) return 0;
  return (arguments.a_matrix().dtype == Dtype::f32 ? 1 : 0) +
         (arguments.b_matrix().dtype == Dtype::f32 ? 1 : 0);
}

/// How many scales of A and B a product may be multiplied by with a rounding error each.
int rounded_scales(const GemmArguments& arguments) {
  int count = 0;
  for (const Operand* operand : {&arguments.a(), &arguments.b()}) {
    const ScaledTensor* const scaled = operand->scaled();
    // Products with powers of two, and of e2m1 with e4m3, are exact.
    const bool rounds =
        scaled != nullptr && scaled->has_blocks() && scaled->mode > ScaleMode::blockwise_1x32;
    count += rounds ? 1 : 0;
  }
  return count;
}

}  // namespace

GemmRounding gemm_rounding(const GemmArguments& arguments, int more) {
  const Dtype a = arguments.a_matrix().dtype;
  const Dtype b = arguments.b_matrix().dtype;
  const Dtype accumulator = arguments.accumulator_type();
  const int bits = significant_bits(accumulator);
  const int tf32 = tf32_operands(arguments);
  // Processors round to nearest; matrix units, which take narrow operands, may truncate.
  const bool splits = arguments.controls().allow_bf16x6 && a == Dtype::f32 && b == Dtype::f32;
  const bool to_nearest = is_wide(a) && is_wide(b) && tf32 == 0 && !splits;
  const bool fast = is_narrow(a) && is_narrow(b) && arguments.controls().fast_accumulation;
  const double unit = fast ? kFastUnit : epsilon(accumulator) * (to_nearest ? 0.5 : 1);
  const int too_wide = (significant_bits(a) > bits ? 1 : 0) + (significant_bits(b) > bits ? 1 : 0);

  GemmRounding rounding;
  rounding.unit = unit + kReferenceUnit;
  rounding.operands =
      tf32 * epsilon(Dtype::tf32) + too_wide * unit + (rounded_scales(arguments) + more) * unit;
  rounding.lowest_exponent = lowest_exponent(accumulator);
  rounding.largest = max_finite(accumulator);
  rounding.exact_bits = fast ? kFastBits : bits;
  rounding.set_products(arguments.extents().k);
  return rounding;
}

void GemmRounding::set_products(std::int64_t count) {
  k = static_cast<double>(count);
  floor = k * std::ldexp(1.0, lowest_exponent);
}

bool GemmRounding::is_exact(double magnitude, const VectorFacts& row,
                            const VectorFacts& column) const {
  if (operands > 0) return false;
  const double grid = static_cast<double>(row.lowest_bit) + column.lowest_bit;
  const int exponent = static_cast<int>(std::min(grid, 1000.0));
  return exponent >= lowest_exponent && magnitude <= std::ldexp(1.0, exponent + exact_bits);
}

Expectation GemmRounding::expect(const ReferenceElement& element, const VectorFacts& row,
                                 const VectorFacts& column) const {
  if (!row.finite || !column.finite || element.magnitude == 0) return {element.value};
  const double worst_sum = k * element.magnitude;
  const double likely_sum =
      element.partials + k * std::abs(element.value) + std::sqrt(k) * element.magnitude;
  Expectation expectation{element.value};
  if (!is_exact(element.magnitude, row, column)) {
    expectation.slack =
        unit * std::min(worst_sum, likely_sum) + operands * element.magnitude + floor;
  }
  expectation.may_overflow = element.magnitude + unit * worst_sum > largest;
  return expectation;
}

}  // namespace estoc::check
