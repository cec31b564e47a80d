// Finding and opening shared libraries at run time: the CUDA driver, NVRTC, cuBLASLt, NVML.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace estoc::jit {

/// Where one library may be.
struct LibrarySpec {
  std::string_view what;                ///< "NVRTC", for messages
  std::vector<std::string> file_names;  ///< sonames, the preferred first
  std::string_view explicit_variable;   ///< environment variable that names the file
  std::string_view pip_package;         ///< what `pip install` brings it; empty: none
  bool part_of_toolkit = true;          ///< look under CUDA_PATH and the usual prefixes
};

/// An open library. It stays mapped until the process ends: kernels and handles may outlive any
/// owner, and unloading CUDA's libraries is not safe at exit.
class SharedLibrary {
 public:
  /// Tries, in order: the file named by the explicit variable, one already loaded in the process,
  /// the nvidia packages of pip (those of set_package_folders() first), the loader's own path,
  /// CUDA_PATH and CUDA_HOME, /usr/local/cuda* and /opt/cuda*. In one place the preferred soname
  /// wins, of places that differ in a version the newest. nullopt when none opens; `tried`, if
  /// given, receives a line for each attempt. A file named explicitly that does not open is an
  /// Error{io}.
  static std::optional<SharedLibrary> find(const LibrarySpec& spec,
                                           std::vector<std::string>* tried = nullptr);

  /// The file it was loaded from.
  const std::string& path() const { return path_; }

  /// Address of a symbol; null when there is none.
  void* symbol(const char* name) const;

  /// Sets `function` to the symbol; false when it is missing.
  template <typename Function>
  bool load(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(symbol(name));
    return function != nullptr;
  }

 private:
  explicit SharedLibrary(void* handle);

  void* handle_ = nullptr;
  std::string path_;
};

/// SharedLibrary::find for a library that one can do without: where there is none, or the one named
/// explicitly does not open, `problem` is the sentence that says so.
std::optional<SharedLibrary> find_library(const LibrarySpec& spec, std::string& problem);

/// True when the search would end at a library that the process has loaded already.
bool is_loaded(const LibrarySpec& spec);

/// The build ID of a library that is loaded, in hexadecimal digits; empty when it has none. `path`
/// as SharedLibrary::path() gives it.
std::string build_id(const std::string& path);

/// Where NVRTC and cuBLASLt are looked for.
LibrarySpec nvrtc_spec();
LibrarySpec cublaslt_spec();

}  // namespace estoc::jit
