// How a consumer of an sm_90 kernel multiplies the stages of an item.
#pragma once

#include <estoc/numeric.cuh>
#include <estoc/ptx/wgmma.cuh>
#include <estoc/sm90/cta.cuh>
#include <estoc/tile/swizzle.cuh>

namespace estoc::sm90 {

/// The accumulators of one consumer warpgroup: blocks of 64 rows. Those of f16 are packed, two to a
/// register.
template <Sm90GemmConfig config>
struct Accumulators {
  using Sum = SumOf<config.accumulator>;
  static constexpr int kBlocks = config.consumer_rows() / 64;
  static constexpr int kRegisters = config.tile_n / 2 / Sum::kCount;  ///< of each block
  typename Sum::type block[kBlocks][kRegisters];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < kRegisters; ++j)
        block[i][j] = 0;
    }
  }
  __device__ __forceinline__ void use() {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i)
      ptx::acc_use(block[i]);
  }
  __device__ __forceinline__ void scale(float factor) {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < kRegisters; ++j)
        block[i][j] *= factor;
    }
  }
  __device__ __forceinline__ void add(const Accumulators& other) {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < kRegisters; ++j)
        block[i][j] += other.block[i][j];
    }
  }
};

/// A consumer at the ring: what it reads of a stage, and how it hands the stage back.
template <Sm90GemmConfig config>
struct StageReader {
  const Cta<config>& cta;
  u32 consumer;
  u32 thread;  ///< of the warpgroup

  /// For a stage of an item, `left` of whose stages are not summed yet.
  __device__ __forceinline__ void wait(const RingPosition<config.stages>& at, i32 /*left*/) const {
    cta.shared.ring().wait_full(at);
  }

  /// Starts the products of a stage with this consumer's rows.
  __device__ __forceinline__ void multiply(Accumulators<config>& acc, u32 stage, bool add) const {
    using LayoutA = OperandLayout<config.a_m_major, config.tile_k()>;
    using LayoutB = OperandLayout<config.b_n_major, config.tile_k()>;
    constexpr int kSteps = 4;  // of 32 bytes each
    constexpr u32 kOwnRows = config.schedule == Schedule::cooperative
                                 ? config.consumer_rows() / 64 * LayoutA::kStep64
                                 : 0;
    const u64 descriptor_a = LayoutA::descriptor(cta.shared.a(stage) + consumer * kOwnRows);
    const u64 descriptor_b = LayoutB::descriptor(cta.shared.b(stage));
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < Accumulators<config>::kBlocks; ++i) {
        ptx::wgmma_mma_async<config.a, config.b, config.a_m_major, config.b_n_major>(
            acc.block[i], descriptor_a + ((i * LayoutA::kStep64 + step * LayoutA::kStepK) >> 4),
            descriptor_b + (step * LayoutB::kStepK >> 4), add || step > 0);
      }
    }
    ptx::wgmma_commit_group();
  }

  /// Releases a stage: one thread of the warpgroup tells each CTA that loads for this one. It has
  /// waited for its own warp's products alone: the four warps of a wgmma read a stage together and
  /// are done with it together, which CUTLASS relies on too.
  __device__ __forceinline__ void release(u32 stage) const {
    const u32 barrier = cta.shared.ring().empty(stage);
    if constexpr (config.cluster_size() == 1) {
      if (thread == 0) ptx::mbarrier_arrive(barrier);
    } else {
      if (thread >= config.cluster_size()) return;
      const auto sharers = cta.place.sharers_of_a() | cta.place.sharers_of_b();
      if ((sharers >> thread & 1) != 0) ptx::mbarrier_arrive_cluster(barrier, thread);
    }
  }
};

/// The tensor core adds up all of K. A stage is released when the products after it have started.
template <Sm90GemmConfig config>
struct WgmmaSums {
  /// The sums of `k_tiles` stages from `at` on; `issued()` is called when the last products have
  /// started.
  template <typename Reader, typename Issued>
  __device__ __forceinline__ static void sum(Accumulators<config>& acc, i32 k_tiles,
                                             RingPosition<config.stages>& at, const Reader& reader,
                                             const Issued& issued) {
    if (k_tiles == 0) acc.clear();
    u32 last = at.stage;
#pragma unroll 1
    for (i32 k = 0; k < k_tiles; ++k, at.advance()) {
      reader.wait(at, k_tiles - k);
      reader.multiply(acc, at.stage, k > 0);
      if (k > 0) {
        ptx::wgmma_wait_group<1>();
        reader.release(last);
      }
      last = at.stage;
    }
    issued();
    ptx::wgmma_wait_group<0>();
    acc.use();
    if (k_tiles > 0) reader.release(last);
  }
};

/// For narrow floats: what the tensor core adds up with few bits is added to f32 registers after
/// each stage.
template <Sm90GemmConfig config>
struct PromotedSums {
  template <typename Reader, typename Issued>
  __device__ __forceinline__ static void sum(Accumulators<config>& acc, i32 k_tiles,
                                             RingPosition<config.stages>& at, const Reader& reader,
                                             const Issued& issued) {
    Accumulators<config> part;
    acc.clear();
    for (i32 k = 0; k < k_tiles; ++k, at.advance()) {
      reader.wait(at, k_tiles - k);
      reader.multiply(part, at.stage, false);
      ptx::wgmma_wait_group<0>();
      part.use();
      reader.release(at.stage);
      acc.add(part);
    }
    issued();
  }
};

/// Six products of planes, in three groups of which each is 2^8 times as large as the one before.
/// Tensor cores truncate, so that sums are added to f32 registers every 256 of K, and every 64 in
/// the last group, which counts most.
template <Sm90GemmConfig config>
struct PlaneSums {
  template <typename Issued>
  __device__ __forceinline__ static void sum(Accumulators<config>& acc, i32 k_tiles,
                                             RingPosition<config.stages>& at,
                                             const StageReader<config>& reader,
                                             const Issued& issued) {
    const i32 tiles = k_tiles / 6;
    Accumulators<config> some;
    acc.clear();
#pragma unroll 1
    for (i32 product = 0; product < 6; ++product) {
      if (product == 3 || product == 5) acc.scale(0x1p-8f);
      const i32 most = product < 5 ? 4 : 1;
#pragma unroll 1
      for (i32 left = tiles; left > 0; left -= most) {
        WgmmaSums<config>::sum(some, left < most ? left : most, at, reader,
                               []() __attribute__((always_inline)){});
        acc.add(some);
      }
    }
    issued();
  }
};

}  // namespace estoc::sm90
