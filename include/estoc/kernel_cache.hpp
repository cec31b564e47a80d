// The compiled kernels that the disk keeps from one process to the next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace estoc {

/// A kernel in the cache.
struct CachedKernel {
  std::string key;
  std::string kernel;
  std::string target;
  std::string compiler;
  std::int64_t bytes = 0;
  std::int64_t last_used = 0;  ///< seconds since 1970
  bool intact = true;          ///< false: damaged; it will be compiled anew
};

/// The folder: ESTOC_CACHE_DIR, else estoc/ in XDG_CACHE_HOME or ~/.cache. Empty when none of the
/// three is known: then nothing is kept.
std::string kernel_cache_path();

/// Why the cache does not work as the environment says: no folder for it, one that cannot be used,
/// a limit that is no size. One sentence; empty when all is well. Nothing is kept without a folder,
/// and a limit that is no size is taken for the default.
std::string kernel_cache_problem();

/// Bytes that the cache may take; the kernels used longest ago go first. 2 GiB, or what
/// ESTOC_CACHE_LIMIT says ("512M", "8G", bytes without a letter).
std::int64_t kernel_cache_limit();

/// A size in that form; nullopt for any other text.
std::optional<std::int64_t> parse_cache_size(std::string_view text);

/// Every kernel in it, the one used last first.
std::vector<CachedKernel> list_kernel_cache();

/// Removes what is damaged or was left behind by a process that died; returns how many files.
int verify_kernel_cache();

/// Removes the kernels used longest ago until at most `bytes` are left; returns how many.
int prune_kernel_cache(std::int64_t bytes);

/// Removes every kernel; returns how many there were.
int clear_kernel_cache();

}  // namespace estoc
