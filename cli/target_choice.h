// Which target a command is about: the one named, else what this machine has.
#pragma once

#include <string>
#include <vector>

#include "estoc/target.hpp"
#include "estoc/tensor.hpp"

namespace estoc::cli {

/// The names of all targets that are known.
std::vector<std::string> target_names();

/// The target of that name. Throws Failure{usage} with those there are.
Target parse_target(const std::string& name);

/// The named target; for an empty name the one of this machine.
Target choose_target(const std::string& name);

/// A device of that target, for operands that are only described.
Device device_for(Target target);

/// Throws Failure{not_found} when kernels for `target` cannot run on this machine.
void require_runnable(Target target);

}  // namespace estoc::cli
