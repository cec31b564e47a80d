// Which NVRTC a cached kernel would be compiled with, told without loading NVRTC.
#pragma once

#include <string>

#include "jit/disk_cache.h"
#include "jit/nvrtc.h"

namespace estoc::jit {

/// "nvrtc-13.0".
std::string compiler_name(const NvrtcInfo& info);

/// The compiler that this process would use, as remembered in the cache: valid while the library
/// file has the same path, size and time and the variables that steer the search are the same.
/// Empty when that is not known; then any compiler's entry will do if NVRTC turns out to be absent.
std::string known_compiler(const DiskCache& cache);

/// Writes the memory down.
void remember_compiler(const DiskCache& cache, const NvrtcInfo& info);

}  // namespace estoc::jit
