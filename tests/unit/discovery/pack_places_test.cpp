// Where packs are looked for: the file or folder that the user names, else folders of packages in
// order.
#include "discovery/pack_places.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "estoc/library_search.hpp"
#include "unit/core/temp_folder.h"

namespace estoc::discovery {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<fs::path>;

const Target kPlacesTarget = Target::sm(90, true);

class PackPlaces : public ::testing::Test {
 protected:
  PackPlaces() { ::unsetenv("ESTOC_KERNEL_PACK"); }
  ~PackPlaces() override {
    ::unsetenv("ESTOC_KERNEL_PACK");
    set_package_folders({});
  }
  fs::path file(const fs::path& name) const {
    fs::path path = folder_.path() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "pack";
    return path;
  }
  static Paths paths(const std::vector<PackFile>& files) {
    Paths all;
    for (const PackFile& each : files)
      all.push_back(each.path);
    return all;
  }

  test::TempFolder folder_;
};

TEST_F(PackPlaces, AFileThatIsNamedIsTheOnlyOneWhetherItExistsOrNot) {
  set_package_folders({(folder_.path() / "package").string()});
  file("package/estoc_kernels/sm_90a.estoc");
  const fs::path named = folder_.path() / "any.name";
  ::setenv("ESTOC_KERNEL_PACK", named.c_str(), 1);
  EXPECT_EQ(paths(pack_files(kPlacesTarget)), Paths{named});
  EXPECT_EQ(paths(pack_files()), Paths{named});
}

TEST_F(PackPlaces, OffIsNowhere) {
  set_package_folders({(folder_.path() / "package").string()});
  file("package/estoc_kernels/sm_90a.estoc");
  ::setenv("ESTOC_KERNEL_PACK", "off", 1);
  EXPECT_TRUE(pack_files(kPlacesTarget).empty());
  EXPECT_TRUE(pack_files().empty());
}

TEST_F(PackPlaces, AFolderHasAFileForEachTarget) {
  const fs::path hopper = file("named/sm_90a.estoc");
  const fs::path ampere = file("named/sm_80.estoc");
  file("named/notes.txt");
  ::setenv("ESTOC_KERNEL_PACK", (folder_.path() / "named").c_str(), 1);
  EXPECT_EQ(paths(pack_files(kPlacesTarget)), Paths{hopper});
  EXPECT_TRUE(pack_files(Target::sm(100, true)).empty());
  EXPECT_EQ(paths(pack_files()), (Paths{ampere, hopper}));
}

TEST_F(PackPlaces, PackagesAreSearchedInTheirOrderOnceEach) {
  const fs::path first = file("b/estoc_kernels/sm_90a.estoc");
  const fs::path second = file("a/estoc_kernels/sm_90a.estoc");
  const std::string b = (folder_.path() / "b").string();
  set_package_folders({b, (folder_.path() / "a").string(), b + "/../b"});
  EXPECT_EQ(paths(pack_files(kPlacesTarget)), (Paths{first, second}));
}

TEST_F(PackPlaces, WhatOthersCanWriteToIsNotUsedUnlessItIsNamed) {
  const fs::path path = file("package/estoc_kernels/sm_90a.estoc");
  set_package_folders({(folder_.path() / "package").string()});
  ASSERT_EQ(pack_files(kPlacesTarget).size(), 1U);
  EXPECT_EQ(pack_files(kPlacesTarget)[0].problem, "");
  fs::permissions(path, fs::perms::others_write, fs::perm_options::add);
  ASSERT_EQ(pack_files(kPlacesTarget).size(), 1U);
  EXPECT_NE(pack_files(kPlacesTarget)[0].problem.find("can write"), std::string::npos);
  EXPECT_NE(pack_files()[0].problem, "");
  ::setenv("ESTOC_KERNEL_PACK", path.c_str(), 1);
  EXPECT_EQ(pack_files(kPlacesTarget)[0].problem, "");
}

}  // namespace
}  // namespace estoc::discovery
