// Named ranges: begun and ended in turn by whoever set functions, and free where nobody did.
#include "core/ranges.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace estoc::core {
namespace {

std::vector<std::string>& events() {
  static auto& instance = *new std::vector<std::string>;
  return instance;
}

constexpr RangeFunctions kNoting{[](const char* name) {
                                   events().emplace_back(name);
                                   return 0;
                                 },
                                 [] {
                                   events().emplace_back("end");
                                   return 0;
                                 }};

class Ranges : public testing::Test {
 protected:
  Ranges() { events().clear(); }
  ~Ranges() override { range_functions() = nullptr; }
};

TEST_F(Ranges, WithoutFunctionsANameIsNotEvenMade) {
  bool named = false;
  {
    const Range range([&] {
      named = true;
      return std::string("query");
    });
  }
  EXPECT_FALSE(named);
  EXPECT_TRUE(events().empty());
}

TEST_F(Ranges, NestInTheOrderOfTheirScopes) {
  range_functions() = &kNoting;
  {
    const Range outer([] { return std::string("outer"); });
    const Range inner([] { return std::string("inner"); });
    EXPECT_EQ(events(), (std::vector<std::string>{"outer", "inner"}));
  }
  EXPECT_EQ(events(), (std::vector<std::string>{"outer", "inner", "end", "end"}));
}

TEST_F(Ranges, EndByTheFunctionsTheyBeganWith) {
  range_functions() = &kNoting;
  {
    const Range range([] { return std::string("range"); });
    range_functions() = nullptr;
  }
  EXPECT_EQ(events(), (std::vector<std::string>{"range", "end"}));
  {
    const Range range([] { return std::string("none"); });
    range_functions() = &kNoting;
  }
  EXPECT_EQ(events().size(), 2U);
}

}  // namespace
}  // namespace estoc::core
