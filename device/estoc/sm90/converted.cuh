// How an sm_90 kernel multiplies by quantised rows of A: tiles of codes and their scales arrive as
// they are in memory, and consumers convert them to bf16 in registers, from which wgmma takes A.
//
// A thread converts 32 neighbouring bytes of a row of a stage, so that positions of K are not in
// the order of elements. B, a copy, lies in the order of positions (abi/dequantise.cuh).
#pragma once

#include <estoc/abi/dequantise.cuh>
#include <estoc/ptx/cp_async.cuh>
#include <estoc/ptx/math.cuh>
#include <estoc/ptx/warp.cuh>
#include <estoc/sm90/load.cuh>
#include <estoc/sm90/math.cuh>
#include <estoc/tile/fragment.cuh>

namespace estoc::sm90 {

/// Rows of a tile of A whose scales are together in shared memory: those of one tile of scales.
template <Sm90GemmConfig config>
inline constexpr i32 kScaleRows = config.tile_m < 128 ? config.tile_m : 128;

/// What a lane copies of the scales of kScaleRows of A: four at a time that are neighbours along K
/// or beside it. In shared memory the same modes are contiguous, of whole tiles. Scales beyond the
/// operand are zero.
template <Sm90GemmConfig config>
class ScaleCopies {
 public:
  /// `first`: of the rows in the tile.
  __device__ __forceinline__ ScaleCopies(const Sm90GemmParameters& p, const Tile& tile, i32 first)
      : p_(p), along_k_(p.a_scales.pitch >= 0) {
    const i32 lane = static_cast<i32>(ptx::tid() % 32);
    const i32 row = tile.m + first + (along_k_ ? lane / kFours : lane % kFourRows * 4);
    const i32 k = along_k_ ? lane % kFours * 4 : lane / kFourRows;
    const i32 all = (p.k + config.a_scale_k - 1) / config.a_scale_k;
    rows_ = p.m - row;
    blocks_ = all - k;
    from_ = p.a_scales.address +
            static_cast<u64>(tile.l) * static_cast<u64>(p.a_scales.batch_stride) +
            offset_of(p.a_scales.pitch, all, row, k);
  }

  __device__ __forceinline__ void issue(i32 k_tile, u32 shared) const {
    const i32 pitch = p_.a_scales.pitch;
    const i32 first = k_tile * config.row_scales();
    const i32 blocks = blocks_ - first;
    const i32 left = along_k_ ? blocks : rows_;
    const i32 count = along_k_ ? copies_of(rows_, kRowStep) : copies_of(blocks, kBlockStep);
    const u32 bytes = left < 4 ? static_cast<u32>(left) : 4;
    const u32 step = static_cast<u32>(along_k_ ? pitch : -pitch) *
                     static_cast<u32>(along_k_ ? kRowStep : kBlockStep);
    // Tiles of four along K are 512 bytes each.
    const i32 step_k = pitch == 0 ? 128 : along_k_ ? 1 : -pitch;
    const u64 from = from_ + static_cast<u64>(static_cast<i64>(first) * step_k);
    const u32 to = shared + ptx::tid() % 32 * 4;
#pragma unroll
    for (u32 i = 0; i < kCopies; ++i) {
      const bool inside = left > 0 && static_cast<i32>(i) < count;
      const u32 offset = pitch == 0 ? tile_offset(i * kRowStep) : i * step;
      ptx::cp_async<4>(to + i * 128, inside ? from + offset : p_.a_scales.address,
                       inside ? bytes : 0);
    }
  }

 private:
  static constexpr i32 kFours = config.row_scales() / 4;  ///< of scales, in a row of a stage
  static constexpr i32 kFourRows = kScaleRows<config> / 4;
  static constexpr i32 kCopies = kScaleRows<config> * kFours / 32;
  static constexpr i32 kRowStep = 32 / kFours;  ///< from copy to copy of scales along K
  static constexpr i32 kBlockStep = 32 / kFourRows;

  /// That begin in so many rows or blocks.
  __device__ __forceinline__ static i32 copies_of(i32 extent, i32 step) {
    return (extent + step - 1) / step;
  }
  /// Of the scale of a row that is number `k` of `all` along K.
  __device__ __forceinline__ static u64 offset_of(i32 pitch, i32 all, i32 row, i32 k) {
    if (pitch > 0) return static_cast<u64>(static_cast<i64>(row) * pitch + k);
    if (pitch < 0) return static_cast<u64>(static_cast<i64>(k) * -pitch + row);
    const i64 tile = static_cast<i64>(row / 128) * ((all + 3) / 4) + k / 4;
    return static_cast<u64>(tile * 512) + tile_offset(static_cast<u32>(row) % 128);
  }
  /// Of a row's scales in a tile of 128 x 4.
  __device__ static constexpr u32 tile_offset(u32 row) {
    return row % 32 * 16 + row / 32 * 4;
  }

  const Sm90GemmParameters& p_;
  bool along_k_;
  i32 rows_;    ///< of the operand from the lane's first on
  i32 blocks_;  ///< along K likewise
  u64 from_;
};

/// Codes of A as bytes and tiles of B by TMA, scales by a warp's cp.async.
template <Sm90GemmConfig config>
struct ConvertedTiles {
  static constexpr int kBoxColumns = 64;  ///< of B: 128 bytes
  static constexpr u32 kBoxBytes = config.tile_n * kSwizzleRow;
  static_assert(config.cluster_size() == 1 && !config.a_m_major && !config.b_n_major);

  /// Also brings the first codes into the L2 cache, while the launch before copies B.
  __device__ __forceinline__ static void prefetch(const Sm90GemmParameters& p) {
    TmaTiles<config>::prefetch(p);
    constexpr i32 kMaxSteps = (128 << 10) / config.a_bytes();
    const PersistentTiles<config> work(p, {});
    if (work.done()) return;
    const Item item = work.item();
    for (i32 step = 0; step < item.k_tiles && step < kMaxSteps; ++step) {
      const i32 at[3] = {item.k_tile(step) * kSwizzleRow, item.tile.m,
                         p.a_batched ? item.tile.l : 0};
      ptx::cp_async_bulk_prefetch_tensor<3>(p.a, at);
    }
  }

  __device__ __forceinline__ static void fill(const Sm90GemmParameters& p, const Cta<config>& cta,
                                              const Item& item, i32 step, u32 stage) {
    const u32 barrier = cta.shared.ring().full(stage);
    const Tile& tile = item.tile;
    const i32 k_tile = item.k_tile(step);
    ptx::mbarrier_arrive_expect_tx(barrier, config.stage_bytes());
    const i32 at_a[3] = {k_tile * kSwizzleRow, tile.m, p.a_batched ? tile.l : 0};
    ptx::cp_async_bulk_tensor_load<3>(cta.shared.a(stage), p.a, barrier, at_a);
#pragma unroll
    for (int box = 0; box < config.tile_k() / kBoxColumns; ++box) {
      const i32 at_b[3] = {k_tile * config.tile_k() + box * kBoxColumns, tile.n,
                           p.b_batched ? tile.l : 0};
      ptx::cp_async_bulk_tensor_load<3>(cta.shared.b(stage) + static_cast<u32>(box) * kBoxBytes,
                                        p.b, barrier, at_b);
    }
  }

  /// Brings the scales of stage after stage. One warp calls it.
  template <typename Kernel>
  __device__ __forceinline__ static void bring_besides(const Sm90GemmParameters& p,
                                                       const Cta<config>& cta) {
    const Ring<config.stages> ring = cta.shared.ring();
    RingPosition<config.stages> at;
    RingPosition<config.stages> next;  // whose copies were not waited for yet
    i32 pending = 0;
    for (typename Kernel::Work work(p, cta.place); !work.done(); work.advance()) {
      const auto item = work.item();
      constexpr i32 kRows = kScaleRows<config>;
      const ScaleCopies<config> copies(p, item.tile, 0);
      const ScaleCopies<config> below(p, item.tile, kRows);
#pragma unroll 1
      for (i32 step = 0; step < item.k_tiles; ++step, at.advance()) {
        ring.wait_empty(at);
        const u32 scales = cta.shared.scales(at.stage);
        copies.issue(item.k_tile(step), scales);
        if constexpr (kRows < config.tile_m)
          below.issue(item.k_tile(step), scales + kRows * config.row_scales());
        ptx::cp_async_commit_group();
        if (pending++ < kPending) continue;
        ptx::cp_async_wait_group<kPending>();
        arrive(ring, next);
        --pending;
      }
    }
    ptx::cp_async_wait_all();
    for (; pending > 0; --pending)
      arrive(ring, next);
  }

 private:
  /// Stages whose scales are on their way while others are waited for. A stage is released when the
  /// next one is there, so all but two may be, and half of them leave the ring its use.
  static constexpr int kPending = config.stages >= 8 ? 3 : config.stages / 2 - 1;

  /// Once for the warp: an arrival of each lane costs more than the wait before it.
  __device__ __forceinline__ static void arrive(const Ring<config.stages>& ring,
                                                RingPosition<config.stages>& next) {
    ptx::bar_warp_sync();
    if (ptx::tid() % 32 == 0) ptx::mbarrier_arrive(ring.full(next.stage));
    next.advance();
  }
};

/// Codes of 4 or 8 bits as pairs of bf16. A word of codes has kPairs pairs; pair i is of codes i
/// and i + kPairs.
template <Type type>
struct CodePairs {
  static constexpr int kBits = abi::type_bits(type);
  static constexpr int kPairs = 16 / kBits;
  static constexpr int kMantissa = type == Type::e4m3 ? 3 : type == Type::e5m2 ? 2 : 1;
  /// The bias of bf16 less that of the codes: their bits in place are values times 2^-kShort.
  static constexpr int kShort = 127 - ((1 << (kBits - kMantissa - 2)) - 1);

  /// Pair i, times 2^-kShort, but for special codes.
  __device__ __forceinline__ static u32 raw(u32 codes, int i) {
    constexpr u32 kMagnitude = ((1u << (kBits - 1)) - 1) << (7 - kMantissa);
    const u32 magnitude = shifted(codes, 7 - kMantissa - kBits * i) & (kMagnitude * 0x10001u);
    const u32 sign = shifted(codes, 16 - kBits - kBits * i) & 0x80008000u;
    return sign | magnitude;
  }
  /// Bits for the raw pair that make NaN of e4m3's largest code, and infinities and NaN of e5m2's
  /// largest exponent.
  __device__ __forceinline__ static u32 special(u32 codes, int i) {
    constexpr u32 kBitsThere = type == Type::e4m3 ? 0x7fffu : 0x7f80u;
    return (carried(codes) >> (7 + 8 * i) & 0x10001u) * kBitsThere;
  }
  /// Whose highest bits of bytes say which codes are special.
  __device__ __forceinline__ static u32 carried(u32 codes) {
    constexpr u32 kOne = type == Type::e4m3 ? 0x01010101u : 0x04040404u;
    return (codes & 0x7f7f7f7fu) + kOne;
  }
  /// 2^kShort, twice.
  static constexpr u32 kUp = static_cast<u32>(127 + kShort) << 7 | static_cast<u32>(127 + kShort)
                                                                       << 23;

 private:
  __device__ __forceinline__ static u32 shifted(u32 bits, int left) {
    return left >= 0 ? bits << left : bits >> -left;
  }
};

/// The rows of a stage that a thread of a consumer converts: one of a fragment's first eight, and
/// the one 8 below.
template <Sm90GemmConfig config>
class ConvertedRows {
 public:
  using Pairs = CodePairs<config.a>;
  static constexpr int kSteps = config.tile_k() / 16;   ///< instructions of a stage
  static constexpr int kWordSteps = Pairs::kPairs / 2;  ///< that a word of codes is for
  /// Scales of e4m3 are up to 448, and times 2^kShort beyond bf16: sums are so much too small.
  static constexpr int kLeft = config.a_scale_k == 16 ? 8 : 0;

  __device__ __forceinline__ ConvertedRows(const StageReader<config>& reader, u32 stage,
                                           bool along_k) {
    const auto& [cta, consumer, thread] = reader;
    const u32 row = consumer * 64 + Quad<4>::of(thread).row;
    const u32 lane = thread % 4;
#pragma unroll
    for (int g = 0; g < 2; ++g) {
      const u32 own = row + static_cast<u32>(g) * 8;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        codes_[g][half] =
            ptx::ld_shared<4>(cta.shared.a(stage) +
                              swizzled<kSwizzleRow>(own, lane * 32 + static_cast<u32>(half) * 16));
      }
      if constexpr (config.a_scale_k > 0) {
        load_scales(g, cta.shared.scales(stage), own, lane, along_k);
      }
    }
    if constexpr (Pairs::kBits == 8) special_ = has_special();
  }

  /// A of instructions `first` and the ones behind it.
  template <int count>
  __device__ __forceinline__ void convert(int first, u32 (&a)[count][4]) const {
    each(
        first, a, [](u32 & value, u32 codes, int pair, int, int) __attribute__((always_inline)) {
          value = Pairs::raw(codes, pair);
        });
    if constexpr (Pairs::kBits == 8) {
      // Seldom: a copy of the loop costs less than its instructions.
      if (special_) {
        each(
            first, a,
            [](u32 & value, u32 codes, int pair, int, int)
                __attribute__((always_inline)) { value |= Pairs::special(codes, pair); });
      }
    }
    each(
        first, a, [this](u32 & value, u32, int, int g, int word) __attribute__((always_inline)) {
          value = scaled(value, g, word);
        });
  }

 private:
  static constexpr int kScales = config.row_scales() / 4;  ///< of a thread in a row

  /// Calls action(register, word of codes, pair in it, row, number of the word) for each register.
  template <int count, typename Action>
  __device__ __forceinline__ void each(int first, u32 (&a)[count][4], const Action& action) const {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const int word = (first + i) / kWordSteps;
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        const int g = x % 2;
        action(a[i][x], codes_[g][word / 4].word[word % 4], (first + i) % kWordSteps * 2 + x / 2, g,
               word);
      }
    }
  }

  __device__ __forceinline__ bool has_special() const {
    u32 carried = 0;
#pragma unroll
    for (int i = 0; i < 16; ++i)
      carried |= Pairs::carried(codes_[i / 8][i / 4 % 2].word[i % 4]);
    return (carried & 0x80808080u) != 0;
  }

  __device__ __forceinline__ u32 scaled(u32 raw, int g, int word) const {
    if constexpr (kLeft > 0) return ptx::mul_rn_bf16x2(raw, scales_[g][word * kScales / 8]);
    const u32 value = ptx::mul_rn_bf16x2(raw, Pairs::kUp);
    if constexpr (config.a_scale_k == 0) return value;
    return ptx::mul_rn_bf16x2(value, scales_[g][word * kScales / 8]);
  }

  __device__ __forceinline__ void load_scales(int g, u32 shared, u32 row, u32 lane, bool along_k) {
    u32 four = 0;
    if (along_k) {
      const u32 at = row * config.row_scales() + lane * kScales;
      four = ptx::ld_shared<1>(shared + (at & ~3u)).word[0] >> at % 4 * 8;
    } else {
      constexpr u32 kRows = kScaleRows<config>;
      const u32 first = shared + row / kRows * kRows * config.row_scales() + row % kRows;
#pragma unroll
      for (u32 i = 0; i < kScales; ++i)
        four |= ptx::ld_shared_u8(first + (lane * kScales + i) * kRows) << 8 * i;
    }
#pragma unroll
    for (int i = 0; i < kScales; ++i)
      scales_[g][i] = factor(four >> 8 * i);
  }
  /// The scale in the low bits, twice.
  __device__ __forceinline__ static u32 factor(u32 bits) {
    float value;
    if constexpr (kLeft > 0) {
      constexpr float kUp = 0x1p118f;
      static_assert(Pairs::kShort - kLeft == 118);
      value = ptx::cvt_f32_f16(ptx::cvt_rn_f16x2_e4m3x2(bits & 0xff) & 0xffff) * kUp;
    } else {
      value = decode_f32<Type::e8m0>(bits & 0xff);
    }
    return ptx::cvt_rn_bf16x2_f32(value, value);
  }

  Words<4> codes_[2][2];
  u32 scales_[2][kScales > 0 ? kScales : 1];
  bool special_ = false;  ///< there are codes of 8 bits that are no numbers
};

/// Sums of products with rows of A that are converted while the tensor cores multiply those before.
template <Sm90GemmConfig config>
struct ConvertedSums {
  using Rows = ConvertedRows<config>;
  /// Two sets of registers take turns. With more than two groups ptxas serialises the products.
  static constexpr int kGroups = 2;
  static constexpr int kTogether = Rows::kSteps / kGroups;  ///< instructions
  static_assert(Accumulators<config>::kBlocks == 1);

  template <typename Issued>
  __device__ __forceinline__ static void sum(Accumulators<config>& acc, const Sm90GemmParameters& p,
                                             const Item& item, RingPosition<config.stages>& at,
                                             const StageReader<config>& reader,
                                             const Issued& issued) {
    if (item.k_tiles == 0) acc.clear();
    u32 a[kGroups][kTogether][4];
    u32 last = at.stage;
#pragma unroll 1
    for (i32 step = 0; step < item.k_tiles; ++step, at.advance()) {
      reader.wait(at, item.k_tiles - step);
      const Rows rows(reader, at.stage, p.a_scales.pitch >= 0);
      const u32 b = reader.cta.shared.b(at.stage);
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        // The products of the group before the last are done with these registers.
        rows.convert(group * kTogether, a[group]);
        // Ahead of the fence, and not between instructions.
#pragma unroll
        for (int i = 0; i < kTogether; ++i)
          ptx::acc_use(a[group][i]);
        multiply(acc, a[group], b, group, step > 0);
        ptx::wgmma_wait_group<1>();
        if (group == 0 && step > 0) reader.release(last);
      }
      last = at.stage;
    }
    issued();
    ptx::wgmma_wait_group<0>();
    acc.use();
    if (item.k_tiles > 0) reader.release(last);
    if constexpr (Rows::kLeft > 0) acc.scale(static_cast<float>(1 << Rows::kLeft));
  }

 private:
  using LayoutB = OperandLayout<false, 64>;

  __device__ __forceinline__ static void multiply(Accumulators<config>& acc,
                                                  const u32 (&a)[kTogether][4], u32 b, int group,
                                                  bool add) {
    const u64 descriptor = LayoutB::descriptor(b);
    ptx::wgmma_fence();
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      const int step = group * kTogether + i;
      const u32 offset = static_cast<u32>(step / 4) * ConvertedTiles<config>::kBoxBytes +
                         static_cast<u32>(step % 4) * LayoutB::kStepK;
      ptx::wgmma_mma_async<config.b, config.b>(acc.block[0], a[i], descriptor + (offset >> 4),
                                               add || step > 0);
    }
    ptx::wgmma_commit_group();
  }
};

}  // namespace estoc::sm90
