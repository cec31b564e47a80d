// Reads a kernel class's design space into the requirements that its kernels have.
#include "discovery/class_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <string_view>

namespace estoc::discovery {
namespace {

/// The dimension that decides a dtype, and how.
struct DtypeSource {
  int dimension = -1;
  DtypeRule rule = DtypeRule::same;
  int second = -1;
};

/// Collects requirements, passing over dimensions that the space does not have.
class RequirementReader {
 public:
  explicit RequirementReader(const ClassInfo& info)
      : info_(info), schema_(info.schema()), space_(*info.space) {}

  std::vector<Requirement> read() {
    if (schema_.has_op) add({.aspect = Aspect::op, .dimension = needed(Role::op)});
    add_dtypes();
    add_layouts();
    for (std::size_t i = 0; i < schema_.operands.size(); ++i) {
      add({.aspect = Aspect::alignment,
           .dimension = find(schema_.operands[i].alignment_role),
           .operand = i});
    }
    return std::move(requirements_);
  }

 private:
  /// Inputs have the first one's dtype and outputs the accumulator's unless the space says
  /// otherwise.
  void add_dtypes() {
    const DtypeSource first{needed(schema_.operands[0].dtype_role)};
    add_dtypes(OperandRole::input, first);
    const DtypeSource accumulator = schema_.accumulates ? accumulator_source(first) : first;
    if (schema_.accumulates) add_dtype(Aspect::accumulator_type, 0, accumulator);
    add_dtypes(OperandRole::output, accumulator);
  }

  void add_dtypes(OperandRole role, const DtypeSource& otherwise) {
    for (std::size_t i = 0; i < schema_.operands.size(); ++i) {
      if (schema_.operands[i].role != role) continue;
      const int own = find(schema_.operands[i].dtype_role);
      add_dtype(Aspect::dtype, i, own < 0 ? otherwise : DtypeSource{own});
    }
  }

  DtypeSource accumulator_source(const DtypeSource& first) const {
    const int own = space_.find(Role::accumulator_type);
    if (own >= 0) return {own};
    return {first.dimension, DtypeRule::accumulator_of, find(schema_.operands[1].dtype_role)};
  }

  void add_dtype(Aspect aspect, std::size_t operand, const DtypeSource& source) {
    add({aspect, source.dimension, operand, source.rule, source.second});
  }

  void add_layouts() {
    const int layouts = space_.find(Role::layouts);
    if (layouts < 0) return;
    const std::size_t letters =
        space_.dimensions()[static_cast<std::size_t>(layouts)].values.front().text.size();
    for (std::size_t i = 0; i < std::min(letters, schema_.operands.size()); ++i)
      add({.aspect = Aspect::layout, .dimension = layouts, .operand = i});
  }

  void add(const Requirement& requirement) {
    if (requirement.dimension >= 0) requirements_.push_back(requirement);
  }

  int find(Role role) const { return role == Role::other ? -1 : space_.find(role); }

  int needed(Role role) const {
    const int dimension = space_.find(role);
    if (dimension < 0) {
      throw Error(ErrorKind::value,
                  fmt::format("kernel class {}: expected a dimension of role {} in its space, got "
                              "none",
                              info_.name, role == Role::op ? "op" : "a_dtype"));
    }
    return dimension;
  }

  const ClassInfo& info_;
  const operations::OperationSchema& schema_;
  const DesignSpace& space_;
  std::vector<Requirement> requirements_;
};

NameOrder name_order(const DesignSpace& space) {
  NameOrder order{};
  std::size_t dimension = 0;
  for (const Dimension& owner : space.dimensions()) {
    const std::vector<DesignValue>& values = owner.values;
    std::vector<std::uint8_t> sorted(values.size());
    std::iota(sorted.begin(), sorted.end(), std::uint8_t{0});
    std::ranges::sort(sorted, {},
                      [&](std::uint8_t value) { return std::string_view(values[value].text); });
    for (std::size_t place = 0; place < sorted.size(); ++place) {
      order[dimension][sorted[place]] = static_cast<std::uint8_t>(place);
    }
    ++dimension;
  }
  return order;
}

}  // namespace

bool ClassInfo::has_target(Target target) const {
  return covers(targets, target);
}

// What separates the parts of a name sorts before every character that they may have, so that the
// first part that differs decides.
const NameKey& NameKeys::of(const DesignPoint& point) {
  const auto indices = std::bit_cast<decltype(indices_)>(point.indices());
  for (std::size_t i = 0; i < key_.size(); ++i) {
    if (any_ && indices[i] == indices_[i]) continue;
    indices_[i] = indices[i];
    key_[i] = 0;
    // Behind the last dimension, indices and places are 0.
    for (std::size_t dimension = 8 * i; dimension < 8 * i + 8; ++dimension)
      key_[i] = key_[i] << 8 | order_[dimension][point.indices()[dimension]];
  }
  any_ = true;
  return key_;
}

std::shared_ptr<const ClassInfo> describe_class(std::shared_ptr<const KernelClass> kernel_class,
                                                std::string provider) {
  auto info = std::make_shared<ClassInfo>();
  info->name = kernel_class->name();
  info->provider = std::move(provider);
  info->operation = kernel_class->operation();
  const std::span<const Target> targets = kernel_class->targets();
  if (targets.empty()) {
    throw Error(ErrorKind::value,
                fmt::format("kernel class {}: expected at least one target, got none", info->name));
  }
  info->targets.assign(targets.begin(), targets.end());
  info->min_cc = kernel_class->min_cc();
  info->space = kernel_class->space();
  if (info->space == nullptr) {
    throw Error(ErrorKind::value,
                fmt::format("kernel class {}: expected a design space, got null", info->name));
  }
  info->kernel_class = std::move(kernel_class);
  info->requirements = RequirementReader(*info).read();
  info->name_order = name_order(*info->space);
  return info;
}

Dtype required_dtype(const Requirement& requirement, const DesignValue& value, Dtype second) {
  const auto dtype = static_cast<Dtype>(value.numbers[0]);
  if (requirement.rule == DtypeRule::same) return dtype;
  return default_accumulator_type(dtype, requirement.second < 0 ? dtype : second);
}

}  // namespace estoc::discovery
