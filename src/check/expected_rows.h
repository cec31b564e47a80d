// The expected accumulators of a GEMM's checked rows: given, or computed here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "check/reference.h"
#include "check/rounding.h"
#include "check/sampling.h"
#include "estoc/arguments.hpp"

namespace estoc::check {

/// Expectations of all columns of some rows, kept to judge many outputs of one problem.
struct ExpectedRows {
  RowSample rows;
  std::int64_t columns = 0;
  std::vector<std::vector<Expectation>> elements;  ///< of each row of the sample

  /// Those of a row of the sample, by its number.
  const Expectation* of_row(std::int64_t row) const;
};

/// Expectations of blocks of rows and columns; one object a thread.
class Accumulators {
 public:
  /// From `kept`, or computed where that is null. `arguments` need operands on the host then.
  Accumulators(const GemmArguments& arguments, const GemmRounding& rounding,
               const ExpectedRows* kept, const Groups* groups = nullptr);

  /// Rows and columns as GemmReference::compute takes them.
  void load(std::span<const std::int64_t> rows, std::int64_t first_column, int columns);
  void load(const Part& part);

  /// By position within the block that was loaded last.
  Expectation at(int row, int column) const;

 private:
  GemmRounding rounding_;
  const ExpectedRows* kept_;
  bool integers_;
  std::optional<GemmReference> reference_;
  std::vector<const Expectation*> kept_rows_;
};

}  // namespace estoc::check
