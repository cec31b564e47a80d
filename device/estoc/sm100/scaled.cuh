// How a thread of an sm_100 kernel multiplies by scales of blocks, which it copies from stages into
// tensor memory.
#pragma once

#include <estoc/sm100/scales.cuh>
#include <estoc/sm100/skeleton.cuh>

namespace estoc::sm100 {

/// The products of stage after stage, with their scales. There are a few places for these: a
/// stage's are copied when the products of the one before that had its place are complete.
template <Sm100GemmConfig config>
class ScaledProducts {
  static constexpr abi::Tcgen05Product kProduct = config.product();
  static_assert(kProduct.is_legal());
  static constexpr u32 kStepBytes = 32;
  static constexpr int kSteps = config.k_bytes / kStepBytes;
  static constexpr abi::Tcgen05Operand kOperand{
      config.k_bytes == 128 ? abi::Tcgen05Swizzle::bytes128 : abi::Tcgen05Swizzle::bytes64, 0,
      8 * config.k_bytes};
  static constexpr abi::Tcgen05Operand kRows{abi::Tcgen05Swizzle::none, 0, 128};

 public:
  /// `memory`: of the kernel's tensor memory, whose scales follow the sums.
  __device__ __forceinline__ ScaledProducts(const Cta<config>& cta, u32 memory)
      : cta_(cta), scales_(memory + config.sums_columns()) {}

  /// Copies the next stage's scales when no product reads their place any more. `swapped`: the
  /// stage has the halves of B's columns in the other order.
  __device__ __forceinline__ void copy(u32 stage, u32 swapped) {
    wait();
    ptx::tcgen05_fence_after_thread_sync();
    const auto from = ScaleStage<config>::of(cta_, stage);
#pragma unroll
    for (u32 word = 0; word < config.scale_words(); ++word) {
      ptx::tcgen05_cp_32x128b_warpx4<config.group>(a_scales(to_.stage, word),
                                                   kRows.descriptor(from.a(word)));
#pragma unroll
      for (u32 column = 0; column < config.scale_columns(); ++column) {
        ptx::tcgen05_cp_32x128b_warpx4<config.group>(
            b_scales(to_.stage, word) + 4 * column,
            kRows.descriptor(from.b(column ^ swapped, word)));
      }
    }
    to_.advance();
  }

  /// Starts the products of the first stage whose scales were copied and not used, for a tile whose
  /// first column is `n`; `left` elements of K begin there.
  __device__ __forceinline__ void multiply(u32 stage, i32 n, i32 left, u32 sums, bool add) {
    const u64 a = kOperand.descriptor(cta_.a(stage));
    const u64 b = kOperand.descriptor(cta_.b(stage));
    // Tiles of columns begin in the middle of tiles of scales, too: 32 of them take a column.
    const u32 first = static_cast<u32>(n % kScaleRows) / 32;
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      constexpr int kDepth = kProduct.depth();
      // Scales beyond K may be NaN.
      if (i > 0 && i * kDepth >= left) break;
      const u32 byte = i * kProduct.scale_bytes();
      ptx::tcgen05_mma_scaled<kProduct.kind, config.group, kProduct.block>(
          sums, a + (i * kStepBytes >> 4), b + (i * kStepBytes >> 4), kProduct.descriptor(byte % 4),
          a_scales(from_.stage, byte / 4), b_scales(from_.stage, byte / 4) + first, add || i > 0);
    }
    ptx::tcgen05_commit<config.group>(cta_.scales_read(from_.stage));
    from_.advance();
  }
  /// Until all products are complete: the tensor cores still tell of the last ones.
  __device__ __forceinline__ void finish() {
    for (int i = 0; i < config.scale_places(); ++i, to_.advance())
      wait();
  }

 private:
  /// Until the products that read the place are complete.
  __device__ __forceinline__ void wait() const {
    ptx::mbarrier_wait(cta_.scales_read(to_.stage), to_.phase ^ 1);
  }
  /// Where the scales of a word are in tensor memory.
  __device__ __forceinline__ u32 a_scales(u32 place, u32 word) const {
    return scales_ + place * config.scale_tensor_columns() + word * 4;
  }
  __device__ __forceinline__ u32 b_scales(u32 place, u32 word) const {
    return a_scales(place, config.scale_words() + word * config.scale_columns());
  }

  const Cta<config>& cta_;
  u32 scales_;
  RingPosition<config.scale_places()> to_;    // of the next copy
  RingPosition<config.scale_places()> from_;  // of the next products
};

/// Multiplies tile after tile, with scales. One thread of the first CTA of the group calls it.
template <typename Kernel, Sm100GemmConfig config = Kernel::kConfig>
requires(config.scale_block > 0) __device__ __forceinline__
    void multiply_tiles(const typename Kernel::Parameters& p, const Cta<config>& cta, u32 memory) {
  const Ring<config.stages> stages = cta.stages();
  const Ring<Cta<config>::kSums> sums = cta.sums();
  ScaledProducts<config> products(cta, memory);
  RingPosition<config.stages> at;
  RingPosition<Cta<config>::kSums> to;
  u32 turn = 0;
  for (auto work = follow<Kernel>(p, cta, false); !work.done(); work.advance()) {
    const auto item = work.item();
    if (item.k_tiles == 0) continue;
    const u32 swapped = config.overlaps() ? turn : 0;
    const u32 sum = memory + (!config.overlaps() ? to.stage * config.tile_n
                              : turn == 0        ? config.tile_n / 2
                                                 : 0);
    // While the tile before is stored, whose warps then leave this one few slots to issue.
    constexpr i32 kAhead = config.overlaps() && config.k_bytes == 64 ? 4 : 1;
    static_assert(kAhead <= config.scale_places());
    const i32 ahead = item.k_tiles < kAhead ? item.k_tiles : kAhead;
    RingPosition<config.stages> next = at;
    for (i32 step = 0; step < ahead; ++step, next.advance()) {
      stages.wait_full(next);
      products.copy(next.stage, swapped);
    }
    sums.wait_empty(to);
    ptx::tcgen05_fence_after_thread_sync();
    for (i32 step = 0; step < item.k_tiles; ++step, at.advance()) {
      if (step >= ahead) {
        stages.wait_full(at);
        products.copy(at.stage, swapped);
      }
      products.multiply(at.stage, item.tile.n, p.k - item.k_tile(step) * config.tile_k(), sum,
                        step > 0);
      release(cta, stages.empty(at.stage));
    }
    commit(cta, sums.full(to.stage));
    to.advance();
    turn ^= 1;
  }
  products.finish();
}

}  // namespace estoc::sm100
