// A regular file seen as read-only memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace estoc::core {

/// Maps a whole file for reading and unmaps it at the end. The file must not be made shorter
/// meanwhile (replacing it by rename is fine).
class MappedFile {
 public:
  /// Throws Error{not_found} when there is no such file, Error{io} when it cannot be read or is
  /// no regular file (folder, device, pipe, socket).
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  /// The contents; they start at a page boundary.
  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

  /// In bytes.
  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace estoc::core
