// Implements the owned file descriptor and the errors of the file classes.
#include "core/posix.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "estoc/status.hpp"

namespace estoc::core {
namespace {

[[noreturn]] void throw_error(ErrorKind kind, std::string_view action,
                              const std::filesystem::path& path, std::string_view why) {
  throw Error(kind, fmt::format("cannot {} '{}': {}", action, path.native(), why));
}

}  // namespace

void throw_file_error(std::string_view action, const std::filesystem::path& path, int error) {
  const bool missing = error == ENOENT || error == ENOTDIR;
  throw_error(missing ? ErrorKind::not_found : ErrorKind::io, action, path,
              std::generic_category().message(error));
}

void throw_file_error(std::string_view action, const std::filesystem::path& path,
                      std::string_view why) {
  throw_error(ErrorKind::io, action, path, why);
}

int FileDescriptor::close() noexcept {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor < 0) return 0;
  // After EINTR the descriptor is closed all the same.
  return ::close(descriptor) == 0 || errno == EINTR ? 0 : errno;
}

RegularFile open_regular_file(const std::filesystem::path& path) {
  struct stat status {};
  const auto check = [&] {
    if (S_ISREG(status.st_mode)) return;
    throw_file_error("read", path,
                     S_ISDIR(status.st_mode) ? "it is a folder" : "not a regular file");
  };
  // Looked at before it is opened: opening a device or a pipe may act on it or wait.
  if (::stat(path.c_str(), &status) != 0) throw_file_error("read", path, errno);
  check();
  RegularFile file{open_file(path, O_RDONLY | O_NONBLOCK)};
  if (!file.descriptor || ::fstat(file.descriptor.get(), &status) != 0) {
    throw_file_error("read", path, errno);
  }
  check();
  file.size = status.st_size;
  return file;
}

FileDescriptor open_file(const std::filesystem::path& path, int flags, unsigned mode) {
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (descriptor < 0 && errno == EINTR);
  return FileDescriptor(descriptor);
}

}  // namespace estoc::core
