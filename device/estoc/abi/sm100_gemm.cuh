// What host and device agree on for sm100_gemm: configuration, parameters, sizes.
#pragma once

#include <estoc/abi/matrix.cuh>
#include <estoc/abi/sm90_gemm.cuh>
#include <estoc/abi/tcgen05.cuh>
#include <estoc/abi/tensor_map.cuh>
#include <estoc/abi/types.cuh>

namespace estoc::abi {

/// Configuration of sm100_gemm. The output is row-major; for a column-major one the host states the
/// transposed problem.
struct Sm100GemmConfig {
  /// Rows of a CTA's tile: lanes of tensor memory.
  static constexpr int kRows = 128;
  /// Tiles of sums in tensor memory: one is stored while the next is added up.
  static constexpr int kSums = 2;
  /// Stages whose scales are there, at the least and at the most: those of one are copied while
  /// others are multiplied.
  static constexpr int kMinScalePlaces = 2;
  static constexpr int kMaxScalePlaces = 4;
  /// Parts of a tile whose sums pass through the workspace.
  static constexpr long long kMaxTailParts = Sm90GemmConfig::kMaxTailParts;
  /// Answers of cluster launch control that are under way or in use.
  static constexpr int kAnswers = 2;
  /// That there is room for in the table.
  static constexpr int kMaxGroups = Sm90GemmConfig::kMaxGroups;

  Type a;
  Type b;  ///< as wide as a
  Type accumulator;
  Type out;
  bool a_m_major;  ///< M is the contiguous mode of A, else K; 16-bit types only
  bool b_n_major;  ///< likewise for B
  int tile_n;      ///< columns of a CTA's tile
  int stages;
  int group;       ///< CTAs that compute tiles one below the other together: 1, or a pair
  bool tma_store;  ///< out is aligned to 16 bytes; else threads store their elements
  Sm90EpilogueShape epilogue = {};  ///< in boxes of kRows rows
  int scale_block = 0;  ///< elements along K that share a scale, in A and in B; 0: there are none
  /// Of a product in groups, as the code sees it; stores by TMA are not for groups of columns.
  GroupedMode groups = GroupedMode::none;
  /// Groups of a cluster, below and beside each other: those beside each other share rows of A,
  /// those below each other columns of B.
  int places_m = 1;
  int places_n = 1;
  /// The grid has a cluster for each item, and those that run take over the items of those that
  /// have not begun; else the grid is as large as the device, and clusters take items in turn.
  bool dynamic = false;
  /// Of a row of a stage, along K: 128, or 64 where stages are short. What one swizzle pattern
  /// spans.
  int k_bytes = 128;

  /// Calls field(name, value) for each field, in order; one with its default value may be left out.
  template <typename Field>
  ESTOC_CONSTEXPR void visit(const Field& field) const {
    field("a", a);
    field("b", b);
    field("accumulator", accumulator);
    field("out", out);
    field("a_m_major", a_m_major);
    field("b_n_major", b_n_major);
    field("tile_n", tile_n);
    field("stages", stages);
    field("group", group);
    field("tma_store", tma_store);
    if (epilogue.columns > 0) field("epilogue", epilogue);
    if (scale_block > 0) field("scale_block", scale_block);
    if (groups != GroupedMode::none) field("groups", groups);
    if (places() > 1) {
      field("places_m", places_m);
      field("places_n", places_n);
    }
    if (dynamic) field("dynamic", dynamic);
    if (k_bytes != 128) field("k_bytes", k_bytes);
  }

  ESTOC_CONSTEXPR int tile_k() const { return k_bytes * 8 / type_bits(a); }
  /// Of K, where a box may begin: a multiple of 16 bytes.
  ESTOC_CONSTEXPR int k_unit() const { return 16 / type_bytes(a); }
  /// What TMA counts of it: elements of 4 bits are loaded as bytes.
  ESTOC_CONSTEXPR int loaded_k() const { return type_bytes(a) == 0 ? k_bytes : tile_k(); }
  /// Rows of the tile of all CTAs of the group.
  ESTOC_CONSTEXPR int group_rows() const { return group * kRows; }
  ESTOC_CONSTEXPR int places() const { return places_m * places_n; }
  ESTOC_CONSTEXPR int cluster_size() const { return group * places(); }
  /// Of each place in a cluster, which is one group, and of all.
  ESTOC_CONSTEXPR int place_rows() const { return group_rows(); }
  ESTOC_CONSTEXPR int place_columns() const { return tile_n; }
  ESTOC_CONSTEXPR int cluster_rows() const { return group_rows() * places_m; }
  ESTOC_CONSTEXPR int cluster_columns() const { return tile_n * places_n; }
  /// Whether a warp clears what stages hold of other groups' K, ahead of the products.
  ESTOC_CONSTEXPR bool clears() const { return groups == GroupedMode::reduction; }
  /// Whether parts of K may pass through the workspace.
  ESTOC_CONSTEXPR bool has_tails() const { return groups == GroupedMode::none; }
  ESTOC_CONSTEXPR bool has_tails(bool /*fused*/) const { return has_tails(); }
  /// Not by CTAs of a cluster that send each other sums.
  ESTOC_CONSTEXPR bool splits_k() const { return false; }
  /// Of a CTA's tile in the workspace.
  ESTOC_CONSTEXPR int sums_bytes() const { return kRows * tile_n * 4; }
  /// Columns of B that a CTA holds; the other CTA of a pair has the other half.
  ESTOC_CONSTEXPR int own_columns() const { return tile_n / group; }
  /// A warp each loads, multiplies and owns tensor memory; the second warpgroup stores.
  ESTOC_CONSTEXPR int threads() const { return 256; }

  /// One instruction, of 32 bytes of K.
  ESTOC_CONSTEXPR Tcgen05Product product() const {
    if (scale_block > 0) return scaled_product();
    const Tcgen05Kind kind = accumulator == Type::i32 ? Tcgen05Kind::i8
                             : type_bytes(a) == 1     ? Tcgen05Kind::f8f6f4
                             : type_bytes(a) == 4     ? Tcgen05Kind::tf32
                                                      : Tcgen05Kind::f16;
    return {kind, a, b, accumulator, group, group_rows(), tile_n, a_m_major, b_n_major};
  }

  /// Scales lie in tiles of 128 rows (of B columns) and a word, four along K: the words of a stage,
  /// and the tiles side by side that have the columns.
  ESTOC_CONSTEXPR int scale_words() const {
    return scale_block > 0 ? tile_k() / (4 * scale_block) : 0;
  }
  ESTOC_CONSTEXPR int scale_columns() const { return (tile_n + 127) / 128; }

  /// Columns of tensor memory that the scales of a stage take, four of each tile.
  ESTOC_CONSTEXPR int scale_tensor_columns() const {
    return 4 * scale_words() * (1 + scale_columns());
  }
  /// Tiles of sums that there is room for beside scales.
  ESTOC_CONSTEXPR int sums() const {
    return kSums * tile_n + kMinScalePlaces * scale_tensor_columns() <= 512 ? kSums : 1;
  }
  /// Where there is room for one and a half: all tiles have the first half of their columns in the
  /// same place, between those of the second halves, which take turns. A tile is added up when the
  /// first half of the one before is stored. Each CTA of a pair loads one half of B.
  ESTOC_CONSTEXPR bool overlaps() const { return group == 2 && tile_n == 256 && sums() == 1; }
  ESTOC_CONSTEXPR int sums_columns() const { return overlaps() ? tile_n / 2 * 3 : sums() * tile_n; }
  /// Stages whose scales are in tensor memory.
  ESTOC_CONSTEXPR int scale_places() const {
    if (scale_block == 0) return 0;
    const int room = (512 - sums_columns()) / scale_tensor_columns();
    return room < kMaxScalePlaces ? room : kMaxScalePlaces;
  }
  /// Of tensor memory: a power of two.
  ESTOC_CONSTEXPR int tensor_columns() const {
    int columns = 32;
    while (columns < sums_columns() + scale_places() * scale_tensor_columns())
      columns *= 2;
    return columns;
  }

  ESTOC_CONSTEXPR int a_bytes() const { return kRows * k_bytes; }
  ESTOC_CONSTEXPR int b_bytes() const { return own_columns() * k_bytes; }
  ESTOC_CONSTEXPR int a_scale_bytes() const { return scale_words() * 512; }
  ESTOC_CONSTEXPR int b_scale_bytes() const { return scale_columns() * a_scale_bytes(); }
  ESTOC_CONSTEXPR int stage_bytes() const {
    return a_bytes() + b_bytes() + a_scale_bytes() + b_scale_bytes();
  }
  /// From one stage to the next, each of which begins with a pattern of the swizzle.
  ESTOC_CONSTEXPR int stage_stride() const { return (stage_bytes() + 1023) / 1024 * 1024; }

  /// Bytes of a row that one TMA store takes: 128, or less where the tile is not a multiple, or
  /// where that leaves room for one more stage.
  ESTOC_CONSTEXPR int store_row_bytes() const {
    const int row = tile_n * type_bytes(out);
    return row % 128 == 0 && !overlaps() ? 128 : row % 64 == 0 ? 64 : 32;
  }
  ESTOC_CONSTEXPR int store_columns() const { return store_row_bytes() / type_bytes(out); }
  /// Two boxes, so that one is filled while the other is stored.
  ESTOC_CONSTEXPR int staging_bytes() const {
    if (epilogue.columns > 0) return epilogue.bytes();
    return tma_store ? 2 * kRows * (overlaps() ? 64 : 128) : 0;
  }

  ESTOC_CONSTEXPR int staging_offset() const { return stages * stage_stride(); }
  ESTOC_CONSTEXPR int barrier_offset() const { return staging_offset() + staging_bytes(); }
  /// Barriers of the sums follow those of the stages, and the address in tensor memory those.
  ESTOC_CONSTEXPR int sums_barrier_offset() const { return barrier_offset() + 16 * stages; }
  ESTOC_CONSTEXPR int slot_offset() const { return sums_barrier_offset() + 16 * sums(); }
  /// A barrier for each stage that is cleared.
  ESTOC_CONSTEXPR int cleared_offset() const { return slot_offset() + 16; }
  /// A barrier for each place of scales in tensor memory.
  ESTOC_CONSTEXPR int scales_barrier_offset() const {
    return cleared_offset() + (clears() ? 8 * stages : 0);
  }
  /// Where groups begin, so that offsets are read once.
  ESTOC_CONSTEXPR int table_offset() const { return scales_barrier_offset() + 8 * scale_places(); }
  ESTOC_CONSTEXPR int table_bytes() const {
    return groups != GroupedMode::none ? 4 * (kMaxGroups + 4) : 0;
  }
  /// Answers of 16 bytes, and then two barriers for each.
  ESTOC_CONSTEXPR int answers_offset() const {
    return (table_offset() + table_bytes() + 15) / 16 * 16;
  }
  ESTOC_CONSTEXPR int shared_bytes() const {
    return dynamic ? answers_offset() + 32 * kAnswers : table_offset() + table_bytes();
  }

 private:
  ESTOC_CONSTEXPR Tcgen05Product scaled_product() const {
    const Tcgen05Kind kind = type_bytes(a) == 1  ? Tcgen05Kind::mxf8f6f4
                             : scale_block == 32 ? Tcgen05Kind::mxf4
                                                 : Tcgen05Kind::mxf4nvf4;
    return {kind,   a,     b,     accumulator, group,       group_rows(),
            tile_n, false, false, scale_block, scale_type()};
  }
  ESTOC_CONSTEXPR Type scale_type() const { return scale_block == 32 ? Type::e8m0 : Type::e4m3; }
};

struct Sm100GemmParameters {
  TensorMap a;
  TensorMap b;
  TensorMap out;   ///< when the configuration stores by TMA
  Matrix out_raw;  ///< otherwise
  int m;
  int n;
  int k;
  int l;
  int tiles_m;  ///< of groups, whose tiles are group_rows() high
  int tiles_n;
  int group;           ///< rows (columns) of tiles taken together, for the L2 cache
  bool along_n : 1;    ///< group counts columns
  bool a_batched : 1;  ///< A has a batch mode of its own
  bool b_batched : 1;
  unsigned items;       ///< that groups take in turn: tiles of all batches, and parts of the last
  unsigned undivided;   ///< of those, the tiles ahead of the first part
  unsigned tail_tiles;  ///< after them, K of which is divided
  unsigned tail_parts;  ///< of K of each of these
  unsigned chunks;      ///< of kSumElements that a CTA of the second kernel adds up
  unsigned long long sums;  ///< address of the parts' sums, part after part
};

}  // namespace estoc::abi
