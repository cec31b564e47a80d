// Checks a GEMM with an epilogue: D, the other outputs of its shape, and reductions.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>

#include "check/blocks.h"
#include "check/epilogue_oracle.h"
#include "check/quantised.h"
#include "check/reference.h"
#include "estoc/numeric.hpp"
#include "estoc/status.hpp"

namespace estoc::check {
namespace {

std::int64_t offset_of(const EpilogueAddress& address, std::int64_t l, std::int64_t m,
                       std::int64_t n) {
  return l * address.batch_stride + m * address.row_stride + n * address.column_stride;
}

double stored(const EpilogueAddress& address, Dtype dtype, std::int64_t l, std::int64_t m,
              std::int64_t n) {
  return load_element(dtype, address.data, offset_of(address, l, m, n));
}

Judge judge_of(Dtype dtype, EpilogueType type) {
  return {dtype, type == EpilogueType::f32 ? Dtype::f32 : Dtype::f64};
}

/// How many elements a reduced output has, and which one an element of the product goes to.
struct Kept {
  std::int64_t l, m, n;  ///< extents, 1 where it is reduced

  Kept(Varies keeps, const GemmExtents& extents)
      : l(keeps.l ? extents.l : 1), m(keeps.m ? extents.m : 1), n(keeps.n ? extents.n : 1) {}
  std::int64_t elements() const { return l * m * n; }
  std::size_t index(std::int64_t batch, std::int64_t row, std::int64_t column) const {
    const std::int64_t at =
        ((l == 1 ? 0 : batch) * m + (m == 1 ? 0 : row)) * n + (n == 1 ? 0 : column);
    return static_cast<std::size_t>(at);
  }
};

/// The elements that one thread, or all of them, have compared.
struct Seen {
  std::vector<Judge> stores;
  SeenOutput quantised;
  std::vector<std::vector<FoldEstimate>> folds;

  explicit Seen(const GemmArguments& arguments) : quantised(arguments) {}

  void merge(const Seen& other) {
    quantised.merge(other.quantised);
    for (std::size_t i = 0; i < stores.size(); ++i)
      stores[i].merge(other.stores[i]);
    for (std::size_t i = 0; i < folds.size(); ++i) {
      for (std::size_t j = 0; j < folds[i].size(); ++j)
        folds[i][j].merge(other.folds[i][j]);
    }
  }
};

class FusedChecker {
 public:
  FusedChecker(const GemmArguments& arguments, const GemmRounding& rounding,
               const ExpectedRows* kept, const Groups* groups, const Seen& empty)
      : arguments_(arguments),
        groups_(groups),
        binding_(*arguments.epilogue_binding()),
        graph_(*binding_.graph),
        accumulators_(arguments, rounding, kept, groups),
        oracle_(binding_),
        offsets_(binding_.tensors.size()),
        seen_(empty) {
    if (arguments.out_scaled() != nullptr) quantised_.emplace(arguments);
    if (arguments.pairs() != AccumulatorPairs::none)
      seconds_.emplace(arguments, rounding, nullptr, groups);
  }

  void check(std::span<const std::int64_t> rows, std::int64_t first_column, int columns) {
    for (const Part& part : parts_of(arguments_, groups_, rows, first_column, columns)) {
      accumulators_.load(part);
      load_seconds(part);
      for (std::size_t i = 0; i < part.rows.size(); ++i)
        judge_row(part.rows[i], static_cast<int>(i), part.first_column, part.columns);
    }
  }

  const Seen& seen() const { return seen_; }

 private:
  /// The second accumulators are of other columns of B.
  void load_seconds(Part part) {
    if (!seconds_) return;
    part.b_offset += arguments_.pair_distance();
    seconds_->load(part);
  }

  void judge_row(std::int64_t row, int row_in_block, std::int64_t first_column, int columns) {
    const std::int64_t l = row / arguments_.extents().m;
    const std::int64_t m = row % arguments_.extents().m;
    for (int j = 0; j < columns; ++j) {
      column_ = static_cast<std::size_t>(j);
      const Expectation second = seconds_ ? seconds_->at(row_in_block, j) : Expectation{};
      judge_element(row, l, m, first_column + j, {accumulators_.at(row_in_block, j), second});
    }
    if (!quantised_) return;
    const auto count = static_cast<std::size_t>(columns);
    quantised_->see(row, first_column, std::span(expected_).first(count),
                    std::span(is_any_).first(count), seen_.quantised);
  }

  void judge_element(std::int64_t row, std::int64_t l, std::int64_t m, std::int64_t n,
                     const EpilogueOracle::Accumulators& accumulators) {
    for (std::size_t i = 0; i < offsets_.size(); ++i)
      offsets_[i] = offset_of(binding_.tensors[i], l, m, n);
    oracle_.evaluate(offsets_, row * arguments_.extents().n + n, accumulators);
    for (std::size_t i = 0; i < graph_.stores.size(); ++i) {
      const EpilogueStore& store = graph_.stores[i];
      const Estimate estimate = oracle_.stored(store.node);
      if (i == 0 && quantised_) {
        expected_[column_] = {estimate.value, estimate.slack};
        is_any_[column_] = estimate.any;
        continue;
      }
      if (estimate.any) continue;
      seen_.stores[i].see({row, n}, stored(binding_.stores[i], store.dtype, l, m, n),
                          {estimate.value, estimate.slack});
    }
    for (std::size_t i = 0; i < graph_.reduced.size(); ++i) {
      if (seen_.folds[i].empty()) continue;
      const EpilogueReducedStore& store = graph_.reduced[i];
      const Kept kept(store.keeps, arguments_.extents());
      seen_.folds[i][kept.index(l, m, n)].include(store.reduction, graph_.nodes[store.node].type,
                                                  oracle_.node(store.node));
    }
  }

  const GemmArguments& arguments_;
  const Groups* groups_;
  const EpilogueBinding& binding_;
  const EpilogueGraph& graph_;
  Accumulators accumulators_;
  std::optional<Accumulators> seconds_;  ///< where accumulators are in pairs
  EpilogueOracle oracle_;
  std::vector<std::int64_t> offsets_;  ///< of the element at hand, in each tensor
  Seen seen_;
  std::optional<QuantisedRows> quantised_;
  // Of the row at hand, where out is quantised.
  std::array<Expectation, GemmReference::kColumns> expected_{};
  std::array<bool, GemmReference::kColumns> is_any_{};
  std::size_t column_ = 0;
};

/// Every output once; reductions of rows that were not all seen stay empty.
Seen nothing_seen(const GemmArguments& arguments, bool all_rows) {
  const EpilogueGraph& graph = *arguments.epilogue_binding()->graph;
  Seen seen(arguments);
  for (const EpilogueStore& store : graph.stores)
    seen.stores.push_back(judge_of(store.dtype, graph.nodes[store.node].type));
  for (const EpilogueReducedStore& store : graph.reduced) {
    const bool whole_rows = store.keeps.m && (store.keeps.l || arguments.extents().l == 1);
    const Kept kept(store.keeps, arguments.extents());
    const std::int64_t elements = all_rows || whole_rows ? kept.elements() : 0;
    seen.folds.emplace_back(static_cast<std::size_t>(elements));
  }
  return seen;
}

/// Judges the elements of a reduced output whose rows have been seen.
Judge judge_reduced(const GemmArguments& arguments, std::size_t index,
                    const std::vector<FoldEstimate>& folds, const RowSample& sample) {
  const EpilogueBinding& binding = *arguments.epilogue_binding();
  const EpilogueGraph& graph = *binding.graph;
  const EpilogueReducedStore& store = graph.reduced[index];
  const EpilogueType type = graph.nodes[store.node].type;
  const GemmExtents& extents = arguments.extents();
  const Kept kept(store.keeps, extents);
  Judge judge = judge_of(store.dtype, type);
  const auto see = [&](std::int64_t l, std::int64_t m, std::int64_t n) {
    const Estimate estimate = folds[kept.index(l, m, n)].result(store.reduction, type);
    if (estimate.any) return;
    judge.see({l * kept.m + m, n}, stored(binding.reduced[index], store.dtype, l, m, n),
              {estimate.value, estimate.slack});
  };
  if (folds.empty()) return judge;
  if (sample.count() < sample.total()) {
    for (std::int64_t i = 0; i < sample.count(); ++i)
      see(sample.row(i) / extents.m, sample.row(i) % extents.m, 0);
    return judge;
  }
  for (std::int64_t l = 0; l < kept.l; ++l) {
    for (std::int64_t m = 0; m < kept.m; ++m) {
      for (std::int64_t n = 0; n < kept.n; ++n)
        see(l, m, n);
    }
  }
  return judge;
}

/// "amax[3, 0]: expected ...": of outputs of fewer modes, with an index for each of (l, m, n).
std::string describe_reduced(const Judge& judge, const std::string& name, std::int64_t rows) {
  const WorstElement& worst = judge.worst();
  return fmt::format("{}[{}, {}, {}]: expected {:.9g}, got {:.9g}", name, worst.place.row / rows,
                     worst.place.row % rows, worst.place.column, worst.expected, worst.got);
}

/// Names of outputs in the order of the graph's: those of the product's shape, then reductions.
struct OutputNames {
  std::vector<const EpilogueOperand*> stores{nullptr};  ///< D is the output operand
  std::vector<const EpilogueOperand*> reduced;

  explicit OutputNames(const EpilogueArguments& epilogue) {
    if (epilogue.empty()) return;  // scales alone
    for (const EpilogueAssignment& assignment : epilogue.program().assignments()) {
      const EpilogueOperand* operand = epilogue.find(assignment.name);
      if (operand == nullptr || assignment.name == "D") continue;
      (assignment.reduction ? reduced : stores).push_back(operand);
    }
  }
};

}  // namespace

void refuse_fused_in_place(const GemmArguments& arguments) {
  const EpilogueBinding& binding = *arguments.epilogue_binding();
  if (arguments.out().elements() == 0) return;
  for (const EpilogueAddress& input : binding.tensors) {
    for (const EpilogueAddress& output : binding.stores) {
      if (input.data != output.data) continue;
      throw Error(ErrorKind::unsupported,
                  "check_output: an epilogue in place cannot be checked, its input is gone");
    }
  }
}

CheckResult check_fused_gemm(const GemmArguments& arguments, const CheckOptions& options,
                             const ExpectedRows* kept, const Groups* groups) {
  const GemmExtents& extents = arguments.extents();
  const bool integers = is_integer_gemm(arguments);
  const RowSample sample = kept != nullptr
                               ? kept->rows
                               : sample_rows(extents.l * extents.m, extents.n, extents.k,
                                             options.max_products, options.seed);
  const GemmRounding rounding = integers ? GemmRounding{} : rounding_of(arguments, groups);
  const Seen empty = nothing_seen(arguments, sample.count() == sample.total());
  Seen seen = empty;
  check_blocks(sample, extents.n, GemmReference::kRows, GemmReference::kColumns, options, seen,
               [&] { return FusedChecker(arguments, rounding, kept, groups, empty); });

  const OutputNames names(arguments.epilogue());
  const bool quantised = arguments.out_scaled() != nullptr;
  const Judge& out = quantised ? seen.quantised.data : seen.stores[0];
  CheckResult result = rounded_verdict(out.tally());
  if (!result.passed) result.worst = describe(out.worst(), arguments.out(), "out");
  add_scales(arguments, seen.quantised.scales, result);
  const auto take = [&](const Judge& judge, std::string worst) {
    const CheckResult other = rounded_verdict(judge.tally());
    if (other.passed || !result.passed) return;
    result = other;
    result.worst = std::move(worst);
  };
  for (std::size_t i = 1; i < seen.stores.size(); ++i) {
    const EpilogueOperand& output = *names.stores[i];
    take(seen.stores[i], describe(seen.stores[i].worst(), *output.tensor(), output.name));
  }
  for (std::size_t i = 0; i < seen.folds.size(); ++i) {
    const Judge judge = judge_reduced(arguments, i, seen.folds[i], sample);
    const Varies keeps = arguments.epilogue_binding()->graph->reduced[i].keeps;
    const std::int64_t rows = std::max<std::int64_t>(1, Kept(keeps, extents).m);
    take(judge, describe_reduced(judge, names.reduced[i]->name, rows));
  }
  result.rows_checked = sample.count();
  result.rows_total = sample.total();
  return result;
}

}  // namespace estoc::check
