// Compiled kernels on disk: shared by processes, bounded in size, able to heal itself.
#include "jit/disk_cache.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <unordered_set>

#include "core/atomic_file.h"
#include "core/cache_folder.h"
#include "core/env.h"
#include "core/log.h"
#include "core/natural_order.h"
#include "core/posix.h"
#include "core/read_file.h"
#include "core/text.h"
#include "estoc/status.hpp"

namespace estoc::jit {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kSchema = 2;
constexpr std::array<std::string_view, 2> kCodes{".cubin", ".so"};
constexpr std::string_view kRecord = ".json";
// Half an entry or a temporary older than this belongs to a process that is gone.
constexpr std::chrono::hours kStale{1};
// Writers hold the folder's lock for a few milliseconds.
constexpr std::chrono::milliseconds kLockPatience{2000};
// Use is recorded in the file's time, at most this often.
constexpr std::chrono::minutes kTouchInterval{10};

// The folder may hold foreign files, where the user chose one that has another use.
bool is_entry_file(const fs::path& path) {
  constexpr std::size_t kHash = 32;
  const std::string name = path.filename().string();
  const bool hash = name.size() > kHash && name[kHash] == '-' &&
                    name.find_first_not_of("0123456789abcdef") == kHash;
  const fs::path ending = path.extension();
  return hash && (ending == kRecord || ending == kCodes[0] || ending == kCodes[1]);
}

bool is_record(const fs::path& path) {
  return path.extension() == kRecord && is_entry_file(path);
}

bool is_temporary(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with(".estoc-") && path.extension() == ".tmp";
}

bool is_stale(const fs::path& path) {
  std::error_code error;
  const auto time = fs::last_write_time(path, error);
  return !error && fs::file_time_type::clock::now() - time > kStale;
}

template <typename Visit>
void for_each_file(const fs::path& folder, const Visit& visit) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    visit(it->path());
}

bool remove_file(const fs::path& path) {
  std::error_code ignored;
  return fs::remove(path, ignored);
}

/// A lock on the folder, which ends with the process that holds it: shared by those that write an
/// entry, exclusive for one that clears up after writers that died.
class FolderLock {
 public:
  FolderLock(const fs::path& folder, int kind, std::chrono::milliseconds patience)
      : file_(core::open_file(folder, O_RDONLY | O_DIRECTORY)) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (file_ && ::flock(file_.get(), kind | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() > end) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    held_ = static_cast<bool>(file_);
  }
  bool held() const { return held_; }

 private:
  core::FileDescriptor file_;
  bool held_ = false;
};

/// Makes the folder; returns why it cannot serve, or nothing.
std::string make_private_folder(const fs::path& folder) {
  std::error_code error;
  if (folder.has_parent_path()) fs::create_directories(folder.parent_path(), error);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return "it cannot be made: " + std::generic_category().message(errno);
  }
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return std::generic_category().message(errno);
  if (!S_ISDIR(info.st_mode)) return "it is not a folder";
  if (info.st_uid != ::geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return "it is not used, because others than this user can write to it";
  }
  return {};
}

// Code of the virtual GPU, whose NVRTC says 0, is not for a real one.
bool is_nvidias(std::string_view key) {
  constexpr std::size_t kHash = 32;
  const std::string_view compiler = key.substr(std::min(key.size(), kHash + 1));
  return compiler.starts_with("nvrtc-") && !compiler.starts_with("nvrtc-0.");
}

std::string checksum(std::string_view bytes) {
  return core::hash(bytes).hex();
}

std::string dump(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

std::string record_text(const std::string& key, const CacheEntry& entry) {
  const KernelResources& r = entry.resources;
  Json json{{"schema", kSchema},
            {"key", key},
            {"kernel", entry.kernel},
            {"target", entry.target},
            {"compiler", entry.compiler},
            {"format", entry.format},
            {"registers", r.registers},
            {"shared_bytes", r.shared_bytes},
            {"stack_bytes", r.stack_bytes},
            {"spill_store_bytes", r.spill_store_bytes},
            {"spill_load_bytes", r.spill_load_bytes},
            {"barriers", r.barriers},
            {"log", entry.log},
            {"cubin_bytes", entry.cubin.size()},
            {"cubin_hash", checksum(entry.cubin)}};
  json["record_hash"] = checksum(dump(json));
  return dump(json);
}

/// True for the record of that key as it was written.
bool is_whole(Json json, const std::string& key) {
  if (json.at("schema").get<int>() != kSchema || json.at("key").get<std::string>() != key) {
    return false;
  }
  const auto stated = json.at("record_hash").get<std::string>();
  json.erase("record_hash");
  return checksum(dump(json)) == stated;
}

// Throws what nlohmann throws when a field is missing or of another type.
CacheEntry parse_record(const Json& json) {
  CacheEntry entry;
  entry.kernel = json.at("kernel").get<std::string>();
  entry.target = json.at("target").get<std::string>();
  entry.compiler = json.at("compiler").get<std::string>();
  entry.format = json.value("format", "cubin");
  if (entry.format != "cubin") entry.format = "so";
  entry.log = json.at("log").get<std::string>();
  KernelResources& r = entry.resources;
  r.registers = json.at("registers").get<int>();
  r.shared_bytes = json.at("shared_bytes").get<int>();
  r.stack_bytes = json.at("stack_bytes").get<int>();
  r.spill_store_bytes = json.at("spill_store_bytes").get<int>();
  r.spill_load_bytes = json.at("spill_load_bytes").get<int>();
  r.barriers = json.at("barriers").get<int>();
  return entry;
}

void touch(const fs::path& path) {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  const auto last = fs::last_write_time(path, error);
  if (!error && now - last > kTouchInterval) fs::last_write_time(path, now, error);
}

std::int64_t seconds_of(const fs::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::int64_t>(info.st_mtime) : 0;
}

std::int64_t size_of(const fs::path& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  return error ? 0 : static_cast<std::int64_t>(bytes);
}

}  // namespace

DiskCache::DiskCache(fs::path folder, std::int64_t limit_bytes)
    : folder_(std::move(folder)), limit_bytes_(limit_bytes) {
  const std::string why = make_private_folder(folder_);
  if (why.empty()) return;
  problem_ = fmt::format("kernel cache {}: {}", folder_.string(), why);
  core::log(LogLevel::warning, "{}", problem_);
}

std::string DiskCache::problem() const {
  if (!usable() || ::access(folder_.c_str(), W_OK) == 0) return problem_;
  return fmt::format("kernel cache {}: it cannot be written: {}", folder_.string(),
                     std::generic_category().message(errno));
}

std::int64_t DiskCache::default_limit(std::string* problem) {
  const auto text = core::env("ESTOC_CACHE_LIMIT");
  if (!text) return kDefaultLimit;
  if (const auto bytes = core::parse_bytes(*text)) return *bytes;
  if (problem != nullptr) {
    *problem =
        fmt::format("ESTOC_CACHE_LIMIT: expected a size such as 512M or 8G, got '{}'", *text);
  }
  return kDefaultLimit;
}

std::optional<fs::path> DiskCache::default_folder() {
  return core::cache_folder();
}

fs::path DiskCache::file(const std::string& key, std::string_view suffix) const {
  return folder_ / (key + std::string(suffix));
}

fs::path DiskCache::code_file(const core::Hash128& content, const CacheEntry& entry) const {
  return file(fmt::format("{}-{}", content.hex(), entry.compiler), "." + entry.format);
}

std::int64_t DiskCache::size_of_entry(const std::string& key) const {
  return size_of(file(key, kRecord)) + size_of(file(key, kCodes[0])) +
         size_of(file(key, kCodes[1]));
}

std::optional<CacheEntry> DiskCache::read(const std::string& key) const {
  try {
    const Json json = Json::parse(core::read_file(file(key, kRecord)));
    if (!is_whole(json, key)) return std::nullopt;
    CacheEntry entry = parse_record(json);
    entry.cubin = core::read_file(file(key, "." + entry.format));
    if (checksum(entry.cubin) != json.at("cubin_hash").get<std::string>()) return std::nullopt;
    return entry;
  } catch (const std::exception& error) {
    core::log(LogLevel::debug, "kernel cache: entry {}: {}", key, error.what());
    return std::nullopt;
  }
}

std::optional<CacheEntry> DiskCache::find(const core::Hash128& content,
                                          std::string_view compiler) const {
  if (!usable()) return std::nullopt;
  const std::string stem = content.hex();
  std::vector<std::string> keys;
  if (!compiler.empty()) {
    keys.push_back(fmt::format("{}-{}", stem, compiler));
  } else {
    for_each_file(folder_, [&](const fs::path& path) {
      const std::string key = path.stem().string();
      if (is_record(path) && key.starts_with(stem) && is_nvidias(key)) keys.push_back(key);
    });
    std::sort(keys.begin(), keys.end(),
              [](const auto& a, const auto& b) { return core::natural_less(b, a); });
  }
  for (const std::string& key : keys) {
    if (auto entry = read(key)) {
      touch(file(key, kRecord));
      return entry;
    }
  }
  return std::nullopt;
}

void DiskCache::store(const core::Hash128& content, const CacheEntry& entry) const {
  if (!usable()) return;
  const std::string key = fmt::format("{}-{}", content.hex(), entry.compiler);
  const std::string text = record_text(key, entry);
  try {
    // Without it, on a file system that has no locks, cleaning spares what is young.
    const FolderLock lock(folder_, LOCK_SH, kLockPatience);
    core::AtomicFile code(code_file(content, entry), core::FileAccess::owner);
    code.write(entry.cubin);
    code.commit(core::Sync::no);
    core::AtomicFile record(file(key, kRecord), core::FileAccess::owner);
    record.write(text);
    record.commit(core::Sync::no);
  } catch (const Error& error) {
    core::log(LogLevel::warning, "kernel cache: {}", error.what());
    // A full disk should not keep half an entry.
    std::error_code ignored;
    if (!fs::exists(file(key, kRecord), ignored)) remove_file(code_file(content, entry));
    return;
  }
  make_room(static_cast<std::int64_t>(entry.cubin.size() + text.size()));
}

// Looking through the folder takes a call for every file in it, so it is done seldom.
void DiskCache::make_room(std::int64_t bytes) const {
  if (room_.fetch_sub(bytes) - bytes > 0) return;
  std::int64_t total = 0;
  prune(limit_bytes_, limit_bytes_ - limit_bytes_ / 8, total);
  room_ = std::min(limit_bytes_ / 16, limit_bytes_ - total);
}

std::vector<CacheListing> DiskCache::list() const {
  std::vector<CacheListing> entries;
  if (!usable()) return entries;
  for_each_file(folder_, [&](const fs::path& path) {
    if (!is_record(path)) return;
    CacheListing listing;
    listing.key = path.stem().string();
    listing.bytes = size_of_entry(listing.key);
    listing.last_used = seconds_of(path);
    if (auto entry = read(listing.key)) {
      listing.kernel = entry->kernel;
      listing.target = entry->target;
      listing.compiler = entry->compiler;
    } else {
      listing.intact = false;
    }
    entries.push_back(std::move(listing));
  });
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return a.last_used != b.last_used ? a.last_used > b.last_used : a.key < b.key;
  });
  return entries;
}

int DiskCache::verify() const {
  if (!usable()) return 0;
  std::unordered_set<std::string> intact;
  for (const CacheListing& entry : list()) {
    if (entry.intact) intact.insert(entry.key);
  }
  // While no process writes, an incomplete file was left by a process that died.
  const FolderLock lock(folder_, LOCK_EX, kLockPatience);
  std::vector<fs::path> doomed;
  for_each_file(folder_, [&](const fs::path& path) {
    if (is_temporary(path)) {
      if (lock.held() || is_stale(path)) doomed.push_back(path);
    } else if (is_entry_file(path)) {
      const std::string key = path.stem().string();
      // It may have been written since the listing.
      if (intact.contains(key) || read(key)) return;
      if (lock.held() || is_stale(path) || is_record(path)) doomed.push_back(path);
    }
  });
  return static_cast<int>(std::count_if(doomed.begin(), doomed.end(), remove_file));
}

int DiskCache::clear() const {
  if (!usable()) return 0;
  const FolderLock lock(folder_, LOCK_EX, kLockPatience);
  std::vector<fs::path> doomed;
  for_each_file(folder_, [&](const fs::path& path) {
    const bool left_behind = is_temporary(path) && (lock.held() || is_stale(path));
    if (is_entry_file(path) || left_behind) doomed.push_back(path);
  });
  int removed = 0;
  for (const fs::path& path : doomed) {
    if (remove_file(path) && is_record(path)) ++removed;
  }
  return removed;
}

int DiskCache::prune(std::int64_t limit_bytes) const {
  std::int64_t total = 0;
  return prune(limit_bytes, limit_bytes, total);
}

int DiskCache::prune(std::int64_t limit_bytes, std::int64_t target_bytes,
                     std::int64_t& total) const {
  if (!usable()) return 0;
  struct Aged {
    std::string key;
    std::int64_t bytes;
    std::int64_t last_used;
  };
  std::vector<Aged> entries;
  std::vector<fs::path> old_files;
  std::unordered_set<std::string> keys;
  for_each_file(folder_, [&](const fs::path& path) {
    if (is_record(path)) {
      const std::string key = path.stem().string();
      entries.push_back({key, size_of_entry(key), seconds_of(path)});
      total += entries.back().bytes;
      keys.insert(key);
    } else if ((is_temporary(path) || is_entry_file(path)) && is_stale(path)) {
      old_files.push_back(path);
    }
  });
  for (const fs::path& path : old_files) {
    if (!keys.contains(path.stem().string())) remove_file(path);
  }
  std::sort(entries.begin(), entries.end(),
            [](const Aged& a, const Aged& b) { return a.last_used < b.last_used; });
  int removed = 0;
  if (total <= limit_bytes) return removed;
  for (const Aged& entry : entries) {
    if (total <= target_bytes) break;
    remove_file(file(entry.key, kRecord));
    for (const std::string_view ending : kCodes)
      remove_file(file(entry.key, ending));
    total -= entry.bytes;
    ++removed;
  }
  return removed;
}

}  // namespace estoc::jit
