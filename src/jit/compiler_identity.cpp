// Which NVRTC a cached kernel would be compiled with, told without loading NVRTC.
#include "jit/compiler_identity.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "core/atomic_file.h"
#include "core/env.h"
#include "core/fork.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/mapped_file.h"
#include "core/read_file.h"
#include "estoc/library_search.hpp"
#include "jit/driver.h"
#include "jit/shared_library.h"

namespace estoc::jit {
namespace {

using Json = nlohmann::json;

// Of so many places to search in, those used last are remembered.
constexpr std::size_t kMaxRecords = 16;

std::filesystem::path record_path(const DiskCache& cache) {
  return cache.folder() / "compiler.record";
}

// Names what a search goes by: its places, and the driver that has to load the code.
std::string search_settings() {
  core::Hasher hasher;
  hasher.field(fmt::format("driver {}", installed_driver_version()));
  for (const char* name : {"ESTOC_NVRTC", "CUDA_PATH", "CUDA_HOME", "VIRTUAL_ENV", "CONDA_PREFIX",
                           "LD_LIBRARY_PATH", "HOME"}) {
    hasher.field(core::env(name).value_or(""));
  }
  for (const std::string& folder : package_folders())
    hasher.field(folder);
  return hasher.digest().hex();
}

std::string file_state(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return "absent";
  return fmt::format("{} {} {}.{:09}", path, info.st_size, info.st_mtim.tv_sec,
                     info.st_mtim.tv_nsec);
}

Json read_records(const DiskCache& cache) {
  try {
    Json json = Json::parse(core::read_file(record_path(cache)));
    if (json.at("records").is_array()) return std::move(json["records"]);
  } catch (const std::exception& error) {
    core::log(LogLevel::debug, "kernel cache: no record of the compiler: {}", error.what());
  }
  return Json::array();
}

// The compiler that `record` tells of; empty when its file is not what it was.
std::string compiler_of(const Json& record) {
  const auto path = record.at("path").get<std::string>();
  if (record.at("state").get<std::string>() != file_state(path)) return {};
  return record.at("compiler").get<std::string>();
}

std::string read_record(const DiskCache& cache, const std::string& settings) {
  try {
    for (const Json& record : read_records(cache)) {
      if (record.at("settings").get<std::string>() == settings) return compiler_of(record);
    }
  } catch (const Json::exception& error) {
    core::log(LogLevel::debug, "kernel cache: a record of the compiler: {}", error.what());
  }
  return {};
}

void write_record(const DiskCache& cache, Json mine) {
  Json records = Json::array({std::move(mine)});
  for (Json& other : read_records(cache)) {
    if (records.size() == kMaxRecords) break;
    if (other.at("settings") != records[0].at("settings")) records.push_back(std::move(other));
  }
  core::AtomicFile file(record_path(cache), core::FileAccess::owner);
  file.write(Json{{"records", std::move(records)}}.dump());
  file.commit(core::Sync::no);
}

// What tells files of one version apart.
std::string file_identity(const std::string& path) {
  constexpr std::size_t kDigits = 8;
  if (const std::string id = build_id(path); id.size() >= kDigits) return id.substr(0, kDigits);
  try {
    return core::hash(core::MappedFile(path).text()).hex().substr(0, kDigits);
  } catch (const Error&) {
    return "unknown";
  }
}

// What this process knows of its compiler; never destroyed, as threads may read it at any time.
struct Memory {
  std::mutex mutex;
  std::optional<bool> given;  ///< NVRTC was loaded before anybody searched for it
  std::string settings;       ///< those that `known` was read for
  std::filesystem::path folder;
  std::string known;
};

Memory& memory() {
  static auto* instance = [] {
    auto* made = new Memory;
    core::hold_at_fork(std::span(&made->mutex, 1));
    return made;
  }();
  return *instance;
}

}  // namespace

std::string compiler_name(const NvrtcInfo& info) {
  // There is one NVRTC in a process.
  static const auto& identity = *new const std::string(file_identity(info.path));
  return fmt::format("nvrtc-{}.{}-{}", info.major, info.minor, identity);
}

std::string known_compiler(const DiskCache& cache) {
  Memory& m = memory();
  const std::lock_guard lock(m.mutex);
  const bool loaded = is_loaded(nvrtc_spec());
  if (!m.given) m.given = loaded;
  if (!loaded) {
    const std::string settings = search_settings();
    if (m.known.empty() || m.settings != settings || m.folder != cache.folder()) {
      m.known = read_record(cache, settings);
      m.settings = settings;
      m.folder = cache.folder();
    }
    if (!m.known.empty()) return m.known;
  }
  const NvrtcInfo* info = nvrtc_info();
  return info != nullptr ? compiler_name(*info) : std::string{};
}

void remember_compiler(const DiskCache& cache) {
  const NvrtcInfo* info = nvrtc_info();
  {
    Memory& m = memory();
    const std::lock_guard lock(m.mutex);
    if (info == nullptr || m.given.value_or(true)) return;
  }
  try {
    const std::string name = compiler_name(*info);
    const std::string settings = search_settings();
    if (read_record(cache, settings) == name) return;
    write_record(cache, {{"settings", settings},
                         {"compiler", name},
                         {"path", info->path},
                         {"state", file_state(info->path)}});
  } catch (const std::exception& error) {
    core::log(LogLevel::debug, "kernel cache: {}", error.what());
  }
}

}  // namespace estoc::jit
