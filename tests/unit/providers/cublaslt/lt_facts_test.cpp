// What is read of cuBLASLt's algorithms, from a table that no library stands behind.
#include "providers/cublaslt/lt_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <tuple>
#include <utility>

namespace estoc::cublaslt {
namespace {

// Values: cublasLtMatmulTile_t of cublasLt.h, where each of its rows begins and ends.
TEST(LtFacts, TilesByTheirIds) {
  const std::tuple<int, int, int> known[] = {
      {1, 8, 8},       {2, 8, 16},      {3, 16, 8},       {20, 128, 128},   {23, 128, 256},
      {24, 256, 128},  {35, 256, 32},   {36, 8, 128},     {46, 8, 768},     {47, 16, 64},
      {58, 16, 768},   {59, 24, 64},    {71, 32, 192},    {79, 32, 768},    {115, 56, 768},
      {116, 64, 192},  {123, 64, 768},  {124, 72, 64},    {133, 72, 640},   {150, 88, 512},
      {151, 96, 192},  {177, 128, 384}, {192, 152, 320},  {208, 192, 64},   {210, 192, 256},
      {232, 256, 192}, {264, 384, 128}, {265, 392, 64},   {279, 504, 64},   {280, 520, 64},
      {311, 768, 64},  {312, 64, 16},   {315, 64, 48},    {392, 64, 760},   {393, 128, 8},
      {447, 128, 512}, {448, 192, 8},   {485, 192, 336},  {486, 256, 8},    {495, 256, 96},
      {513, 256, 256}, {514, 320, 8},   {536, 320, 200},  {555, 384, 168},  {572, 448, 144},
      {587, 512, 128}, {600, 576, 112}, {611, 640, 96},   {621, 704, 88},   {622, 768, 8},
      {630, 768, 80},  {631, 256, 512}, {632, 256, 1024}, {634, 512, 1024},
  };
  for (const auto& [id, rows, columns] : known) {
    EXPECT_EQ(tile_shape(id), (LtShape{rows, columns})) << id;
  }
  std::set<std::pair<int, int>> seen;
  for (int id = 1; id < 635; ++id)
    seen.insert({tile_shape(id).rows, tile_shape(id).columns});
  EXPECT_EQ(seen.size(), 634U);
}

// Values: cublasLtClusterShape_t.
TEST(LtFacts, ClustersByTheirIds) {
  const std::tuple<int, int, int> known[] = {
      {2, 1, 1},   {3, 2, 1},  {5, 1, 2},   {6, 2, 2},  {7, 4, 2},  {8, 1, 4},   {13, 8, 2},
      {16, 1, 16}, {17, 3, 1}, {27, 15, 1}, {28, 3, 2}, {31, 7, 2}, {32, 1, 3},  {36, 5, 3},
      {37, 3, 4},  {40, 3, 5}, {42, 2, 6},  {44, 2, 7}, {45, 1, 9}, {51, 1, 15},
  };
  for (const auto& [id, rows, columns] : known) {
    EXPECT_EQ(cluster_shape(id), (LtShape{rows, columns})) << id;
  }
}

TEST(LtFacts, IdsThatAreNotKnownAreNoShape) {
  for (const int id : {-1, 0, 635, 100000}) {
    EXPECT_EQ(tile_shape(id), LtShape{}) << id;
  }
  for (const int id : {-1, 0, 1, 52, 65535}) {
    EXPECT_EQ(cluster_shape(id), LtShape{}) << id;
  }
}

/// Gives every attribute, of the library's size, a value of its own; has no inner shape.
LtTable::Status fake_get(const Algorithm* algorithm, ConfigAttribute attribute, void* value,
                         std::size_t bytes, std::size_t* written) {
  const bool narrow =
      attribute == ConfigAttribute::inner_shape || attribute == ConfigAttribute::cluster_shape;
  if (attribute == ConfigAttribute::inner_shape || bytes != (narrow ? 2U : 4U)) return 7;
  const auto answer = static_cast<std::uint32_t>(algorithm->data[static_cast<int>(attribute) % 8]);
  std::memcpy(value, &answer, bytes);
  *written = bytes;
  return kLtSuccess;
}

HeuristicResult some_result() {
  // By attribute, of which the last, the cluster, takes the place of the first.
  return {.algorithm = {{6, 23, 3, 2, 1, 0, 36, 99}},
          .workspace_bytes = 4096,
          .state = kLtSuccess,
          .waves = 0.75F,
          .reserved = {}};
}

TEST(LtFacts, AreReadAttributeByAttribute) {
  LtTable table{};
  table.algo_get = fake_get;
  const LtFacts expected{.algorithm = 6,
                         .tile_id = 23,
                         .tile_rows = 128,
                         .tile_columns = 256,
                         .stages_id = 36,
                         .split_k = 3,
                         .reduction = 2,
                         .swizzle = 1,
                         .inner_shape_id = 0,
                         .cluster_id = 6,
                         .cluster_m = 2,
                         .cluster_n = 2,
                         .waves = 0.75,
                         .workspace_bytes = 4096};
  EXPECT_EQ(read_facts(table, some_result()), expected);
}

TEST(LtFacts, ALibraryThatDoesNotSayLeavesTheOthers) {
  const LtFacts facts = read_facts(LtTable{}, some_result());
  EXPECT_EQ(facts, (LtFacts{.waves = 0.75, .workspace_bytes = 4096}));
}

}  // namespace
}  // namespace estoc::cublaslt
