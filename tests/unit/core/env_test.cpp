// Reading of environment variables.
#include "core/env.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string_view>

namespace estoc::core {
namespace {

TEST(Env, GivesTheValueOfASetVariable) {
  ::setenv("ESTOC_CACHE_DIR", "/some/where", 1);
  EXPECT_EQ(env("ESTOC_CACHE_DIR"), "/some/where");
  ::unsetenv("ESTOC_CACHE_DIR");
}

TEST(Env, EmptyCountsAsNotSet) {
  ::setenv("NO_COLOR", "", 1);
  EXPECT_EQ(env("NO_COLOR"), std::nullopt);
  ::unsetenv("NO_COLOR");
  EXPECT_EQ(env("NO_COLOR"), std::nullopt);
}

TEST(Env, EveryListedVariableHasAMeaningAndIsListedOnce) {
  std::set<std::string_view> names;
  for (const EnvVariable& variable : env_variables()) {
    EXPECT_TRUE(names.insert(variable.name).second) << variable.name;
    EXPECT_FALSE(std::string_view(variable.meaning).empty()) << variable.name;
  }
}

}  // namespace
}  // namespace estoc::core
