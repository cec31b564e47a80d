// How far rounding may take a correct result from the exact one (derived in docs/checking.md).
#pragma once

#include <cstdint>

#include "check/reference.h"
#include "estoc/arguments.hpp"

namespace estoc::check {

/// The expected value of an element of the output.
struct Expectation {
  /// Before it is converted to out's dtype.
  double value = 0;
  /// How far rounding may move the number that is converted from `value`.
  double slack = 0;
  /// Partial sums may pass the accumulator's largest value, depending on their order.
  bool may_overflow = false;
};

/// Properties of the sums of one GEMM, by the standard model: each of k additions has a relative
/// error of at most `unit`, so that a sum of terms of magnitudes S is off by at most k unit S
/// (Higham, Accuracy and Stability of Numerical Algorithms, 4.2). It holds for accumulators of any
/// dtype, those of f16 included, whatever number of products an instruction adds up before it
/// rounds.
struct GemmRounding {
  /// Number of products of a sum.
  double k = 0;
  /// Largest relative error of one addition, the reference's own included.
  double unit = 0;
  /// The same for the operands of one product, where they may be rounded first.
  double operands = 0;
  /// Absolute error from products and sums too small for the accumulator.
  double floor = 0;
  /// The accumulator's largest finite value.
  double largest = 0;
  /// Sums of multiples of 2^e are exact while their magnitudes add up to at most
  /// 2^(e + exact_bits), for e >= lowest_exponent.
  int exact_bits = 0;
  int lowest_exponent = 0;

  /// Has sums be of so many products.
  void set_products(std::int64_t count);

  /// The expectation of an element with these operands.
  Expectation expect(const ReferenceElement& element, const VectorFacts& row,
                     const VectorFacts& column) const;

 private:
  bool is_exact(double magnitude, const VectorFacts& row, const VectorFacts& column) const;
};

/// The sums of `arguments`, which is not an integer problem. Operands are multiplied by `more`
/// scales that they do not show.
GemmRounding gemm_rounding(const GemmArguments& arguments, int more = 0);

}  // namespace estoc::check
