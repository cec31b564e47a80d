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
#include <estoc/tile/groups.cuh>

namespace estoc::sm90 {

using abi::GroupedMode;
using abi::Sm90GroupedGemmParameters;

/// An item of a product in groups.
struct GroupedItem : Item {
  i32 group;    ///< its number; that of all groups where it is in none
  i32 k_begin;  ///< where its first K tile begins
  i32 begin;    ///< of the group along the mode that is divided
  i32 end;
};

/// The parts of the mode, groups and what is between them, and the rest behind the last one. Where
/// parts end is in shared memory, unless they are more than there is room for: then offsets are
/// read again. There too is the number of all tiles of clusters.
template <Sm90GemmConfig config>
class GroupTable {
 public:
  using Parameters = Sm90GroupedGemmParameters;

  __device__ __forceinline__ static u32 tiles() {
    return ptx::ld_shared<1>(word(config.kMostGroups)).word[0];
  }
  /// Where a part ends that begins at `begin`.
  __device__ __forceinline__ static u32 end_of(const Parameters& p, u32 part, u32 begin) {
    if (part >= p.groups.parts()) {
      return p.groups.zero_rest != 0 ? static_cast<u32>(p.groups.extent) : begin;
    }
    if (has_room(p)) return ptx::ld_shared<1>(word(part)).word[0];
    return detail::largest(begin, detail::boundary_of(p.groups, part));
  }
  /// Tiles of clusters along the mode that is divided.
  __device__ __forceinline__ static u32 tiles_between(u32 begin, u32 end) {
    return (end - begin + kTile - 1) / kTile;
  }

  /// All threads of the CTA write it; `across`: tiles of clusters along the other mode.
  __device__ __forceinline__ static void write(const Parameters& p, u32 across) {
    const u32 count = p.groups.parts();
    if (has_room(p)) {
      for (u32 part = ptx::tid(); part < count; part += config.threads())
        put(part, detail::boundary_of(p.groups, part));
      ptx::barrier_sync();
    }
    if (ptx::tid() / 32 == 0) finish(p, count, across);
    ptx::barrier_sync();
  }

 private:
  static constexpr u32 kTile = config.groups == GroupedMode::columns
                                   ? config.tile_n * config.cluster_n
                                   : config.tile_m * config.cluster_m;

  __device__ __forceinline__ static bool has_room(const Parameters& p) {
    return p.groups.parts() <= config.kMostGroups;
  }
  __device__ __forceinline__ static u32 word(u32 index) {
    return Shared<config>{}.table() + 4 * index;
  }
  __device__ __forceinline__ static void put(u32 index, u32 value) {
    ptx::st_shared<1>(word(index), Words<1>{value});
  }

  /// Ends are the largest boundaries so far. Each thread of a warp has some parts, one after the
  /// other.
  __device__ __forceinline__ static void finish(const Parameters& p, u32 count, u32 across) {
    const u32 lane = ptx::tid() % 32;
    const u32 each = (count + 31) / 32;
    const u32 first = lane * each;
    const u32 last = first + each < count ? first + each : count;
    u32 largest = 0;
#pragma unroll 1
    for (u32 part = first; part < last; ++part)
      largest = detail::largest(largest, end_of(p, part, 0));
#pragma unroll
    for (u32 step = 1; step < 32; step *= 2) {
      const u32 before = ptx::shfl_sync_up(largest, step);
      if (lane >= step) largest = detail::largest(largest, before);
    }
    const u32 before = ptx::shfl_sync_up(largest, 1);
    u32 at = lane == 0 ? 0 : before;
    u32 tiles = 0;
#pragma unroll 1
    for (u32 part = first; part < last; ++part) {
      const u32 end = detail::largest(at, end_of(p, part, 0));
      if (has_room(p)) put(part, end);
      if (detail::counts(p.groups, part)) tiles += tiles_between(at, end);
      at = end;
    }
    if (lane == 31) tiles += tiles_between(largest, end_of(p, count, largest));
#pragma unroll
    for (u32 mask = 16; mask > 0; mask /= 2)
      tiles += ptx::shfl_sync_bfly(tiles, mask);
    if (lane == 0) put(config.kMostGroups, tiles * across);
  }
};

/// A part, from which the search for the next one goes on.
template <Sm90GemmConfig config>
struct PartOfGroups {
  using Table = GroupTable<config>;
  u32 number = 0;
  u32 begin = 0;
  u32 end = 0;

  __device__ __forceinline__ static PartOfGroups first(const Sm90GroupedGemmParameters& p) {
    return {0, 0, Table::end_of(p, 0, 0)};
  }
  __device__ __forceinline__ void advance(const Sm90GroupedGemmParameters& p) {
    ++number;
    begin = end;
    end = Table::end_of(p, number, begin);
  }
  __device__ __forceinline__ u32 tiles(const Sm90GroupedGemmParameters& p) const {
    return detail::counts(p.groups, number) ? Table::tiles_between(begin, end) : 0;
  }
};

/// Deals the tiles of all groups, one group after the other, to clusters in turn. Tiles of a group
/// are rasterised as those of a product of its own.
template <Sm90GemmConfig config>
class GroupedTiles {
 public:
  static constexpr bool kBounded = true;
  static constexpr bool kByRows = config.groups == GroupedMode::rows;
  using Table = GroupTable<config>;

  __device__ __forceinline__ static void prepare(const Sm90GroupedGemmParameters& p,
                                                 const Shared<config>& /*shared*/) {
    Table::write(p, static_cast<u32>(kByRows ? p.tiles_n : p.tiles_m));
  }

  __device__ __forceinline__ GroupedTiles(const Sm90GroupedGemmParameters& p,
                                          const ClusterPlace<config>& place)
      : p_(p),
        place_(place),
        next_(ptx::ctaid_x() / config.cluster_size()),
        step_(ptx::nctaid_x() / config.cluster_size()),
        part_(PartOfGroups<config>::first(p)) {
    find();
  }

  __device__ __forceinline__ bool done() const { return next_ >= Table::tiles(); }
  __device__ __forceinline__ bool more() const { return next_ + step_ < Table::tiles(); }
  __device__ __forceinline__ void advance() {
    next_ += step_;
    find();
  }
  /// The rest is a product of no terms.
  __device__ __forceinline__ i32 k_tiles() const {
    const bool in_group = p_.groups.group_of(part_.number) < p_.groups.count;
    return in_group ? (p_.k + config.tile_k() - 1) / config.tile_k() : 0;
  }
  __device__ __forceinline__ GroupedItem item() const {
    const u32 along = Table::tiles_between(part_.begin, part_.end);
    const i32 begin = static_cast<i32>(part_.begin);
    const TileRaster raster{kByRows ? along : static_cast<u32>(p_.tiles_m),
                            kByRows ? static_cast<u32>(p_.tiles_n) : along,
                            static_cast<u32>(p_.group), p_.along_n};
    const TileIndex at = raster.at(next_ - first_);
    const i32 m = static_cast<i32>(at.m * config.cluster_m + place_.m) * config.tile_m;
    const i32 n = static_cast<i32>(at.n * config.cluster_n + place_.n) * config.tile_n;
    const Tile tile{0, kByRows ? begin + m : m, kByRows ? n : begin + n};
    return {{tile, k_tiles(), false, 0, -1},
            static_cast<i32>(p_.groups.group_of(part_.number)),
            0,
            begin,
            static_cast<i32>(part_.end)};
  }

 private:
  /// Goes on to the part of the next tile.
  __device__ __forceinline__ void find() {
    if (done()) return;
    const u32 across = static_cast<u32>(kByRows ? p_.tiles_n : p_.tiles_m);
#pragma unroll 1
    while (true) {
      const u32 tiles = part_.tiles(p_) * across;
      if (next_ - first_ < tiles) return;
      first_ += tiles;
      part_.advance(p_);
    }
  }

  const Sm90GroupedGemmParameters& p_;
  ClusterPlace<config> place_;
  u32 next_;
  u32 step_;
  PartOfGroups<config> part_;  // a group, or what is in none
  u32 first_ = 0;              // tile of the part
};

/// Deals the tiles of batches of out, each of which sums up the K of one group.
template <Sm90GemmConfig config>
class ReducedGroups {
 public:
  static constexpr bool kBounded = false;
  using Table = GroupTable<config>;

  __device__ __forceinline__ static void prepare(const Sm90GroupedGemmParameters& p,
                                                 const Shared<config>& /*shared*/) {
    Table::write(p, 0);
  }

  __device__ __forceinline__ ReducedGroups(const Sm90GroupedGemmParameters& p,
                                           const ClusterPlace<config>& place)
      : p_(p),
        place_(place),
        next_(ptx::ctaid_x() / config.cluster_size()),
        step_(ptx::nctaid_x() / config.cluster_size()),
        part_(PartOfGroups<config>::first(p)) {
    find();
  }

  __device__ __forceinline__ bool done() const { return next_ >= p_.items; }
  __device__ __forceinline__ bool more() const { return next_ + step_ < p_.items; }
  __device__ __forceinline__ void advance() {
    next_ += step_;
    find();
  }
  __device__ __forceinline__ i32 k_tiles() const {
    if (part_.begin == part_.end) return 0;
    return static_cast<i32>((part_.end - first_k() + config.tile_k() - 1) / config.tile_k());
  }
  __device__ __forceinline__ GroupedItem item() const {
    const Tile tile = tile_at<config>(p_, place_, next_);
    return {{tile, k_tiles(), false, static_cast<i32>(first_k()) / config.tile_k(), -1},
            tile.l,
            static_cast<i32>(first_k()),
            static_cast<i32>(part_.begin),
            static_cast<i32>(part_.end)};
  }

 private:
  /// Goes on to the part of the next item's batch.
  __device__ __forceinline__ void find() {
    if (done()) return;
    const u32 group = next_ / static_cast<u32>(p_.tiles_m * p_.tiles_n);
    const u32 part = p_.groups.part_of(group);
#pragma unroll 1
    while (part_.number < part)
      part_.advance(p_);
  }
  /// Where K is contiguous, a box begins with a whole chunk of 16 bytes; a stage of scaled operands
  /// with a block that shares a scale.
  __device__ __forceinline__ u32 first_k() const {
    constexpr u32 kChunk = config.scaled() ? config.tile_k() : 16 / abi::type_bytes(config.a);
    return config.a_m_major && config.b_n_major ? part_.begin : part_.begin / kChunk * kChunk;
  }

  const Sm90GroupedGemmParameters& p_;
  ClusterPlace<config> place_;
  u32 next_;
  u32 step_;
  PartOfGroups<config> part_;
};

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

  __device__ __forceinline__ void wait(const RingPosition<config.stages>& at, i32 left) const {
    StageReader<config>::wait(at, left);
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
    if constexpr (mn_major) {
      clear_rows<extent / 64>(tile, first, end);
    } else {
      clear_columns<extent>(tile, first * abi::type_bytes(config.a),
                            end * abi::type_bytes(config.a));
    }
  }

  /// A row for each element of K, in blocks of 64 elements of the other mode.
  template <int blocks>
  __device__ __forceinline__ void clear_rows(u32 tile, i32 first, i32 end) const {
#pragma unroll 1
    for (u32 i = own(); i < blocks * config.tile_k() * 8; i += kThreads) {
      const i32 k = static_cast<i32>(i / 8 % config.tile_k());
      if (k < first || k >= end) ptx::st_shared<4>(tile + i * 16, Words<4>{});
    }
  }

  /// A row for each element of the other mode. Here counted in bytes.
  template <int rows>
  __device__ __forceinline__ void clear_columns(u32 tile, i32 first, i32 end) const {
#pragma unroll 1
    for (u32 i = own(); i < rows * 8; i += kThreads) {
      const i32 byte = static_cast<i32>(i % 8 * 16);
      if (first <= byte && byte + 16 <= end) continue;
      const u32 chunk = tile + swizzled<kSwizzleRow>(i / 8, static_cast<u32>(byte));
      Words<4> words = ptx::ld_shared<4>(chunk);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const i32 word = byte + 4 * e;
        words.word[e] &= first_bytes(end - word) & ~first_bytes(first - word);
      }
      ptx::st_shared<4>(chunk, words);
    }
  }

  /// The mask of `count` of four bytes.
  __device__ __forceinline__ static u32 first_bytes(i32 count) {
    if (count <= 0) return 0;
    return count >= 4 ? ~0u : (1u << 8 * count) - 1;
  }
};

/// The sums of the K of one group.
template <Sm90GemmConfig config, typename Sums>
struct GroupedSums {
  template <typename Issued>
  __device__ __forceinline__ static void sum(
      Accumulators<config>& acc, const Sm90GemmParameters& /*p*/, const GroupedItem& item,
      RingPosition<config.stages>& at, const StageReader<config>& reader, const Issued& issued) {
    const i32 last = item.end - item.k_begin - (item.k_tiles - 1) * config.tile_k();
    const GroupReader<config> own{reader, item.k_tiles, item.begin - item.k_begin, last};
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
    return epilogue::TileEpilogue<typename Fused::Layout, E, config.groups>(
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
