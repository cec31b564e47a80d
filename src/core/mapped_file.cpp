// Implements read-only mapping of regular files.
#include "core/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "core/posix.h"

namespace estoc::core {
namespace {

void check_regular(const std::filesystem::path& path, const struct stat& status) {
  if (S_ISREG(status.st_mode)) return;
  throw_file_error("read", path, S_ISDIR(status.st_mode) ? "it is a folder" : "not a regular file");
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  struct stat status {};
  // Looked at before it is opened: opening a device or a pipe may act on it or wait.
  if (::stat(path.c_str(), &status) != 0) throw_file_error("read", path, errno);
  check_regular(path, status);
  const FileDescriptor file = open_file(path, O_RDONLY | O_NONBLOCK);
  if (!file || ::fstat(file.get(), &status) != 0) throw_file_error("read", path, errno);
  check_regular(path, status);
  if (status.st_size == 0) return;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (memory == MAP_FAILED) throw_file_error("map", path, errno);
  bytes_ = {static_cast<const std::byte*>(memory), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace estoc::core
