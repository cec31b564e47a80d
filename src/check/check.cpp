// Implements check_output: walks the checked rows on several threads and forms the verdict.
#include "estoc/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

#include "check/blocks.h"
#include "check/expected_rows.h"
#include "check/judge.h"
#include "check/parallel.h"
#include "check/reference.h"
#include "check/rounding.h"
#include "check/sampling.h"
#include "estoc/numeric.hpp"
#include "estoc/status.hpp"

namespace estoc {
namespace {

using check::Accumulators;
using check::ExpectedRows;
using check::GemmRounding;
using check::Judge;
using check::Place;
using check::RowSample;

void check_operands(const RuntimeArguments& arguments) {
  if (!arguments.device().is_cpu()) {
    throw Error(ErrorKind::value, fmt::format("check_output: expected operands in host memory, got "
                                              "operands on {}",
                                              arguments.device().name()));
  }
  if (!arguments.has_data()) {
    throw Error(ErrorKind::value, "check_output: expected operands with data, got a description");
  }
}

/// Judges the rows of one GEMM; one object a thread.
class GemmChecker {
 public:
  GemmChecker(const GemmArguments& arguments, const GemmRounding& rounding,
              const ExpectedRows* kept)
      : judge_(arguments.out_matrix().dtype, Dtype::f64),
        arguments_(arguments),
        accumulators_(arguments, rounding, kept) {}

  /// Judges columns [first_column, first_column + columns) of at most GemmReference::kRows rows.
  void check(std::span<const std::int64_t> rows, std::int64_t first_column, int columns) {
    while (!rows.empty()) {
      const auto group = rows.first(check::rows_with_one_b(arguments_, rows));
      accumulators_.load(group, first_column, columns);
      for (std::size_t i = 0; i < group.size(); ++i)
        judge_row(group[i], static_cast<int>(i), first_column, columns);
      rows = rows.subspan(group.size());
    }
  }

  const Judge& seen() const { return judge_; }

 private:
  void judge_row(std::int64_t row, int row_in_block, std::int64_t first_column, int columns) {
    const MatrixView& out = arguments_.out_matrix();
    const std::int64_t m = arguments_.extents().m;
    const std::int64_t start = row / m * out.batch_stride + row % m * out.row_stride;
    for (int j = 0; j < columns; ++j) {
      const std::int64_t column = first_column + j;
      const double got = load_element(out.dtype, out.data, start + column * out.column_stride);
      judge_.see({row, column}, got, accumulators_.at(row_in_block, j));
    }
  }

  Judge judge_;
  const GemmArguments& arguments_;
  Accumulators accumulators_;
};

/// Judges the rows of one elementwise operation; one object a thread.
class ElementwiseChecker {
 public:
  ElementwiseChecker(const ElementwiseArguments& arguments, Dtype compute_type)
      : judge_(arguments.out().dtype(), compute_type == Dtype::i32 ? Dtype::f64 : compute_type),
        arguments_(arguments),
        compute_type_(compute_type) {}

  void check(std::span<const std::int64_t> rows, std::int64_t first_column, std::int64_t columns) {
    for (const std::int64_t row : rows) {
      for (std::int64_t column = first_column; column < first_column + columns; ++column)
        check_element({row, column});
    }
  }

  const Judge& seen() const { return judge_; }

 private:
  void check_element(Place place) {
    const TensorView& out = arguments_.out();
    const double x = operand(arguments_.a(), place);
    const double y = is_binary(arguments_.op()) ? operand(arguments_.b(), place) : x;
    const double got = load_element(out.dtype(), out.data(), offset(out, place));
    judge_.see(place, got, check::expect_elementwise(arguments_.op(), compute_type_, x, y));
  }

  double operand(const TensorView& tensor, Place place) const {
    const double value = check::operand_value(tensor.dtype(), tensor.data(), offset(tensor, place));
    return compute_type_ == Dtype::f32 ? round_to(Dtype::f32, value) : value;
  }

  static std::int64_t offset(const TensorView& tensor, Place place) {
    if (tensor.rank() == 0) return 0;
    std::int64_t offset = place.column * tensor.stride(tensor.rank() - 1);
    for (int mode = tensor.rank() - 2; mode >= 0 && place.row != 0; --mode) {
      offset += place.row % tensor.shape(mode) * tensor.stride(mode);
      place.row /= tensor.shape(mode);
    }
    return offset;
  }

  Judge judge_;
  const ElementwiseArguments& arguments_;
  Dtype compute_type_;
};

CheckResult finish(CheckResult result, const Judge& judge, const RowSample& sample,
                   const TensorView& out) {
  result.rows_checked = sample.count();
  result.rows_total = sample.total();
  if (!result.passed) result.worst = describe(judge.worst(), out, "out");
  return result;
}

void refuse_scales(const GemmArguments& arguments) {
  if (arguments.a().is_scaled() || arguments.b().is_scaled()) {
    throw Error(ErrorKind::unsupported, "check_output: scaled operands cannot be checked");
  }
  if (arguments.accumulator_type() == Dtype::i32 && !check::is_integer_gemm(arguments)) {
    throw Error(ErrorKind::unsupported,
                "check_output: an i32 accumulator of floating-point operands cannot be checked");
  }
}

void refuse_in_place(const ElementwiseArguments& arguments) {
  const TensorView& out = arguments.out();
  if (out.elements() == 0) return;
  if (out.data() != arguments.a().data() && out.data() != arguments.b().data()) return;
  throw Error(ErrorKind::unsupported,
              "check_output: an operation in place cannot be checked, its input is gone");
}

CheckResult check_elementwise(const ElementwiseArguments& arguments, const CheckOptions& options) {
  const TensorView& out = arguments.out();
  const std::int64_t columns = out.rank() == 0 ? 1 : out.shape(out.rank() - 1);
  const std::int64_t elements = out.elements();
  const RowSample sample = check::sample_rows(columns == 0 ? 0 : elements / columns, columns, 1,
                                              options.max_products, options.seed);
  const Dtype compute_type = check::elementwise_compute_type(arguments);
  Judge judge(out.dtype(), Dtype::f64);
  constexpr std::int64_t kBlockElements = 1 << 14;
  const std::int64_t block_columns = std::clamp<std::int64_t>(columns, 1, kBlockElements);
  check_blocks(sample, columns, kBlockElements / block_columns, block_columns, options, judge,
               [&] { return ElementwiseChecker(arguments, compute_type); });
  return finish(
      compute_type == Dtype::i32 ? exact_verdict(judge.tally()) : rounded_verdict(judge.tally()),
      judge, sample, out);
}

}  // namespace

namespace check {

void require_checkable(const RuntimeArguments& arguments) {
  if (arguments.operation() == Operation::elementwise) {
    return refuse_in_place(static_cast<const ElementwiseArguments&>(arguments));
  }
  const auto& gemm = static_cast<const GemmArguments&>(arguments);
  refuse_scales(gemm);
  if (gemm.epilogue_binding() != nullptr) refuse_fused_in_place(gemm);
}

CheckResult check_gemm(const GemmArguments& arguments, const CheckOptions& options,
                       const ExpectedRows* kept) {
  if (arguments.epilogue_binding() != nullptr) return check_fused_gemm(arguments, options, kept);
  const GemmExtents& extents = arguments.extents();
  const bool integers = is_integer_gemm(arguments);
  const RowSample sample = kept != nullptr
                               ? kept->rows
                               : sample_rows(extents.l * extents.m, extents.n, extents.k,
                                             options.max_products, options.seed);
  const GemmRounding rounding = integers ? GemmRounding{} : gemm_rounding(arguments);
  Judge judge(arguments.out().dtype(), Dtype::f64);
  check_blocks(sample, extents.n, GemmReference::kRows, GemmReference::kColumns, options, judge,
               [&] { return GemmChecker(arguments, rounding, kept); });
  return finish(verdict(arguments, judge.tally()), judge, sample, arguments.out());
}

CheckResult verdict(const GemmArguments& arguments, const Tally& tally) {
  return is_integer_gemm(arguments) ? exact_verdict(tally) : rounded_verdict(tally);
}

}  // namespace check

CheckResult check_output(const RuntimeArguments& arguments, const CheckOptions& options) {
  check_operands(arguments);
  check::require_checkable(arguments);
  if (arguments.operation() == Operation::elementwise) {
    return check_elementwise(static_cast<const ElementwiseArguments&>(arguments), options);
  }
  return check::check_gemm(static_cast<const GemmArguments&>(arguments), options, nullptr);
}

}  // namespace estoc
