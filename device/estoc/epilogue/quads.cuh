// The end of a kernel that adds up sums of parts of K: warps that share elements join what they
// have, and four neighbours of a row pass through the epilogue.
#pragma once

#include <estoc/epilogue/direct.cuh>
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/vector_io.cuh>

namespace estoc::epilogue {

/// Four neighbours of a row of out, as far as out has them.
template <auto config, typename Parameters, typename Value>
__device__ __forceinline__ void store_quad(const Parameters& p, i64 l, i64 m, i64 n,
                                           const Value (&values)[4]) {
  constexpr int kBytes = abi::type_bytes(config.out);
  const abi::Matrix& out = p.out_raw;
  const u64 address =
      out.address +
      static_cast<u64>((l * out.batch_stride + m * out.row_stride + n * out.column_stride) *
                       kBytes);
  if (config.tma_store && n + 4 <= p.n) {
    store_four<config.out>(address, values);
    return;
  }
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    if (n + e >= p.n) continue;
    store_element<config.out>(address + static_cast<u64>(e * out.column_stride * kBytes),
                              values[e]);
  }
}

template <auto config, typename Parameters, typename Value>
__device__ __forceinline__ void finish_quad(const Parameters& p, const Identity& /*none*/, i64 l,
                                            i64 m, i64 n, const Value (&values)[4]) {
  store_quad<config>(p, l, m, n, values);
}
template <auto config, typename Parameters, typename Value, typename E>
__device__ __forceinline__ void finish_quad(const Parameters& p, const Fused<E>& fused, i64 l,
                                            i64 m, i64 n, const Value (&values)[4]) {
  DirectTile<E, 1, 4> tile(fused.parameters, l, p.m, p.n);
  tile.begin_columns(0, n);
  tile.group(0, values, m, n);
}

/// Adds what the other warps of its chunk have summed to the first warp's sums, in their order.
template <typename Value>
__device__ __forceinline__ void add_warps(u32 warp, u32 own, u32 warps, u32 lane,
                                          Value (&sums)[4]) {
  const u32 slot = ptx::smem_base() + (warp * 32 + lane) * 16;
  Words<4> own_words;
#pragma unroll
  for (int e = 0; e < 4; ++e)
    own_words.word[e] = bit_cast<u32>(sums[e]);
  ptx::st_shared<4>(slot, own_words);
  ptx::barrier_sync();
  for (u32 other = 1; own == 0 && other < warps; ++other) {
    const Words<4> words = ptx::ld_shared<4>(slot + other * 32 * 16);
#pragma unroll
    for (int e = 0; e < 4; ++e)
      sums[e] += bit_cast<Value>(words.word[e]);
  }
}

}  // namespace estoc::epilogue
