// How an sm_90 kernel computes products in groups, which the device alone knows.
//
// Where groups divide rows or columns of out, a tile begins where its group does or a whole number
// of tiles after: loads may read what follows the group, stores end with it. Where they divide K,
// what a stage holds beyond the group's end is cleared.
#pragma once

#include <estoc/abi/sm90_grouped_gemm.cuh>
#include <estoc/sm90/load.cuh>
#include <estoc/sm90/math.cuh>
#include <estoc/sm90/store.cuh>
#include <estoc/sm90/work.cuh>
#include <estoc/tile/group_work.cuh>

namespace estoc::sm90 {

using abi::GroupedMode;
using abi::Sm90GroupedGemmParameters;

/// What groups are cut into.
template <Sm90GemmConfig config>
using GroupedWork = GroupedTiles<config, Sm90GroupedGemmParameters>;
template <Sm90GemmConfig config>
using ReducedWork = ReducedGroups<config, Sm90GroupedGemmParameters>;

/// Tiles of A and B by TMA, those of the item's group.
template <Sm90GemmConfig config>
struct GroupedTmaTiles : TmaTiles<config> {
  using Tiles = TmaTiles<config>;

  __device__ __forceinline__ static Batches batches(const GroupedItem& item) {
    return {config.groups == GroupedMode::columns ? item.group : 0,
            config.groups == GroupedMode::rows ? item.group : 0};
  }

  __device__ __forceinline__ static void fill(const Sm90GemmParameters& p, const Cta<config>& cta,
                                              const GroupedItem& item, i32 step, u32 stage) {
    const u32 barrier = cta.shared.ring().full(stage);
    const Tile& tile = item.tile;
    const i32 k = item.k_begin + step * config.tile_k();
    const Batches l = batches(item);
    ptx::mbarrier_arrive_expect_tx(barrier, config.stage_bytes());
    Tiles::LoadA::issue(p.a, cta.shared.a(stage), barrier, tile.m, k, p.a_batched ? l.a : 0,
                        cta.place.n, cta.place.sharers_of_a());
    Tiles::LoadB::issue(p.b, cta.shared.b(stage), barrier, tile.n, k, p.b_batched ? l.b : 0,
                        cta.place.m, cta.place.sharers_of_b());
  }
};

/// Clears, in the first and in the last stage of a group, what is not the group's: its products
/// must be 0, so that no operand may keep an infinity.
template <Sm90GemmConfig config>
struct GroupReader : StageReader<config> {
  i32 stages;  ///< of the group
  i32 before;  ///< elements of K ahead of the group in the first one
  i32 last;    ///< where the group ends in the last one

  __device__ __forceinline__ void wait(const RingPosition<config.stages>& at, i32 left,
                                       bool loaded = false) const {
    StageReader<config>::wait(at, left, loaded);
    const i32 first = left == stages ? before : 0;
    const i32 end = left == 1 ? last : config.tile_k();
    if (first == 0 && end == config.tile_k()) return;
    const Shared<config>& shared = this->cta.shared;
    clear<config.tile_m, config.a_m_major>(shared.a(at.stage), first, end);
    clear<config.tile_n, config.b_n_major>(shared.b(at.stage), first, end);
    ptx::fence_proxy_async();
    ptx::bar_sync<kThreads>(kTogether ? 1 : 3 + this->consumer);
  }

 private:
  /// Cooperating consumers read the same B.
  static constexpr bool kTogether = config.schedule == Schedule::cooperative;
  static constexpr u32 kThreads = kTogether ? 256 : 128;

  __device__ __forceinline__ u32 own() const {
    return kTogether ? this->consumer * 128 + this->thread : this->thread;
  }

  /// Keeps elements [first, end) of K.
  template <int extent, bool mn_major>
  __device__ __forceinline__ void clear(u32 tile, i32 first, i32 end) const {
    GroupClear<extent, mn_major, config.tile_k(), abi::type_bytes(config.a)>::clear(
        tile, first, end, own(), kThreads);
  }
};

/// The sums of the K of one group.
template <Sm90GemmConfig config, typename Sums>
struct GroupedSums {
  template <typename Issued>
  __device__ __forceinline__ static void sum(
      Accumulators<config>& acc, const Sm90GemmParameters& /*p*/, const GroupedItem& item,
      RingPosition<config.stages>& at, const StageReader<config>& reader, const Issued& issued) {
    const GroupReader<config> own{reader, item.k_tiles, item.before(),
                                  item.template last<config.tile_k()>()};
    Sums::sum(acc, item.k_tiles, at, own, issued);
  }
};

/// Without an epilogue, where groups divide rows: whole boxes by TMA.
template <Sm90GemmConfig config>
struct BoundedTmaStore : TmaStore<config> {
  __device__ __forceinline__ static auto of(const Sm90GemmParameters& p,
                                            const epilogue::Identity& /*none*/, u32 staging,
                                            u32 barrier, u32 thread) {
    return TmaTileStore<WgmmaFragment, kTileShape<config>, config.out, BoundedSender>(
        BoundedSender{p.out, p.out_raw, p.n}, staging, barrier, thread);
  }
};

/// Element by element.
template <Sm90GemmConfig config>
struct BoundedDirectStore : DirectStore<config> {
  using Tiles = DirectTileStore<WgmmaFragment, kTileShape<config>, config.out>;
  struct Stores : Tiles {
    __device__ __forceinline__ explicit Stores(const Tiles& tiles) : Tiles(tiles) {}
    __device__ __forceinline__ void end_at(i32 end) {
      if constexpr (config.groups == GroupedMode::rows) this->end_rows_at(end);
      if constexpr (config.groups == GroupedMode::columns) this->end_columns_at(end);
    }
  };

  __device__ __forceinline__ static auto of(const Sm90GemmParameters& p,
                                            const epilogue::Identity& none, u32 staging,
                                            u32 barrier, u32 thread) {
    return Stores(DirectStore<config>::of(p, none, staging, barrier, thread));
  }
};

/// Through an epilogue.
template <Sm90GemmConfig config, typename E>
struct BoundedFusedStore : FusedStore<config, E> {
  using Fused = FusedStore<config, E>;
  __device__ __forceinline__ static auto of(const Sm90GemmParameters& p,
                                            const typename Fused::Epilogue& fused, u32 staging,
                                            u32 barrier, u32 thread) {
    return epilogue::TileEpilogue<typename Fused::Layout, E, config.groups, config.pair_columns()>(
        p.out, fused, staging, barrier, thread, p.m, p.n);
  }
};

/// The store of a configuration and an epilogue where groups divide out.
template <Sm90GemmConfig config, typename Epilogue>
struct BoundedStoreOf {
  using type = Either<config.tma_store, BoundedTmaStore<config>, BoundedDirectStore<config>>;
};
template <Sm90GemmConfig config, typename E>
struct BoundedStoreOf<config, epilogue::MappedFused<E>> {
  using type = BoundedFusedStore<config, E>;
};

}  // namespace estoc::sm90
