// The file of tuned kernels: an SQLite database that any number of processes share.
#pragma once

#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "estoc/tuned.hpp"
#include "records/place.h"

namespace estoc::records {

/// Changes with every transaction on the file, and when another file takes its place.
struct FileVersion {
  std::int64_t inode = 0;
  std::int64_t modified = 0;  ///< nanoseconds
  std::int64_t changes = 0;   ///< as SQLite counts them

  bool operator==(const FileVersion&) const = default;
};

/// What a thread has while it uses the database: one at a time, and none when the process forks,
/// as a child that finds SQLite's own locks taken would wait for ever.
class DatabaseLock {
 public:
  DatabaseLock();

 private:
  std::unique_lock<std::mutex> lock_;
};

/// A database that is opened for each operation and closed again. Each write is one transaction.
/// Functions throw Error{io} that names the file for one that is locked, damaged, not writable or
/// of a later version of Estoc.
class Database {
 public:
  explicit Database(std::filesystem::path file) : file_(std::move(file)) {}

  /// ESTOC_TUNED, else `tuned.db` in the folder of the kernel cache; nullopt for `off`, and where
  /// no folder is known.
  static std::optional<std::filesystem::path> default_file();

  const std::filesystem::path& file() const { return file_; }

  /// nullopt where there is no file.
  std::optional<FileVersion> version(const DatabaseLock& lock) const;

  /// Every record, those that make no sense left out; none where there is no file. Waits so long
  /// for writers.
  std::vector<TunedKernel> load(const DatabaseLock& lock, std::chrono::milliseconds patience) const;

  TunedMerge store(const DatabaseLock& lock, std::span<const TunedKernel> records,
                   bool overwrite) const;
  /// Removes the records of the signature on the place's device, whatever driver and version they
  /// are of; returns how many.
  std::size_t forget(const DatabaseLock& lock, const Place& place,
                     const std::string& signature) const;
  std::size_t forget_all(const DatabaseLock& lock) const;

 private:
  std::filesystem::path file_;
};

}  // namespace estoc::records
