// The grouped GEMM as an operation: its operands, its problem text, its metadata and its reference.
#include "operations/grouped_gemm/schema.h"

#include <array>
#include <limits>
#include <utility>

#include "check/blocks.h"
#include "check/groups.h"
#include "model/checked.h"
#include "model/fail.h"
#include "operations/problem_epilogue.h"
#include "operations/problem_parts.h"
#include "operations/problem_scale.h"

namespace estoc::operations {
namespace {

using model::fail_value;

// Offsets follow these, and no kernel is told apart by them.
constexpr std::array<OperandSchema, 3> kGroupedOperands{{{.name = "A",
                                                          .role = OperandRole::input,
                                                          .dtype_role = Role::a_dtype,
                                                          .alignment_role = Role::a_alignment,
                                                          .spec = &Problem::a},
                                                         {.name = "B",
                                                          .role = OperandRole::input,
                                                          .dtype_role = Role::b_dtype,
                                                          .alignment_role = Role::b_alignment,
                                                          .spec = &Problem::b},
                                                         {.name = "out",
                                                          .role = OperandRole::output,
                                                          .dtype_role = Role::out_dtype,
                                                          .alignment_role = Role::out_alignment,
                                                          .spec = &Problem::out}}};

constexpr std::array<TextKey, 16> kGroupedKeys{{
    {"m", &Problem::m},
    {"n", &Problem::n},
    {"k", &Problem::k},
    {"g", &Problem::g},
    {"along", TextField::along},
    {"sizes", TextField::sizes},
    {"zero_rest", &Problem::zero_rest},
    {"a", &Problem::a},
    {"b", &Problem::b},
    {"out", &Problem::out},
    {"acc", &Problem::accumulator_type},
    {"epi", TextField::epilogue},
    {"allow_tf32", &PerformanceControls::allow_tf32},
    {"deterministic", &PerformanceControls::deterministic},
    {"batch_invariant", &PerformanceControls::batch_invariant},
    {"workspace", TextField::workspace},
}};

const GroupedGemmArguments& as_grouped(const RuntimeArguments& arguments) {
  return static_cast<const GroupedGemmArguments&>(arguments);
}

using Extent = std::optional<std::int64_t> Problem::*;

/// The extent that groups divide; null for GroupMode::batches.
Extent divided(GroupMode mode) {
  constexpr std::array<Extent, 4> kExtents{&Problem::m, &Problem::n, &Problem::k, nullptr};
  return kExtents[static_cast<std::size_t>(mode)];
}

/// The number of groups and the extent that they divide, each of which sizes may stand for.
void complete_groups(Problem& problem) {
  if (!problem.along) problem.along = GroupMode::rows;
  const bool sized = !problem.sizes.empty();
  const auto count = static_cast<std::int64_t>(problem.sizes.size());
  if (!problem.g && sized) problem.g = count;
  require(problem.g.has_value(), "g", "a number of groups such as g=8");
  if (!sized) return;
  const Extent mode = divided(*problem.along);
  if (mode == nullptr) fail_value("sizes: expected none for groups along l, got {}", count);
  if (*problem.g != count) {
    fail_value("sizes: expected one for each of g = {}, got {}", *problem.g, count);
  }
  std::int64_t sum = 0;
  for (const std::int64_t size : problem.sizes)
    if (!model::add_to(sum, size)) fail_value("sizes: expected a sum of at most 2^63 - 1");
  std::optional<std::int64_t>& extent = problem.*mode;
  if (!extent) extent = sum;
  if (sum > *extent) {
    fail_value("sizes: expected a sum of at most {} = {}, got {}", group_mode_name(*problem.along),
               *extent, sum);
  }
}

/// Whether elements are multiplied by scales before they are summed.
bool multiplies_scales(const Problem& problem) {
  const auto is_rowwise = [](const OperandSpec& spec) {
    return spec.scale && spec.scale->mode == ScaleMode::rowwise;
  };
  return has_block_scale(problem.a) || has_block_scale(problem.b) ||
         (problem.along == GroupMode::rows && is_rowwise(problem.b)) ||
         (problem.along == GroupMode::columns && is_rowwise(problem.a));
}

void complete_grouped(Problem& problem) {
  complete_groups(problem);
  require(problem.m.has_value(), "m", "an extent such as m=128");
  require(problem.n.has_value(), "n", "an extent such as n=128");
  require(problem.k.has_value(), "k", "an extent such as k=128");
  if (divided_extent(problem) > std::numeric_limits<std::int32_t>::max()) {
    fail_value("{}: expected at most 2^31 - 1 where it is divided, got {}",
               group_mode_name(*problem.along), divided_extent(problem));
  }
  if (problem.out.scale) fail_value("out: expected no scales of grouped products, got some");
  default_input_dtypes(problem.a, problem.b);
  complete_scale(problem.a, "a");
  complete_scale(problem.b, "b");
  const bool scaled = problem.a.scale || problem.b.scale;
  if (!problem.accumulator_type) {
    const Dtype sums = default_accumulator_type(*problem.a.dtype, *problem.b.dtype);
    problem.accumulator_type = sums == Dtype::i32 && multiplies_scales(problem) ? Dtype::f32 : sums;
  }
  if (!problem.out.dtype) {
    problem.out.dtype =
        scaled && *problem.accumulator_type == Dtype::i32 ? Dtype::f32 : *problem.accumulator_type;
  }
  default_layout(problem.a, "a");
  default_layout(problem.b, "b");
  default_layout(problem.out, "out");
  for (EpilogueOperandSpec& operand : problem.operands)
    complete_operand(operand, problem);
}

Extents matrices(bool many, const Problem& problem, std::int64_t rows, std::int64_t columns) {
  return many ? Extents{*problem.g, rows, columns} : Extents{rows, columns};
}

std::unique_ptr<RuntimeArguments> grouped_arguments(const Problem& problem, Device device) {
  const GroupMode mode = *problem.along;
  const bool many_a = mode == GroupMode::columns || mode == GroupMode::batches;
  const bool many_b = mode == GroupMode::rows || mode == GroupMode::batches;
  const TensorView a =
      describe(problem.a, matrices(many_a, problem, *problem.m, *problem.k), device, "A");
  const TensorView b =
      describe(problem.b, matrices(many_b, problem, *problem.k, *problem.n), device, "B");
  const TensorView out = describe(
      problem.out, matrices(is_batched(problem), problem, *problem.m, *problem.n), device, "out");
  GroupOptions groups{.offsets = std::nullopt, .zero_rest = problem.zero_rest};
  if (mode != GroupMode::batches) {
    groups.offsets = TensorView::describe(Dtype::i32, std::array{*problem.g},
                                          std::array<std::int64_t, 1>{1}, device);
  }
  std::vector<EpilogueOperand> operands;
  for (const EpilogueOperandSpec& spec : problem.operands)
    operands.push_back(describe_operand(spec, problem, device));
  return std::make_unique<GroupedGemmArguments>(
      scaled_operand(problem.a, a, 1, "A"), scaled_operand(problem.b, b, 2, "B"), out,
      *problem.accumulator_type, groups, problem.controls,
      EpilogueArguments(problem.epilogue, std::move(operands)));
}

Problem grouped_problem(const RuntimeArguments& arguments) {
  const GroupedGemmArguments& grouped = as_grouped(arguments);
  Problem problem;
  const GemmExtents& extents = grouped.product().extents();
  problem.m = extents.m;
  problem.n = extents.n;
  problem.k = extents.k;
  problem.g = grouped.groups();
  problem.along = grouped.mode();
  problem.zero_rest = grouped.zero_rest();
  problem.a = spec_of(grouped.a().tensor());
  problem.b = spec_of(grouped.b().tensor());
  problem.a.scale = scale_spec_of(grouped.a());
  problem.b.scale = scale_spec_of(grouped.b());
  problem.out = spec_of(grouped.out());
  problem.accumulator_type = grouped.accumulator_type();
  problem.epilogue = grouped.epilogue().text();
  for (const EpilogueOperand& operand : grouped.epilogue().operands()) {
    if (operand.name != "D") problem.operands.push_back(spec_of(operand, extents));
  }
  return problem;
}

Attributes grouped_attributes(const RuntimeArguments& arguments) {
  return {.accumulator_type = as_grouped(arguments).accumulator_type()};
}

OperandsMetadata grouped_metadata(std::span<const TensorAttributes> operands,
                                  const Attributes& attributes) {
  return GemmOperandsMetadata{operands[0], operands[1], operands[2], attributes.accumulator_type};
}

void require_checkable_grouped(const RuntimeArguments& arguments) {
  check::require_checkable(as_grouped(arguments).product());
}

check::Groups groups_of(const GroupedGemmArguments& grouped) {
  check::Groups groups{.mode = grouped.mode(),
                       .matrix_stride = grouped.matrix_stride(),
                       .zero_rest = grouped.zero_rest(),
                       .ends = {},
                       .a = &grouped.a(),
                       .b = &grouped.b()};
  if (grouped.mode() == GroupMode::batches) return groups;
  groups.ends.resize(static_cast<std::size_t>(grouped.groups()));
  grouped.read_ends(groups.ends);
  return groups;
}

CheckResult check_grouped_output(const RuntimeArguments& arguments, const CheckOptions& options) {
  const check::Groups groups = groups_of(as_grouped(arguments));
  return check::check_gemm(as_grouped(arguments).product(), options, nullptr, &groups);
}

}  // namespace

std::int64_t divided_extent(const Problem& problem) {
  const Extent mode = divided(*problem.along);
  return mode == nullptr ? 0 : *(problem.*mode);
}

constinit const OperationSchema kGroupedGemm{.operation = Operation::grouped_gemm,
                                             .name = "grouped_gemm",
                                             .operands = kGroupedOperands,
                                             .keys = kGroupedKeys,
                                             .accumulates = true,
                                             .complete = complete_grouped,
                                             .arguments = grouped_arguments,
                                             .problem = grouped_problem,
                                             .attributes = grouped_attributes,
                                             .metadata = grouped_metadata,
                                             .require_checkable = require_checkable_grouped,
                                             .check = check_grouped_output};

}  // namespace estoc::operations
