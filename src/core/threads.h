// Work on several threads at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace estoc::core {

/// Hardware threads of the machine; at least 1.
inline unsigned hardware_threads() {
  return std::max(1U, std::thread::hardware_concurrency());
}

/// Calls `work`, which does not throw, on so many threads, this one among them, and waits. There
/// are fewer where the system has no more.
template <class Work>
void run_on_threads(std::size_t threads, const Work& work) {
  std::vector<std::jthread> helpers;
  try {
    for (std::size_t i = 1; i < threads; ++i)
      helpers.emplace_back([&work] { work(); });
  } catch (const std::system_error&) {
    // `helpers` are those that there are.
  }
  work();
}

}  // namespace estoc::core
