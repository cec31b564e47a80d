// Implements reading regular files into memory.
#include "core/read_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/posix.h"

namespace estoc::core {

std::string read_file(const std::filesystem::path& path) {
  constexpr std::size_t kMinRoom = 4096;
  const RegularFile file = open_regular_file(path);
  std::string bytes;
  std::size_t used = 0;
  // One more than it should have tells the end in one call; a file may grow meanwhile.
  bytes.resize(static_cast<std::size_t>(file.size) + 1);
  for (;;) {
    const ssize_t got = ::read(file.descriptor.get(), bytes.data() + used, bytes.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_file_error("read", path, errno);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
    if (used == bytes.size()) bytes.resize(std::max(2 * used, kMinRoom));
  }
  bytes.resize(used);
  return bytes;
}

}  // namespace estoc::core
