// Judges the output of an elementwise operation, row by row on several threads.
#include "operations/elementwise/check.h"

#include <algorithm>
#include <span>
#include <vector>

#include "check/blocks.h"
#include "check/epilogue_oracle.h"
#include "check/reference.h"
#include "estoc/numeric.hpp"
#include "estoc/status.hpp"
#include "operations/elementwise/program.h"

namespace estoc::operations {
namespace {

using check::Judge;
using check::Place;
using check::RowSample;

/// Judges the rows of one elementwise operation; one object a thread.
class ElementwiseChecker {
 public:
  ElementwiseChecker(const ElementwiseArguments& arguments, const EpilogueBinding& program)
      : operands_(arguments),
        out_(arguments.out()),
        result_(program.graph->stores.front().node),
        accumulator_(program.graph->accumulator),
        judge_(judge_of(arguments, program)),
        oracle_(program),
        offsets_(program.tensors.size()) {}

  static Judge judge_of(const ElementwiseArguments& arguments, const EpilogueBinding& program) {
    const EpilogueStore& store = program.graph->stores.front();
    const bool narrow = program.graph->nodes[store.node].type == EpilogueType::f32;
    return {arguments.out().dtype(), narrow ? Dtype::f32 : Dtype::f64};
  }

  void check(std::span<const std::int64_t> rows, std::int64_t first_column, std::int64_t columns) {
    for (const std::int64_t row : rows) {
      for (std::int64_t column = first_column; column < first_column + columns; ++column)
        check_element({row, column});
    }
  }

  const Judge& seen() const { return judge_; }

 private:
  static constexpr std::size_t kA = 1;
  static constexpr std::size_t kFirstTensor = 2;

  void check_element(Place place) {
    const TensorView& a = operands_.view(kA);
    double x = check::operand_value(a.dtype(), a.data(), offset(a, place));
    if (accumulator_ == EpilogueType::f32) x = round_to(Dtype::f32, x);
    for (std::size_t i = 0; i < offsets_.size(); ++i)
      offsets_[i] = offset(operands_.view(kFirstTensor + i), place);
    const std::int64_t columns = out_.rank() == 0 ? 1 : out_.shape(out_.rank() - 1);
    oracle_.evaluate(offsets_, place.row * columns + place.column, {x});
    const check::Estimate expected = oracle_.stored(result_);
    if (expected.any) return;
    const double got = load_element(out_.dtype(), out_.data(), offset(out_, place));
    judge_.see(place, got, {expected.value, expected.slack});
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

  ElementwiseOperands operands_;
  const TensorView& out_;
  std::uint16_t result_;  ///< the node that is stored
  EpilogueType accumulator_;
  Judge judge_;
  check::EpilogueOracle oracle_;
  std::vector<std::int64_t> offsets_;  ///< of the element at hand, in each tensor
};

/// Whether D is made of whole numbers alone.
bool is_exact(const EpilogueGraph& graph) {
  return std::ranges::all_of(
      graph.nodes, [](const EpilogueNode& node) { return node.type <= EpilogueType::i32; });
}

}  // namespace

void refuse_in_place(const ElementwiseArguments& arguments) {
  const TensorView& out = arguments.out();
  if (out.elements() == 0) return;
  const ElementwiseOperands operands(arguments);
  const bool in_place = std::ranges::any_of(
      operands.views().subspan(1), [&](const auto* input) { return input->data() == out.data(); });
  if (!in_place) return;
  throw Error(ErrorKind::unsupported,
              "check_output: an operation in place cannot be checked, its input is gone");
}

CheckResult check_elementwise(const ElementwiseArguments& arguments, const CheckOptions& options) {
  const TensorView& out = arguments.out();
  const std::int64_t columns = out.rank() == 0 ? 1 : out.shape(out.rank() - 1);
  const std::int64_t elements = out.elements();
  const RowSample sample = check::sample_rows(columns == 0 ? 0 : elements / columns, columns, 1,
                                              options.max_products, options.seed);
  const EpilogueBinding program = program_of(arguments);
  Judge judge = ElementwiseChecker::judge_of(arguments, program);
  constexpr std::int64_t kBlockElements = 1 << 14;
  const std::int64_t block_columns = std::clamp<std::int64_t>(columns, 1, kBlockElements);
  check::check_blocks(sample, columns, kBlockElements / block_columns, block_columns, options,
                      judge, [&] { return ElementwiseChecker(arguments, program); });
  return check::finished(is_exact(*program.graph) ? check::exact_verdict(judge.tally())
                                                  : check::rounded_verdict(judge.tally()),
                         judge, sample, out);
}

}  // namespace estoc::operations
