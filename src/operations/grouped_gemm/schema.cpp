// The grouped GEMM as an operation: its operands, its problem text, its metadata and its reference.
#include "operations/grouped_gemm/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "check/blocks.h"
#include "check/groups.h"
#include "check/mix.h"
#include "estoc/numeric.hpp"
#include "model/checked.h"
#include "model/fail.h"
#include "operations/grouped_gemm/group_table.h"
#include "operations/grouped_gemm/lowering.h"
#include "operations/problem_epilogue.h"
#include "operations/problem_parts.h"
#include "operations/problem_scale.h"

namespace estoc::operations {
namespace {

using model::fail_value;

// Offsets follow these, and no kernel is told apart by them.
constexpr std::array kGroupedOperands = a_b_and_out();

constexpr std::array<TextKey, 18> kGroupedKeys{{
    {"m", &Problem::m},
    {"n", &Problem::n},
    {"k", &Problem::k},
    {"g", &Problem::g},
    {"along", TextField::along},
    {"layout", TextField::layout},
    {"sizes", TextField::sizes},
    {"rows", &Problem::rows},
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

bool has_pointers(const Problem& problem) {
  return problem.layout == GroupLayout::pointers;
}

bool is_masked(const Problem& problem) {
  return problem.layout == GroupLayout::masked;
}

/// Each is a part of the rows of one matrix.
void complete_masked(Problem& problem) {
  const std::int64_t largest = *std::ranges::max_element(problem.sizes);
  if (!problem.m) problem.m = largest;
  if (largest > *problem.m) {
    fail_value("sizes: expected at most m = {} of masked groups, got {}", *problem.m, largest);
  }
}

void complete_layout(Problem& problem) {
  if (!problem.along) problem.along = has_pointers(problem) ? GroupMode::batches : GroupMode::rows;
  if (has_pointers(problem)) {
    if (problem.along == GroupMode::batches) return;
    fail_value("along: expected l of groups by pointers, got {}", group_mode_name(*problem.along));
  }
  if (problem.rows && (problem.along != GroupMode::rows || is_masked(problem))) {
    fail_value("rows: expected none but with groups along m that are not masked, got {}",
               *problem.rows);
  }
  if (is_masked(problem) && problem.along != GroupMode::rows) {
    fail_value("along: expected m of masked groups, got {}", group_mode_name(*problem.along));
  }
  if (problem.along == GroupMode::batches && problem.layout != GroupLayout::ends) {
    fail_value("layout: expected none for groups along l, got {}",
               group_layout_name(problem.layout));
  }
}

/// Three sizes for each group, m, n and k, none larger than the extent.
void complete_pointers(Problem& problem) {
  const std::vector<std::int64_t>& sizes = problem.sizes;
  constexpr std::array<Extent, 3> kExtents{&Problem::m, &Problem::n, &Problem::k};
  constexpr std::array<const char*, 3> kNames{"m", "n", "k"};
  if (sizes.size() % 3 != 0) {
    fail_value("sizes: expected m, n and k of each group by pointers, such as 64x32x16, got {}",
               sizes.size());
  }
  const auto groups = static_cast<std::int64_t>(sizes.size() / 3);
  if (!problem.g && groups > 0) problem.g = groups;
  require(problem.g.has_value(), "g", "a number of groups such as g=8");
  if (groups == 0) return;
  if (*problem.g != groups) {
    fail_value("sizes: expected those of g = {} groups, got {}", *problem.g, groups);
  }
  for (std::size_t mode = 0; mode < 3; ++mode) {
    std::int64_t largest = 0;
    for (std::size_t i = mode; i < sizes.size(); i += 3)
      largest = std::max(largest, sizes[i]);
    std::optional<std::int64_t>& extent = problem.*kExtents[mode];
    if (!extent) extent = largest;
    if (largest <= *extent) continue;
    fail_value("sizes: expected at most {} = {} of groups by pointers, got {}", kNames[mode],
               *extent, largest);
  }
}

/// The number of groups and the extent that they divide, each of which sizes may stand for.
void complete_groups(Problem& problem) {
  complete_layout(problem);
  if (has_pointers(problem)) return complete_pointers(problem);
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
  if (is_masked(problem)) return complete_masked(problem);
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
  const bool many_a =
      mode == GroupMode::columns || mode == GroupMode::batches || is_masked(problem);
  const bool many_b = mode == GroupMode::rows || mode == GroupMode::batches;
  const std::int64_t rows = problem.rows.value_or(*problem.m);
  const TensorView a =
      describe(problem.a, matrices(many_a, problem, rows, *problem.k), device, "A");
  const TensorView b = describe(
      problem.b, matrices(many_b, problem, *problem.k, columns_of_b(problem)), device, "B");
  const TensorView out =
      describe(problem.out,
               matrices(is_batched(problem) || is_masked(problem), problem, *problem.m, *problem.n),
               device, "out");
  GroupOptions groups{.offsets = describe_offsets(problem, device),
                      .zero_rest = problem.zero_rest,
                      .layout = problem.layout};
  if (problem.rows) {
    groups.rows = TensorView::describe(Dtype::i32, std::array{*problem.m},
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
  problem.m = grouped.out().shape(grouped.out().rank() - 2);
  problem.n = extents.n;
  problem.k = extents.k;
  problem.g = grouped.groups();
  problem.along = grouped.mode();
  problem.layout = grouped.layout();
  if (grouped.rows() != nullptr) problem.rows = grouped.a().tensor().shape(0);
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
  check::Groups groups{
      .mode = grouped.mode(),
      .matrix_stride = grouped.matrix_stride(),
      .zero_rest = grouped.zero_rest(),
      .ranges = {},
      .a = grouped.mode() == GroupMode::columns ? &grouped.a() : &grouped.product().a(),
      .b = &grouped.b()};
  if (grouped.mode() == GroupMode::batches) return groups;
  groups.ranges.resize(static_cast<std::size_t>(grouped.groups()));
  grouped.read_groups(groups.ranges);
  return groups;
}

TensorView view_of(const MatrixView& matrix, const char* name) {
  return {matrix.data,
          matrix.dtype,
          std::array{matrix.rows, matrix.columns},
          std::array{matrix.row_stride, matrix.column_stride},
          Device::cpu(),
          name};
}

/// The product of one group of a table.
GemmArguments product_of(const GroupProduct& group, const GroupedGemmArguments& grouped) {
  return {view_of(group.a, "A"), view_of(group.b, "B"), view_of(group.out, "out"),
          grouped.accumulator_type(), grouped.controls()};
}

/// How much of what rounding explains the error is.
double part_of_bound(const CheckResult& result) {
  return result.bound > 0 ? result.error / result.bound : result.error;
}

/// Group by group. The error is that of the group which has most of what its rounding explains.
CheckResult check_pointed_output(const GroupedGemmArguments& grouped, CheckOptions options) {
  const GroupTable table(grouped);
  CheckResult all;
  all.passed = true;
  options.max_products /= std::max<std::int64_t>(table.count(), 1);
  for (std::int64_t number = 0; number < table.count(); ++number) {
    const GroupProduct group = table.product(number);
    if (group.m == 0 || group.n == 0) continue;
    const CheckResult one =
        check::check_gemm(product_of(group, grouped), options, nullptr, nullptr);
    const std::int64_t checked = all.rows_checked + one.rows_checked;
    const std::int64_t total = all.rows_total + one.rows_total;
    const bool first = all.rows_total == 0;
    const bool worse =
        all.passed == one.passed ? part_of_bound(one) > part_of_bound(all) : all.passed;
    if (first || worse) all = one;
    if (worse && !one.passed) all.worst = fmt::format("group {}: {}", number, one.worst);
    all.rows_checked = checked;
    all.rows_total = total;
  }
  return all;
}

/// A with its rows where an index says, which is a product without one.
CheckResult check_chosen_rows(const GroupedGemmArguments& grouped, const CheckOptions& options) {
  const TensorView& a = grouped.a().tensor();
  const TensorView& rows = *grouped.rows();
  const std::int64_t columns = a.shape(1);
  const auto bytes = static_cast<std::size_t>(dtype_bits(a.dtype()) / 8);
  std::vector<std::byte> memory(static_cast<std::size_t>(rows.shape(0) * columns) * bytes);
  std::byte* to = memory.data();
  for (std::int64_t i = 0; i < rows.shape(0); ++i) {
    const std::int64_t row = static_cast<const std::int32_t*>(rows.data())[i * rows.stride(0)];
    const bool is_there = row >= 0 && row < a.shape(0);
    for (std::int64_t k = 0; k < columns; ++k, to += bytes) {
      if (!is_there) continue;
      const std::int64_t from = row * a.stride(0) + k * a.stride(1);
      std::memcpy(to, static_cast<const std::byte*>(a.data()) + from * static_cast<int>(bytes),
                  bytes);
    }
  }
  const GroupedGemmArguments plain(
      TensorView::row_major(memory.data(), a.dtype(), {rows.shape(0), columns}), grouped.b(),
      grouped.out(), grouped.accumulator_type(),
      {.offsets = *grouped.offsets(), .zero_rest = grouped.zero_rest(), .layout = grouped.layout()},
      grouped.controls(), grouped.epilogue());
  const check::Groups groups = groups_of(plain);
  return check::check_gemm(plain.product(), options, nullptr, &groups);
}

CheckResult check_grouped_output(const RuntimeArguments& arguments, const CheckOptions& options) {
  if (operations::has_rows(arguments)) return check_chosen_rows(as_grouped(arguments), options);
  if (operations::has_pointers(arguments))
    return check_pointed_output(as_grouped(arguments), options);
  const check::Groups groups = groups_of(as_grouped(arguments));
  return check::check_gemm(as_grouped(arguments).product(), options, nullptr, &groups);
}

}  // namespace

std::int64_t divided_extent(const Problem& problem) {
  const Extent mode = divided(*problem.along);
  if (is_masked(problem)) {
    std::int64_t rows = *problem.m;
    if (model::multiply_by(rows, *problem.g)) return rows;
    return std::numeric_limits<std::int64_t>::max();
  }
  return mode == nullptr ? 0 : *(problem.*mode);
}

std::optional<TensorView> describe_offsets(const Problem& problem, Device device) {
  const std::int64_t groups = *problem.g;
  if (has_pointers(problem)) {
    return TensorView::describe(Dtype::i32, std::array<std::int64_t, 2>{groups, kGroupEntryWords},
                                std::array<std::int64_t, 2>{kGroupEntryWords, 1}, device);
  }
  if (problem.along == GroupMode::batches) return std::nullopt;
  if (problem.layout == GroupLayout::ranges) {
    return TensorView::describe(Dtype::i32, std::array<std::int64_t, 2>{groups, 2},
                                std::array<std::int64_t, 2>{2, 1}, device);
  }
  const std::int64_t count = problem.layout == GroupLayout::prefix ? groups + 1 : groups;
  return TensorView::describe(Dtype::i32, std::array{count}, std::array<std::int64_t, 1>{1},
                              device);
}

namespace {

/// The size of a group of a completed problem.
std::int64_t size_of(const Problem& problem, std::int64_t group) {
  if (!problem.sizes.empty()) return problem.sizes[static_cast<std::size_t>(group)];
  if (is_masked(problem)) return *problem.m;
  const std::int64_t extent = divided_extent(problem);
  return extent / *problem.g + (group < extent % *problem.g ? 1 : 0);
}

/// Where the matrices of a group are in an operand of the problem.
struct GroupPlace {
  std::uint64_t bytes;
  std::int32_t stride;
};

GroupPlace place_of(const OperandSpec& spec, const Extents& shape, std::int64_t group) {
  const TensorView view = describe(spec, shape, Device::cpu(), "operand");
  const bool by_rows = has_contiguous_rows(view).value_or(true);
  return {static_cast<std::uint64_t>(group * view.stride(0) * dtype_bits(view.dtype()) / 8),
          static_cast<std::int32_t>(view.stride(by_rows ? 1 : 2))};
}

void fill_table(const Problem& problem, const TensorView& table) {
  const std::int64_t m = *problem.m;
  const std::int64_t n = *problem.n;
  const std::int64_t k = *problem.k;
  const std::int64_t groups = *problem.g;
  auto* const words = static_cast<std::int32_t*>(table.data());
  for (std::int64_t group = 0; group < groups; ++group) {
    const GroupPlace a = place_of(problem.a, {groups, m, k}, group);
    const GroupPlace b = place_of(problem.b, {groups, k, n}, group);
    const GroupPlace out = place_of(problem.out, {groups, m, n}, group);
    const auto size = [&](std::size_t mode, std::int64_t most) {
      const auto place = 3 * static_cast<std::size_t>(group) + mode;
      return static_cast<std::int32_t>(problem.sizes.empty() ? most : problem.sizes[place]);
    };
    const GroupEntry entry{a.bytes,    b.bytes,  out.bytes, size(0, m), size(1, n),
                           size(2, k), a.stride, b.stride,  out.stride};
    std::memcpy(words + group * table.stride(0), &entry, sizeof entry);
  }
}

}  // namespace

void fill_rows(const Problem& problem, const TensorView& rows) {
  constexpr std::uint64_t kSeed = 0;
  const std::int64_t count = *problem.rows;
  for (std::int64_t i = 0; i < rows.shape(0); ++i) {
    const std::uint64_t bits = check::mix(kSeed, static_cast<std::uint64_t>(i));
    const bool is_none = bits % 64 == 0 || count == 0;
    const std::int64_t none = bits / 64 % 2 == 0 ? -1 : count;
    const std::int64_t row =
        is_none ? none : static_cast<std::int64_t>(bits / 64 % static_cast<std::uint64_t>(count));
    static_cast<std::int32_t*>(rows.data())[i * rows.stride(0)] = static_cast<std::int32_t>(row);
  }
}

void fill_offsets(const Problem& problem, const TensorView& offsets) {
  if (has_pointers(problem)) return fill_table(problem, offsets);
  std::int64_t place = 0;
  const auto store = [&](std::int64_t value) {
    const std::int64_t stride = offsets.rank() == 1 ? offsets.stride(0) : 1;
    store_element(Dtype::i32, offsets.data(), place++ * stride, static_cast<double>(value));
  };
  if (problem.layout == GroupLayout::prefix) store(0);
  std::int64_t end = 0;
  for (std::int64_t group = 0; group < *problem.g; ++group) {
    const std::int64_t size = size_of(problem, group);
    if (problem.layout == GroupLayout::ranges) store(end);
    end += size;
    store(is_masked(problem) ? size : end);
  }
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
