// The records as this process knows them, in memory.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "records/database.h"

namespace estoc::records {

/// Records by device and signature.
class Table {
 public:
  Table() = default;
  explicit Table(std::vector<TunedKernel> records);

  bool empty() const { return records_.empty(); }
  /// The record to go by at a place: one that was made there, else the newest of its device.
  const TunedKernel* find(const Place& place, const std::string& signature) const;

 private:
  std::unordered_map<std::string, std::vector<TunedKernel>> records_;  ///< by signature
};

/// Reads the file when it has changed.
class Known {
 public:
  /// The one there is; it follows the environment.
  static Known& instance();

  /// Looks whether there is another file, or other contents in it, and then reads that. What keeps
  /// it from being read goes to the log, leaves no records, and is tried again after some seconds.
  /// True when the records may be others now.
  bool refresh();

  /// What was read last.
  std::shared_ptr<const Table> table() const;

 private:
  std::string read_anew(const DatabaseLock& lock, bool& differs);

  // Under the lock of the database.
  std::optional<std::filesystem::path> file_;
  std::optional<FileVersion> version_;
  std::optional<std::chrono::steady_clock::time_point> try_again_{};
  mutable std::mutex mutex_;  ///< of `table_`
  std::shared_ptr<const Table> table_ = std::make_shared<const Table>();
};

}  // namespace estoc::records
