// Where libraries are looked for, and which of several is taken.
#include "jit/shared_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "estoc/library_search.hpp"
#include "estoc/status.hpp"

namespace estoc::jit {
namespace {

namespace fs = std::filesystem;

/// Sets a variable of the environment, or takes it away, and puts it back at the end.
class Variable {
 public:
  Variable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
  }
  ~Variable() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

constexpr const char* kLoaded = "libm.so.6";

class SharedLibraryTest : public testing::Test {
 protected:
  SharedLibraryTest() {
    std::string pattern = (fs::temp_directory_path() / "estoc-library-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    link_map* map = nullptr;
    ::dlinfo(::dlopen(kLoaded, RTLD_NOW), RTLD_DI_LINKMAP, &map);
    model_ = map->l_name;
  }
  ~SharedLibraryTest() override {
    set_package_folders({});
    fs::remove_all(folder_);
  }

  /// A library that loads, at this path below the folder; each has a file of its own.
  std::string library_at(const fs::path& path) const {
    const fs::path file = folder_ / path;
    fs::create_directories(file.parent_path());
    fs::copy_file(model_, file);
    return file.string();
  }
  std::string path(const char* name) const { return (folder_ / name).string(); }

  static LibrarySpec spec(std::vector<std::string> names) {
    return {.what = "Probe",
            .file_names = std::move(names),
            .explicit_variable = "ESTOC_NVRTC",
            .pip_package = "probe",
            .part_of_toolkit = true};
  }
  static std::string found(const LibrarySpec& spec) {
    const auto library = SharedLibrary::find(spec);
    return library ? library->path() : "";
  }

  const Variable no_file_{"ESTOC_NVRTC", std::nullopt};
  const LibrarySpec probe_ = spec({"libestoc_probe.so.13", "libestoc_probe.so.12"});
  fs::path folder_;
  fs::path model_;
};

TEST_F(SharedLibraryTest, AFileNamedExplicitlyComesBeforeOneThatIsLoaded) {
  const LibrarySpec loaded = spec({kLoaded});
  EXPECT_TRUE(is_loaded(loaded));
  EXPECT_EQ(found(loaded), model_);
  const std::string mine = library_at("mine.so");
  const Variable variable("ESTOC_NVRTC", mine);
  EXPECT_FALSE(is_loaded(loaded));
  EXPECT_EQ(found(loaded), mine);
}

TEST_F(SharedLibraryTest, AFileNamedExplicitlyThatDoesNotLoadIsAnError) {
  const Variable variable("ESTOC_NVRTC", path("none.so"));
  try {
    (void)SharedLibrary::find(spec({kLoaded}));
    FAIL() << "found";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_NE(std::string(error.what()).find("none.so"), std::string::npos) << error.what();
  }
}

TEST_F(SharedLibraryTest, FoldersOfPackagesThatWereNamedComeFirst) {
  const Variable environment("VIRTUAL_ENV", path("venv"));
  const std::string of_environment =
      library_at("venv/lib/python3.12/site-packages/nvidia/cu13/lib/libestoc_probe.so.13");
  const std::string own = library_at("own/nvidia/cuda_nvrtc/lib/libestoc_probe.so.12");
  EXPECT_EQ(found(probe_), of_environment);
  set_package_folders({path("nothing"), path("own")});
  EXPECT_EQ(found(probe_), own) << "another Python's newer one is not this Python's";
}

TEST_F(SharedLibraryTest, OfOnePythonsPackagesThePreferredNameWins) {
  library_at("own/nvidia/cuda_nvrtc/lib/libestoc_probe.so.12");
  const std::string newer = library_at("own/nvidia/cu13/lib/libestoc_probe.so.13");
  set_package_folders({path("own")});
  EXPECT_EQ(found(probe_), newer);
}

TEST_F(SharedLibraryTest, VersionsInNamesOfFoldersAreNumbers) {
  const Variable environment("VIRTUAL_ENV", path("venv"));
  const std::string tail = "site-packages/nvidia/cu13/lib/libestoc_probe.so.13";
  library_at("venv/lib/python3.9/" + tail);
  const std::string newest = library_at("venv/lib/python3.12/" + tail);
  library_at("venv/lib/python3.10/" + tail);
  EXPECT_EQ(found(probe_), newest);
}

TEST_F(SharedLibraryTest, OfOneToolkitThePreferredNameWins) {
  const Variable toolkit("CUDA_PATH", folder_.string());
  library_at("lib64/libestoc_probe.so.12");
  const std::string newer = library_at("targets/x86_64-linux/lib/libestoc_probe.so.13");
  EXPECT_EQ(found(probe_), newer);
}

}  // namespace
}  // namespace estoc::jit
