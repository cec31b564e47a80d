// A heap that counts what is taken from it.
#pragma once

#include <cstddef>

namespace estoc::gpu_test {

/// How often this thread has taken memory by operator new, in this program and what is linked into
/// it.
std::size_t allocations();

}  // namespace estoc::gpu_test
