// A float64 reference, plain loops that share no code with any kernel, to judge outputs by.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "estoc/arguments.hpp"

namespace estoc {

/// Options of check_output.
struct CheckOptions {
  /// Above this many products (m * n * k * l), random rows are checked instead of all, the first
  /// and the last among them. Elements of fewer than 16 products count as 16, elementwise ones too.
  std::int64_t max_products = std::int64_t{1} << 30;
  std::uint64_t seed = 0;
  int threads = 0;  ///< 0: one for each core
  /// Called now and then with the fraction done; returning false cancels (Error{cancelled}).
  std::function<bool(double)> progress;
};

/// Verdict on an output.
struct CheckResult {
  /// True when every checked element is one that rounding explains.
  bool passed = false;
  /// ||out - reference|| / ||reference|| (Frobenius norms over the checked rows); for an exact
  /// integer result the number of elements that differ.
  double error = 0;
  /// The largest error that rounding explains, from the dtypes, k and the operands
  /// (docs/checking.md).
  double bound = 0;
  std::int64_t rows_checked = 0;
  std::int64_t rows_total = 0;
  /// The element that differs most relative to what its rounding explains, such as
  /// "out[0, 3, 17]: expected 1.25, got 1.5"; empty when the output passed.
  std::string worst;
};

/// Compares `arguments`' output, as it stands in host memory, with a float64 evaluation of the
/// operation. NaN and infinity must be where the reference has them.
///
/// Throws Error{value | unsupported} for operands that are not in host memory or have no data, an
/// operation in place, an epilogue, an i32 accumulator of floating-point operands.
CheckResult check_output(const RuntimeArguments& arguments, const CheckOptions& options = {});

/// Fills a host tensor with reproducible random data that suits its dtype: floats in [-1, 1) on a
/// grid the type can hold, integers over their whole range within +-127, booleans. An element
/// depends on the seed and its row-major number alone, not on the strides.
void fill_random(const TensorView& tensor, std::uint64_t seed);

/// Makes scales of e4m3 in host memory positive, as NVFP4 has them: tensor cores do not read their
/// sign. Others stay as they are.
void clear_scale_signs(const ScaledTensor& scaled);

}  // namespace estoc
