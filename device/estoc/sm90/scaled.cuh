// How a consumer of an sm_90 kernel multiplies operands with scales for every 128 of K.
#pragma once

#include <estoc/ptx/math.cuh>
#include <estoc/ptx/warp.cuh>
#include <estoc/sm90/math.cuh>
#include <estoc/sm90/work.cuh>
#include <estoc/tile/fragment.cuh>

namespace estoc::sm90 {

/// The scales that a thread of a consumer needs for its rows and columns of an item. They are read
/// some stages ahead: the latency of the L2 cache is longer than a stage takes.
template <Sm90GemmConfig config>
class FragmentScales {
  static constexpr int kRows = 2 * Accumulators<config>::kBlocks;
  /// Columns have scales by blocks. Else each has its own: lanes read those of two columns of every
  /// 64, and get the others' by shuffles.
  static constexpr bool kBlocks = config.b_scale_columns == 128;
  /// Columns that are in one block, wherever a tile begins.
  static constexpr int kTogether = config.tile_n % 128 == 0  ? 128
                                   : config.tile_n % 64 == 0 ? 64
                                                             : 32;
  static constexpr int kColumns =
      kBlocks ? config.tile_n / kTogether : (config.tile_n + 63) / 64 * 2;
  static constexpr int kSums = config.tile_n / 4 * kRows;
  static constexpr int kAhead = !kBlocks ? 1 : kSums <= 32 ? 6 : kSums <= 64 ? 3 : 2;

 public:
  /// Whether there are registers for the factors and sums of two stages.
  static constexpr bool kOverlap = kBlocks;
  /// Those of a K tile that this thread has read.
  struct Factors {
    float rows[kRows];
    float columns[kColumns];
  };

  __device__ __forceinline__ FragmentScales(const Sm90GemmParameters& p, const Item& item,
                                            u32 thread)
      : p_(p),
        place_(Quad<4>::of(thread)),
        tile_(item.tile),
        left_(item.k_tiles),
        backwards_(item.backwards) {
    const i32 k_tile = item.k_tile(0);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const i32 m = tile_.m + i / 2 * 64 + i % 2 * 8 + static_cast<i32>(place_.row);
      // Rows and columns beyond the output have the last one's, and are not stored.
      rows_[i] = index(p_.a_scales, k_tile, (m < p_.m ? m : p_.m - 1) / config.a_scale_rows);
    }
    column_ = index(p_.b_scales, k_tile, 0);
#pragma unroll
    for (int i = 0; i < kAhead; ++i)
      read(ahead_[i]);
  }

  /// Those of the item's next K tile.
  __device__ __forceinline__ Factors next() {
    const Factors factors = ahead_[0];
#pragma unroll
    for (int i = 1; i < kAhead; ++i)
      ahead_[i - 1] = ahead_[i];
    read(ahead_[kAhead - 1]);
    return factors;
  }

  /// acc += sums times the scales.
  __device__ __forceinline__ void add(Accumulators<config>& acc, const Accumulators<config>& sums,
                                      const Factors& factors) const {
#pragma unroll
    for (int column = 0; column < config.tile_n / 4; ++column) {
      const float factor = this->factor(factors, column);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const int x = column / 2 * 4 + i % 2 * 2 + column % 2;
        float& sum = acc.block[i / 2][x];
        sum = ptx::fma_rn(sums.block[i / 2][x], factors.rows[i] * factor, sum);
      }
    }
  }

 private:
  __device__ __forceinline__ i32 index(const abi::Sm90Scales& scales, i32 k_tile, i32 other) const {
    return tile_.l * scales.batch_stride + k_tile * scales.k_stride() +
           other * scales.other_stride();
  }
  __device__ __forceinline__ i32 step(const abi::Sm90Scales& scales) const {
    return backwards_ ? -scales.k_stride() : scales.k_stride();
  }
  __device__ __forceinline__ static float scale(const abi::Sm90Scales& scales, i32 index) {
    return bit_cast<float>(
        ptx::ld_global<1>(scales.address + static_cast<u64>(static_cast<u32>(index)) * 4).word[0]);
  }
  /// Of a column of the product; `n` is at least 0.
  __device__ __forceinline__ float column_scale(i32 n) const {
    const i32 other = (n < p_.n ? n : p_.n - 1) / config.b_scale_columns;
    return scale(p_.b_scales, column_ + other * p_.b_scales.other_stride());
  }
  /// Reads those of the K tile after what was read, if the item has one.
  __device__ __forceinline__ void read(Factors& factors) {
    if (left_-- <= 0) return;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      factors.rows[i] = scale(p_.a_scales, rows_[i]);
      rows_[i] += step(p_.a_scales);
    }
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      const i32 own = static_cast<i32>(place_.row % 8 * 8 + place_.column);
      factors.columns[j] =
          column_scale(tile_.n + (kBlocks ? j * kTogether : j / 2 * 64 + own + j % 2));
    }
    column_ += step(p_.b_scales);
  }
  /// Of the thread's column `column`, of which it has two of every eight.
  __device__ __forceinline__ float factor(const Factors& factors, int column) const {
    if constexpr (kBlocks) return factors.columns[column * 4 / kTogether];
    const u32 holder = static_cast<u32>(column / 2 % 8 * 4) + place_.column / 2;
    return ptx::shfl_sync_idx(factors.columns[column / 16 * 2 + column % 2], holder);
  }

  const Sm90GemmParameters& p_;
  Quad<4> place_;
  Tile tile_;
  i32 left_;  ///< K tiles that are not read yet
  bool backwards_;
  i32 rows_[kRows];  ///< indices of the next K tile's scales
  i32 column_;
  Factors ahead_[kAhead] = {};
};

/// For narrow floats with scales for every 128 of K: what the tensor core adds up of a stage, which
/// has one scale a row and a column, is multiplied by these and added to f32 registers.
template <Sm90GemmConfig config>
struct ScaledSums {
  template <typename Issued>
  __device__ __forceinline__ static void sum(Accumulators<config>& acc, const Sm90GemmParameters& p,
                                             const Item& item, RingPosition<config.stages>& at,
                                             const StageReader<config>& reader,
                                             const Issued& issued) {
    FragmentScales<config> scales(p, item, reader.thread);
    AddedStages<config, StageReader<config>, FragmentScales<config>>(acc, at, reader, scales)
        .sum(item.k_tiles, issued);
  }
};

}  // namespace estoc::sm90
