// The targets Estoc knows, and their names.
#include "estoc/target.hpp"

#include <algorithm>
#include <array>

namespace estoc {
namespace {

constexpr std::array kTargets{
    Target::cpu(),         Target::sm(80),        Target::sm(86),        Target::sm(87),
    Target::sm(88),        Target::sm(89),        Target::sm(90),        Target::sm(90, true),
    Target::sm(100),       Target::sm(100, true), Target::sm(103),       Target::sm(103, true),
    Target::sm(110, true), Target::sm(120),       Target::sm(120, true), Target::sm(121),
    Target::sm(121, true),
};

}  // namespace

std::optional<Target> Target::parse(std::string_view name) {
  for (const Target& target : kTargets) {
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
  return kTargets;
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
