// Keeps the results of other classes when one class throws.
#pragma once

#include <exception>
#include <vector>

#include "discovery/registry.h"
#include "estoc/discovery.hpp"

namespace estoc::discovery {

/// Runs `work`, which calls a kernel class. When that throws, adds a failure and returns
/// false.
template <typename Work>
bool query_guarded(const std::string& provider, const std::string& name,
                   std::vector<DiscoveryFailure>& failures, const Work& work) {
  try {
    work();
    return true;
  } catch (const std::exception& error) {
    failures.push_back({provider, name, error.what()});
  } catch (...) {
    failures.push_back({provider, name, "threw something that is no exception"});
  }
  return false;
}
template <typename Work>
bool query_guarded(const ClassEntry& entry, std::vector<DiscoveryFailure>& failures,
                   const Work& work) {
  return query_guarded(entry.provider(), entry.name(), failures, work);
}

}  // namespace estoc::discovery
