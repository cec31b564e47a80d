// What host and device agree on for simt_gemm: configuration, parameters, sizes.
#pragma once

#include <estoc/abi/epilogue.cuh>
#include <estoc/abi/matrix.cuh>
#include <estoc/abi/types.cuh>

namespace estoc::abi {

/// Which mode of a matrix is read by vectors of 16 bytes: its last, its next-to-last, or none, any
/// strides being allowed then.
enum class Vectors : unsigned char { last, next_to_last, none };

/// Configuration of simt_gemm.
struct SimtGemmConfig {
  Type a;
  Type b;
  Type accumulator;  ///< f64, f32 or i32
  Type out;
  Vectors a_vectors;
  Vectors b_vectors;
  bool out_vectors;  ///< out is row-major and may be stored four elements at a time
  int tile_m;
  int tile_n;
  int tile_k;
  int thread_m;  ///< rows that one thread accumulates: 4 or 8
  int thread_n;
  bool paired = false;  ///< the epilogue computes an element of two sums

  /// Calls field(name, value) for each field, in order; one with its default value may be left out.
  template <typename Field>
  ESTOC_CONSTEXPR void visit(const Field& field) const {
    field("a", a);
    field("b", b);
    field("accumulator", accumulator);
    field("out", out);
    field("a_vectors", a_vectors);
    field("b_vectors", b_vectors);
    field("out_vectors", out_vectors);
    field("tile_m", tile_m);
    field("tile_n", tile_n);
    field("tile_k", tile_k);
    field("thread_m", thread_m);
    field("thread_n", thread_n);
    if (paired) field("paired", paired);
  }

  ESTOC_CONSTEXPR int threads() const { return tile_m / thread_m * (tile_n / thread_n); }
  ESTOC_CONSTEXPR int warps() const { return threads() / 32; }
  /// Warps side by side, each four threads of columns wide.
  ESTOC_CONSTEXPR int warps_n() const { return tile_n / (4 * thread_n); }
  /// CTAs that are to fit on a multiprocessor at least.
  ESTOC_CONSTEXPR int ctas() const { return threads() <= 64 ? 4 : 2; }
  /// Elements from one k to the next in shared memory; the padding keeps 16-byte alignment.
  ESTOC_CONSTEXPR int a_pitch() const { return tile_m + 4; }
  ESTOC_CONSTEXPR int b_pitch() const { return tile_n + 4; }
  /// Two stages of both operands, widened to the accumulator's type.
  ESTOC_CONSTEXPR int shared_bytes() const {
    return 2 * tile_k * (a_pitch() + b_pitch()) * type_bytes(accumulator);
  }
};

struct SimtGemmParameters {
  Matrix a;
  Matrix b;
  Matrix out;
  long long m;
  long long n;
  long long k;
  long long l;
  unsigned tiles_m;
  unsigned tiles_n;
  unsigned group;  ///< rows of tiles that neighbouring CTAs share, for the L2 cache
  /// Where sums are paired: elements from B's column of the first to that of the second.
  long long pair_distance;
};
static_assert(sizeof(SimtGemmParameters) == 152);

}  // namespace estoc::abi
