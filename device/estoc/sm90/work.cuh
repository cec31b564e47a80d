// What a CTA of an sm_90 kernel computes, and in which order.
#pragma once

#include <estoc/ptx/special.cuh>
#include <estoc/sm90/cta.cuh>
#include <estoc/tile/raster.cuh>

namespace estoc::sm90 {

/// A tile of the output and the K tiles that it is the sum of.
struct Item {
  Tile tile;       ///< this CTA's, in elements
  i32 k_tiles;     ///< stages that it takes
  bool backwards;  ///< they are loaded from the end of K
  i32 k_first;     ///< the first of its K tiles

  /// The K tile of a step.
  __device__ __forceinline__ i32 k_tile(i32 step) const {
    return k_first + (backwards ? k_tiles - 1 - step : step);
  }
};

/// The CTAs that sum up a tile together, and which of them this one is.
template <Sm90GemmConfig config>
struct Parts {
  u32 count;
  u32 own;

  __device__ __forceinline__ static Parts of(const Sm90GemmParameters& p) {
    if constexpr (!config.splits_k()) return {1, 0};
    const u32 count = p.parts > 1 ? p.parts : 1;
    return {count, ptx::ctaid_x() % count};
  }
  /// The first of `k_tiles` that part `part` sums up.
  __device__ __forceinline__ i32 first(u32 part, i32 k_tiles) const {
    if constexpr (!config.splits_k()) return part > 0 ? k_tiles : 0;
    return static_cast<i32>(part * static_cast<u32>(k_tiles) / count);
  }
};

/// Deals the tiles of all batches to clusters in turn. With zigzag every second tile of a cluster
/// walks K backwards, and so starts with what the L2 cache still holds. Where tiles have several
/// parts, the grid has a CTA for each part of each tile.
template <Sm90GemmConfig config>
class PersistentTiles {
 public:
  __device__ __forceinline__ PersistentTiles(const Sm90GemmParameters& p,
                                             const ClusterPlace<config>& place)
      : p_(p),
        place_(place),
        parts_(Parts<config>::of(p)),
        next_(ptx::ctaid_x() / (config.cluster_size() * parts_.count)),
        step_(ptx::nctaid_x() / (config.cluster_size() * parts_.count)) {}

  __device__ __forceinline__ bool done() const { return next_ >= plane() * static_cast<u32>(p_.l); }
  /// Whether the cluster has an item after this one.
  __device__ __forceinline__ bool more() const {
    return next_ + step_ < plane() * static_cast<u32>(p_.l);
  }
  __device__ __forceinline__ void advance() {
    next_ += step_;
    backwards_ = p_.zigzag && !backwards_;
  }
  /// K tiles of each item.
  __device__ __forceinline__ i32 k_tiles() const {
    return parts_.first(parts_.own + 1, all_k_tiles()) - parts_.first(parts_.own, all_k_tiles());
  }
  __device__ __forceinline__ Item item() const {
    const u32 l = next_ / plane();
    const TileRaster raster{static_cast<u32>(p_.tiles_m), static_cast<u32>(p_.tiles_n),
                            static_cast<u32>(p_.group), p_.along_n};
    const TileIndex at = raster.at(next_ - l * plane());
    const i32 m = static_cast<i32>(at.m * config.cluster_m + place_.m) * config.tile_m;
    const i32 n = static_cast<i32>(at.n * config.cluster_n + place_.n) * config.tile_n;
    return {{static_cast<i32>(l), m, n},
            k_tiles(),
            backwards_,
            parts_.first(parts_.own, all_k_tiles())};
  }

 private:
  __device__ __forceinline__ i32 all_k_tiles() const {
    return (p_.k + config.tile_k() - 1) / config.tile_k();
  }
  __device__ __forceinline__ u32 plane() const { return static_cast<u32>(p_.tiles_m * p_.tiles_n); }

  // The rest is read from the parameters when it is needed: consumers have no register to spare.
  const Sm90GemmParameters& p_;
  ClusterPlace<config> place_;
  Parts<config> parts_;
  u32 next_;
  u32 step_;
  bool backwards_ = false;
};

/// The items of one consumer: all of the CTA's, or every second one in a ping-pong schedule.
template <Sm90GemmConfig config, typename Work>
class OwnItems {
 public:
  static constexpr bool kPingpong = config.schedule == Schedule::pingpong;

  __device__ __forceinline__ OwnItems(const Work& work, u32 consumer)
      : work_(work), row_(kPingpong ? 0 : static_cast<i32>(consumer) * config.consumer_rows()) {
    if (kPingpong && consumer == 1) work_.advance();
  }

  __device__ __forceinline__ bool done() const { return work_.done(); }
  /// Whether the CTA has an item after this one, of whichever consumer.
  __device__ __forceinline__ bool more() const { return work_.more(); }
  __device__ __forceinline__ i32 k_tiles() const { return work_.k_tiles(); }
  __device__ __forceinline__ void advance() {
    work_.advance();
    if constexpr (kPingpong) work_.advance();
  }
  /// The item, of whose tile this consumer has the rows from tile.m on.
  __device__ __forceinline__ Item item() const {
    Item item = work_.item();
    item.tile.m += row_;
    return item;
  }

 private:
  Work work_;
  i32 row_;
};

}  // namespace estoc::sm90
