// How a warpgroup of an sm_100 kernel takes sums out of tensor memory, and stores them.
#pragma once

#include <estoc/epilogue/tile.cuh>
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/tcgen05_memory.cuh>
#include <estoc/sm100/cta.cuh>
#include <estoc/tile/store.cuh>

namespace estoc::sm100 {

using abi::GroupedMode;

/// Lets the next products have what this warp has taken of the sums.
template <Sm100GemmConfig config>
struct SumsRelease {
  const Cta<config>& cta;
  u32 barrier;

  __device__ __forceinline__ void operator()() const {
    ptx::tcgen05_fence_before_thread_sync();
    ptx::bar_warp_sync();
    if (ptx::laneid() != 0) return;
    if constexpr (config.group == 1) {
      ptx::mbarrier_arrive(barrier);
    } else {
      ptx::mbarrier_arrive_cluster(barrier, cta.number(cta.where, 0));
    }
  }
};

/// The sums of a tile: a row of 16 columns at a time comes to a thread. Where those of two tiles
/// overlap, the first half is taken first, and then released.
template <Sm100GemmConfig config>
struct TensorSums {
  using Value = Compute<config.accumulator>;

  u32 address;  ///< of this warp's lanes
  u32 turn;     ///< the tile's number among those of the CTA, modulo 2
  SumsRelease<config> release;

  /// Columns `column` to column + 15. All threads of a warp call it.
  __device__ __forceinline__ void take(Value (&values)[16], u32 column) const {
    u32 words[16];
    ptx::tcgen05_ld<abi::TensorShape::lanes32x32, 16>(words, place(column));
    ptx::tcgen05_wait_ld();
    ptx::tcgen05_use(words);
    if (config.overlaps() && column + 16 == kHalf) release();
#pragma unroll
    for (int i = 0; i < 16; ++i)
      values[i] = bit_cast<Value>(words[i]);
  }
  /// Of a column, in tensor memory.
  __device__ __forceinline__ u32 place(u32 column) const {
    if (!config.overlaps()) return address + column;
    return address + column + (column < kHalf || turn == 0 ? kHalf : -kHalf);
  }

 private:
  static constexpr u32 kHalf = config.tile_n / 2;
};

/// The same where sums overlap and columns are known when compiling: half of them wait in
/// registers, so that the next tile's products begin at once.
template <Sm100GemmConfig config>
class HeldSums {
 public:
  using Value = Compute<config.accumulator>;

  __device__ __forceinline__ explicit HeldSums(const TensorSums<config>& sums) : sums_(sums) {}

  /// Columns come in their order.
  __device__ __forceinline__ void take(Value (&values)[16], u32 column) const {
    if (column % kHalf == 0) {
      ptx::tcgen05_ld<abi::TensorShape::lanes32x32, kHalf>(held_, sums_.place(column));
      ptx::tcgen05_wait_ld();
      ptx::tcgen05_use(held_);
      if (column == 0) sums_.release();
    }
#pragma unroll
    for (u32 i = 0; i < 16; ++i)
      values[i] = bit_cast<Value>(held_[column % kHalf + i]);
  }

 private:
  static constexpr u32 kHalf = config.tile_n / 2;

  TensorSums<config> sums_;
  mutable u32 held_[kHalf];
};

/// Where there is no K, there is nothing in tensor memory.
template <typename Sum>
struct NoSums {
  using Value = Sum;

  __device__ __forceinline__ void take(Value (&values)[16], u32 /*column*/) const {
#pragma unroll
    for (int i = 0; i < 16; ++i)
      values[i] = 0;
  }
};

/// Sends boxes by TMA; where groups divide rows, as far as the group has them.
template <bool bounded>
struct SenderOf {
  using type = TmaSender;
  __device__ __forceinline__ static TmaSender of(const Sm100GemmParameters& p) { return p.out; }
};
template <>
struct SenderOf<true> {
  using type = BoundedSender;
  __device__ __forceinline__ static BoundedSender of(const Sm100GemmParameters& p) {
    return {p.out, p.out_raw, p.n};
  }
};

/// Without an epilogue, through shared memory by TMA.
template <Sm100GemmConfig config>
class TmaStore {
 public:
  using Epilogue = epilogue::Identity;
  static constexpr bool kLoads = false;
  static constexpr bool kHolds = config.overlaps();
  static constexpr TileShape kShape{config.kRows, config.tile_n, config.store_columns()};
  using Sender = SenderOf<config.groups == GroupedMode::rows>;

  __device__ __forceinline__ TmaStore(const Sm100GemmParameters& p, const Epilogue& /*none*/,
                                      const Cta<config>& cta, u32 thread)
      : store_(Sender::of(p), cta.staging(), 1, thread) {}
  template <typename Sums>
  __device__ __forceinline__ void store(const Sums& sums, const Tile& at) {
    const Sums blocks[1] = {sums};
    store_.store(blocks, at);
  }
  /// Where the group's rows end from now on.
  __device__ __forceinline__ void end_at(i32 end) { store_.end_at(end); }
  __device__ __forceinline__ void finish() const { store_.finish(); }

 private:
  TmaTileStore<RowFragment<4>, kShape, config.out, typename Sender::type> store_;
};

/// Without an epilogue, element by element.
template <Sm100GemmConfig config>
class DirectStore {
 public:
  using Epilogue = epilogue::Identity;
  static constexpr bool kLoads = false;
  static constexpr bool kHolds = false;  ///< columns come in a loop

  __device__ __forceinline__ DirectStore(const Sm100GemmParameters& p, const Epilogue& /*none*/,
                                         const Cta<config>& /*cta*/, u32 thread)
      : p_(p), thread_(thread), rows_(p.m), columns_(p.n) {}
  template <typename Sums>
  __device__ __forceinline__ void store(const Sums& sums, const Tile& at) const {
    constexpr int kBytes = abi::type_bytes(config.out);
    const abi::Matrix& out = p_.out_raw;
    const i32 m = at.m + static_cast<i32>(thread_);
    const u64 row =
        out.address + static_cast<u64>((at.l * out.batch_stride + m * out.row_stride) * kBytes);
    for (int column = 0; column < config.tile_n; column += 16) {
      typename Sums::Value values[16];
      sums.take(values, column);
      if (m >= rows_) continue;
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        const i32 n = at.n + column + i;
        if (n >= columns_) continue;
        store_element<config.out>(row + static_cast<u64>(n * out.column_stride * kBytes),
                                  values[i]);
      }
    }
  }
  /// Where the group's rows, or columns, end from now on.
  __device__ __forceinline__ void end_at(i32 end) {
    (config.groups == GroupedMode::rows ? rows_ : columns_) = end;
  }
  __device__ __forceinline__ void finish() const {}

 private:
  const Sm100GemmParameters& p_;
  u32 thread_;
  i32 rows_;
  i32 columns_;
};

/// Through an epilogue, whose inputs a warp brings.
template <Sm100GemmConfig config, typename E>
class FusedStore {
 public:
  using Epilogue = epilogue::MappedFused<E>;
  static constexpr bool kLoads = config.epilogue.loads();
  static constexpr bool kHolds = false;
  static constexpr TileShape kShape{config.kRows, config.tile_n, config.store_columns()};
  using Layout = epilogue::EpilogueLayout<RowFragment<4>, kShape, config.epilogue, E>;
  using Loader = epilogue::TileLoader<Layout, E>;

  __device__ __forceinline__ FusedStore(const Sm100GemmParameters& p, const Epilogue& fused,
                                        const Cta<config>& cta, u32 thread)
      : tile_(p.out, fused, cta.staging(), 1, thread, p.m, p.n) {}
  template <typename Sums>
  __device__ __forceinline__ void store(const Sums& sums, const Tile& at) {
    const Sums blocks[1] = {sums};
    tile_.store(blocks, at);
  }
  /// Where the group's rows, or columns, end from now on.
  __device__ __forceinline__ void end_at(i32 end) { tile_.end_at(end); }
  __device__ __forceinline__ void finish() const { tile_.finish(); }

 private:
  epilogue::TileEpilogue<Layout, E, config.groups> tile_;
};

/// The store of a configuration and an epilogue.
template <Sm100GemmConfig config, typename Epilogue>
struct StoreOf {
  using type = TmaStore<config>;
};
template <Sm100GemmConfig config, typename Epilogue>
requires(!config.tma_store) struct StoreOf<config, Epilogue> {
  using type = DirectStore<config>;
};
template <Sm100GemmConfig config, typename E>
requires(config.epilogue.columns > 0) struct StoreOf<config, epilogue::MappedFused<E>> {
  using type = FusedStore<config, E>;
};

}  // namespace estoc::sm100
