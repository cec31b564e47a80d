// What kernel classes that TMA feeds share of products in groups.
#include "providers/cuda/tma_groups.h"

#include <fmt/core.h>

#include <cmath>

#include "providers/cuda/groups.h"
#include "providers/cuda/operand_plane.h"
#include "providers/cuda/sm90_launch.h"
#include "providers/cuda/tma_operand.h"

namespace estoc::cuda {
namespace {

using abi::GroupedMode;
using operations::GemmProblem;

// A search for tiles looks at all of them.
constexpr std::int64_t kMaxParts = 65536;

/// The integral of ceil from 0 to `end`.
double sum_of_ceilings(double end) {
  const double whole = std::floor(end);
  return whole * (whole + 1) / 2 + (whole + 1) * (end - whole);
}

Status check_part_count(std::int64_t parts) {
  if (parts <= kMaxParts) return Status::success();
  return Status::fail(
      Reason::shape,
      fmt::format("offsets.shape: expected at most {} groups and gaps between them, got {}",
                  kMaxParts, parts));
}

}  // namespace

GroupMode group_mode(const DesignPoint& point) {
  return parse_group_mode(point.value("along").text).value_or(GroupMode::batches);
}

GroupedMode groups_in_code(const DesignPoint& point, bool transposed) {
  switch (group_mode(point)) {
    case GroupMode::rows:
      return transposed ? GroupedMode::columns : GroupedMode::rows;
    case GroupMode::columns:
      return transposed ? GroupedMode::rows : GroupedMode::columns;
    case GroupMode::reduction:
      return GroupedMode::reduction;
    case GroupMode::batches:
      break;
  }
  return GroupedMode::none;
}

bool boxes_fit_groups(const DesignPoint& point, bool transposed) {
  const Majors majors = majors_of(point, transposed);
  switch (groups_in_code(point, transposed)) {
    case GroupedMode::rows:
      return !majors.a_m_major;
    case GroupedMode::columns:
      return !majors.b_n_major && point.integer(Role::out_alignment) != 16;
    default:
      return true;
  }
}

Status check_tma_groups(const DesignPoint& point, const RuntimeArguments& arguments,
                        const Shape3& tile, std::int64_t most_tiles) {
  const GemmProblem problem =
      operations::lower_product(arguments, operations::Orientation::as_given);
  Status status = check_divided_out(problem, tile.m, tile.n, most_tiles);
  const auto& letters = point.value(Role::layouts).numbers;
  if (status.ok()) status = check_part_count(device_groups(problem).parts());
  if (status.ok()) status = check_tma_strides({problem.a, letters[0] == 'n'});
  if (status.ok()) status = check_tma_strides({problem.b, letters[1] == 'n'});
  if (status.ok()) status = check_sm90_out(point, {problem.out, letters[2] == 'n'});
  // Last, as it says the least. Most kernels of a search fail here: nothing is formatted.
  const GroupMode mode = static_cast<const GroupedGemmArguments&>(arguments).mode();
  if (!status.ok() || mode == group_mode(point)) return status;
  const bool contiguous = (mode == GroupMode::rows && letters[0] == 'n') ||
                          (mode == GroupMode::columns && letters[1] == 't');
  if (contiguous) return divided_is_contiguous();
  return Status::fail(Reason::layout,
                      "offsets: expected a kernel for the mode that they divide, got one for "
                      "another");
}

double uneven_tiles(double mean, double tile) {
  constexpr double kSpread = 0.7;
  const double size = mean / tile;
  const double least = size * (1 - kSpread);
  const double most = size * (1 + kSpread);
  const double expected = (sum_of_ceilings(most) - sum_of_ceilings(least)) / (most - least);
  return expected / std::ceil(size);
}

std::int64_t most_grouped_tiles(const GemmProblem& problem, GroupedMode mode, int rows,
                                int columns) {
  const std::int64_t tiles_m = ceil_div(problem.m, rows);
  const std::int64_t tiles_n = ceil_div(problem.n, columns);
  switch (mode) {
    case GroupedMode::rows:
      return most_group_tiles(problem.groups, rows) * tiles_n;
    case GroupedMode::columns:
      return most_group_tiles(problem.groups, columns) * tiles_m;
    default:
      return tiles_m * tiles_n * problem.l;
  }
}

}  // namespace estoc::cuda
