// The groups of a product as device code sees them.
#include "providers/cuda/groups.h"

#include <fmt/core.h>

#include <algorithm>

#include "estoc/arguments.hpp"
#include "operations/grouped_gemm/group_table.h"
#include "providers/cuda/operand_plane.h"

namespace estoc::cuda {

using operations::GemmProblem;
using operations::Mapping;

abi::GroupedMode grouped_mode(Mapping mapping) {
  switch (mapping) {
    case Mapping::rows:
      return abi::GroupedMode::rows;
    case Mapping::columns:
      return abi::GroupedMode::columns;
    case Mapping::reduction:
      return abi::GroupedMode::reduction;
    default:
      return abi::GroupedMode::none;
  }
}

namespace {

abi::GroupedLayout grouped_layout(GroupLayout layout) {
  switch (layout) {
    case GroupLayout::prefix:
      return abi::GroupedLayout::prefix;
    case GroupLayout::masked:
      return abi::GroupedLayout::masked;
    case GroupLayout::ranges:
      return abi::GroupedLayout::ranges;
    default:
      return abi::GroupedLayout::ends;
  }
}

}  // namespace

namespace {

/// Whether the arguments' matrices of the operand have contiguous rows.
bool stated_rows(const GemmProblem& problem, const operations::GemmOperand& operand) {
  const MatrixView as_given =
      problem.transposed ? operations::transposed(operand.view) : operand.view;
  return operations::has_contiguous_rows(as_given).value_or(true);
}

}  // namespace

abi::Groups device_groups(const GemmProblem& problem) {
  return {.offsets = reinterpret_cast<std::uintptr_t>(problem.groups.offsets),
          .stride = problem.groups.stride,
          .count = problem.groups.count,
          .extent = problem.groups.extent,
          .mode = grouped_mode(problem.mapping),
          .zero_rest = problem.groups.zero_rest ? 1 : 0,
          .layout = grouped_layout(problem.groups.layout),
          .room = static_cast<int>(problem.groups.room())};
}

abi::RowIndex device_rows(const GemmProblem& problem) {
  const operations::RowIndex& rows = problem.a.rows;
  return {.address = reinterpret_cast<std::uintptr_t>(rows.index),
          .stride = rows.stride,
          .count = rows.count};
}

abi::GroupTable device_table(const GemmProblem& problem) {
  const auto has_rows = [&](const operations::GemmOperand& operand) {
    const bool rows = stated_rows(problem, operand);
    return rows != problem.transposed ? 1 : 0;
  };
  return {.address = reinterpret_cast<std::uintptr_t>(problem.groups.offsets),
          .stride = 4 * problem.groups.stride,
          .transposed = problem.transposed ? 1 : 0,
          .a_rows = has_rows(problem.a),
          .b_rows = has_rows(problem.b),
          .out_rows = has_rows(problem.out)};
}

Status check_pointed_layout(const DesignPoint& point, const GemmProblem& problem) {
  const std::string& letters = point.value(Role::layouts).text;
  const operations::GemmOperand* const operands[] = {&problem.a, &problem.b, &problem.out};
  for (std::size_t i = 0; i < 3; ++i) {
    const char letter = stated_rows(problem, *operands[i]) ? 't' : 'n';
    if (letters[i] == 'x' || letters[i] == letter) continue;
    return Status::fail(Reason::layout, fmt::format("{}.layout: expected {} in all groups, got {}",
                                                    operands[i]->name, letters[i], letter));
  }
  return Status::success();
}

Status no_epilogue_by_pointers() {
  return Status::fail(Reason::epilogue, "epilogue: expected none with groups by pointers, got one");
}

std::int64_t most_group_tiles(const operations::Groups& groups, int tile) {
  // Gaps between groups count as well where zeros are to be stored there.
  const bool gaps = groups.zero_rest && groups.layout != GroupLayout::ends;
  const std::int64_t parts = std::min((gaps ? 2 * groups.count : groups.count) + 1, groups.extent);
  return (groups.extent - parts) / tile + parts;
}

Status check_divided_out(const GemmProblem& problem, int tile_m, int tile_n, std::int64_t most) {
  const bool by_rows = problem.mapping == Mapping::rows;
  if (!by_rows && problem.mapping != Mapping::columns) return Status::success();
  if (problem.epilogue != nullptr && !problem.epilogue->graph->reduced.empty()) {
    return Status::fail(Reason::epilogue,
                        "epilogue: expected no reduction where groups divide out, got one");
  }
  const std::int64_t divided = most_group_tiles(problem.groups, by_rows ? tile_m : tile_n);
  const std::int64_t others = by_rows ? ceil_div(problem.n, tile_n) : ceil_div(problem.m, tile_m);
  if (divided <= most && (others == 0 || divided <= most / others)) return Status::success();
  return Status::fail(
      Reason::shape,
      fmt::format("out.shape: expected at most {} tiles, got {} x {}", most, divided, others));
}

Status divided_is_contiguous() {
  return Status::fail(Reason::layout,
                      "offsets: expected a mode that is contiguous in no operand that they divide, "
                      "got one that is");
}

}  // namespace estoc::cuda
