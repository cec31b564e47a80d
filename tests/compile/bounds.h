// The launch bounds that a unit states, read back from what it compiles to.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace estoc::compile_test {

/// What __launch_bounds__ promises.
struct LaunchBounds {
  long threads = 0;
  long ctas = 1;  ///< that are to fit on a multiprocessor
};

/// The source with two variables at its end whose sizes are the arguments of its
/// __launch_bounds__: the compiler evaluates them. Unchanged where it states none.
std::string with_bounds(const std::string& source);

/// The bounds in a cubin of such a source; nullopt where it has none.
std::optional<LaunchBounds> read_bounds(std::string_view cubin);

}  // namespace estoc::compile_test
