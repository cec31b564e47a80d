// How an sm_90 kernel multiplies operands with scales for every 128 of K: a warp of the producer
// brings a stage's scales into shared memory, consumers multiply its sums by them.
#pragma once

#include <estoc/ptx/cp_async.cuh>
#include <estoc/ptx/math.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/sm90/load.cuh>
#include <estoc/sm90/math.cuh>
#include <estoc/sm90/work.cuh>
#include <estoc/tile/fragment.cuh>

namespace estoc::sm90 {

/// Where a stage has its scales: those of the tile's rows, then those of its columns.
template <Sm90GemmConfig config>
struct ScaleTile {
  /// Columns have scales by blocks of 128.
  static constexpr bool kBlocks = config.b_scale_columns == 128;
  /// Neighbouring columns that share a scale, wherever a tile begins.
  static constexpr int kTogether = !kBlocks                   ? 1
                                   : config.tile_n % 128 == 0 ? 128
                                   : config.tile_n % 64 == 0  ? 64
                                   : config.tile_n % 32 == 0  ? 32
                                                              : 16;
  static constexpr int kColumns = config.tile_n / kTogether;

  u32 address;

  __device__ __forceinline__ u32 row(i32 m) const { return address + static_cast<u32>(m) * 4; }
  __device__ __forceinline__ u32 column(i32 j) const { return row(config.tile_m + j); }
};

/// Brings the scales of stage after stage, of items that `Tiles` loads. One warp calls it.
template <Sm90GemmConfig config, typename Tiles>
class ScaleLoader {
  using To = ScaleTile<config>;

 public:
  __device__ __forceinline__ ScaleLoader(const Sm90GemmParameters& p, const Cta<config>& cta)
      : p_(p), cta_(cta), lane_(static_cast<i32>(ptx::laneid())) {}

  template <typename Item>
  __device__ __forceinline__ void fill(const Item& item, i32 step, u32 stage) const {
    const To to{cta_.shared.scales(stage)};
    const i32 k_tile = item.k_tile(step);
    const Batches l = Tiles::batches(item);
#pragma unroll 1
    for (i32 i = lane_; i < config.tile_m; i += 32) {
      const i32 m = item.tile.m + i;
      // Rows and columns beyond the output have the last one's, and are not stored.
      copy(to.row(i), p_.a_scales, l.a, k_tile, (m < p_.m ? m : p_.m - 1) / config.a_scale_rows);
    }
#pragma unroll 1
    for (i32 j = lane_; j < To::kColumns; j += 32) {
      const i32 n = item.tile.n + j * To::kTogether;
      copy(to.column(j), p_.b_scales, l.b, k_tile,
           (n < p_.n ? n : p_.n - 1) / config.b_scale_columns);
    }
    ptx::cp_async_mbarrier_arrive_noinc(cta_.shared.ring().full(stage));
  }

 private:
  __device__ __forceinline__ static void copy(u32 to, const abi::Sm90Scales& scales, i32 l,
                                              i32 k_tile, i32 other) {
    const i32 index =
        l * scales.batch_stride + k_tile * scales.k_stride() + other * scales.other_stride();
    ptx::cp_async<4>(to, scales.address + static_cast<u64>(static_cast<u32>(index)) * 4);
  }

  const Sm90GemmParameters& p_;
  const Cta<config>& cta_;
  i32 lane_;
};

/// Tiles of A and B as `Tiles` loads them, and their scales.
template <Sm90GemmConfig config, typename Tiles = TmaTiles<config>>
struct ScaledTiles : Tiles {
  /// Brings the scales of stage after stage. One warp calls it.
  template <typename Kernel>
  __device__ __forceinline__ static void bring_scales(const typename Kernel::Parameters& p,
                                                      const Cta<config>& cta) {
    const ScaleLoader<config, Tiles> loader(p, cta);
    const Ring<config.stages> ring = cta.shared.ring();
    RingPosition<config.stages> at;
    for (typename Kernel::Work work(p, cta.place); !work.done(); work.advance()) {
      const auto item = work.item();
      for (i32 step = 0; step < item.k_tiles; ++step, at.advance()) {
        ring.wait_empty(at);
        loader.fill(item, step, at.stage);
      }
    }
  }
};

/// The scales that a thread of a consumer needs for its rows and columns of a stage.
template <Sm90GemmConfig config>
class FragmentScales {
  using From = ScaleTile<config>;
  static constexpr int kRows = 2 * Accumulators<config>::kBlocks;

 public:
  /// Columns that have a scale each are read when sums are added: the stage is in use until then.
  static constexpr bool kReadsStage = !From::kBlocks;
  /// Beside the factors; an epilogue takes registers too.
  static constexpr int kMostOverlapped = config.epilogue.columns > 0 ? 48 : 64;
  struct Factors {
    float rows[kRows];
    float columns[kReadsStage ? 1 : From::kColumns];
    u32 stage;
  };

  __device__ __forceinline__ explicit FragmentScales(const StageReader<config>& reader)
      : reader_(reader), place_(Quad<4>::of(reader.thread)) {}

  __device__ __forceinline__ Factors factors(u32 stage) const {
    constexpr i32 kOwnRows = config.schedule == Schedule::cooperative ? config.consumer_rows() : 0;
    const From from = of(stage);
    const i32 first = static_cast<i32>(reader_.consumer) * kOwnRows + static_cast<i32>(place_.row);
    Factors factors;
#pragma unroll
    for (int i = 0; i < kRows; ++i)
      factors.rows[i] = value(ptx::ld_shared<1>(from.row(first + i / 2 * 64 + i % 2 * 8)), 0);
    if constexpr (!kReadsStage) {
#pragma unroll
      for (int j = 0; j < From::kColumns; ++j)
        factors.columns[j] = value(ptx::ld_shared<1>(from.column(j)), 0);
    }
    factors.stage = stage;
    return factors;
  }

  /// acc += sums times the scales.
  __device__ __forceinline__ void add(Accumulators<config>& acc, const Accumulators<config>& sums,
                                      const Factors& factors) const {
#pragma unroll
    for (int pair = 0; pair < config.tile_n / 8; ++pair) {
      const Words<2> columns = this->columns(factors, pair);
#pragma unroll
      for (int x = 0; x < 4 * kRows / 2; ++x) {
        const int at = pair * 4 + x % 4;
        const float factor = factors.rows[x / 4 * 2 + x % 4 / 2] * value(columns, x % 2);
        float& sum = acc.block[x / 4][at];
        sum = ptx::fma_rn(sums.block[x / 4][at], factor, sum);
      }
    }
  }

 private:
  __device__ __forceinline__ From of(u32 stage) const {
    return {reader_.cta.shared.scales(stage)};
  }
  template <int count>
  __device__ __forceinline__ static float value(const Words<count>& words, int i) {
    return bit_cast<float>(words.word[i]);
  }
  /// Those of the two columns that the thread has of every eight.
  __device__ __forceinline__ Words<2> columns(const Factors& factors, int pair) const {
    if constexpr (kReadsStage) {
      return ptx::ld_shared<2>(
          of(factors.stage).column(pair * 8 + static_cast<i32>(place_.column)));
    }
    const u32 both = bit_cast<u32>(factors.columns[pair * 8 / From::kTogether]);
    return {both, both};
  }

  const StageReader<config>& reader_;
  Quad<4> place_;
};

/// For narrow floats with scales for every 128 of K: what the tensor core adds up of a stage, which
/// has one scale a row and a column, is multiplied by these and added to f32 registers.
template <Sm90GemmConfig config>
struct ScaledSums {
  template <typename Reader, typename Issued>
  __device__ __forceinline__ static void sum(Accumulators<config>& acc, i32 k_tiles,
                                             RingPosition<config.stages>& at, const Reader& reader,
                                             const Issued& issued) {
    const FragmentScales<config> scales(reader);
    AddedStages<config, Reader, FragmentScales<config>>(acc, at, reader, scales)
        .sum(k_tiles, issued);
  }
};

}  // namespace estoc::sm90
