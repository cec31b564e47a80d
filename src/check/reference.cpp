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

std::int32_t wrap(std::int64_t number) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(number));
}

/// The larger or the smaller of two numbers; NaN if one is NaN.
double extreme(double x, double y, bool larger) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
  return larger == (x > y) ? x : y;
}

double integer_elementwise(ElementwiseOp op, std::int64_t x, std::int64_t y) {
  switch (op) {
    case ElementwiseOp::add:
      return wrap(x + y);
    case ElementwiseOp::sub:
      return wrap(x - y);
    case ElementwiseOp::mul:
      return wrap(x * y);
    case ElementwiseOp::maximum:
      return static_cast<double>(std::max(x, y));
    case ElementwiseOp::minimum:
      return static_cast<double>(std::min(x, y));
    case ElementwiseOp::neg:
      return wrap(-x);
    case ElementwiseOp::abs:
      return wrap(std::abs(x));
    case ElementwiseOp::relu:
      return static_cast<double>(std::max<std::int64_t>(x, 0));
    default:
      return static_cast<double>(x);
  }
}

double float_elementwise(ElementwiseOp op, double x, double y) {
  switch (op) {
    case ElementwiseOp::add:
      return x + y;
    case ElementwiseOp::sub:
      return x - y;
    case ElementwiseOp::mul:
      return x * y;
    case ElementwiseOp::div:
      return x / y;
    case ElementwiseOp::maximum:
      return extreme(x, y, true);
    case ElementwiseOp::minimum:
      return extreme(x, y, false);
    case ElementwiseOp::identity:
      return x;
    case ElementwiseOp::neg:
      return -x;
    case ElementwiseOp::abs:
      return std::abs(x);
    case ElementwiseOp::sqrt:
      return std::sqrt(x);
    case ElementwiseOp::rsqrt:
      return 1 / std::sqrt(x);
    case ElementwiseOp::exp:
      return std::exp(x);
    case ElementwiseOp::log:
      return std::log(x);
    case ElementwiseOp::reciprocal:
      return 1 / x;
    case ElementwiseOp::relu:
      return extreme(x, 0, true);
    case ElementwiseOp::gelu:
      // erfc keeps its accuracy where 1 + erf cancels.
      return x / 2 * std::erfc(-x * M_SQRT1_2);
    case ElementwiseOp::silu:
      return x / (1 + std::exp(-x));
    case ElementwiseOp::sigmoid:
      return 1 / (1 + std::exp(-x));
    case ElementwiseOp::tanh:
      return std::tanh(x);
  }
  return x;
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
  ReferenceElement sum;
  for (std::int64_t k = 0; k < arguments.extents().k; ++k) {
    const std::int64_t a_at = batch * a.batch_stride + row * a.row_stride + k * a.column_stride;
    const std::int64_t b_at = batch * b.batch_stride + k * b.row_stride + column * b.column_stride;
    const double product =
        operand_value(a.dtype, a.data, a_at) * operand_value(b.dtype, b.data, b_at);
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

GemmReference::GemmReference(const GemmArguments& arguments)
    : arguments_(arguments),
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
void GemmReference::load_blocks(std::span<const std::int64_t> rows, std::int64_t first_column,
                                int columns, std::int64_t first_k, int depth,
                                Blocks<Number>& blocks) {
  const MatrixView& a = arguments_.a_matrix();
  const MatrixView& b = arguments_.b_matrix();
  const std::int64_t m = arguments_.extents().m;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t start = rows[i] / m * a.batch_stride + rows[i] % m * a.row_stride;
    for (int k = 0; k < depth; ++k) {
      const double element =
          operand_value(a.dtype, a.data, start + (first_k + k) * a.column_stride);
      row_facts_[i].include(element);
      blocks.a[i * kDepth + static_cast<std::size_t>(k)] = to_number<Number>(element);
    }
  }
  const std::int64_t b_start = rows[0] / m * b.batch_stride + first_column * b.column_stride;
  for (int k = 0; k < depth; ++k) {
    Number* const block_row = &blocks.b[static_cast<std::size_t>(k) * kColumns];
    for (int j = 0; j < columns; ++j) {
      const std::int64_t at = b_start + (first_k + k) * b.row_stride + j * b.column_stride;
      const double element = operand_value(b.dtype, b.data, at);
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
void GemmReference::compute_with(std::span<const std::int64_t> rows, std::int64_t first_column,
                                 int columns, Blocks<Number>& blocks) {
  std::ranges::fill(blocks.sums, Number{0});
  std::ranges::fill(magnitudes_, 0.0);
  std::ranges::fill(partials_, 0.0);
  const std::int64_t k = arguments_.extents().k;
  for (std::int64_t first_k = 0; first_k < k; first_k += kDepth) {
    const int depth = static_cast<int>(std::min<std::int64_t>(kDepth, k - first_k));
    load_blocks(rows, first_column, columns, first_k, depth, blocks);
    for (std::size_t row = 0; row < rows.size(); ++row)
      add_block(row, depth, columns, blocks);
  }
}

void GemmReference::compute(std::span<const std::int64_t> rows, std::int64_t first_column,
                            int columns) {
  std::ranges::fill(row_facts_, VectorFacts{});
  std::ranges::fill(column_facts_, VectorFacts{});
  if (integers_) return compute_with(rows, first_column, columns, wrapping_);
  compute_with(rows, first_column, columns, floats_);
}

ReferenceElement GemmReference::element(int row, int column) const {
  const std::size_t at =
      static_cast<std::size_t>(row) * kColumns + static_cast<std::size_t>(column);
  if (integers_) return {static_cast<double>(wrap(static_cast<std::int64_t>(wrapping_.sums[at])))};
  return {floats_.sums[at], magnitudes_[at], partials_[at]};
}

Dtype elementwise_compute_type(const ElementwiseArguments& arguments) {
  const Dtype a = arguments.a().dtype();
  const Dtype b = arguments.b().dtype();
  if (a == Dtype::f64 || b == Dtype::f64) return Dtype::f64;
  if (!is_whole(a) || !is_whole(b) || !is_whole(arguments.out().dtype())) return Dtype::f32;
  switch (arguments.op()) {
    case ElementwiseOp::add:
    case ElementwiseOp::sub:
    case ElementwiseOp::mul:
    case ElementwiseOp::maximum:
    case ElementwiseOp::minimum:
    case ElementwiseOp::identity:
    case ElementwiseOp::neg:
    case ElementwiseOp::abs:
    case ElementwiseOp::relu:
      return Dtype::i32;
    default:
      return Dtype::f32;
  }
}

double reference_elementwise(ElementwiseOp op, Dtype compute_type, double x, double y) {
  if (compute_type != Dtype::i32) return float_elementwise(op, x, y);
  return integer_elementwise(op, static_cast<std::int64_t>(x), static_cast<std::int64_t>(y));
}

}  // namespace estoc::check
