// What the file classes share: an owned file descriptor, and errors that name the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

namespace estoc::core {

/// Throws Error: "cannot <action> '<path>': <text of the errno value>"; kind not_found when that
/// value says that the file or its folder does not exist, else io.
[[noreturn]] void throw_file_error(std::string_view action, const std::filesystem::path& path,
                                   int error);

/// Throws Error{io}: "cannot <action> '<path>': <why>".
[[noreturn]] void throw_file_error(std::string_view action, const std::filesystem::path& path,
                                   std::string_view why);

/// Owns a file descriptor; -1 when there is none.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  FileDescriptor(FileDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FileDescriptor() { close(); }

  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

  /// Closes it now; the errno value of a failure, else 0.
  int close() noexcept;

 private:
  int descriptor_ = -1;
};

/// open(2), again when a signal interrupts it, with O_CLOEXEC; errno tells why it failed.
FileDescriptor open_file(const std::filesystem::path& path, int flags, unsigned mode = 0);

/// A regular file that is open for reading, and its size in bytes.
struct RegularFile {
  FileDescriptor descriptor;
  std::int64_t size = 0;
};

/// Opens a regular file for reading. Throws Error{not_found} when there is none, Error{io} for
/// anything else that exists (folder, device, pipe, socket), which is not opened.
RegularFile open_regular_file(const std::filesystem::path& path);

}  // namespace estoc::core
