// Builds the text of a kernel with the host's compiler into a shared object, and loads it.
#pragma once

#include <string>
#include <vector>

#include "estoc/target.hpp"

namespace estoc::emulator {

/// What is to be built.
struct BuildJob {
  std::string kernel;  ///< its name
  std::string source;
  std::vector<std::string> entries;  ///< extern "C" functions of the source
  Target target = Target::cpu();
  std::string debug_folder;  ///< see BuildOptions
};

struct BuiltLibrary {
  void* handle = nullptr;
  std::string compiler;
  bool from_cache = false;
};

/// Names of what the shared object shows: this, and by their number the entries and the functions
/// that give the sizes of their parameters.
inline constexpr const char* kConnectName = "estoc_emulator_connect";
std::string entry_name(std::size_t index);
std::string sizes_name(std::size_t index);

/// Finds the shared object in the disk cache or builds it. Throws Error{not_found} without a
/// compiler, CompileError, Error{io}.
BuiltLibrary build_kernel(const BuildJob& job);

}  // namespace estoc::emulator
