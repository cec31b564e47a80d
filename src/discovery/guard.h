// Keeps the results of other classes when one class throws.
#pragma once

#include <exception>
#include <vector>

#include "discovery/registry.h"
#include "estoc/discovery.hpp"

namespace estoc::discovery {

/// Runs `work`, which calls the class of `entry`. When that throws, adds a failure and returns
/// false.
template <typename Work>
bool query_guarded(const ClassEntry& entry, std::vector<DiscoveryFailure>& failures,
                   const Work& work) {
  try {
    work();
    return true;
  } catch (const std::exception& error) {
    failures.push_back({entry.provider(), entry.name(), error.what()});
  } catch (...) {
    failures.push_back({entry.provider(), entry.name(), "threw something that is no exception"});
  }
  return false;
}

}  // namespace estoc::discovery
