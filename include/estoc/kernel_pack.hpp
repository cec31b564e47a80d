// Packs: files of compiled kernels that the library finds by itself, so that nothing is compiled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace estoc {

/// A file in which Kernel::compile looks before it looks in the cache and calls the compiler. It is
/// one that save_bundle wrote. Of its kernels those count that this version would compile from the
/// same text; rules and knobs do not matter. It is never written.
///
/// The places, the first that has the kernel: the file or folder that ESTOC_KERNEL_PACK names, and
/// nothing else; without it, folders estoc_kernels in those of set_package_folders(), then beside
/// the library or program that holds Estoc, in the folder above, and in lib there. In a folder the
/// file of a target is TARGET.estoc, such as sm_90a.estoc. Of folders that are not named by the
/// user, those are used that belong to this user, to root or to the owner of the library, and that
/// not everybody can write to.
struct KernelPack {
  std::string path;
  std::int64_t bytes = 0;
  std::vector<std::string> targets;  ///< for which it has kernels, each once
  std::size_t kernels = 0;
  std::size_t outdated = 0;  ///< of these: compiled from another text than this version's
  std::string problem;       ///< why some or all of it is not used, in one sentence; else empty
};

/// The packs that are there, in the order of the search. Reads each of them, and makes the text of
/// each kernel: some hundredths of a second.
///
/// Kernel::compile opens a pack once in a process; clear_discovery_cache() has it opened again.
std::vector<KernelPack> kernel_packs();

}  // namespace estoc
