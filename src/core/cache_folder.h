// The folder of what Estoc keeps on disk.
#pragma once

#include <filesystem>
#include <optional>

namespace estoc::core {

/// ESTOC_CACHE_DIR, else estoc/ in XDG_CACHE_HOME or ~/.cache; nullopt when none is known.
std::optional<std::filesystem::path> cache_folder();

}  // namespace estoc::core
