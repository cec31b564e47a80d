// Compiled kernels on disk: shared by processes, bounded in size, able to heal itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/hash.h"
#include "estoc/kernel_class.hpp"

namespace estoc::jit {

/// One compiled kernel as it lies in the cache.
struct CacheEntry {
  std::string kernel;    ///< name, for people
  std::string target;    ///< "sm_90a"
  std::string compiler;  ///< "nvrtc-13.0"
  KernelResources resources;
  std::string log;
  std::string cubin;             ///< the code: of a GPU, or a shared object of the host
  std::string format = "cubin";  ///< or "so"; the ending of the code's file
};

/// An entry in a listing.
struct CacheListing {
  std::string key;
  std::string kernel;
  std::string target;
  std::string compiler;
  std::int64_t bytes = 0;
  std::int64_t last_used = 0;  ///< seconds since 1970
  bool intact = true;          ///< false: the files do not belong together; a read is a miss
};

/// A folder of entries, two files each: KEY.cubin, which cuobjdump reads, or KEY.so, which the
/// loader opens, and KEY.json.
///
/// KEY is the hash of everything the code depends on but the compiler, then the compiler's name.
/// Every file is written to a temporary and renamed; the json carries its own key and hash and that
/// of the cubin, so that a torn, truncated, altered or misplaced entry is a miss and is written
/// anew. Files that the cache did not write are never touched. No function throws for the state of
/// the folder: a cache that cannot be read or written is an empty one, with a log message saying
/// why, and problem().
class DiskCache {
 public:
  explicit DiskCache(std::filesystem::path folder, std::int64_t limit_bytes = kDefaultLimit);

  /// 2 GiB; some ten thousand kernels.
  static constexpr std::int64_t kDefaultLimit = std::int64_t{2} << 30;

  /// ESTOC_CACHE_LIMIT where it is set and makes sense, else kDefaultLimit. `problem`, if given,
  /// receives a sentence where it makes none.
  static std::int64_t default_limit(std::string* problem = nullptr);

  /// ESTOC_CACHE_DIR, else estoc/ in XDG_CACHE_HOME or ~/.cache; nullopt when none is known.
  static std::optional<std::filesystem::path> default_folder();

  const std::filesystem::path& folder() const { return folder_; }

  /// Why nothing new is kept in the folder, in one clause; empty when it is usable.
  std::string problem() const;

  /// The entry of that content, compiled by `compiler`; when that is empty, by the newest NVRTC of
  /// NVIDIA's that there is one of.
  std::optional<CacheEntry> find(const core::Hash128& content, std::string_view compiler) const;

  /// Adds an entry. Before the first, and whenever this process has added a sixteenth of the limit,
  /// the folder is looked through; where it exceeds the limit, entries not used for longest go
  /// until it is an eighth below.
  void store(const core::Hash128& content, const CacheEntry& entry) const;

  /// The file that holds the code of an entry that was found or stored.
  std::filesystem::path code_file(const core::Hash128& content, const CacheEntry& entry) const;

  /// Every entry, the one used last first.
  std::vector<CacheListing> list() const;

  /// Removes entries that are not intact, and what processes that died left; returns how many
  /// files.
  int verify() const;

  /// Removes every entry and what was left behind; returns how many entries there were.
  int clear() const;

  /// Removes the entries used longest ago until at most `limit_bytes` are left, and leftovers older
  /// than an hour; returns how many entries.
  int prune(std::int64_t limit_bytes) const;

 private:
  std::optional<CacheEntry> read(const std::string& key) const;
  std::int64_t size_of_entry(const std::string& key) const;
  bool usable() const { return problem_.empty(); }
  void make_room(std::int64_t bytes) const;
  /// As prune(); `total` receives the bytes of what is left.
  int prune(std::int64_t limit_bytes, std::int64_t target_bytes, std::int64_t& total) const;
  std::filesystem::path file(const std::string& key, std::string_view suffix) const;

  std::filesystem::path folder_;
  std::int64_t limit_bytes_;
  std::string problem_;  ///< why the folder is not used at all
  /// Bytes that may be added before the folder is looked through again.
  mutable std::atomic<std::int64_t> room_ = 0;
};

}  // namespace estoc::jit
