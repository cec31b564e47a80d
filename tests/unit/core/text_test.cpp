// Strict number parsing, sizes in words and "did you mean".
#include "core/text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace estoc::core {
namespace {

TEST(ParseInt64, TakesBackWhatToStringWrites) {
  EXPECT_TRUE(rc::check("every int64", [](std::int64_t number) {
    RC_ASSERT(parse_int64(std::to_string(number)) == number);
  }));
  EXPECT_EQ(parse_int64("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse_int64("007"), 7);
}

TEST(ParseInt64, RefusesAnythingElse) {
  for (const char* text :
       {"", "-", "+1", " 1", "1 ", "1.0", "0x10", "1e3", "9223372036854775808", "--1", "1,000"}) {
    EXPECT_EQ(parse_int64(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_int64(std::string_view("1\0", 2)), std::nullopt);
}

TEST(ParseDouble, TakesWholeNumbersAndRefusesAnythingElse) {
  EXPECT_EQ(parse_double("-1.5e-3"), -1.5e-3);
  EXPECT_EQ(parse_double("2"), 2.0);
  EXPECT_EQ(parse_double("inf"), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(parse_double("nan").value()));
  for (const char* text : {"", "1e", "1.5x", "+1", " 1", "0x1p3", "1e999"}) {
    EXPECT_EQ(parse_double(text), std::nullopt) << text;
  }
}

TEST(FormatBytes, ChoosesTheLargestUnitThatFits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1 KiB");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(64 << 20), "64 MiB");
  EXPECT_EQ(format_bytes((1 << 20) - 1), "1 MiB");
  EXPECT_EQ(format_bytes(141LL << 30), "141 GiB");
  EXPECT_EQ(format_bytes(-2048), "-2 KiB");
  EXPECT_EQ(format_bytes(std::numeric_limits<std::int64_t>::max()), "8 EiB");
}

TEST(NearestName, FindsTheNameThatWasMeant) {
  constexpr std::array<std::string_view, 6> kNames{"f16", "bf16", "tf32", "e4m3", "sm_90a", "relu"};
  EXPECT_EQ(nearest_name("bf61", kNames), "bf16");
  EXPECT_EQ(nearest_name("F16", kNames), "f16");
  EXPECT_EQ(nearest_name("sm90a", kNames), "sm_90a");
  EXPECT_EQ(nearest_name("rleu", kNames), "relu");
  EXPECT_EQ(nearest_name("fp16", kNames), "f16");
  EXPECT_EQ(nearest_name("softmax", kNames), std::nullopt);
  EXPECT_EQ(nearest_name("", kNames), std::nullopt);
  EXPECT_EQ(nearest_name("x", std::vector<std::string>{"m", "n", "k"}), std::nullopt);
}

TEST(NearestName, AnExactNameWins) {
  EXPECT_TRUE(
      rc::check("a candidate is nearest to itself", [](const std::vector<std::string>& names) {
        for (const std::string& name : names) {
          if (name.empty()) continue;
          const std::optional<std::string_view> found = nearest_name(name, names);
          RC_ASSERT(found.has_value());
          RC_ASSERT(found->size() == name.size());
        }
      }));
}

}  // namespace
}  // namespace estoc::core
