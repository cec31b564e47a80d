// Transposes products, and finds their groups.
#include "operations/gemm_problem.h"

#include <utility>

#include "model/scale_rules.h"

namespace estoc::operations {
namespace {

GemmOperand transposed_operand(const GemmOperand& operand) {
  return {operand.name, transposed(operand.view), operand.scaled, operand.scales,
          operand.rows, operand.pair_distance};
}

Mapping transposed_mapping(Mapping mapping) {
  if (mapping == Mapping::rows) return Mapping::columns;
  return mapping == Mapping::columns ? Mapping::rows : mapping;
}

/// What offset number `index` says of the mode, before the rule of group_end().
std::int64_t boundary(const Groups& groups, std::int64_t index) {
  return static_cast<const std::int32_t*>(groups.offsets)[index * groups.stride];
}

/// Of a group as the layout states it; `end` is that of the group before it.
GroupRange stated(const Groups& groups, std::int64_t group, std::int64_t end) {
  switch (groups.layout) {
    case GroupLayout::prefix:
      return {boundary(groups, group), boundary(groups, group + 1)};
    case GroupLayout::masked: {
      const std::int64_t begin = group * groups.room();
      return {begin, begin + group_end(0, boundary(groups, group), groups.room())};
    }
    case GroupLayout::ranges:
      return {boundary(groups, 2 * group), boundary(groups, 2 * group + 1)};
    default:
      return {end, boundary(groups, group)};
  }
}

}  // namespace

void read_groups(const Groups& groups, std::span<GroupRange> ranges) {
  std::int64_t end = 0;
  for (std::size_t group = 0; group < ranges.size(); ++group) {
    const GroupRange range = stated(groups, static_cast<std::int64_t>(group), end);
    const std::int64_t begin = group_end(end, range.begin, groups.extent);
    end = group_end(begin, range.end, groups.extent);
    ranges[group] = {begin, end};
  }
}

BlockScales block_scales(const Operand& operand, int k_from_end) {
  const ScaledTensor* const scaled = operand.scaled();
  if (scaled == nullptr || !scaled->has_blocks()) return {};
  const model::ScaleRule& rule = model::scale_rule(scaled->mode);
  const TensorView& scale = scaled->scale;
  const int rank = scale.rank();
  const int k_mode = rank - k_from_end;
  const int other_mode = 2 * rank - 3 - k_mode;
  const bool batched = rank > 2 && scale.shape(0) > 1;
  BlockScales scales{.data = scale.data(),
                     .dtype = scale.dtype(),
                     .k_block = rule.k_block,
                     .other_block = rule.other_block};
  if (scaled->swizzle == ScaleSwizzle::none) {
    scales.k_stride = scale.stride(k_mode);
    scales.other_stride = scale.stride(other_mode);
    scales.batch_stride = batched ? scale.stride(0) : 0;
  } else {
    scales.k_tiles = scale.shape(k_mode) / 4;
    scales.batch_stride = batched ? scale.shape(k_mode) * scale.shape(other_mode) : 0;
  }
  return scales;
}

GemmProblem transposed(const GemmProblem& problem) {
  GemmProblem result = problem;
  std::swap(result.m, result.n);
  result.a = transposed_operand(problem.b);
  result.b = transposed_operand(problem.a);
  result.out = transposed_operand(problem.out);
  result.transposed = !problem.transposed;
  result.mapping = transposed_mapping(problem.mapping);
  return result;
}

}  // namespace estoc::operations
