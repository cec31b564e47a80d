// Reads the configuration of cuBLASLt's algorithms, and knows what its ids stand for.
#include "providers/cublaslt/lt_facts.h"

#include <array>

namespace estoc::cublaslt {
namespace {

// cublasLtMatmulTile_t counts 35 tiles one by one, then goes through rows and columns by the
// rules below, passing over what it has had; cublasLt.h of 13.1.
constexpr int kTiles = 635;

constexpr std::array<LtShape, 35> kFirstTiles{{
    {8, 8},     {8, 16},    {16, 8},    {8, 32},    {16, 16},  {32, 8},    {8, 64},
    {16, 32},   {32, 16},   {64, 8},    {32, 32},   {32, 64},  {64, 32},   {32, 128},
    {64, 64},   {128, 32},  {64, 128},  {128, 64},  {64, 256}, {128, 128}, {256, 64},
    {64, 512},  {128, 256}, {256, 128}, {512, 64},  {64, 96},  {96, 64},   {96, 128},
    {128, 160}, {160, 128}, {192, 128}, {128, 192}, {128, 96}, {32, 256},  {256, 32},
}};
constexpr std::array<LtShape, 4> kLastTiles{{{256, 512}, {256, 1024}, {512, 512}, {512, 1024}}};

/// All rows up to 768 in steps of one kind, with columns in steps of another.
struct TileRule {
  int row_step;
  int column_step;
  int most_elements;
};
constexpr int kMaxSide = 768;
constexpr std::array kTileRules{TileRule{8, 64, 48 * 1024}, TileRule{64, 8, 64 * 1024}};

class TileTable {
 public:
  constexpr TileTable() {
    for (const LtShape& tile : kFirstTiles)
      add(tile);
    for (const TileRule& rule : kTileRules) {
      for (int rows = rule.row_step; rows <= kMaxSide; rows += rule.row_step) {
        for (int columns = rule.column_step; columns <= kMaxSide; columns += rule.column_step) {
          if (rows * columns <= rule.most_elements) add({rows, columns});
        }
      }
    }
    for (const LtShape& tile : kLastTiles)
      add(tile);
  }

  constexpr int size() const { return used_; }
  constexpr LtShape operator[](int id) const { return shapes_[static_cast<std::size_t>(id)]; }

 private:
  constexpr void add(LtShape tile) {
    bool& seen =
        seen_[static_cast<std::size_t>(tile.rows / 8)][static_cast<std::size_t>(tile.columns / 8)];
    if (seen) return;
    seen = true;
    shapes_[static_cast<std::size_t>(used_++)] = tile;
  }

  std::array<LtShape, kTiles> shapes_{};
  std::array<std::array<bool, 129>, 97> seen_{};
  int used_ = 1;  // 0 is no tile
};

constexpr TileTable kTileTable;
static_assert(kTileTable.size() == kTiles);

// By id; 0 leaves the choice to the library, and there is no 1.
constexpr std::array<LtShape, 52> kClusters{{
    {0, 0},  {0, 0},  {1, 1},  {2, 1},  {4, 1},  {1, 2},  {2, 2},  {4, 2},  {1, 4}, {2, 4}, {4, 4},
    {8, 1},  {1, 8},  {8, 2},  {2, 8},  {16, 1}, {1, 16}, {3, 1},  {5, 1},  {6, 1}, {7, 1}, {9, 1},
    {10, 1}, {11, 1}, {12, 1}, {13, 1}, {14, 1}, {15, 1}, {3, 2},  {5, 2},  {6, 2}, {7, 2}, {1, 3},
    {2, 3},  {3, 3},  {4, 3},  {5, 3},  {3, 4},  {1, 5},  {2, 5},  {3, 5},  {1, 6}, {2, 6}, {1, 7},
    {2, 7},  {1, 9},  {1, 10}, {1, 11}, {1, 12}, {1, 13}, {1, 14}, {1, 15},
}};

/// An attribute of an algorithm, whose type must be the library's.
template <typename Value>
int read(const LtTable& table, const Algorithm& algorithm, ConfigAttribute attribute) {
  Value value = 0;
  std::size_t written = 0;
  if (table.algo_get == nullptr) return 0;
  const auto status = table.algo_get(&algorithm, attribute, &value, sizeof(value), &written);
  return status == kLtSuccess ? static_cast<int>(value) : 0;
}

}  // namespace

LtShape tile_shape(int tile_id) {
  return tile_id > 0 && tile_id < kTiles ? kTileTable[tile_id] : LtShape{};
}

LtShape cluster_shape(int cluster_id) {
  const auto index = static_cast<std::size_t>(cluster_id);
  return cluster_id > 0 && index < kClusters.size() ? kClusters[index] : LtShape{};
}

LtFacts read_facts(const LtTable& table, const HeuristicResult& result) {
  const Algorithm& algorithm = result.algorithm;
  LtFacts facts;
  facts.algorithm = read<std::int32_t>(table, algorithm, ConfigAttribute::id);
  facts.tile_id = read<std::uint32_t>(table, algorithm, ConfigAttribute::tile);
  facts.stages_id = read<std::uint32_t>(table, algorithm, ConfigAttribute::stages);
  facts.split_k = read<std::int32_t>(table, algorithm, ConfigAttribute::split_k);
  facts.reduction = read<std::uint32_t>(table, algorithm, ConfigAttribute::reduction_scheme);
  facts.swizzle = read<std::uint32_t>(table, algorithm, ConfigAttribute::swizzle);
  facts.inner_shape_id = read<std::uint16_t>(table, algorithm, ConfigAttribute::inner_shape);
  facts.cluster_id = read<std::uint16_t>(table, algorithm, ConfigAttribute::cluster_shape);
  const LtShape tile = tile_shape(facts.tile_id);
  facts.tile_rows = tile.rows;
  facts.tile_columns = tile.columns;
  const LtShape cluster = cluster_shape(facts.cluster_id);
  facts.cluster_m = cluster.rows;
  facts.cluster_n = cluster.columns;
  facts.waves = static_cast<double>(result.waves);
  facts.workspace_bytes = result.workspace_bytes;
  return facts;
}

}  // namespace estoc::cublaslt
