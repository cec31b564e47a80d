// The memory of which compiler a process uses: one for each place to search in, kept beside others.
#include "jit/compiler_identity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "estoc/library_search.hpp"
#include "unit/core/temp_folder.h"

namespace estoc::jit {
namespace {

class CompilerIdentity : public testing::Test {
 protected:
  void SetUp() override {
    std::string problem;
    if (nvrtc_info(&problem) == nullptr) GTEST_SKIP() << problem;
  }
  ~CompilerIdentity() override { set_package_folders({}); }

  std::string record() const { return test::read_text(cache_.folder() / "compiler.record"); }

  const test::TempFolder folder_;
  const DiskCache cache_{folder_ / "cache"};
};

TEST_F(CompilerIdentity, NamesVersionAndFile) {
  const std::string name = compiler_name(*nvrtc_info());
  EXPECT_EQ(name.rfind("nvrtc-" + std::to_string(nvrtc_info()->major) + ".", 0), 0U) << name;
  EXPECT_EQ(std::count(name.begin(), name.end(), '-'), 2) << name;
  EXPECT_EQ(name.size() - name.rfind('-'), 9U) << name;
  EXPECT_EQ(name.find("unknown"), std::string::npos);
}

TEST_F(CompilerIdentity, OfALoadedNvrtcIsWhatItSaysItself) {
  EXPECT_EQ(known_compiler(cache_), compiler_name(*nvrtc_info()));
  std::ofstream(cache_.folder() / "compiler.record") << R"({"records": [{"settings": 3}]})";
  EXPECT_EQ(known_compiler(cache_), compiler_name(*nvrtc_info()));
}

}  // namespace
}  // namespace estoc::jit
