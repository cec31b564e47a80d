// What host and device agree on for sm90_f64_gemm: configuration, parameters, sizes.
#pragma once

#include <estoc/abi/matrix.cuh>
#include <estoc/abi/sum_parts.cuh>
#include <estoc/abi/tensor_map.cuh>
#include <estoc/abi/types.cuh>

namespace estoc::abi {

/// Configuration of sm90_f64_gemm. The output is row-major; for a column-major one the host states
/// the transposed problem.
struct Sm90F64GemmConfig {
  /// Of a multiprocessor, and what each CTA of two has of them: one KiB of a CTA is the system's.
  static constexpr int kSharedBytes = 228 * 1024;
  /// CTAs of a cluster that sum up parts of K.
  static constexpr int kMaxParts = 8;
  /// Parts of K whose sums pass through the workspace.
  static constexpr long long kMaxTailParts = 128;

  Type out;
  bool a_m_major;  ///< M is the contiguous mode of A, else K
  bool b_n_major;  ///< likewise for B
  int tile_m;
  int tile_n;
  int warps_m;  ///< that multiply: four, or eight
  int warps_n;
  int stages;
  int mma_k;           ///< of K that an instruction multiplies: 8 or 4
  bool out_vectors;    ///< rows of out are aligned to 16 bytes
  bool fused = false;  ///< an epilogue reads the accumulators from shared memory

  /// Calls field(name, value) for each field, in order; one with its default value may be left out.
  template <typename Field>
  ESTOC_CONSTEXPR void visit(const Field& field) const {
    field("out", out);
    field("a_m_major", a_m_major);
    field("b_n_major", b_n_major);
    field("tile_m", tile_m);
    field("tile_n", tile_n);
    field("warps_m", warps_m);
    field("warps_n", warps_n);
    field("stages", stages);
    field("mma_k", mma_k);
    field("out_vectors", out_vectors);
    if (fused) field("fused", fused);
  }

  /// Rows of 128 bytes, what one swizzle pattern spans.
  ESTOC_CONSTEXPR int tile_k() const { return 16; }
  ESTOC_CONSTEXPR int warps() const { return warps_m * warps_n; }
  /// A warpgroup loads.
  ESTOC_CONSTEXPR int threads() const { return 128 + 32 * warps(); }
  /// That share a multiprocessor.
  ESTOC_CONSTEXPR int ctas() const { return warps() == 4 ? 2 : 1; }
  ESTOC_CONSTEXPR int warp_rows() const { return tile_m / warps_m; }
  ESTOC_CONSTEXPR int warp_columns() const { return tile_n / warps_n; }
  /// Registers of a thread's sums.
  ESTOC_CONSTEXPR int sum_registers() const { return warp_rows() * warp_columns() / 32 * 2; }
  /// Together what the threads have from the launch on, in steps of 8.
  ESTOC_CONSTEXPR int producer_registers() const { return ctas() == 2 ? 24 : 40; }
  ESTOC_CONSTEXPR int consumer_registers() const { return 232; }

  ESTOC_CONSTEXPR int cluster_size() const { return 1; }
  ESTOC_CONSTEXPR int cluster_rows() const { return tile_m; }
  ESTOC_CONSTEXPR int cluster_columns() const { return tile_n; }
  /// Whether parts of K may pass through the workspace.
  ESTOC_CONSTEXPR bool has_tails() const { return true; }
  /// Of a tile in the workspace.
  ESTOC_CONSTEXPR int sums_bytes() const { return tile_m * tile_n * 8; }

  ESTOC_CONSTEXPR int a_bytes() const { return tile_m * 128; }
  ESTOC_CONSTEXPR int b_bytes() const { return tile_n * 128; }
  ESTOC_CONSTEXPR int stage_bytes() const { return a_bytes() + b_bytes(); }
  /// From one row of a warp's store to the next: 16 bytes more than the row, against conflicts.
  ESTOC_CONSTEXPR int store_pitch() const {
    return warp_columns() * (fused ? 8 : type_bytes(out)) + 16;
  }
  /// Sixteen rows of a warp; behind the last nothing is left free.
  ESTOC_CONSTEXPR int store_bytes() const { return 16 * store_pitch() - 16; }
  ESTOC_CONSTEXPR int staging_offset() const { return stages * stage_bytes(); }
  ESTOC_CONSTEXPR int barrier_offset() const { return staging_offset() + warps() * store_bytes(); }
  ESTOC_CONSTEXPR int shared_bytes() const { return barrier_offset() + 16 * stages; }
  /// Whether as many CTAs as are to share a multiprocessor have room there.
  ESTOC_CONSTEXPR bool has_room() const { return ctas() * (shared_bytes() + 1024) <= kSharedBytes; }
};

struct Sm90F64GemmParameters {
  TensorMap a;
  TensorMap b;
  Matrix out;
  int m;
  int n;
  int k;
  int l;
  unsigned tiles_m;
  unsigned tiles_n;
  unsigned group;  ///< rows of tiles that are taken together, for the L2 cache
  unsigned items;  ///< that clusters take in turn: tiles of all batches, and parts of the last ones
  unsigned undivided;       ///< of those, the tiles ahead of the first part
  unsigned tail_tiles;      ///< after them, K of which is divided
  unsigned tail_parts;      ///< of K of each of these
  unsigned chunks;          ///< of kSumElements that a CTA of the second kernel adds up
  unsigned long long sums;  ///< address of the parts' sums, part after part
  bool a_batched;           ///< A has a batch mode of its own
  bool b_batched;
  unsigned char parts;  ///< of K: CTAs of a cluster that sum up one tile; 0 is 1
};
static_assert(sizeof(Sm90F64GemmParameters) == 3 * 128);

}  // namespace estoc::abi
