// The providers that are there without any registration.
#pragma once

#include <memory>
#include <vector>

#include "estoc/kernel_class.hpp"

namespace estoc {

/// The built-in providers in the order in which they are listed; called once, at the first use of
/// the registry. Defined in src/providers/providers.cpp, so that discovery knows no provider.
std::vector<std::shared_ptr<const Provider>> builtin_providers();

}  // namespace estoc
