// Which NVRTC a cached kernel would be compiled with, told without loading NVRTC.
#include "jit/compiler_identity.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <mutex>
#include <nlohmann/json.hpp>

#include "core/atomic_file.h"
#include "core/env.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/mapped_file.h"

namespace estoc::jit {
namespace {

using Json = nlohmann::json;

std::filesystem::path record_path(const DiskCache& cache) {
  return cache.folder() / "compiler.record";
}

std::string search_settings() {
  core::Hasher hasher;
  for (const char* name : {"ESTOC_NVRTC", "CUDA_PATH", "CUDA_HOME", "VIRTUAL_ENV", "CONDA_PREFIX",
                           "LD_LIBRARY_PATH", "HOME"}) {
    hasher.field(core::env(name).value_or(""));
  }
  return hasher.digest().hex();
}

std::string file_state(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return "absent";
  return fmt::format("{} {} {}.{:09}", path, info.st_size, info.st_mtim.tv_sec,
                     info.st_mtim.tv_nsec);
}

// What NVRTC itself says, for a process without a valid record.
std::string ask_nvrtc() {
  const NvrtcInfo* info = nvrtc_info();
  return info != nullptr ? compiler_name(*info) : std::string{};
}

std::string read_record(const DiskCache& cache) {
  try {
    const core::MappedFile file(record_path(cache));
    const Json json = Json::parse(file.text());
    const auto path = json.at("path").get<std::string>();
    if (json.at("settings").get<std::string>() == search_settings() &&
        json.at("state").get<std::string>() == file_state(path)) {
      return json.at("compiler").get<std::string>();
    }
  } catch (const std::exception& error) {
    core::log(LogLevel::debug, "kernel cache: no record of the compiler: {}", error.what());
  }
  return {};
}

}  // namespace

std::string compiler_name(const NvrtcInfo& info) {
  return fmt::format("nvrtc-{}.{}", info.major, info.minor);
}

std::string known_compiler(const DiskCache& cache) {
  static std::mutex mutex;
  static std::filesystem::path known_folder;
  static std::string known;
  const std::lock_guard lock(mutex);
  if (known.empty() || known_folder != cache.folder()) {
    known = read_record(cache);
    if (known.empty()) known = ask_nvrtc();
    known_folder = cache.folder();
  }
  return known;
}

void remember_compiler(const DiskCache& cache, const NvrtcInfo& info) {
  const std::string wanted = Json{
      {"compiler", compiler_name(info)},
      {"path", info.path},
      {"state", file_state(info.path)},
      {"settings",
       search_settings()}}.dump();
  try {
    if (read_record(cache) == compiler_name(info)) return;
    core::AtomicFile file(record_path(cache), core::FileAccess::owner);
    file.write(wanted);
    file.commit();
  } catch (const std::exception& error) {
    core::log(LogLevel::debug, "kernel cache: {}", error.what());
  }
}

}  // namespace estoc::jit
