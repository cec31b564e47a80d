// Finding and opening shared libraries at run time: the CUDA driver, NVRTC, cuBLASLt, NVML.
#include "jit/shared_library.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/env.h"
#include "estoc/status.hpp"

namespace estoc::jit {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> subfolders(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    if (it->path().filename().string().starts_with(prefix)) found.push_back(it->path());
  }
  std::sort(found.begin(), found.end(), std::greater<>());
  return found;
}

// The site-packages folders that a Python of this environment, user or system would use.
std::vector<fs::path> python_package_folders() {
  std::vector<fs::path> prefixes;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (auto value = core::env(name)) prefixes.emplace_back(*value);
  }
  if (auto home = core::env("HOME")) prefixes.emplace_back(fs::path(*home) / ".local");
  prefixes.emplace_back("/usr/local");
  prefixes.emplace_back("/usr");
  std::vector<fs::path> folders;
  for (const fs::path& prefix : prefixes) {
    for (const fs::path& python : subfolders(prefix / "lib", "python3")) {
      folders.push_back(python / "site-packages");
      folders.push_back(python / "dist-packages");
    }
  }
  return folders;
}

std::vector<fs::path> pip_folders() {
  std::vector<fs::path> folders;
  for (const fs::path& packages : python_package_folders()) {
    for (const fs::path& package : subfolders(packages / "nvidia", "")) {
      folders.push_back(package / "lib");
    }
  }
  return folders;
}

std::vector<fs::path> toolkit_folders() {
  std::vector<fs::path> roots;
  for (const char* name : {"CUDA_PATH", "CUDA_HOME"}) {
    if (auto value = core::env(name)) roots.emplace_back(*value);
  }
  for (const char* parent : {"/usr/local", "/opt"}) {
    for (const fs::path& root : subfolders(parent, "cuda"))
      roots.push_back(root);
  }
  std::vector<fs::path> folders;
  for (const fs::path& root : roots) {
    folders.push_back(root / "lib64");
    folders.push_back(root / "lib");
    folders.push_back(root / "targets/x86_64-linux/lib");
  }
  return folders;
}

class Search {
 public:
  Search(const LibrarySpec& spec, std::vector<std::string>* tried) : spec_(spec), tried_(tried) {}

  void* run() {
    if (void* handle = loaded()) return handle;
    if (void* handle = named_explicitly()) return handle;
    if (!spec_.pip_package.empty()) {
      if (void* handle = in_folders(pip_folders())) return handle;
    }
    for (const std::string& name : spec_.file_names) {
      if (void* handle = open(name)) return handle;
    }
    return spec_.part_of_toolkit ? in_folders(toolkit_folders()) : nullptr;
  }

 private:
  void* loaded() {
    for (const std::string& name : spec_.file_names) {
      if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD)) return handle;
    }
    return nullptr;
  }

  void* named_explicitly() {
    if (spec_.explicit_variable.empty()) return nullptr;
    const auto path = core::env(std::string(spec_.explicit_variable).c_str());
    if (!path) return nullptr;
    if (void* handle = open(*path)) return handle;
    throw Error(ErrorKind::io, fmt::format("{}: expected {} to name a library that loads, got {}",
                                           spec_.what, spec_.explicit_variable, last_error_));
  }

  void* in_folders(const std::vector<fs::path>& folders) {
    for (const fs::path& folder : folders) {
      for (const std::string& name : spec_.file_names) {
        const fs::path file = folder / name;
        std::error_code ignored;
        if (!fs::exists(file, ignored)) continue;
        if (void* handle = open(file.string())) return handle;
      }
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
