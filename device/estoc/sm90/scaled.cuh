// How a consumer of an sm_90 kernel multiplies operands with scales for every 128 of K.
#pragma once

#include <estoc/ptx/math.cuh>
#include <estoc/sm90/math.cuh>
#include <estoc/sm90/work.cuh>
#include <estoc/tile/fragment.cuh>

namespace estoc::sm90 {

/// The scales that a thread of a consumer needs for its rows and columns of a tile.
template <Sm90GemmConfig config>
class FragmentScales {
 public:
  __device__ __forceinline__ FragmentScales(const Sm90GemmParameters& p, const Item& item,
                                            u32 thread)
      : p_(p), place_(Quad<4>::of(thread)), tile_(item.tile) {}

  /// Reads those of a tile along K, but for the columns that have a scale each.
  __device__ __forceinline__ void load(i32 k_tile) {
    k_tile_ = k_tile;
#pragma unroll
    for (int i = 0; i < kRows; ++i)
      rows_[i] = row_scale(tile_.m + i / 2 * 64 + i % 2 * 8 + static_cast<i32>(place_.row));
#pragma unroll
    for (int j = 0; j < kColumns; ++j)
      columns_[j] = column_scale(tile_.n + j * 128);
  }

  /// acc += part times the scales.
  __device__ __forceinline__ void add(Accumulators<config>& acc,
                                      const Accumulators<config>& part) const {
#pragma unroll
    for (int column = 0; column < config.tile_n / 4; ++column) {
      const int at = column / 2 * 8 + column % 2;
      const float factor = config.b_scale_columns == 128
                               ? columns_[at / 128]
                               : column_scale(tile_.n + at + static_cast<i32>(place_.column));
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const int x = column / 2 * 4 + i % 2 * 2 + column % 2;
        float& sum = acc.block[i / 2][x];
        sum = ptx::fma_rn(part.block[i / 2][x], rows_[i] * factor, sum);
      }
    }
  }

 private:
  static constexpr int kRows = 2 * Accumulators<config>::kBlocks;
  static constexpr int kColumns = config.tile_n > 128 ? config.tile_n / 128 : 1;

  // Rows and columns beyond the output have the last one's, and are not stored.
  __device__ __forceinline__ float row_scale(i32 m) const {
    return scale(p_.a_scales, (m < p_.m ? m : p_.m - 1) / config.a_scale_rows);
  }
  __device__ __forceinline__ float column_scale(i32 n) const {
    return scale(p_.b_scales, (n < p_.n ? n : p_.n - 1) / config.b_scale_columns);
  }
  __device__ __forceinline__ float scale(const abi::Sm90Scales& scales, i32 other) const {
    const i32 index =
        tile_.l * scales.batch_stride + other * scales.other_stride() + k_tile_ * scales.k_stride();
    return bit_cast<float>(
        ptx::ld_global<1>(scales.address + static_cast<u64>(static_cast<u32>(index)) * 4).word[0]);
  }

  const Sm90GemmParameters& p_;
  Quad<4> place_;
  Tile tile_;
  i32 k_tile_ = 0;
  float rows_[kRows];
  float columns_[kColumns];
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
    Accumulators<config> part;
    acc.clear();
    FragmentScales<config> scales(p, item, reader.thread);
#pragma unroll 1
    for (i32 step = 0; step < item.k_tiles; ++step, at.advance()) {
      reader.wait(at, item.k_tiles - step);
      reader.multiply(part, at.stage, false);
      // Scales arrive while the tensor core is busy.
      scales.load(item.k_tile(step));
      ptx::wgmma_wait_group<0>();
      part.use();
      reader.release(at.stage);
      scales.add(acc, part);
    }
    issued();
  }
};

}  // namespace estoc::sm90
