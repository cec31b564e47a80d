// What host and device agree on for sm80_f32_gemm: configuration, sizes.
#pragma once

#include <estoc/abi/sm80_gemm.cuh>

namespace estoc::abi {

using Sm80F32GemmParameters = Sm80GemmParameters;

/// Configuration of sm80_f32_gemm. A warp computes 64 x 64
/// elements of out, each thread 8 x 16. The output is row-major, as in sm80_gemm.
struct Sm80F32GemmConfig {
  Type out;
  bool a_m_major;  ///< M is the contiguous mode of A, else K
  bool b_n_major;  ///< likewise for B
  int tile_m;      ///< a multiple of 64, as tile_n
  int tile_n;
  int tile_k;
  int slices;  ///< of K within a stage: groups of warps that add up parts of the same sums
  int stages;
  bool out_vectors;  ///< rows of out are aligned to 16 bytes

  /// Calls field(name, value) for each field, in order; one with its default value may be left out.
  template <typename Field>
  ESTOC_CONSTEXPR void visit(const Field& field) const {
    field("out", out);
    field("a_m_major", a_m_major);
    field("b_n_major", b_n_major);
    field("tile_m", tile_m);
    field("tile_n", tile_n);
    field("tile_k", tile_k);
    field("slices", slices);
    field("stages", stages);
    field("out_vectors", out_vectors);
  }

  ESTOC_CONSTEXPR int warps_m() const { return tile_m / 64; }
  ESTOC_CONSTEXPR int warps_n() const { return tile_n / 64; }
  ESTOC_CONSTEXPR int warps() const { return slices * warps_m() * warps_n(); }
  ESTOC_CONSTEXPR int threads() const { return 32 * warps(); }
  /// CTAs that are to fit on a multiprocessor at least.
  ESTOC_CONSTEXPR int ctas() const { return threads() <= 128 ? 2 : 1; }
  ESTOC_CONSTEXPR int a_bytes() const { return tile_m * tile_k * 4; }
  ESTOC_CONSTEXPR int b_bytes() const { return tile_n * tile_k * 4; }
  ESTOC_CONSTEXPR int stage_bytes() const { return a_bytes() + b_bytes(); }
  /// From one row of the sums to the next: 16 bytes more than the row, against conflicts.
  ESTOC_CONSTEXPR int sums_pitch() const { return tile_n * 4 + 16; }
  /// The sums of one slice; those of all slices take the place of the stages.
  ESTOC_CONSTEXPR int sums_bytes() const { return tile_m * sums_pitch(); }
  ESTOC_CONSTEXPR int shared_bytes() const {
    return stages * stage_bytes() > slices * sums_bytes() ? stages * stage_bytes()
                                                          : slices * sums_bytes();
  }
};

}  // namespace estoc::abi
