// Which NVRTC a cached kernel would be compiled with, told without loading NVRTC.
#pragma once

#include <string>

#include "jit/disk_cache.h"
#include "jit/nvrtc.h"

namespace estoc::jit {

/// "nvrtc-13.0-65be0db3": the version, and the file's build ID, which tells updates of one version
/// apart.
std::string compiler_name(const NvrtcInfo& info);

/// The compiler that this process would use: what NVRTC says where one is loaded, else what the
/// cache remembers of a process that searched in the same places, as long as the file it found has
/// the same size and time. Empty when NVRTC is absent; then any entry of NVIDIA's will do.
std::string known_compiler(const DiskCache& cache);

/// Has the cache remember the NVRTC that this process found, unless the process had it before the
/// search: then other processes would not find it.
void remember_compiler(const DiskCache& cache);

}  // namespace estoc::jit
