// Implements read-only mapping of regular files.
#include "core/mapped_file.h"

#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include "core/posix.h"

namespace estoc::core {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const RegularFile file = open_regular_file(path);
  if (file.size == 0) return;
  const auto size = static_cast<std::size_t>(file.size);
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor.get(), 0);
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
