// Reads the environment; no other file of the library does.
#include "core/env.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdlib>
#include <string_view>

#include "estoc/environment.hpp"

namespace estoc::core {
namespace {

struct EnvVariable {
  const char* name;
  const char* meaning;
};

constexpr std::array kVariables{
    EnvVariable{"ESTOC_CACHE_DIR", "folder of the cache of compiled kernels"},
    EnvVariable{"ESTOC_CACHE_LIMIT", "size it may reach, such as 512M or 8G; 2G when not set"},
    EnvVariable{"XDG_CACHE_HOME", "folder of all caches, when ESTOC_CACHE_DIR is not set"},
    EnvVariable{"HOME", "its .cache is the folder of all caches, when XDG_CACHE_HOME is not set"},
    EnvVariable{"ESTOC_TUNED",
                "file of the kernels that tuning found; off: neither read nor written"},
    EnvVariable{"ESTOC_KERNEL_PACK",
                "file or folder of compiled kernels to use; off: none, not those found either"},
    EnvVariable{"ESTOC_NVRTC", "file of the NVRTC library to use"},
    EnvVariable{"ESTOC_NVTX", "on, or the file of the NVTX library to use: ranges for profilers"},
    EnvVariable{"ESTOC_HOST_COMPILER",
                "C++ compiler of the emulator; c++, g++ or clang++ when not set"},
    EnvVariable{"ESTOC_VIRTUAL_GPU",
                "targets of the virtual driver's devices, such as sm_90a,sm_80"},
    EnvVariable{"TMPDIR", "folder of what the emulator's compiler needs for a moment; /tmp"},
    EnvVariable{"ESTOC_CUBLASLT",
                "file of the cuBLASLt library to use; off: leave its kernels out"},
    EnvVariable{"VIRTUAL_ENV", "Python environment in which pip's CUDA libraries are looked for"},
    EnvVariable{"CONDA_PREFIX", "conda environment in which the same is done"},
    EnvVariable{"LD_LIBRARY_PATH", "noticed when it changes, because the loader searches it"},
    EnvVariable{"CUDA_PATH", "CUDA toolkit in which NVRTC and cuBLASLt are looked for"},
    EnvVariable{"CUDA_HOME", "the same, when CUDA_PATH is not set"},
    EnvVariable{"ESTOC_THREADS", "number of threads for compilation and the cpu provider"},
    EnvVariable{"ESTOC_DEVICE_DIR", "folder of device sources to use instead of the built-in ones"},
    EnvVariable{"ESTOC_TARGET", "target of the command line's commands, as --target"},
    EnvVariable{"ESTOC_LOG", "lowest level of the log that the command line prints, as --log"},
    EnvVariable{"NO_COLOR", "set: the command line prints without colours"},
};

[[maybe_unused]] bool is_listed(std::string_view name) {
  return std::any_of(kVariables.begin(), kVariables.end(),
                     [&](const EnvVariable& variable) { return variable.name == name; });
}

}  // namespace

std::optional<std::string> env(const char* name) {
  assert(is_listed(name) && "a variable that Estoc reads is listed in env.cpp");
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

}  // namespace estoc::core

namespace estoc {

std::vector<EnvironmentVariable> environment_variables() {
  std::vector<EnvironmentVariable> variables;
  for (const core::EnvVariable& variable : core::kVariables)
    variables.push_back({variable.name, variable.meaning, core::env(variable.name)});
  return variables;
}

}  // namespace estoc
