// How a thread of an sm_100 kernel multiplies by scales of blocks, which it copies from stages into
// tensor memory.
#pragma once

#include <estoc/sm100/scales.cuh>
#include <estoc/sm100/skeleton.cuh>

namespace estoc::sm100 {

/// The products of stage after stage, with their scales. There are two places for these: a stage's
/// are copied when the products of the last but one, which had the same place, are complete.
template <Sm100GemmConfig config>
class ScaledProducts {
  static constexpr abi::Tcgen05Product kProduct = config.product();
  static_assert(kProduct.is_legal());
  static constexpr int kSteps = 4;  // of 32 bytes each
  static constexpr abi::Tcgen05Operand kRows{abi::Tcgen05Swizzle::none, 0, 128};

 public:
  /// `memory`: of the kernel's tensor memory, whose scales follow the sums.
  __device__ __forceinline__ ScaledProducts(const Cta<config>& cta, u32 memory)
      : cta_(cta), scales_(memory + config.sums() * config.tile_n) {
    before_.skip(config.stages - config.kScales);
  }

  /// Starts the products of a stage, for a tile whose first column is `n`; `left` elements of K
  /// begin there.
  __device__ __forceinline__ void multiply(u32 stage, i32 n, i32 left, u32 sums, bool add) {
    cta_.stages().wait_empty(before_);
    before_.advance();
    ptx::tcgen05_fence_after_thread_sync();
    copy(ScaleStage<config>::of(cta_, stage));
    using Layout = OperandLayout<false, config.tile_k()>;
    const u64 a = Layout::kTensor.descriptor(cta_.a(stage));
    const u64 b = Layout::kTensor.descriptor(cta_.b(stage));
    // Tiles of columns begin in the middle of tiles of scales, too: 32 of them take a column.
    const u32 first = static_cast<u32>(n % kScaleRows) / 32;
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      constexpr int kDepth = kProduct.depth();
      // Scales beyond K may be NaN.
      if (i > 0 && i * kDepth >= left) break;
      const u32 byte = i * kProduct.scale_bytes();
      ptx::tcgen05_mma_scaled<kProduct.kind, config.group, kProduct.block>(
          sums, a + (i * Layout::kStepK >> 4), b + (i * Layout::kStepK >> 4),
          kProduct.descriptor(byte % 4), a_scales(byte / 4), b_scales(byte / 4) + first,
          add || i > 0);
    }
    place_ ^= 1;
  }

 private:
  /// Where the scales of a word are in tensor memory.
  __device__ __forceinline__ u32 a_scales(u32 word) const {
    return scales_ + place_ * config.scale_tensor_columns() + word * 4;
  }
  __device__ __forceinline__ u32 b_scales(u32 word) const {
    return a_scales(config.scale_words() + word * config.scale_columns());
  }
  __device__ __forceinline__ void copy(const ScaleStage<config>& from) const {
#pragma unroll
    for (int word = 0; word < config.scale_words(); ++word) {
      ptx::tcgen05_cp_32x128b_warpx4<config.group>(a_scales(word), kRows.descriptor(from.a(word)));
#pragma unroll
      for (int column = 0; column < config.scale_columns(); ++column) {
        ptx::tcgen05_cp_32x128b_warpx4<config.group>(b_scales(word) + 4 * column,
                                                     kRows.descriptor(from.b(column, word)));
      }
    }
  }

  const Cta<config>& cta_;
  u32 scales_;
  u32 place_ = 0;
  RingPosition<config.stages> before_;
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
  for (auto work = follow<Kernel>(p, cta, false); !work.done(); work.advance()) {
    const auto item = work.item();
    if (item.k_tiles == 0) continue;
    sums.wait_empty(to);
    ptx::tcgen05_fence_after_thread_sync();
    for (i32 step = 0; step < item.k_tiles; ++step, at.advance()) {
      stages.wait_full(at);
      products.multiply(at.stage, item.tile.n, p.k - item.k_tile(step) * config.tile_k(),
                        memory + to.stage * config.tile_n, step > 0);
      release(cta, stages.empty(at.stage));
    }
    commit(cta, sums.full(to.stage));
    to.advance();
  }
}

}  // namespace estoc::sm100
