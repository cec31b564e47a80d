// The outputs of a launch, element by element.
#include "outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace estoc::emulator {
namespace {

OutputElements elements_of(const char* name, const TensorView& view) {
  return {name,
          view.data(),
          view.dtype(),
          {view.shape().begin(), view.shape().end()},
          {view.strides().begin(), view.strides().end()}};
}

/// The modes that an output of an epilogue has: the others have the extent 1.
OutputElements elements_of(std::string name, const EpilogueAddress& at, Dtype dtype, Varies varies,
                           const GemmExtents& e) {
  return {std::move(name),
          at.data,
          dtype,
          {varies.l ? e.l : 1, varies.m ? e.m : 1, varies.n ? e.n : 1},
          {at.batch_stride, at.row_stride, at.column_stride}};
}

bool has_elements(const std::vector<std::int64_t>& extents) {
  return std::all_of(extents.begin(), extents.end(), [](std::int64_t x) { return x > 0; });
}

/// What is missing of one output.
struct Missing {
  std::int64_t count = 0;
  std::vector<std::int64_t> first;
};

bool is_written(const OutputElements& output, std::int64_t offset, std::int64_t count,
                const WrittenBytes& written) {
  const std::int64_t bits = dtype_bits(output.dtype);
  const std::int64_t begin = offset * bits / 8;
  const std::int64_t end = ((offset + count) * bits + 7) / 8;
  return written.has(static_cast<const std::byte*>(output.data) + begin,
                     static_cast<std::size_t>(end - begin));
}

/// Looks at all elements with the first coordinates in `point`, which begin at `offset`.
void look(const OutputElements& output, const WrittenBytes& written, std::int64_t offset,
          std::vector<std::int64_t>& point, Missing& missing) {
  const std::size_t mode = point.size();
  if (mode == output.extents.size()) {
    if (is_written(output, offset, 1, written)) return;
    if (missing.count++ == 0) missing.first = point;
    return;
  }
  const bool last = mode + 1 == output.extents.size();
  if (last && output.strides[mode] == 1 &&
      is_written(output, offset, output.extents[mode], written)) {
    return;
  }
  point.push_back(0);
  for (std::int64_t x = 0; x < output.extents[mode]; ++x) {
    point[mode] = x;
    look(output, written, offset + x * output.strides[mode], point, missing);
  }
  point.pop_back();
}

}  // namespace

std::size_t span_bytes(const std::vector<std::int64_t>& extents,
                       const std::vector<std::int64_t>& strides, Dtype dtype) {
  if (!has_elements(extents)) return 0;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < extents.size(); ++i)
    last += (extents[i] - 1) * strides[i];
  return static_cast<std::size_t>(((last + 1) * dtype_bits(dtype) + 7) / 8);
}

std::size_t OutputElements::span_bytes() const {
  return emulator::span_bytes(extents, strides, dtype);
}

GemmExtents epilogue_extents(const RuntimeArguments& arguments) {
  if (arguments.operation() == Operation::grouped_gemm) {
    return static_cast<const GroupedGemmArguments&>(arguments).product().extents();
  }
  const OperandList operands = arguments.operands();
  const auto* const found = std::ranges::find(operands, OperandRole::output, &NamedOperand::role);
  const TensorView& out = *found->tensor;
  const int rank = out.rank();
  return {.m = out.shape(rank - 2), .n = out.shape(rank - 1), .l = rank > 2 ? out.shape(0) : 1};
}

namespace {

/// What groups have of the mode that they divide; those that follow one another are one.
std::vector<GroupRange> written_ranges(const GroupedGemmArguments& grouped) {
  std::vector<GroupRange> groups(static_cast<std::size_t>(grouped.groups()));
  grouped.read_groups(groups);
  std::vector<GroupRange> ranges;
  for (const GroupRange& group : groups) {
    if (group.begin == group.end) continue;
    if (ranges.empty() || ranges.back().end != group.begin) {
      ranges.push_back(group);
    } else {
      ranges.back().end = group.end;
    }
  }
  if (ranges.empty()) ranges.emplace_back();
  return ranges;
}

OutputElements part_of(OutputElements output, std::size_t mode, GroupRange range) {
  const std::int64_t bytes = range.begin * output.strides[mode] * dtype_bits(output.dtype) / 8;
  output.data = static_cast<const std::byte*>(output.data) + bytes;
  output.extents[mode] = range.end - range.begin;
  if (range.begin > 0) output.name += fmt::format(" from {} on", range.begin);
  return output;
}

/// Of groups by pointers, what each has is written and no more of the largest ones.
void leave_largest(const GroupedGemmArguments& grouped, std::vector<OutputElements>& all) {
  std::vector<GroupEntry> entries(static_cast<std::size_t>(grouped.groups()));
  grouped.read_entries(entries);
  const OutputElements largest = std::exchange(all, {})[0];
  const bool by_rows = grouped.out().stride(2) == 1 || grouped.out().stride(1) != 1;
  for (std::size_t group = 0; group < entries.size(); ++group) {
    const GroupEntry& entry = entries[group];
    OutputElements& own = all.emplace_back(largest);
    own.name = fmt::format("out of group {}", group);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the table is as device code reads it
    own.data = reinterpret_cast<const void*>(static_cast<std::uintptr_t>(entry.out));
    own.extents = {entry.m, entry.n};
    own.strides = {by_rows ? entry.out_stride : 1, by_rows ? 1 : entry.out_stride};
  }
  if (all.empty()) all.push_back(largest);  // which has no elements
}

/// Groups that divide out and leave a rest as it is: only what they have is written.
void leave_rest(const RuntimeArguments& arguments, std::vector<OutputElements>& all) {
  if (arguments.operation() != Operation::grouped_gemm) return;
  const auto& grouped = static_cast<const GroupedGemmArguments&>(arguments);
  const bool by_rows = grouped.mode() == GroupMode::rows;
  if (grouped.layout() == GroupLayout::pointers) return leave_largest(grouped, all);
  if (grouped.zero_rest() || (!by_rows && grouped.mode() != GroupMode::columns)) return;
  const std::vector<OutputElements> whole = std::exchange(all, {});
  const std::vector<GroupRange> ranges = written_ranges(grouped);
  for (const OutputElements& output : whole)
    for (const GroupRange& range : ranges)
      all.push_back(part_of(output, output.extents.size() - (by_rows ? 2 : 1), range));
}

/// The scales of a quantised output.
void add_scales(const RuntimeArguments& arguments, std::vector<OutputElements>& all) {
  for (const NamedOperand& operand : arguments.operands()) {
    if (operand.role != OperandRole::output || operand.scaled == nullptr) continue;
    all.push_back(elements_of("out.scale", operand.scaled->scale));
  }
}

std::vector<OutputElements> whole_outputs(const RuntimeArguments& arguments) {
  std::vector<OutputElements> all;
  if (arguments.operation() == Operation::grouped_gemm) {
    const auto& grouped = static_cast<const GroupedGemmArguments&>(arguments);
    all.push_back(elements_of("out", grouped.product().out()));
  } else {
    for (const NamedOperand& operand : arguments.operands())
      if (operand.role == OperandRole::output)
        all.push_back(elements_of(operand.name, *operand.tensor));
  }
  add_scales(arguments, all);
  const EpilogueBinding* binding = arguments.epilogue_binding();
  if (binding == nullptr || !has_elements(all[0].extents)) return all;
  const EpilogueGraph& graph = *binding->graph;
  if (graph.stores.size() == 1 && graph.reduced.empty()) return all;
  const GemmExtents e = epilogue_extents(arguments);
  for (std::size_t i = 1; i < graph.stores.size(); ++i) {
    all.push_back(elements_of(fmt::format("output {} of the epilogue", i), binding->stores[i],
                              graph.stores[i].dtype, {true, true, true}, e));
  }
  for (std::size_t i = 0; i < graph.reduced.size(); ++i) {
    all.push_back(elements_of(fmt::format("reduction {} of the epilogue", i), binding->reduced[i],
                              graph.reduced[i].dtype, graph.reduced[i].keeps, e));
  }
  return all;
}

}  // namespace

std::vector<OutputElements> outputs_of(const RuntimeArguments& arguments) {
  std::vector<OutputElements> all = whole_outputs(arguments);
  leave_rest(arguments, all);
  return all;
}

void report_unwritten(const std::vector<OutputElements>& outputs, const WrittenBytes& written,
                      const std::string& kernel_name, Report& report) {
  for (const OutputElements& output : outputs) {
    if (!has_elements(output.extents)) continue;
    Missing missing;
    std::vector<std::int64_t> point;
    look(output, written, 0, point, missing);
    if (missing.count == 0) continue;
    report.findings.push_back(
        {Fault::unwritten_output,
         kernel_name,
         {},
         0,
         {},
         0,
         0,
         fmt::format("no kernel wrote {} of the elements of {}, the first at ({})", missing.count,
                     output.name, fmt::join(missing.first, ", ")),
         1});
  }
}

}  // namespace estoc::emulator
