// GEMM of quantised operands with scales of blocks on the ordinary units: any strides and size.
//
// As simt_gemm, but for the way of operands to shared memory: elements of 4 or 8 bits are widened
// to f32 and multiplied by the scale of their block. A tile along K lies in one block, as blocks
// are multiples of it.
#pragma once

#include <estoc/abi/simt_scaled_gemm.cuh>
#include <estoc/kernels/simt_gemm.cuh>
#include <estoc/tile/block_scales.cuh>

namespace estoc {

using abi::SimtScaledGemmParameters;

/// Brings tiles of one quantised operand from global memory to shared memory. `outer` is M for A
/// and N for B. A thread moves kPerThread pieces of kVector elements along K, a fixed step apart.
template <Type type, bool vectors, int outer_tile, int k_tile, int pitch, int threads>
class ScaledOperandTile {
 public:
  __device__ __forceinline__ ScaledOperandTile(u64 address, i64 first_element, i64 outer_stride,
                                               i64 k_stride, const BatchScales& scales,
                                               i64 outer_extent, i64 outer_begin)
      : address_(address),
        first_(first_element),
        outer_stride_(outer_stride),
        k_stride_(k_stride),
        scales_(scales),
        outer_extent_(outer_extent),
        outer_(outer_begin + outer_of_first()) {}

  /// Starts reading the tile from `k_begin` on; what lies outside the operand is zero.
  __device__ __forceinline__ void fetch(i64 k_begin, i64 k_extent) {
    const i64 k = k_begin + k_of_first();
    const i64 room = k_extent - k;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      held_[i] = 0;
      factors_[i] = 0;
      const i64 outer = outer_ + i * kStep;
      if (!has_piece(i) || outer >= outer_extent_ || room <= 0) continue;
      held_[i] = read(first_ + outer * outer_stride_ + k * k_stride_, room);
      factors_[i] = scales_.at(outer, k);
    }
  }

  /// Widens and scales what fetch read and writes it to the stage at `shared`.
  __device__ __forceinline__ void put(u32 shared) const {
    const u32 first = shared + static_cast<u32>(k_of_first() * pitch + outer_of_first()) * 4;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      if (!has_piece(i)) continue;
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        const float value = element_of<Type::f32, type>(Words<1>{held_[i]}, e) * factors_[i];
        ptx::st_shared(first + static_cast<u32>(e * pitch + i * kStep) * 4,
                       Words<1>{bit_cast<u32>(value)});
      }
    }
  }

 private:
  static constexpr int kBits = abi::type_bits(type);
  static constexpr int kVector = vectors ? 32 / kBits : 1;
  static constexpr int kPieces = outer_tile * k_tile / kVector;
  static constexpr int kPerThread = (kPieces + threads - 1) / threads;
  static constexpr int kAcross = k_tile / kVector;
  static constexpr int kStep = threads / kAcross;
  static_assert(k_tile % kVector == 0 && threads % kAcross == 0);

  __device__ static __forceinline__ int outer_of_first() {
    return static_cast<int>(ptx::tid()) / kAcross;
  }
  __device__ static __forceinline__ int k_of_first() {
    return static_cast<int>(ptx::tid()) % kAcross * kVector;
  }
  __device__ static __forceinline__ bool has_piece(int i) {
    return kPieces % threads == 0 || static_cast<int>(ptx::tid()) + i * threads < kPieces;
  }

  // kVector elements from element `index` of the operand on, of which `room` exist.
  __device__ __forceinline__ u32 read(i64 index, i64 room) const {
    if (vectors && room >= kVector) {
      return ptx::ld_global<1>(address_ + static_cast<u64>(index * kBits / 8)).word[0];
    }
    u32 bits = 0;
#pragma unroll 1
    for (int e = 0; e < kVector && e < room; ++e)
      bits |= load_code<type>(address_, index + e) << (kBits * e);
    return bits;
  }

  u64 address_;
  i64 first_;
  i64 outer_stride_;
  i64 k_stride_;
  BatchScales scales_;
  i64 outer_extent_;
  i64 outer_;
  u32 held_[kPerThread];
  float factors_[kPerThread];
};

/// What of the operands a tile multiplies: matrices, and products from k_begin to k_end.
struct ScaledPart {
  i64 a_batch;
  i64 b_batch;
  i64 k_begin;
  i64 k_end;
};

/// acc = the rows of A from at.m_begin on times the columns of B from at.n_begin on. All threads of
/// the CTA call it, and synchronise before they do so again.
template <SimtGemmConfig config>
__device__ __forceinline__ void sum_scaled_tile(float (&acc)[config.thread_m][config.thread_n],
                                                const SimtScaledGemmParameters& p,
                                                const ScaledPart& part, const TileRange& at) {
  constexpr int kThreads = config.threads();
  constexpr u32 kABytes = static_cast<u32>(config.tile_k * config.a_pitch() * 4);
  constexpr u32 kBBytes = static_cast<u32>(config.tile_k * config.b_pitch() * 4);
  using ATile = ScaledOperandTile<config.a, config.a_vectors == Vectors::last, config.tile_m,
                                  config.tile_k, config.a_pitch(), kThreads>;
  using BTile = ScaledOperandTile<config.b, config.b_vectors == Vectors::next_to_last,
                                  config.tile_n, config.tile_k, config.b_pitch(), kThreads>;
  const u32 a_stages = ptx::smem_base();
  const u32 b_stages = a_stages + 2 * kABytes;
  ATile a(p.a.address, part.a_batch * p.a.batch_stride, p.a.row_stride, p.a.column_stride,
          BatchScales(p.a_scales, part.a_batch), at.m_end, at.m_begin);
  BTile b(p.b.address, part.b_batch * p.b.batch_stride, p.b.column_stride, p.b.row_stride,
          BatchScales(p.b_scales, part.b_batch), at.n_end, at.n_begin);
  a.fetch(part.k_begin, part.k_end);
  b.fetch(part.k_begin, part.k_end);
  u32 stage = 0;
  for (i64 k = part.k_begin; k < part.k_end; k += config.tile_k) {
    a.put(a_stages + stage * kABytes);
    b.put(b_stages + stage * kBBytes);
    ptx::barrier_sync();
    if (k + config.tile_k < part.k_end) {
      a.fetch(k + config.tile_k, part.k_end);
      b.fetch(k + config.tile_k, part.k_end);
    }
    multiply_stage<config>(acc, a_stages + stage * kABytes, b_stages + stage * kBBytes);
    stage ^= 1;
  }
}

/// The entry: CTA (x, 0, z) computes tile x of batches z, z + gridDim.z, ...
template <SimtGemmConfig config, typename Epilogue>
__device__ __forceinline__ void simt_scaled_gemm(const SimtScaledGemmParameters& p,
                                                 const Epilogue& epilogue) {
  ptx::griddepcontrol_wait();
  const SimtGemmParameters plain{p.a, p.b, p.out,     p.m,       p.n,
                                 p.k, p.l, p.tiles_m, p.tiles_n, p.group};
  const TileIndex tile = TileRaster{p.tiles_m, p.tiles_n, p.group}.at(ptx::ctaid_x());
  const TileRange at{static_cast<i64>(tile.m) * config.tile_m,
                     static_cast<i64>(tile.n) * config.tile_n, p.m, p.n};
  for (i64 l = ptx::ctaid_z(); l < p.l; l += ptx::nctaid_z()) {
    float acc[config.thread_m][config.thread_n] = {};
    sum_scaled_tile<config>(acc, p, {l, l, 0, p.k}, at);
    finish_tile<config>(acc, plain, epilogue, l, at);
    // The next batch starts with stage 0, which slower threads may still be reading.
    ptx::barrier_sync();
  }
}

}  // namespace estoc
