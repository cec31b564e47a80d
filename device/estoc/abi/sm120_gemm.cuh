// What host and device agree on for sm120_gemm and sm120_scaled_gemm.
#pragma once

#include <estoc/abi/scales.cuh>
#include <estoc/abi/sm80_gemm.cuh>

namespace estoc::abi {

/// Configuration of sm120_gemm. K is the contiguous mode of A and B, the output is row-major; for a
/// column-major one the host states the transposed problem.
struct Sm120GemmConfig {
  Type a;  ///< e4m3, e5m2 or e2m1
  Type b;  ///< as wide as a
  Type out;
  int block;  ///< elements along K that share a scale: 32 (e8m0), 16 (e4m3), or 0: there are none
  int tile_m;
  int tile_n;
  int tile_k;
  int warps_m;
  int warps_n;
  int stages;
  int a_copy;  ///< bytes that one cp.async moves: 16 or 4, as the alignment allows
  int b_copy;
  bool out_vectors;    ///< rows of out are aligned to 16 bytes
  bool fused = false;  ///< an epilogue reads the accumulators from shared memory

  /// Calls field(name, value) for each field, in order; one with its default value may be left out.
  template <typename Field>
  ESTOC_CONSTEXPR void visit(const Field& field) const {
    field("a", a);
    field("b", b);
    field("out", out);
    field("block", block);
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
  }

  /// Bytes of a tile's row: e2m1 is two to a byte.
  ESTOC_CONSTEXPR int row_bytes() const { return tile_k * type_bits(a) / 8; }
  /// The same as sm80_gemm moves and stores it: elements of K are bytes.
  ESTOC_CONSTEXPR Sm80GemmConfig moved() const {
    return {.a = Type::e4m3,
            .b = Type::e4m3,
            .accumulator = Type::f32,
            .out = out,
            .a_m_major = false,
            .b_n_major = false,
            .tile_m = tile_m,
            .tile_n = tile_n,
            .tile_k = row_bytes(),
            .warps_m = warps_m,
            .warps_n = warps_n,
            .stages = stages,
            .a_copy = a_copy,
            .b_copy = b_copy,
            .out_vectors = out_vectors,
            .fused = fused};
  }

  ESTOC_CONSTEXPR int threads() const { return moved().threads(); }
  ESTOC_CONSTEXPR int a_bytes() const { return moved().a_bytes(); }
  ESTOC_CONSTEXPR int b_bytes() const { return moved().b_bytes(); }
  /// Words of four scales that a row has of a tile of K.
  ESTOC_CONSTEXPR int scale_words() const { return block > 0 ? tile_k / (4 * block) : 0; }
  /// A, B, the scales of A, those of B.
  ESTOC_CONSTEXPR int stage_bytes() const {
    return a_bytes() + b_bytes() + 4 * scale_words() * (tile_m + tile_n);
  }
  ESTOC_CONSTEXPR int shared_bytes() const {
    const int store = moved().store_bytes();
    return stages * stage_bytes() > store ? stages * stage_bytes() : store;
  }
};

struct Sm120GemmParameters {
  Matrix a;  ///< strides count elements
  Matrix b;
  Matrix out;
  Scales a_scales;
  Scales b_scales;
  int m;
  int n;
  int k;
  int l;
  unsigned tiles_m;
  unsigned tiles_n;
  unsigned group;  ///< as in Sm80GemmParameters
  unsigned pad;
};
static_assert(sizeof(Sm120GemmParameters) == 208);

}  // namespace estoc::abi
