// Builds the text of a kernel with the host's compiler into a shared object, and loads it.
#pragma once

#include <cstddef>
#include <span>
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
  std::string debug_folder = {};  ///< see BuildOptions
  bool optimised = true;          ///< see BuildOptions
};

struct BuiltLibrary {
  void* handle = nullptr;
  std::size_t first_entry = 0;  ///< the number of the job's first entry among those of the library
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

/// The same of several. Those for one target become one library, which takes a fraction of the
/// time: the compiler starts once and reads the headers once. What cannot stand beside others is
/// built by itself. Throws what build_kernel throws for one of them; debug_folder is not for these.
std::vector<BuiltLibrary> build_kernels(std::span<const BuildJob> jobs);

}  // namespace estoc::emulator
