// Reading of environment variables.
#include "core/env.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "estoc/environment.hpp"

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
  std::set<std::string> names;
  for (const EnvironmentVariable& variable : environment_variables()) {
    EXPECT_TRUE(names.insert(variable.name).second) << variable.name;
    EXPECT_FALSE(variable.meaning.empty()) << variable.name;
  }
}

TEST(Env, ListsValues) {
  ::setenv("ESTOC_THREADS", "3", 1);
  ::unsetenv("ESTOC_NVRTC");
  std::map<std::string, std::optional<std::string>> values;
  for (const EnvironmentVariable& variable : environment_variables())
    values[variable.name] = variable.value;
  EXPECT_EQ(values.at("ESTOC_THREADS"), "3");
  EXPECT_EQ(values.at("ESTOC_NVRTC"), std::nullopt);
  ::unsetenv("ESTOC_THREADS");
}

}  // namespace
}  // namespace estoc::core
