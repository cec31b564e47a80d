// Finds packs of compiled kernels; see estoc/kernel_pack.hpp for the order.
#include "discovery/pack_places.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <system_error>

#include "core/env.h"
#include "estoc/library_search.hpp"

namespace estoc::discovery {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "ESTOC_KERNEL_PACK";
constexpr const char* kFolder = "estoc_kernels";
constexpr const char* kEnding = ".estoc";

/// A folder of packs, or one pack.
struct PackPlace {
  fs::path path;
  bool is_named = false;  ///< by the user, who answers for what is in it
};

/// The file that this code was loaded from; a program's path may be relative.
fs::path own_file() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&own_file), &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  std::error_code error;
  fs::path file = fs::canonical(info.dli_fname, error);
  // A program that PATH found may be loaded under its name alone.
  return error ? fs::read_symlink("/proc/self/exe", error) : file;
}

std::vector<PackPlace> pack_places() {
  if (const auto named = core::env(kVariable)) {
    if (*named == "off") return {};
    return {{*named, true}};
  }
  std::vector<PackPlace> places;
  const auto add = [&](const fs::path& folder) {
    const fs::path path = (folder / kFolder).lexically_normal();
    const bool known = std::any_of(places.begin(), places.end(),
                                   [&](const PackPlace& place) { return place.path == path; });
    if (!known) places.push_back({path});
  };
  for (const std::string& folder : package_folders())
    add(folder);
  const fs::path own = own_file().parent_path();
  if (own.empty()) return places;
  add(own);
  add(own.parent_path());
  add(own.parent_path() / "lib");
  return places;
}

/// Whether only this user, root and the owner of the library can write to the file.
bool is_trusted(const fs::path& path) {
  static const std::optional<uid_t> owner = []() -> std::optional<uid_t> {
    struct stat own {};
    if (::stat(own_file().c_str(), &own) != 0) return std::nullopt;
    return own.st_uid;
  }();
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return true;  // opening it will say why
  const bool known_owner = info.st_uid == 0 || info.st_uid == ::geteuid() || info.st_uid == owner;
  return known_owner && (info.st_mode & S_IWOTH) == 0;
}

PackFile checked(const PackPlace& place, fs::path file) {
  if (place.is_named || (is_trusted(place.path) && is_trusted(file))) return {std::move(file), {}};
  return {std::move(file),
          "it is not used, because others than this user and the owner of the library can write to "
          "it or to its folder"};
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

std::vector<fs::path> packs_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == kEnding) files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<PackFile> pack_files(Target target) {
  std::vector<PackFile> files;
  for (const PackPlace& place : pack_places()) {
    if (!is_folder(place.path)) {
      if (place.is_named) files.push_back({place.path, {}});
      continue;
    }
    fs::path file = place.path / (target.name() + kEnding);
    std::error_code error;
    if (fs::exists(file, error)) files.push_back(checked(place, std::move(file)));
  }
  return files;
}

std::vector<PackFile> pack_files() {
  std::vector<PackFile> files;
  for (const PackPlace& place : pack_places()) {
    if (!is_folder(place.path)) {
      if (place.is_named) files.push_back({place.path, {}});
      continue;
    }
    for (fs::path& file : packs_in(place.path))
      files.push_back(checked(place, std::move(file)));
  }
  return files;
}

}  // namespace estoc::discovery
