// Tables are read with the knobs of each kernel, and joined by problem.
#include "table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <utility>

namespace estoc::ranking {
namespace {

std::string line_of(int m, const std::string& kernels) {
  return R"({"problem":"gemm m=)" + std::to_string(m) +
         R"( n=64 k=64 a=f16 b=f16 out=f16","kernels":[)" + kernels + "]}\n";
}

Table table_of(const std::string& lines) {
  std::istringstream text(R"({"estoc_table":1,"device":"NVIDIA H200"})"
                          "\n" +
                          lines);
  return read_table(text);
}

TEST(Table, ReadsTheKnobs) {
  const Table table = table_of(line_of(8, R"(["one",2.5,"m16"],["two",3,"n4/3x18"])"));
  ASSERT_EQ(table.rows.size(), 1U);
  const auto& entries = table.rows[0].entries;
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].knobs, (Knobs{.raster = Knobs::Raster::along_m, .swizzle = 16}));
  EXPECT_EQ(entries[1].knobs,
            (Knobs{.raster = Knobs::Raster::along_n, .swizzle = 4, .split = 3, .split_tiles = 18}));
  EXPECT_DOUBLE_EQ(entries[0].seconds, 2.5e-6);
}

TEST(Table, JoinsRowsOfOneProblem) {
  constexpr const char* kEarlier =
      R"(["one",2,"m1"],["two",4,"m1"],["three",6,"m1"],["lt",8,"m1",{"fact":1}])";
  constexpr const char* kLater = R"(["one",1,"n4"],["two",1,"m1/2"],["lt",12,"m1",{"fact":1}])";
  Table table = table_of(line_of(9, R"(["kept",2,"m1"])") + line_of(8, kEarlier));
  join(table, table_of(line_of(8, kLater)));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[1].entries[0].kernel, "kept");
  // The library took 1.5 times as long in the later row.
  const auto& entries = table.rows[0].entries;
  ASSERT_EQ(entries.size(), 5U);
  EXPECT_EQ(entries[0].kernel, "one");
  EXPECT_DOUBLE_EQ(entries[0].seconds, std::sqrt(3.0) * 1e-6);
  EXPECT_DOUBLE_EQ(entries[1].seconds, 1e-6);
  EXPECT_DOUBLE_EQ(entries[2].seconds, 12e-6);
  EXPECT_EQ(entries[3].kernel, "two");
  EXPECT_DOUBLE_EQ(entries[3].seconds, 6e-6);
  EXPECT_EQ(entries[4].kernel, "three");
  EXPECT_DOUBLE_EQ(entries[4].seconds, 9e-6);
}

}  // namespace
}  // namespace estoc::ranking
