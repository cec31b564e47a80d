// Reads a kernel class's design space into the requirements that its kernels have.
#include "discovery/class_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

namespace estoc::discovery {
namespace {

/// The dimension that decides a dtype, and how.
struct DtypeSource {
  int dimension = -1;
  DtypeRule rule = DtypeRule::same;
};

DtypeSource source_or(const DesignSpace& space, Role role, DtypeSource otherwise) {
  const int dimension = space.find(role);
  return dimension < 0 ? otherwise : DtypeSource{dimension, DtypeRule::same};
}

/// Collects requirements, passing over dimensions that the space does not have.
class RequirementReader {
 public:
  explicit RequirementReader(const ClassInfo& info) : info_(info), space_(*info.space) {}

  std::vector<Requirement> read() {
    if (info_.operation == Operation::elementwise) add(Aspect::op, needed(Role::op));
    add_dtypes();
    const int layouts = space_.find(Role::layouts);
    for (int operand = kA; operand < kOperands; ++operand)
      add(Aspect::layout, layouts, operand);
    add(Aspect::alignment, space_.find(Role::a_alignment), kA);
    add(Aspect::alignment, space_.find(Role::b_alignment), kB);
    add(Aspect::alignment, space_.find(Role::out_alignment), kOut);
    return std::move(requirements_);
  }

 private:
  void add_dtypes() {
    const DtypeSource a{needed(Role::a_dtype), DtypeRule::same};
    const DtypeSource b = source_or(space_, Role::b_dtype, a);
    const bool gemm = info_.operation == Operation::gemm;
    const DtypeSource accumulator =
        gemm ? source_or(space_, Role::accumulator_type, {a.dimension, DtypeRule::accumulator_of})
             : a;
    add(Aspect::dtype, a.dimension, kA, a.rule);
    add(Aspect::dtype, b.dimension, kB, b.rule);
    if (gemm) add(Aspect::accumulator_type, accumulator.dimension, kA, accumulator.rule);
    const DtypeSource out = source_or(space_, Role::out_dtype, accumulator);
    add(Aspect::dtype, out.dimension, kOut, out.rule);
  }

  void add(Aspect aspect, int dimension, int operand = kA, DtypeRule rule = DtypeRule::same) {
    if (dimension >= 0) requirements_.push_back({aspect, dimension, operand, rule});
  }

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
NameKey ClassInfo::name_key(const DesignPoint& point) const {
  NameKey key{};
  for (std::size_t dimension = 0; dimension < space->dimensions().size(); ++dimension) {
    const auto value = static_cast<std::size_t>(point.index(static_cast<int>(dimension)));
    key[dimension / 8] |= std::uint64_t{name_order[dimension][value]} << (56 - dimension % 8 * 8);
  }
  return key;
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

Dtype required_dtype(const Requirement& requirement, const DesignValue& value) {
  const auto dtype = static_cast<Dtype>(value.numbers[0]);
  return requirement.rule == DtypeRule::same ? dtype : default_accumulator(dtype);
}

Dtype default_accumulator(Dtype dtype) {
  if (dtype == Dtype::f64) return Dtype::f64;
  return is_integer(dtype) ? Dtype::i32 : Dtype::f32;
}

}  // namespace estoc::discovery
