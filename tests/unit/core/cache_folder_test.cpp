// Which variable of the environment names the folder of the caches.
#include "core/cache_folder.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace estoc::core {
namespace {

/// Variables as they were, at the end of the test.
class CacheFolder : public testing::Test {
 protected:
  CacheFolder() {
    for (auto& [name, value] : before_) {
      if (const char* found = std::getenv(name)) value = found;
      ::unsetenv(name);
    }
  }
  ~CacheFolder() override {
    for (const auto& [name, value] : before_) {
      if (value) {
        ::setenv(name, value->c_str(), 1);
      } else {
        ::unsetenv(name);
      }
    }
  }

 private:
  std::array<std::pair<const char*, std::optional<std::string>>, 3> before_{
      {{"ESTOC_CACHE_DIR", {}}, {"XDG_CACHE_HOME", {}}, {"HOME", {}}}};
};

TEST_F(CacheFolder, TheOwnVariableComesFirst) {
  EXPECT_EQ(cache_folder(), std::nullopt);
  ::setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(cache_folder(), "/home/somebody/.cache/estoc");
  ::setenv("XDG_CACHE_HOME", "/caches", 1);
  EXPECT_EQ(cache_folder(), "/caches/estoc");
  ::setenv("ESTOC_CACHE_DIR", "/kernels", 1);
  EXPECT_EQ(cache_folder(), "/kernels");
}

TEST_F(CacheFolder, AnEmptyVariableIsNone) {
  ::setenv("HOME", "/home/somebody", 1);
  ::setenv("ESTOC_CACHE_DIR", "", 1);
  ::setenv("XDG_CACHE_HOME", "", 1);
  EXPECT_EQ(cache_folder(), "/home/somebody/.cache/estoc");
}

}  // namespace
}  // namespace estoc::core
