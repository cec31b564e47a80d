// The targets Estoc knows, and their names.
#include "estoc/target.hpp"

#include <algorithm>
#include <vector>

#include "core/architectures.h"

namespace estoc {
namespace {

std::vector<Target> all_targets() {
  using core::Variants;
  std::vector<Target> targets{Target::cpu()};
  for (const core::Architecture& each : core::kArchitectures) {
    if (each.variants != Variants::specific) targets.push_back(Target::sm(each.cc));
    if (each.variants != Variants::plain) targets.push_back(Target::sm(each.cc, true));
  }
  return targets;
}

}  // namespace

std::optional<Target> Target::parse(std::string_view name) {
  for (const Target& target : known_targets()) {
    if (target.name() == name) return target;
    const bool virtual_too = target.is_cuda() && !target.arch_specific();
    if (virtual_too && ptx(target.cc()).name() == name) return ptx(target.cc());
  }
  return std::nullopt;
}

std::string Target::name() const {
  if (is_cpu()) return "cpu";
  if (ptx_) return "compute_" + std::to_string(cc_);
  return "sm_" + std::to_string(cc_) + (arch_specific_ ? "a" : "");
}

std::span<const Target> known_targets() {
  // Never destroyed: threads may still read it while the process ends.
  static const auto& targets = *new const std::vector<Target>(all_targets());
  return targets;
}

std::span<const Target> cuda_targets() {
  return known_targets().subspan(1);
}

bool covers(std::span<const Target> targets, Target target) {
  const Target listed = target.is_ptx() ? Target::sm(target.cc()) : target;
  return std::ranges::find(targets, target) != targets.end() ||
         std::ranges::find(targets, listed) != targets.end();
}

}  // namespace estoc
