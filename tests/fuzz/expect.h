// What a fuzz target does when a property does not hold.
#pragma once

#include <cstdlib>

namespace estoc::fuzz {

/// Stops the fuzzer, which then keeps the input.
inline void expect(bool holds) {
  if (!holds) std::abort();
}

}  // namespace estoc::fuzz
