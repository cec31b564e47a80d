// A regular file read into memory.
#pragma once

#include <filesystem>
#include <string>

namespace estoc::core {

/// The contents of a regular file. Unlike a mapping they stay what they are when another process
/// cuts the file or writes to it. Throws Error{not_found} when there is no such file, Error{io}
/// when it cannot be read or is no regular file (folder, device, pipe, socket).
std::string read_file(const std::filesystem::path& path);

}  // namespace estoc::core
