// The end of a kernel that adds up sums of parts of K: warps that share elements join what they
// have, and four neighbours of a row pass through the epilogue.
#pragma once

#include <estoc/epilogue/direct.cuh>
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/vector_io.cuh>

namespace estoc::epilogue {

/// Where four neighbours of a row of out are, and where out ends.
struct QuadPlace {
  const abi::Matrix& out;
  i64 rows;
  i64 columns;
  i64 l;
  i64 m;
  i64 n;

  __device__ __forceinline__ bool is_inside() const { return m < rows && n < columns; }
};

/// Stores four neighbours as far as out has them, together where its rows are `aligned`.
template <Type out, bool aligned, typename Value>
__device__ __forceinline__ void finish_quad(const QuadPlace& at, const Identity& /*none*/,
                                            const Value (&values)[4]) {
  constexpr int kBytes = abi::type_bytes(out);
  const u64 address =
      at.out.address + static_cast<u64>((at.l * at.out.batch_stride + at.m * at.out.row_stride +
                                         at.n * at.out.column_stride) *
                                        kBytes);
  if (aligned && at.n + 4 <= at.columns) {
    store_four<out>(address, values);
    return;
  }
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    if (at.n + e >= at.columns) continue;
    store_element<out>(address + static_cast<u64>(e * at.out.column_stride * kBytes), values[e]);
  }
}
template <Type out, bool aligned, typename Value, typename E>
__device__ __forceinline__ void finish_quad(const QuadPlace& at, const Fused<E>& fused,
                                            const Value (&values)[4]) {
  DirectTile<E, 1, 4> tile(fused.parameters, at.l, at.rows, at.columns);
  tile.begin_columns(0, at.n);
  tile.group(0, values, at.m, at.n);
}

/// Four sums as pieces of 16 bytes, as they are stored and loaded.
template <typename Value>
struct QuadPieces {
  static constexpr int kCount = sizeof(Value) / 4;
  static constexpr u32 kBytes = 16 * kCount;

  __device__ __forceinline__ static Words<4> get(const Value (&sums)[4], int piece) {
    Words<4> words;
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const int at = piece * 4 + w;
      words.word[w] = bit_cast<Words<kCount>>(sums[at / kCount]).word[at % kCount];
    }
    return words;
  }
  __device__ __forceinline__ static void add(Value (&sums)[4], int piece, const Words<4>& words) {
#pragma unroll
    for (int w = 0; w < 4; w += kCount) {
      Words<kCount> one;
#pragma unroll
      for (int half = 0; half < kCount; ++half)
        one.word[half] = words.word[w + half];
      sums[(piece * 4 + w) / kCount] += bit_cast<Value>(one);
    }
  }
};

/// Adds what the other warps of its chunk have summed to the first warp's sums, in their order.
template <typename Value>
__device__ __forceinline__ void add_warps(u32 warp, u32 own, u32 warps, u32 lane,
                                          Value (&sums)[4]) {
  using Pieces = QuadPieces<Value>;
  const u32 slot = ptx::smem_base() + (warp * 32 + lane) * Pieces::kBytes;
#pragma unroll
  for (int piece = 0; piece < Pieces::kCount; ++piece)
    ptx::st_shared(slot + static_cast<u32>(piece) * 16, Pieces::get(sums, piece));
  ptx::barrier_sync();
  for (u32 other = 1; own == 0 && other < warps; ++other) {
#pragma unroll
    for (int piece = 0; piece < Pieces::kCount; ++piece) {
      Pieces::add(
          sums, piece,
          ptx::ld_shared<4>(slot + other * 32 * Pieces::kBytes + static_cast<u32>(piece) * 16));
    }
  }
}

}  // namespace estoc::epilogue
