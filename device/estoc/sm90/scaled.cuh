// How an sm_90 kernel multiplies operands with scales for every 128 of K: a warp of the producer
// brings a stage's scales into shared memory, consumers multiply its sums by them.
#pragma once

#include <estoc/ptx/math.cuh>
#include <estoc/ptx/mbarrier.cuh>
#include <estoc/ptx/memory.cuh>
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

/// The scales of an item's stages as a warp reads them, one stage after the other: each lane has
/// those of some rows, and of some columns or blocks of columns.
template <Sm90GemmConfig config>
class ItemScales {
  using To = ScaleTile<config>;
  static constexpr int kRows = config.tile_m / 32;
  static constexpr int kColumns = (To::kColumns + 31) / 32;

 public:
  /// Stages whose scales are on their way at once: what a producer has registers for.
  static constexpr int kStages = kRows + kColumns <= 3   ? 8
                                 : kRows + kColumns <= 5 ? 4
                                 : kRows + kColumns <= 9 ? 2
                                                         : 1;
  struct Lane {
    Words<1> rows[kRows];
    Words<1> columns[kColumns];
  };

  template <typename Item>
  __device__ __forceinline__ ItemScales(const Sm90GemmParameters& p, const Item& item, Batches l,
                                        i32 lane)
      : p_(p), lane_(lane), m_(item.tile.m), n_(item.tile.n) {
    const i32 k = item.k_tile(0);
    const i32 step = item.k_tile(1) - k;
    a_step_ = step * p.a_scales.k_stride();
    b_step_ = step * p.b_scales.k_stride();
    a_ = l.a * p.a_scales.batch_stride + k * p.a_scales.k_stride();
    b_ = l.b * p.b_scales.batch_stride + k * p.b_scales.k_stride();
    const i32 offset = a_ | p.a_scales.other_stride() | static_cast<i32>(p.a_scales.address / 4);
    together_ = kWide && a_step_ == 1 && offset % kStages == 0;
  }

  /// Whether a row's scales of kStages stages are read at once: they are contiguous along K. Each
  /// read of a row by itself takes a cycle of the data path.
  __device__ __forceinline__ bool together() const { return together_; }
  /// Those of the next kStages stages.
  __device__ __forceinline__ void read(Lane (&stages)[kStages]) {
    if constexpr (kWide) {
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const Words<kStages> row = ptx::ld_global<kStages>(of_row(i));
#pragma unroll
        for (int stage = 0; stage < kStages; ++stage)
          stages[stage].rows[i].word[0] = row.word[stage];
      }
      a_ += kStages;
#pragma unroll
      for (int stage = 0; stage < kStages; ++stage)
        read_columns(stages[stage]);
    }
  }

  /// Those of the next stage.
  __device__ __forceinline__ void read(Lane& scales) {
#pragma unroll
    for (int i = 0; i < kRows; ++i)
      scales.rows[i] = ptx::ld_global<1>(of_row(i));
    a_ += a_step_;
    read_columns(scales);
  }

  __device__ __forceinline__ void store(const To& to, const Lane& scales) const {
#pragma unroll
    for (int i = 0; i < kRows; ++i)
      ptx::st_shared(to.row(row(i)), scales.rows[i]);
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      if (column(i) < To::kColumns) ptx::st_shared(to.column(column(i)), scales.columns[i]);
    }
  }

 private:
  /// Whether the scales of several stages are read at once. Tiles of up to 64 rows are done with a
  /// stage so soon that reads of single stages are always on their way.
  static constexpr bool kWide = config.tile_m > 64 && kStages == 4;

  __device__ __forceinline__ void read_columns(Lane& scales) {
#pragma unroll
    for (int i = 0; i < kColumns; ++i)
      scales.columns[i] = ptx::ld_global<1>(of_column(i));
    b_ += b_step_;
  }
  __device__ __forceinline__ i32 row(int i) const {
    return i * 32 + lane_;
  }
  __device__ __forceinline__ i32 column(int i) const {
    return i * 32 + lane_;
  }
  // Rows and columns beyond the output have the last one's, and are not stored.
  __device__ __forceinline__ u64 of_row(int i) const {
    return address(p_.a_scales, a_, min(m_ + row(i), p_.m - 1) / config.a_scale_rows);
  }
  __device__ __forceinline__ u64 of_column(int i) const {
    const i32 n = n_ + min(column(i), To::kColumns - 1) * To::kTogether;
    return address(p_.b_scales, b_, min(n, p_.n - 1) / config.b_scale_columns);
  }
  __device__ __forceinline__ static u64 address(const abi::Sm90Scales& scales, i32 first,
                                                i32 other) {
    const u32 index = static_cast<u32>(first + other * scales.other_stride());
    return scales.address + static_cast<u64>(index) * 4;
  }
  __device__ __forceinline__ static i32 min(i32 x, i32 y) {
    return x < y ? x : y;
  }

  const Sm90GemmParameters& p_;
  i32 lane_;
  i32 m_;
  i32 n_;
  i32 a_step_;
  i32 b_step_;
  i32 a_;  ///< where the next stage's begin
  i32 b_;
  bool together_;
};

/// Brings the scales of stage after stage into shared memory, through registers: copies by cp.async
/// would have each lane arrive at the stage's barrier, which costs more than they save.
template <Sm90GemmConfig config>
class ScaleLoader {
  using Scales = ItemScales<config>;
  static constexpr int kStages = Scales::kStages;
  using Stages = typename Scales::Lane[kStages];

 public:
  __device__ __forceinline__ explicit ScaleLoader(const Shared<config>& shared)
      : shared_(shared), lane_(static_cast<i32>(ptx::laneid())) {}

  /// By one warp. The registers of a stage are read again as soon as they are stored, so that reads
  /// of kStages stages are always on their way; those that are read together, when all are stored.
  template <typename Item>
  __device__ __forceinline__ void fill(const Sm90GemmParameters& p, const Item& item,
                                       const Batches& l) {
    Scales scales(p, item, l, lane_);
    Stages stages;
    read(scales, stages, item.k_tiles);
#pragma unroll 1
    for (i32 left = item.k_tiles; left > 0; left -= kStages) {
#pragma unroll
      for (int i = 0; i < kStages; ++i) {
        if (i >= left) break;
        store(scales, stages[i]);
        if (!scales.together() && left - i > kStages) scales.read(stages[i]);
      }
      if (scales.together()) read(scales, stages, left - kStages);
    }
  }

 private:
  /// Those of the next stages, of which there are `left`.
  __device__ __forceinline__ static void read(Scales& scales, Stages& stages, i32 left) {
    if (scales.together() && left >= kStages) {
      scales.read(stages);
      return;
    }
#pragma unroll
    for (int i = 0; i < kStages; ++i) {
      if (i < left) scales.read(stages[i]);
    }
  }

  __device__ __forceinline__ void store(const Scales& scales, const typename Scales::Lane& stage) {
    const Ring<config.stages> ring = shared_.ring();
    ring.wait_empty(at_);
    scales.store({shared_.scales(at_.stage)}, stage);
    ptx::bar_warp_sync();
    if (lane_ == 0) ptx::mbarrier_arrive(ring.full(at_.stage));
    at_.advance();
  }

  const Shared<config>& shared_;
  i32 lane_;
  RingPosition<config.stages> at_;
};

/// Tiles of A and B as `Tiles` loads them, and their scales.
template <Sm90GemmConfig config, typename Tiles = TmaTiles<config>>
struct ScaledTiles : Tiles {
  /// Brings the scales of stage after stage. One warp calls it.
  template <typename Kernel>
  __device__ __forceinline__ static void bring_besides(const typename Kernel::Parameters& p,
                                                       const Cta<config>& cta) {
    ScaleLoader<config> loader(cta.shared);
    for (typename Kernel::Work work(p, cta.place); !work.done(); work.advance()) {
      const auto item = work.item();
      loader.fill(p, item, Tiles::batches(item));
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
  static constexpr int kMaxOverlapped = config.epilogue.columns > 0 ? 48 : 64;
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
