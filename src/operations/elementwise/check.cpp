// Judges the output of an elementwise operation, row by row on several threads.
#include "operations/elementwise/check.h"

#include <algorithm>
#include <span>

#include "check/blocks.h"
#include "check/reference.h"
#include "estoc/numeric.hpp"
#include "estoc/status.hpp"
#include "operations/elementwise/reference.h"

namespace estoc::operations {
namespace {

using check::Judge;
using check::Place;
using check::RowSample;

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
    judge_.see(place, got, expect_elementwise(arguments_.op(), compute_type_, x, y));
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

}  // namespace

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
  const Dtype compute_type = elementwise_compute_type(arguments);
  Judge judge(out.dtype(), Dtype::f64);
  constexpr std::int64_t kBlockElements = 1 << 14;
  const std::int64_t block_columns = std::clamp<std::int64_t>(columns, 1, kBlockElements);
  check::check_blocks(sample, columns, kBlockElements / block_columns, block_columns, options,
                      judge, [&] { return ElementwiseChecker(arguments, compute_type); });
  return check::finished(compute_type == Dtype::i32 ? check::exact_verdict(judge.tally())
                                                    : check::rounded_verdict(judge.tally()),
                         judge, sample, out);
}

}  // namespace estoc::operations
