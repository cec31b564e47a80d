// The order in which products are added up, where the bits of a row must not depend on M.
#include "discovery/summation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

namespace estoc::discovery {
namespace {

// Few rows, many, and between.
constexpr std::array<std::int64_t, 3> kRows{16, 256, 4096};

/// What the predicted times of an order's fastest kernels multiply to, as a logarithm.
struct Standing {
  int rows = 0;         ///< how many of kRows it serves
  int unpredicted = 0;  ///< how many of them have no predicted time
  double log_seconds = 0;

  bool operator<(const Standing& other) const {
    if (unpredicted != other.unpredicted) return unpredicted < other.unpredicted;
    return log_seconds < other.log_seconds;
  }
};
using Times = std::map<std::string, double>;
using Standings = std::map<std::string, Standing>;

/// The shortest time of each order; not finite where no kernel of it has a prediction.
Times shortest_times(const ClassEntries& classes, const ClassQuery& class_query,
                     const MetadataFilter& filter) {
  Times shortest;
  std::vector<DiscoveryFailure> failures;  // reported when the query itself runs
  for (const auto& entry : classes) {
    const ClassCandidates found = query_class(*entry, class_query, filter, failures);
    for (const Candidate& candidate : found.candidates) {
      const bool told = candidate.prediction && candidate.prediction->seconds > 0;
      const double seconds =
          told ? candidate.prediction->seconds : std::numeric_limits<double>::infinity();
      const auto [at, added] = shortest.try_emplace(
          entry->kernel_class().summation(candidate.state->point, class_query.epilogue.get()),
          seconds);
      if (!added) at->second = std::min(at->second, seconds);
    }
  }
  return shortest;
}

std::int64_t bytes_of(const MatrixView& view) {
  return std::max(dtype_bits(view.dtype) / 8, 1);
}

/// One row or none says nothing of how rows follow one another, unless they lie side by side.
TensorView view_with_rows(const TensorView& tensor, const MatrixView& view, std::int64_t rows) {
  const bool one = view.rows <= 1;
  const bool side_by_side = one && view.row_stride == 1 && view.columns > 1;
  const std::array shape{rows, view.columns};
  auto describe = [&](std::int64_t row_stride, std::int64_t column_stride, std::int64_t alignment) {
    return TensorView::describe(view.dtype, shape, std::array{row_stride, column_stride},
                                tensor.device(), alignment);
  };
  if (view.is_row_major() && !side_by_side) {
    const std::int64_t stride = one ? std::max(view.row_stride, view.columns) : view.row_stride;
    return describe(stride, 1, std::max<std::int64_t>(tensor.alignment(), bytes_of(view)));
  }
  if (view.is_column_major()) return describe(1, rows, bytes_of(view));
  return describe(2 * view.columns, 2, bytes_of(view));
}

TensorView one_batch(const TensorView& tensor, const MatrixView& view) {
  return TensorView::describe(view.dtype, std::array{view.rows, view.columns},
                              std::array{view.row_stride, view.column_stride}, tensor.device(),
                              std::max<std::int64_t>(tensor.alignment(), bytes_of(view)));
}

/// The product of `rows` rows that lie as those of `gemm` do, described, without its epilogue.
/// Where strides that go with M alone tell how rows are aligned, they are aligned to elements.
GemmArguments with_rows(const GemmArguments& gemm, std::int64_t rows) {
  return {view_with_rows(gemm.a().tensor(), gemm.a_matrix(), rows),
          one_batch(gemm.b().tensor(), gemm.b_matrix()),
          view_with_rows(gemm.out(), gemm.out_matrix(), rows), gemm.accumulator_type(),
          gemm.controls()};
}

/// The same for other rows; nothing where there can be no product of so many.
Times times_for(std::int64_t rows, const ClassEntries& classes, const ClassQuery& class_query,
                const MetadataFilter& filter) {
  std::optional<GemmArguments> like;
  try {
    like = with_rows(static_cast<const GemmArguments&>(class_query.arguments), rows);
  } catch (const Error&) {
    return {};
  }
  return shortest_times(classes,
                        {.arguments = *like,
                         .signature = Signature(*like),
                         .target = class_query.target,
                         .epilogue = class_query.epilogue},
                        filter);
}

void add_rows(Standings& standings, const Times& shortest) {
  for (const auto& [order, seconds] : shortest) {
    Standing& standing = standings[order];
    ++standing.rows;
    if (std::isfinite(seconds)) {
      standing.log_seconds += std::log(seconds);
    } else {
      ++standing.unpredicted;
    }
  }
}

}  // namespace

bool needs_summation(const RuntimeArguments& arguments) {
  return arguments.operation() == Operation::gemm && arguments.controls().batch_invariant;
}

Status check_promise(const std::string& order) {
  if (!order.empty()) return Status::success();
  return Status::fail(Reason::controls,
                      "controls.batch_invariant: expected a kernel that promises its order of "
                      "summation, got one that does not");
}

Status check_summation(const KernelClass& kernel_class, const DesignPoint& point,
                       const ClassQuery& class_query) {
  if (!needs_summation(class_query.arguments)) return Status::success();
  const std::string order = kernel_class.summation(point, class_query.epilogue.get());
  Status status = check_promise(order);
  if (!status.ok() || !class_query.summation || order == *class_query.summation) return status;
  return Status::fail(
      Reason::controls,
      class_query.summation->empty()
          ? fmt::format("controls.batch_invariant: expected an order of summation that kernels for "
                        "every M have, which there is none of, got '{}'",
                        order)
          : fmt::format("controls.batch_invariant: expected the order of summation of every M, "
                        "'{}', got '{}'",
                        *class_query.summation, order));
}

std::optional<std::string> choose_summation(const ClassEntries& classes,
                                            const ClassQuery& class_query,
                                            const MetadataFilter& filter) {
  if (!needs_summation(class_query.arguments)) return std::nullopt;
  Standings standings;
  for (const std::int64_t rows : kRows)
    add_rows(standings, times_for(rows, classes, class_query, filter));
  std::erase_if(standings,
                [](const auto& each) { return each.second.rows < static_cast<int>(kRows.size()); });
  const auto best = std::ranges::min_element(
      standings, [](const auto& x, const auto& y) { return x.second < y.second; });
  return best == standings.end() ? std::string() : best->first;
}

}  // namespace estoc::discovery
