// Finding and opening shared libraries at run time: the CUDA driver, NVRTC, cuBLASLt, NVML.
#include "jit/shared_library.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

#include "core/env.h"
#include "core/natural_order.h"
#include "estoc/library_search.hpp"
#include "estoc/status.hpp"

namespace estoc::jit {
namespace {

namespace fs = std::filesystem;

/// Folders that are one place: the preferred soname in any of them wins.
using Place = std::vector<fs::path>;

/// The newest version first.
std::vector<fs::path> subfolders(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    if (it->path().filename().string().starts_with(prefix)) found.push_back(it->path());
  }
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    return core::natural_less(b.native(), a.native());
  });
  return found;
}

/// What set_package_folders() named.
class PackageFolders {
 public:
  void set(std::vector<std::string> folders) {
    const std::lock_guard lock(mutex_);
    folders_ = std::move(folders);
  }
  std::vector<std::string> get() const {
    const std::lock_guard lock(mutex_);
    return folders_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> folders_;
};

PackageFolders& named_package_folders() {
  static auto* instance = new PackageFolders;
  return *instance;
}

// The site-packages folders: those of this process's Python, where it was told, then those that a
// Python of this environment, user or system would use.
std::vector<fs::path> python_package_folders() {
  std::vector<fs::path> folders;
  for (const std::string& folder : package_folders())
    folders.emplace_back(folder);
  std::vector<fs::path> prefixes;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (auto value = core::env(name)) prefixes.emplace_back(*value);
  }
  if (auto home = core::env("HOME")) prefixes.emplace_back(fs::path(*home) / ".local");
  prefixes.emplace_back("/usr/local");
  prefixes.emplace_back("/usr");
  for (const fs::path& prefix : prefixes) {
    for (const fs::path& python : subfolders(prefix / "lib", "python3")) {
      folders.push_back(python / "site-packages");
      folders.push_back(python / "dist-packages");
    }
  }
  return folders;
}

std::vector<Place> pip_places() {
  std::vector<Place> places;
  for (const fs::path& packages : python_package_folders()) {
    Place& place = places.emplace_back();
    for (const fs::path& package : subfolders(packages / "nvidia", ""))
      place.push_back(package / "lib");
  }
  return places;
}

std::vector<Place> toolkit_places() {
  std::vector<fs::path> roots;
  for (const char* name : {"CUDA_PATH", "CUDA_HOME"}) {
    if (auto value = core::env(name)) roots.emplace_back(*value);
  }
  for (const char* parent : {"/usr/local", "/opt"}) {
    for (const fs::path& root : subfolders(parent, "cuda"))
      roots.push_back(root);
  }
  std::vector<Place> places;
  for (const fs::path& root : roots)
    places.push_back({root / "lib64", root / "lib", root / "targets/x86_64-linux/lib"});
  return places;
}

void* loaded_library(const LibrarySpec& spec) {
  for (const std::string& name : spec.file_names) {
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD)) return handle;
  }
  return nullptr;
}

std::optional<std::string> explicit_file(const LibrarySpec& spec) {
  if (spec.explicit_variable.empty()) return std::nullopt;
  return core::env(std::string(spec.explicit_variable).c_str());
}

class Search {
 public:
  Search(const LibrarySpec& spec, std::vector<std::string>* tried) : spec_(spec), tried_(tried) {}

  void* run() {
    if (void* handle = named_explicitly()) return handle;
    if (void* handle = loaded_library(spec_)) return handle;
    if (!spec_.pip_package.empty()) {
      if (void* handle = in_places(pip_places())) return handle;
    }
    for (const std::string& name : spec_.file_names) {
      if (void* handle = open(name)) return handle;
    }
    return spec_.part_of_toolkit ? in_places(toolkit_places()) : nullptr;
  }

 private:
  void* named_explicitly() {
    const auto path = explicit_file(spec_);
    if (!path) return nullptr;
    if (void* handle = open(*path)) return handle;
    throw Error(ErrorKind::io, fmt::format("{}: expected {} to name a library that loads, got {}",
                                           spec_.what, spec_.explicit_variable, last_error_));
  }

  void* in_places(const std::vector<Place>& places) {
    for (const Place& place : places) {
      for (const std::string& name : spec_.file_names) {
        if (void* handle = in_place(place, name)) return handle;
      }
    }
    return nullptr;
  }

  void* in_place(const Place& place, const std::string& name) {
    for (const fs::path& folder : place) {
      const fs::path file = folder / name;
      std::error_code ignored;
      if (!fs::exists(file, ignored)) continue;
      if (void* handle = open(file.string())) return handle;
    }
    return nullptr;
  }

  void* open(const std::string& path) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return handle;
    const char* reason = dlerror();
    last_error_ = reason != nullptr ? reason : path;
    if (tried_ != nullptr) tried_->push_back(last_error_);
    return nullptr;
  }

  const LibrarySpec& spec_;
  std::vector<std::string>* tried_;
  std::string last_error_;
};

struct BuildIdSearch {
  const std::string& path;
  std::string id;
};

std::size_t padded(std::size_t bytes) {
  return (bytes + 3) / 4 * 4;
}

constexpr std::string_view kGnu{"GNU\0", 4};

/// The build ID in a segment of notes: header, name and value of each at multiples of 4 bytes.
std::string id_in_notes(std::string_view notes) {
  ElfW(Nhdr) header{};
  while (notes.size() >= sizeof(header)) {
    std::memcpy(&header, notes.data(), sizeof(header));
    notes.remove_prefix(sizeof(header));
    const std::size_t name = padded(header.n_namesz);
    const std::size_t value = header.n_descsz;
    if (notes.size() < name + value) return {};
    if (header.n_type == NT_GNU_BUILD_ID && notes.starts_with(kGnu)) {
      std::string id;
      for (const char byte : notes.substr(name, value))
        id += fmt::format("{:02x}", static_cast<unsigned char>(byte));
      return id;
    }
    notes.remove_prefix(std::min(name + padded(value), notes.size()));
  }
  return {};
}

int visit_library(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto& search = *static_cast<BuildIdSearch*>(data);
  if (search.path != info->dlpi_name) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const auto* const begin = std::bit_cast<const char*>(info->dlpi_addr + header.p_vaddr);
    search.id = id_in_notes({begin, header.p_memsz});
    if (!search.id.empty()) break;
  }
  return 1;
}

}  // namespace

SharedLibrary::SharedLibrary(void* handle) : handle_(handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) path_ = map->l_name;
}

std::optional<SharedLibrary> SharedLibrary::find(const LibrarySpec& spec,
                                                 std::vector<std::string>* tried) {
  void* handle = Search(spec, tried).run();
  if (handle == nullptr) return std::nullopt;
  return SharedLibrary(handle);
}

std::optional<SharedLibrary> find_library(const LibrarySpec& spec, std::string& problem) {
  try {
    if (auto library = SharedLibrary::find(spec)) return library;
  } catch (const Error& error) {
    problem = error.what();
    return std::nullopt;
  }
  problem = fmt::format("{} ({}) was not found", spec.what, fmt::join(spec.file_names, " or "));
  if (!spec.pip_package.empty()) {
    problem += fmt::format("; `pip install {}` brings it", spec.pip_package);
  }
  return std::nullopt;
}

bool is_loaded(const LibrarySpec& spec) {
  return !explicit_file(spec) && loaded_library(spec) != nullptr;
}

std::string build_id(const std::string& path) {
  BuildIdSearch search{path, {}};
  ::dl_iterate_phdr(visit_library, &search);
  return search.id;
}

LibrarySpec nvrtc_spec() {
  return {.what = "NVRTC",
          .file_names = {"libnvrtc.so.13", "libnvrtc.so.12"},
          .explicit_variable = "ESTOC_NVRTC",
          .pip_package = "nvidia-cuda-nvrtc",
          .part_of_toolkit = true};
}

LibrarySpec cublaslt_spec() {
  return {.what = "cuBLASLt",
          .file_names = {"libcublasLt.so.13", "libcublasLt.so.12"},
          .explicit_variable = "ESTOC_CUBLASLT",
          .pip_package = "nvidia-cublas",
          .part_of_toolkit = true};
}

void* SharedLibrary::symbol(const char* name) const {
  return dlsym(handle_, name);
}

}  // namespace estoc::jit

namespace estoc {

void set_package_folders(std::vector<std::string> folders) {
  jit::named_package_folders().set(std::move(folders));
}

std::vector<std::string> package_folders() {
  return jit::named_package_folders().get();
}

}  // namespace estoc
