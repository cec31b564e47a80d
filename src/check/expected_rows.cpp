// Implements the two sources of expected accumulators.
#include "check/expected_rows.h"

namespace estoc::check {

const Expectation* ExpectedRows::of_row(std::int64_t row) const {
  std::int64_t first = 0;
  std::int64_t end = rows.count();
  while (end - first > 1) {
    const std::int64_t middle = first + (end - first) / 2;
    (rows.row(middle) <= row ? first : end) = middle;
  }
  return elements[static_cast<std::size_t>(first)].data();
}

Accumulators::Accumulators(const GemmArguments& arguments, const GemmRounding& rounding,
                           const ExpectedRows* kept, const Groups* groups)
    : rounding_(rounding), kept_(kept), integers_(is_integer_gemm(arguments)) {
  if (kept == nullptr) reference_.emplace(arguments, groups);
}

void Accumulators::load(std::span<const std::int64_t> rows, std::int64_t first_column,
                        int columns) {
  if (reference_) return reference_->compute(rows, first_column, columns);
  kept_rows_.clear();
  for (const std::int64_t row : rows)
    kept_rows_.push_back(kept_->of_row(row) + first_column);
}

void Accumulators::load(const Part& part) {
  if (!reference_) return load(part.rows, part.first_column, part.columns);
  rounding_.set_products(part.k);
  reference_->compute(part);
}

Expectation Accumulators::at(int row, int column) const {
  if (!reference_) return kept_rows_[static_cast<std::size_t>(row)][column];
  const ReferenceElement element = reference_->element(row, column);
  if (integers_) return {element.value};
  return rounding_.expect(element, reference_->row_facts(row), reference_->column_facts(column));
}

}  // namespace estoc::check
