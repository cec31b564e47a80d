// What host and device agree on for sm90_gemm: configuration, parameters, sizes.
#pragma once

#include <estoc/abi/epilogue.cuh>
#include <estoc/abi/groups.cuh>
#include <estoc/abi/matrix.cuh>
#include <estoc/abi/sum_parts.cuh>
#include <estoc/abi/tensor_map.cuh>
#include <estoc/abi/types.cuh>

namespace estoc::abi {

/// How the consumer warpgroups of sm90_gemm share the work of a CTA.
enum class Schedule : unsigned char {
  single,       ///< there is one
  cooperative,  ///< two, each computing half the rows of a tile; three of 192, four that convert
                ///< 256
  pingpong,     ///< two, each with a tile of its own; one stores while the other multiplies
};

/// Shared memory that the epilogue of each consumer of sm90_gemm takes; without one it is all 0.
struct Sm90EpilogueShape {
  int columns;      ///< of the boxes of 64 rows in which tensors are moved: a multiple of 16
  int load_bytes;   ///< of one box of each input that is a whole matrix
  int load_depth;   ///< boxes of an input that are under way or in use
  int store_bytes;  ///< of one box of each output
  int store_depth;  ///< 1 or 2
  int value_bytes;  ///< vectors and scalars of one tile
  bool rolled;      ///< a long epilogue stands once in the code, in a loop
  bool m_major;     ///< M is the contiguous mode of boxes, whose elements have 16 bits

  /// Calls field(name, value) for each field, in order; one with its default value may be left out.
  template <typename Field>
  ESTOC_CONSTEXPR void visit(const Field& field) const {
    field("columns", columns);
    field("load_bytes", load_bytes);
    field("load_depth", load_depth);
    field("store_bytes", store_bytes);
    field("store_depth", store_depth);
    field("value_bytes", value_bytes);
    field("rolled", rolled);
    if (m_major) field("m_major", m_major);
  }

  /// A warp of the producer's brings inputs.
  ESTOC_CONSTEXPR bool loads() const { return load_bytes + value_bytes > 0; }
  ESTOC_CONSTEXPR int stores_offset() const { return load_bytes * load_depth; }
  ESTOC_CONSTEXPR int values_offset() const { return stores_offset() + store_bytes * store_depth; }
  ESTOC_CONSTEXPR int barriers_offset() const { return values_offset() + value_bytes; }
  /// In steps of what swizzled boxes are aligned to.
  ESTOC_CONSTEXPR int bytes() const {
    return (barriers_offset() + 16 * (load_depth + 1) + 1023) / 1024 * 1024;
  }
};

/// Configuration of sm90_gemm. The output is row-major; for a column-major one the host states the
/// transposed problem, but for swapped kernels.
struct Sm90GemmConfig {
  /// CTAs of the largest cluster that every device has.
  static constexpr int kMaxParts = 8;
  /// Parts of a tile whose sums pass through the workspace.
  static constexpr long long kMaxTailParts = 256;
  /// That there is room for beside the stages.
  static constexpr int kMaxGroups = 512;

  Type a;
  Type b;  ///< as wide as a
  Type accumulator;
  Type out;
  bool a_m_major;  ///< M is the contiguous mode of A, else K; 16-bit types only
  bool b_n_major;  ///< likewise for B
  int tile_m;
  int tile_n;
  int stages;
  int cluster_m;
  int cluster_n;
  Schedule schedule;
  bool promote;    ///< add what the tensor core accumulated to f32 registers after every tile_k
  bool tma_store;  ///< out is aligned to 16 bytes; else threads store their elements
  /// A and B are planes of bf16 (abi/prepare.cuh), six products of which make one of f32. K counts
  /// the terms of all six.
  bool planes = false;
  /// A and B have scales for every 128 of K, which so many rows of A or columns of B share: 1 or
  /// 128; 0: they have none.
  int a_scale_rows = 0;
  int b_scale_columns = 0;
  /// Of A that is converted: so many of K share a scale, 16 one of e4m3 and 32 one of e8m0; 0: it
  /// has none.
  int a_scale_k = 0;
  Sm90EpilogueShape epilogue = {};
  /// Of a product in groups, as the code sees it; stores by TMA are not for groups of columns.
  GroupedMode groups = GroupedMode::none;
  /// Where groups divide rows of out, columns of each group's B have one scale each; where they
  /// divide columns, rows of A.
  bool group_row_scales = false;
  /// An index chooses the rows of A, which are loaded one by one.
  bool gathered = false;
  /// A table tells the matrices of each group. Threads store out, in rows where it is aligned.
  bool pointed = false;
  /// The epilogue computes an element of two sums. Columns of a tile are pair_columns() of B's for
  /// first sums, as many for second ones, and so on; out has half of them.
  bool paired = false;
  /// M is the contiguous mode of out, which has 16-bit elements and is stored by TMA.
  bool out_m_major = false;

  /// Calls field(name, value) for each field, in order; one with its default value may be left out.
  template <typename Field>
  ESTOC_CONSTEXPR void visit(const Field& field) const {
    field("a", a);
    field("b", b);
    field("accumulator", accumulator);
    field("out", out);
    field("a_m_major", a_m_major);
    field("b_n_major", b_n_major);
    field("tile_m", tile_m);
    field("tile_n", tile_n);
    field("stages", stages);
    field("cluster_m", cluster_m);
    field("cluster_n", cluster_n);
    field("schedule", schedule);
    field("promote", promote);
    field("tma_store", tma_store);
    if (planes) field("planes", planes);
    if (scaled()) {
      field("a_scale_rows", a_scale_rows);
      field("b_scale_columns", b_scale_columns);
    }
    if (a_scale_k > 0) field("a_scale_k", a_scale_k);
    if (epilogue.columns > 0) field("epilogue", epilogue);
    if (groups != GroupedMode::none) field("groups", groups);
    if (group_row_scales) field("group_row_scales", group_row_scales);
    if (gathered) field("gathered", gathered);
    if (pointed) field("pointed", pointed);
    if (paired) field("paired", paired);
    if (out_m_major) field("out_m_major", out_m_major);
  }

  ESTOC_CONSTEXPR bool scaled() const { return a_scale_rows > 0; }
  /// A has fewer bits than B: consumers convert its elements to B's type.
  ESTOC_CONSTEXPR bool converts() const { return type_bits(a) < type_bits(b); }
  /// Rows of A are 128 bytes, what one swizzle pattern spans.
  ESTOC_CONSTEXPR int tile_k() const { return 128 * 8 / type_bits(a); }
  /// Conversions wait for loads and for products, so that more warps are needed to fill that time.
  ESTOC_CONSTEXPR int consumers() const {
    if (schedule == Schedule::single) return 1;
    if (schedule == Schedule::cooperative && tile_m == 192) return 3;
    return converts() && tile_m == 256 ? 4 : 2;
  }
  ESTOC_CONSTEXPR int threads() const { return 128 * (1 + consumers()); }
  /// Rows of a tile that one warpgroup computes: a multiple of 64.
  ESTOC_CONSTEXPR int consumer_rows() const {
    return schedule == Schedule::cooperative ? tile_m / consumers() : tile_m;
  }
  /// Of each instruction.
  ESTOC_CONSTEXPR int wgmma_columns() const { return tile_n; }
  ESTOC_CONSTEXPR int cluster_size() const { return cluster_m * cluster_n; }
  /// Neighbours in a tile: the columns of one core matrix, or of one box.
  ESTOC_CONSTEXPR int pair_columns() const { return !paired ? 0 : b_n_major ? 64 : 8; }
  /// Of each place in a cluster, and of all, in rows and columns of out.
  ESTOC_CONSTEXPR int place_rows() const { return tile_m; }
  ESTOC_CONSTEXPR int place_columns() const { return paired ? tile_n / 2 : tile_n; }
  ESTOC_CONSTEXPR int cluster_rows() const { return tile_m * cluster_m; }
  ESTOC_CONSTEXPR int cluster_columns() const { return place_columns() * cluster_n; }
  /// Tiles of sums that the ring has room for, when nothing else needs it.
  ESTOC_CONSTEXPR int ring_tiles() const {
    return staging_offset() / (tile_m * tile_n * type_bytes(accumulator));
  }
  /// Whether K can have parts, up to kMaxParts, that the CTAs of a cluster sum up. With more sums a
  /// thread, long epilogues spill.
  ESTOC_CONSTEXPR bool splits_k() const {
    return groups == GroupedMode::none && !pointed && cluster_size() == 1 &&
           schedule != Schedule::pingpong && ring_tiles() > 0 && sums() <= 128 && !planes;
  }
  /// Columns of a box: a CTA that sums up a part of a tile stores a number of whole boxes, perhaps
  /// none. The first CTA stores the whole tile with an epilogue, where threads store, and where the
  /// ring has room for one tile: parts would send one after the other.
  ESTOC_CONSTEXPR int shared_columns() const {
    if (epilogue.columns > 0 || !tma_store || ring_tiles() < 2) return tile_n;
    return out_m_major ? kBoxColumns : store_columns();
  }
  ESTOC_CONSTEXPR int column_shares() const { return tile_n / shared_columns(); }
  /// Whether parts of K may pass through the workspace. With more sums a thread, kernels with an
  /// epilogue spill, and those that store e5m2, which code converts to; and all with sums of f16,
  /// which are widened on their way.
  ESTOC_CONSTEXPR bool has_tails(bool fused) const {
    const int most = fused ? (promote ? 128 : 96) : out == Type::e5m2 ? 120 : 192;
    return groups == GroupedMode::none && !pointed && !planes && !paired &&
           accumulator != Type::f16 && sums() <= most;
  }
  ESTOC_CONSTEXPR bool has_tails() const { return has_tails(epilogue.columns > 0); }
  /// Sums that a thread of a consumer holds, the second set of a promoted product included. Two of
  /// f16 share a register until they are widened.
  ESTOC_CONSTEXPR int sums() const {
    return consumer_rows() / 64 * (tile_n / 2) * (promote ? 2 : 1);
  }
  /// Whether the next kernel may begin beside a CTA's last stores. Where a multiprocessor has room
  /// for two CTAs, it would get two of the next kernel while others have none. One KiB of each CTA
  /// is the system's.
  ESTOC_CONSTEXPR bool lets_next_begin() const { return 2 * (shared_bytes() + 1024) > 228 * 1024; }
  /// Consumers that store a tile together.
  ESTOC_CONSTEXPR int storers() const {
    return schedule == Schedule::cooperative ? consumers() : 1;
  }
  /// Of a CTA's tile in the workspace.
  ESTOC_CONSTEXPR int sums_bytes() const { return tile_m * tile_n * 4; }
  /// With several consumers: together what the threads have from the launch on, in steps of 8.
  ESTOC_CONSTEXPR int producer_registers() const {
    return epilogue.loads() || scaled() || gathered ? 56 : 40;
  }
  ESTOC_CONSTEXPR int consumer_registers() const {
    if (consumers() == 4) return 104;
    if (consumers() == 3) return 152;
    return producer_registers() == 56 ? 224 : 232;
  }

  ESTOC_CONSTEXPR int a_bytes() const { return tile_m * 128; }
  ESTOC_CONSTEXPR int b_bytes() const { return tile_n * tile_k() * type_bytes(b); }
  ESTOC_CONSTEXPR int stage_bytes() const { return a_bytes() + b_bytes(); }
  /// Whether boxes of an operand with fewer rows than a tile have no rows beyond it: TMA fills
  /// those slowly. One CTA loads all rows of a tile then.
  ESTOC_CONSTEXPR bool has_short_a() const { return shortens() && !a_m_major && cluster_n == 1; }
  ESTOC_CONSTEXPR bool has_short_b() const {
    return shortens() && !b_n_major && !paired && cluster_m == 1;
  }
  ESTOC_CONSTEXPR bool shortens() const {
    return groups == GroupedMode::none && !pointed && !gathered && !converts();
  }

  /// Of K, where a stage may begin: a box with 16 bytes, scaled operands with a block that shares a
  /// scale.
  ESTOC_CONSTEXPR int k_unit() const { return scaled() ? tile_k() : 16 / type_bytes(a); }

  /// Bytes of a row that one TMA store takes: 128, or less where the tile is not a multiple.
  ESTOC_CONSTEXPR int store_row_bytes() const {
    if (out_m_major) return 128;
    const int row = place_columns() * type_bytes(out);
    return row % 128 == 0 ? 128 : row % 64 == 0 ? 64 : 32;
  }
  ESTOC_CONSTEXPR int store_columns() const { return store_row_bytes() / type_bytes(out); }
  /// Where M is the contiguous mode of out: its columns in a box, and in one of two buffers of each
  /// consumer, where they have 128 bytes.
  static constexpr int kBoxColumns = 16;
  static constexpr int kBufferColumns = 32;
  /// 64 rows, twice for each consumer, so that one is filled while the other is stored.
  ESTOC_CONSTEXPR int store_bytes() const { return 64 * store_row_bytes(); }
  ESTOC_CONSTEXPR int staging_bytes() const {
    if (epilogue.columns > 0) return consumers() * epilogue.bytes();
    if (out_m_major) return consumers() * 2 * kBufferColumns * 128;
    return tma_store ? consumers() * 2 * 64 * 128 : 0;
  }

  ESTOC_CONSTEXPR int staging_offset() const { return stages * stage_bytes(); }
  ESTOC_CONSTEXPR int barrier_offset() const { return staging_offset() + staging_bytes(); }
  /// Where groups begin, so that offsets are read once.
  ESTOC_CONSTEXPR int table_offset() const { return barrier_offset() + 16 * stages; }
  ESTOC_CONSTEXPR int table_bytes() const {
    return groups != GroupedMode::none ? 4 * (kMaxGroups + 4) : 0;
  }
  /// Of a row of A that is converted, in a stage: they are neighbours.
  ESTOC_CONSTEXPR int row_scales() const { return a_scale_k > 0 ? tile_k() / a_scale_k : 0; }
  ESTOC_CONSTEXPR int scales_offset() const { return table_offset() + table_bytes(); }
  /// Of a stage: those of A that is converted, or one for each row of the tile and then one for
  /// each column or block of columns.
  ESTOC_CONSTEXPR int scales_bytes() const {
    return scaled() ? 4 * (tile_m + tile_n) : tile_m * row_scales();
  }
  ESTOC_CONSTEXPR int shared_bytes() const { return scales_offset() + stages * scales_bytes(); }
  /// Arrivals that fill a stage: of the thread that loads tiles, and of a warp that loads scales or
  /// rows.
  ESTOC_CONSTEXPR int fills() const { return scales_bytes() > 0 || gathered ? 2 : 1; }
  /// Warps of the producer's that bring inputs of an epilogue, for one consumer each.
  ESTOC_CONSTEXPR int input_warps() const { return 4 - fills(); }
  /// Arrivals of each consumer that release a stage: warps read scales, and what they convert, by
  /// themselves.
  ESTOC_CONSTEXPR int releases() const { return converts() || scaled() ? 4 : 1; }
};

/// Maps of an epilogue's first inputs that are whole matrices, then of its first outputs after the
/// first; those beyond kEpilogueMaps of a kind have none.
inline constexpr int kEpilogueMaps = 4;
template <unsigned count>
struct EpilogueMaps {
  TensorMap map[count > 0 ? count : 1];
};

/// Scales of an operand, f32 or, of A that is converted, bytes. One of their modes is contiguous;
/// the other has stride |pitch|.
struct Sm90Scales {
  unsigned long long address;
  /// From scale to scale beside K; negative: along K; 0: they are in tiles of 128 x 4
  /// (abi/scales.cuh), of bytes.
  int pitch;
  int batch_stride;

  ESTOC_CONSTEXPR int other_stride() const { return pitch > 0 ? pitch : 1; }
  ESTOC_CONSTEXPR int k_stride() const { return pitch > 0 ? 1 : -pitch; }
};

struct Sm90GemmParameters {
  TensorMap a;
  TensorMap b;
  TensorMap out;   ///< when the configuration stores by TMA
  Matrix out_raw;  ///< otherwise
  int m;
  int n;
  int k;
  int l;
  int tiles_m;  ///< of clusters, which are cluster_m tiles high
  int tiles_n;
  int group;           ///< rows (columns) of cluster tiles taken together, for the L2 cache
  bool along_n : 1;    ///< group counts columns
  bool a_batched : 1;  ///< A has a batch mode of its own
  bool b_batched : 1;
  bool zigzag : 1;      ///< every second tile of a cluster walks K backwards
  unsigned char parts;  ///< of K: CTAs of a cluster that sum up one tile, where splits_k(); 0 is 1
  unsigned items;       ///< that clusters take in turn: tiles, and parts of the last tiles
  unsigned undivided;   ///< of those, the tiles ahead of the first part
  unsigned tail_tiles;  ///< after them, K of which is divided
  unsigned tail_parts;  ///< of K of each of these
  unsigned chunks;      ///< of kSumElements that a CTA of the second kernel adds up
  unsigned short a_rows;    ///< of a box of A: tile_m, or all that A has where has_short_a()
  unsigned short b_rows;    ///< likewise, columns of B
  unsigned long long sums;  ///< address of the parts' sums, part after part
  Sm90Scales a_scales;  ///< where the configuration is scaled(), or has a_scale_k, group_row_scales
  Sm90Scales b_scales;
};
static_assert(sizeof(Sm90GemmParameters) == 4 * 128);

}  // namespace estoc::abi
