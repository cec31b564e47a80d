// The items of products in groups, which the device alone knows: a table of groups in shared
// memory, the tiles that it leads to, and what of K belongs to other groups.
#pragma once

#include <estoc/abi/groups.cuh>
#include <estoc/ptx/barrier.cuh>
#include <estoc/tile/groups.cuh>
#include <estoc/tile/swizzle.cuh>
#include <estoc/tile/work.cuh>

namespace estoc {

/// An item of a product in groups.
struct GroupedItem : Item {
  i32 group;    ///< its number; that of all groups where it is in none
  i32 k_begin;  ///< where its first K tile begins
  i32 begin;    ///< of the group along the mode that is divided
  i32 end;

  /// Of the first K tile, what is ahead of a group of K; and where the group ends in the last one.
  __device__ __forceinline__ i32 before() const { return begin - k_begin; }
  template <int tile_k>
  __device__ __forceinline__ i32 last() const {
    return end - k_begin - (k_tiles - 1) * tile_k;
  }
};

/// The parts of the mode, groups and what is between them, and the rest behind the last one. Where
/// parts end is in shared memory, unless they are more than there is room for: then offsets are
/// read again. There too is the number of all tiles of clusters.
template <auto config, typename Parameters>
class GroupTable {
 public:
  __device__ __forceinline__ static u32 tiles() {
    return ptx::ld_shared<1>(word(config.kMaxGroups)).word[0];
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
  static constexpr u32 kTile =
      config.groups == abi::GroupedMode::columns ? config.cluster_columns() : config.cluster_rows();

  __device__ __forceinline__ static bool has_room(const Parameters& p) {
    return p.groups.parts() <= config.kMaxGroups;
  }
  __device__ __forceinline__ static u32 word(u32 index) {
    return ptx::smem_base() + config.table_offset() + 4 * index;
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
    if (lane == 0) put(config.kMaxGroups, tiles * across);
  }
};

/// A part, from which the search for the next one goes on.
template <auto config, typename Parameters>
struct PartOfGroups {
  using Table = GroupTable<config, Parameters>;
  u32 number = 0;
  u32 begin = 0;
  u32 end = 0;

  __device__ __forceinline__ static PartOfGroups first(const Parameters& p) {
    return {0, 0, Table::end_of(p, 0, 0)};
  }
  __device__ __forceinline__ void advance(const Parameters& p) {
    ++number;
    begin = end;
    end = Table::end_of(p, number, begin);
  }
  __device__ __forceinline__ u32 tiles(const Parameters& p) const {
    return detail::counts(p.groups, number) ? Table::tiles_between(begin, end) : 0;
  }
};

/// Deals the tiles of all groups, one group after the other, to clusters in turn. Tiles of a group
/// are rasterised as those of a product of its own.
template <auto config, typename Parameters>
class GroupedTiles {
 public:
  static constexpr bool kBounded = true;
  static constexpr bool kByRows = config.groups == abi::GroupedMode::rows;
  using Table = GroupTable<config, Parameters>;

  /// All threads of the CTA call it, before any of them asks for items.
  __device__ __forceinline__ static void prepare(const Parameters& p) {
    Table::write(p, static_cast<u32>(kByRows ? p.tiles_n : p.tiles_m));
  }

  /// `place` of the CTA in its cluster.
  __device__ __forceinline__ GroupedTiles(const Parameters& p, const ClusterIndex& place)
      : p_(p),
        place_(place),
        next_(ptx::ctaid_x() / config.cluster_size()),
        step_(ptx::nctaid_x() / config.cluster_size()),
        part_(PartOfGroups<config, Parameters>::first(p)) {
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
    const i32 m = static_cast<i32>(at.m) * config.cluster_rows() +
                  static_cast<i32>(place_.m) * config.place_rows();
    const i32 n = static_cast<i32>(at.n) * config.cluster_columns() +
                  static_cast<i32>(place_.n) * config.place_columns();
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

  const Parameters& p_;
  ClusterIndex place_;
  u32 next_;
  u32 step_;
  PartOfGroups<config, Parameters> part_;  // a group, or what is in none
  u32 first_ = 0;                          // tile of the part
};

/// Deals the tiles of batches of out, each of which sums up the K of one group.
template <auto config, typename Parameters>
class ReducedGroups {
 public:
  static constexpr bool kBounded = false;
  using Table = GroupTable<config, Parameters>;

  /// All threads of the CTA call it, before any of them asks for items.
  __device__ __forceinline__ static void prepare(const Parameters& p) { Table::write(p, 0); }

  /// `place` of the CTA in its cluster.
  __device__ __forceinline__ ReducedGroups(const Parameters& p, const ClusterIndex& place)
      : p_(p),
        place_(place),
        next_(ptx::ctaid_x() / config.cluster_size()),
        step_(ptx::nctaid_x() / config.cluster_size()),
        part_(PartOfGroups<config, Parameters>::first(p)) {
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
  /// Where K is contiguous, a stage begins with a whole unit.
  __device__ __forceinline__ u32 first_k() const {
    constexpr u32 kChunk = config.k_unit();
    return config.a_m_major && config.b_n_major ? part_.begin : part_.begin / kChunk * kChunk;
  }

  const Parameters& p_;
  ClusterIndex place_;
  u32 next_;
  u32 step_;
  PartOfGroups<config, Parameters> part_;
};

/// Clears, of an operand's tile in shared memory, what K of a group leaves out: its products must
/// be 0, so that no operand may keep an infinity. `extent` elements of M or N, `tile_k` of K, of
/// `bytes` each. Threads `own` of `threads` call it; then come a proxy fence and a barrier.
template <int extent, bool mn_major, int tile_k, int bytes>
struct GroupClear {
  /// Keeps elements [first, end) of K.
  __device__ __forceinline__ static void clear(u32 tile, i32 first, i32 end, u32 own, u32 threads) {
    if constexpr (mn_major) {
      clear_rows(tile, first, end, own, threads);
    } else {
      clear_columns(tile, first * bytes, end * bytes, own, threads);
    }
  }

 private:
  /// A row for each element of K, in blocks of 64 elements of the other mode.
  __device__ __forceinline__ static void clear_rows(u32 tile, i32 first, i32 end, u32 own,
                                                    u32 threads) {
#pragma unroll 1
    for (u32 i = own; i < extent / 64 * tile_k * 8; i += threads) {
      const i32 k = static_cast<i32>(i / 8 % tile_k);
      if (k < first || k >= end) ptx::st_shared<4>(tile + i * 16, Words<4>{});
    }
  }

  /// A row for each element of the other mode. Here counted in bytes.
  __device__ __forceinline__ static void clear_columns(u32 tile, i32 first, i32 end, u32 own,
                                                       u32 threads) {
#pragma unroll 1
    for (u32 i = own; i < extent * 8; i += threads) {
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

}  // namespace estoc
