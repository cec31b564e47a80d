// Knobs as JSON: what is written is read back; older texts lack some; others are refused.
#include "records/knobs_json.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <limits>

#include "estoc/status.hpp"
#include "estoc/tuned.hpp"

namespace estoc::records {
namespace {

TEST(KnobsAsJson, ComeBackAsTheyWere) {
  EXPECT_TRUE(rc::check("random knobs", [] {
    const Knobs knobs{
        .raster = *rc::gen::element(Knobs::Raster::along_m, Knobs::Raster::along_n),
        .swizzle = *rc::gen::inRange<std::int16_t>(1, std::numeric_limits<std::int16_t>::max()),
        .split = *rc::gen::inRange<std::int16_t>(1, std::numeric_limits<std::int16_t>::max()),
        .split_tiles = *rc::gen::inRange(0, std::numeric_limits<std::int32_t>::max()),
        .zigzag = *rc::gen::arbitrary<bool>()};
    RC_ASSERT(parse_knobs(knobs_text(knobs)) == knobs);
  }));
}

TEST(KnobsAsJson, TextsFromBeforeAKnobLackIt) {
  EXPECT_EQ(parse_knobs(R"({"raster":"n","swizzle":2,"split":4})"),
            (Knobs{.raster = Knobs::Raster::along_n, .swizzle = 2, .split = 4}));
}

TEST(KnobsAsJson, OtherValuesAreRefused) {
  for (const char* text :
       {"", "{}", "[]", R"({"raster":"k","swizzle":2,"split":4})",
        R"({"raster":"m","swizzle":0,"split":4})", R"({"raster":"m","swizzle":1,"split":-1})",
        R"({"raster":"m","swizzle":1,"split":1,"split_tiles":-1})",
        R"({"raster":"m","swizzle":1.5,"split":1})", R"({"raster":"m","swizzle":40000,"split":1})",
        R"({"raster":"m","swizzle":"1","split":1})", R"({"raster":1,"swizzle":1,"split":1})"}) {
    try {
      (void)parse_knobs(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::value) << text;
      EXPECT_EQ(std::string_view(error.what()).substr(0, 7), "knobs: ") << error.what();
    }
  }
}

TEST(AsInteger, TakesWholeNumbersThatFitAndNothingElse) {
  EXPECT_EQ(as_integer<std::int16_t>(-32768), -32768);
  EXPECT_EQ(as_integer<std::int16_t>(32768), std::nullopt);
  EXPECT_EQ(as_integer<std::uint64_t>(std::numeric_limits<std::uint64_t>::max()),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(as_integer<std::int64_t>(std::numeric_limits<std::uint64_t>::max()), std::nullopt);
  EXPECT_EQ(as_integer<std::uint64_t>(-1), std::nullopt);
  EXPECT_EQ(as_integer<int>(1.0), std::nullopt);
  EXPECT_EQ(as_integer<int>(true), std::nullopt);
  EXPECT_EQ(as_integer<int>("1"), std::nullopt);
}

}  // namespace
}  // namespace estoc::records
