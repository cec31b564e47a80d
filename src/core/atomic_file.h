// Files that appear whole or not at all, and the temporaries behind them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "core/posix.h"

namespace estoc::core {

/// Who may read a new file: its owner alone (mode 0600), or everybody the umask allows (0644).
enum class FileAccess { owner, everybody };

/// Whether a commit waits until the disk has everything.
enum class Sync { yes, no };

/// Writes a file by way of a temporary in the same folder, which commit() renames to the path. So
/// a reader, or a machine that loses power, sees the old contents or the new ones, nothing between.
///
/// Not buffered. Every failure throws Error{io} (Error{not_found} for a missing folder) that names
/// the file and the system's reason; the path then keeps what it held.
class AtomicFile {
 public:
  /// Creates the temporary. A path that is a symbolic link stands for the file it points to, if
  /// there is one; anything that exists and is no regular file (folder, device, pipe) is refused.
  explicit AtomicFile(const std::filesystem::path& path, FileAccess access = FileAccess::everybody);

  /// Removes the temporary unless the file was committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends to the file; not to be called after commit().
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);

  /// Syncs the file to the disk, gives it its name and syncs the folder; once. A file that can be
  /// made again, and tells by itself when it is torn, may be committed without the syncs: after a
  /// loss of power it may then be short or empty.
  void commit(Sync sync = Sync::yes);

 private:
  void discard() noexcept;

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  FileDescriptor file_;
  int pending_slot_ = -1;
};

/// Removes the temporaries of every AtomicFile that is not committed yet. Async-signal-safe: for
/// the handler of a signal that ends the process. (Of very many files at a time, or paths of
/// PATH_MAX bytes, some are not known here.)
void unlink_pending_files() noexcept;

}  // namespace estoc::core
