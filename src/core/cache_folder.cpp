// Finds the folder of what Estoc keeps on disk.
#include "core/cache_folder.h"

#include "core/env.h"

namespace estoc::core {

std::optional<std::filesystem::path> cache_folder() {
  using std::filesystem::path;
  if (auto folder = env("ESTOC_CACHE_DIR")) return path(*folder);
  if (auto caches = env("XDG_CACHE_HOME")) return path(*caches) / "estoc";
  if (auto home = env("HOME")) return path(*home) / ".cache" / "estoc";
  return std::nullopt;
}

}  // namespace estoc::core
