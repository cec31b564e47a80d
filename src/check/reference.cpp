// Implements the reference; it uses nothing of any provider but the decoding of elements.
#include "check/reference.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "estoc/numeric.hpp"

namespace estoc::check {
namespace {

bool is_whole(Dtype dtype) {
  return is_integer(dtype) || dtype == Dtype::boolean;
}

/// The exponent of the lowest bit set in a finite number other than 0.
int lowest_bit_of(double element) {
  const auto bits = std::bit_cast<std::uint64_t>(element);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const int exponent = static_cast<int>(bits >> 52 & 0x7FF);
  const std::uint64_t significand = exponent == 0 ? fraction : fraction | std::uint64_t{1} << 52;
  return std::max(exponent, 1) - 1075 + std::countr_zero(significand);
}

template <class Number>
Number to_number(double element) {
  if constexpr (std::is_same_v<Number, double>) return element;
  return static_cast<Number>(static_cast<std::int64_t>(element));
}

/// sums[j] += a * b[j], and the same of magnitudes.
void add_products(double a, const double* b, int columns, double* sums, double* magnitudes) {
  for (int j = 0; j < columns; ++j) {
    const double product = a * b[j];
    sums[j] += product;
    magnitudes[j] += std::abs(product);
  }
}

}  // namespace

double operand_value(Dtype dtype, const void* data, std::int64_t index) {
  const double value = load_element(dtype, data, index);
  return dtype == Dtype::tf32 ? round_to(Dtype::tf32, value) : value;
}

bool is_integer_gemm(const GemmArguments& arguments) {
  return is_whole(arguments.a_matrix().dtype) && is_whole(arguments.b_matrix().dtype) &&
         arguments.accumulator_type() == Dtype::i32;
}

ReferenceElement reference_gemm_element(const GemmArguments& arguments, std::int64_t batch,
                                        std::int64_t row, std::int64_t column) {
  const MatrixView& a = arguments.a_matrix();
  const MatrixView& b = arguments.b_matrix();
  const ElementScales a_scales(arguments.a(), 1);
  const ElementScales b_scales(arguments.b(), 2);
  ReferenceElement sum;
  for (std::int64_t k = 0; k < arguments.extents().k; ++k) {
    const std::int64_t a_at = batch * a.batch_stride + row * a.row_stride + k * a.column_stride;
    const std::int64_t b_at = batch * b.batch_stride + k * b.row_stride + column * b.column_stride;
    double product = operand_value(a.dtype, a.data, a_at) * operand_value(b.dtype, b.data, b_at);
    if (a_scales.any()) product *= a_scales.at(batch, row, k);
    if (b_scales.any()) product *= b_scales.at(batch, column, k);
    sum.value += product;
    sum.magnitude += std::abs(product);
    sum.partials += std::abs(sum.value);
  }
  return sum;
}

void VectorFacts::include(double element) {
  if (element == 0) return;
  if (!std::isfinite(element)) {
    finite = false;
    return;
  }
  lowest_bit = std::min(lowest_bit, lowest_bit_of(element));
}

GemmReference::GemmReference(const GemmArguments& arguments, const Groups* groups)
    : arguments_(arguments),
      a_scales_(groups != nullptr ? *groups->a : arguments.a(), 1,
                groups != nullptr && groups->mode == GroupMode::columns),
      b_scales_(groups != nullptr ? *groups->b : arguments.b(), 2,
                groups != nullptr && groups->mode == GroupMode::rows),
      integers_(is_integer_gemm(arguments)),
      row_facts_(kRows),
      column_facts_(kColumns) {
  const auto reserve = [](auto& blocks) {
    blocks.a.resize(kRows * kDepth);
    blocks.b.resize(kDepth * kColumns);
    blocks.sums.resize(kRows * kColumns);
  };
  if (integers_) {
    reserve(wrapping_);
  } else {
    reserve(floats_);
    magnitudes_.resize(kRows * kColumns);
    partials_.resize(kRows * kColumns);
  }
}

template <class Number>
void GemmReference::load_blocks(const Part& part, std::int64_t first_k, int depth,
                                Blocks<Number>& blocks) {
  const auto& [rows, first_column, columns, products, a_offset, b_offset, group, begin] = part;
  const MatrixView& a = arguments_.a_matrix();
  const MatrixView& b = arguments_.b_matrix();
  const std::int64_t m = arguments_.extents().m;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t start = a_offset + rows[i] / m * a.batch_stride + rows[i] % m * a.row_stride;
    for (int k = 0; k < depth; ++k) {
      double element = operand_value(a.dtype, a.data, start + (first_k + k) * a.column_stride);
      if (a_scales_.any()) {
        element *= a_scales_.at(group < 0 ? rows[i] / m : group, rows[i] % m, begin + first_k + k);
      }
      row_facts_[i].include(element);
      blocks.a[i * kDepth + static_cast<std::size_t>(k)] = to_number<Number>(element);
    }
  }
  const std::int64_t b_start =
      b_offset + rows[0] / m * b.batch_stride + first_column * b.column_stride;
  for (int k = 0; k < depth; ++k) {
    Number* const block_row = &blocks.b[static_cast<std::size_t>(k) * kColumns];
    for (int j = 0; j < columns; ++j) {
      const std::int64_t at = b_start + (first_k + k) * b.row_stride + j * b.column_stride;
      double element = operand_value(b.dtype, b.data, at);
      if (b_scales_.any()) {
        element *=
            b_scales_.at(group < 0 ? rows[0] / m : group, first_column + j, begin + first_k + k);
      }
      column_facts_[static_cast<std::size_t>(j)].include(element);
      block_row[j] = to_number<Number>(element);
    }
  }
}

void GemmReference::add_block(std::size_t row, int depth, int columns, Blocks<double>& blocks) {
  const double* const a = &blocks.a[row * kDepth];
  double* const sums = &blocks.sums[row * kColumns];
  double* const magnitudes = &magnitudes_[row * kColumns];
  double* const partials = &partials_[row * kColumns];
  for (int first = 0; first < depth; first += kStripe) {
    const int end = std::min(first + kStripe, depth);
    for (int p = first; p < end; ++p) {
      add_products(a[p], &blocks.b[static_cast<std::size_t>(p) * kColumns], columns, sums,
                   magnitudes);
    }
    for (int j = 0; j < columns; ++j)
      partials[j] += (end - first) * std::abs(sums[j]);
  }
}

void GemmReference::add_block(std::size_t row, int depth, int columns,
                              Blocks<std::uint64_t>& blocks) {
  std::uint64_t* const sums = &blocks.sums[row * kColumns];
  for (std::size_t p = 0; p < static_cast<std::size_t>(depth); ++p) {
    const std::uint64_t a = blocks.a[row * kDepth + p];
    const std::uint64_t* const b = &blocks.b[p * kColumns];
    for (int j = 0; j < columns; ++j)
      sums[j] += a * b[j];
  }
}

template <class Number>
void GemmReference::compute_with(const Part& part, Blocks<Number>& blocks) {
  std::ranges::fill(blocks.sums, Number{0});
  std::ranges::fill(magnitudes_, 0.0);
  std::ranges::fill(partials_, 0.0);
  for (std::int64_t first_k = 0; first_k < part.k; first_k += kDepth) {
    const int depth = static_cast<int>(std::min<std::int64_t>(kDepth, part.k - first_k));
    load_blocks(part, first_k, depth, blocks);
    for (std::size_t row = 0; row < part.rows.size(); ++row)
      add_block(row, depth, part.columns, blocks);
  }
}

void GemmReference::compute(std::span<const std::int64_t> rows, std::int64_t first_column,
                            int columns) {
  compute({.rows = rows,
           .first_column = first_column,
           .columns = columns,
           .k = arguments_.extents().k});
}

void GemmReference::compute(const Part& part) {
  std::ranges::fill(row_facts_, VectorFacts{});
  std::ranges::fill(column_facts_, VectorFacts{});
  if (integers_) return compute_with(part, wrapping_);
  compute_with(part, floats_);
}

ReferenceElement GemmReference::element(int row, int column) const {
  const std::size_t at =
      static_cast<std::size_t>(row) * kColumns + static_cast<std::size_t>(column);
  if (integers_) return {static_cast<double>(wrap(static_cast<std::int64_t>(wrapping_.sums[at])))};
  return {floats_.sums[at], magnitudes_[at], partials_[at]};
}

}  // namespace estoc::check
