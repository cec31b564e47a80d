// Chooses targets; the host is the only one that kernels run on so far.
#include "target_choice.h"

#include <fmt/format.h>

#include <vector>

#include "failure.h"
#include "text.h"

namespace estoc::cli {

Target parse_target(const std::string& name) {
  if (const auto target = Target::parse(name)) return *target;
  std::vector<std::string> names;
  for (const Target target : known_targets())
    names.push_back(target.name());
  const std::string like = nearest(name, names);
  throw Failure(Exit::usage, fmt::format("--target: there is no target '{}'", name),
                (like.empty() ? "" : fmt::format("did you mean {}? ", like)) +
                    "The targets are: " + join(names));
}

Target choose_target(const std::string& name) {
  return name.empty() ? Target::cpu() : parse_target(name);
}

Device device_for(Target target) {
  return target.is_cpu() ? Device::cpu() : Device::cuda(0);
}

void require_runnable(Target target) {
  if (target.is_cpu()) return;
  throw Failure(Exit::not_found,
                fmt::format("--target: this machine cannot run kernels for {}", target.name()),
                "'estoc find' and 'estoc explain' answer for every target; 'estoc devices' lists "
                "what kernels can run on here");
}

}  // namespace estoc::cli
