// What host and device agree on for sm80_gemm: configuration, parameters, sizes.
#pragma once

#include <estoc/abi/epilogue.cuh>
#include <estoc/abi/matrix.cuh>
#include <estoc/abi/types.cuh>

namespace estoc::abi {

/// Configuration of sm80_gemm. The output is row-major; for a column-major one the host states the
/// transposed problem.
struct Sm80GemmConfig {
  Type a;
  Type b;            ///< as wide as a
  Type accumulator;  ///< f32, i32, f64 or f16
  Type out;
  bool a_m_major;  ///< M is the contiguous mode of A, else K
  bool b_n_major;  ///< likewise for B
  int tile_m;
  int tile_n;
  int tile_k;
  int warps_m;
  int warps_n;
  int stages;
  int a_copy;  ///< bytes that one cp.async moves: 16, 8 or 4, as the alignment allows
  int b_copy;
  bool out_vectors;    ///< rows of out are aligned to 16 bytes
  bool fused = false;  ///< an epilogue reads the accumulators from shared memory
  /// It computes an element of two sums: columns of a tile are eight of B's for first sums, eight
  /// for second ones, and so on; out has half of them.
  bool paired = false;

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
    field("tile_k", tile_k);
    field("warps_m", warps_m);
    field("warps_n", warps_n);
    field("stages", stages);
    field("a_copy", a_copy);
    field("b_copy", b_copy);
    field("out_vectors", out_vectors);
    if (fused) field("fused", fused);
    if (paired) field("paired", paired);
  }

  ESTOC_CONSTEXPR int threads() const { return 32 * warps_m * warps_n; }
  ESTOC_CONSTEXPR int warp_rows() const { return tile_m / warps_m; }
  ESTOC_CONSTEXPR int warp_columns() const { return tile_n / warps_n; }
  /// Of out, that a CTA computes.
  ESTOC_CONSTEXPR int place_columns() const { return paired ? tile_n / 2 : tile_n; }
  /// Registers of a thread's sums; two of f16 share one.
  ESTOC_CONSTEXPR int sum_registers() const {
    return warp_rows() * warp_columns() / 32 * type_bytes(accumulator) / 4;
  }
  ESTOC_CONSTEXPR int a_bytes() const { return tile_m * tile_k * type_bytes(a); }
  ESTOC_CONSTEXPR int b_bytes() const { return tile_n * tile_k * type_bytes(b); }
  ESTOC_CONSTEXPR int stage_bytes() const { return a_bytes() + b_bytes(); }
  /// From one row of a warp's store to the next: 16 bytes more than the row, against conflicts.
  ESTOC_CONSTEXPR int store_pitch() const {
    return warp_columns() * type_bytes(fused ? computed_as(accumulator) : out) + 16;
  }
  /// Sixteen rows of each warp; they take the place of the stages.
  ESTOC_CONSTEXPR int store_bytes() const { return warps_m * warps_n * 16 * store_pitch(); }
  ESTOC_CONSTEXPR int shared_bytes() const {
    return stages * stage_bytes() > store_bytes() ? stages * stage_bytes() : store_bytes();
  }
};

struct Sm80GemmParameters {
  Matrix a;
  Matrix b;
  Matrix out;
  int m;
  int n;
  int k;
  int l;
  unsigned tiles_m;
  unsigned tiles_n;
  unsigned group;  ///< rows of tiles that neighbouring CTAs share, for the L2 cache
  unsigned pad;
  /// Where sums are paired: elements from B's column of the first to that of the second.
  long long pair_distance;
};
static_assert(sizeof(Sm80GemmParameters) == 3 * 32 + 40);

}  // namespace estoc::abi
