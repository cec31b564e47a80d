// Where packs of compiled kernels are looked for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "estoc/target.hpp"

namespace estoc::discovery {

/// A file that may be a pack.
struct PackFile {
  std::filesystem::path path;
  std::string problem;  ///< why it is not to be opened; empty: nothing
};

/// The files with kernels for a target, in the order of the search.
std::vector<PackFile> pack_files(Target target);

/// Those for any target.
std::vector<PackFile> pack_files();

}  // namespace estoc::discovery
