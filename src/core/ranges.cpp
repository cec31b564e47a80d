// Holds the functions that begin and end ranges.
#include "core/ranges.h"

namespace estoc::core {

std::atomic<const RangeFunctions*>& range_functions() {
  static constinit std::atomic<const RangeFunctions*> functions = nullptr;
  return functions;
}

}  // namespace estoc::core
