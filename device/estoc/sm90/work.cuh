// What a CTA of an sm_90 kernel computes, and in which order.
#pragma once

#include <estoc/ptx/special.cuh>
#include <estoc/sm90/cta.cuh>
#include <estoc/tile/work.cuh>

namespace estoc::sm90 {

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

/// Deals items to clusters in turn: the tiles of all batches, the last of them in parts of K whose
/// sums pass through the workspace. With zigzag every second item of a cluster walks K backwards,
/// and so starts with what the L2 cache still holds. Where the CTAs of a cluster sum up a tile
/// together, the grid has a CTA for each part of each tile.
template <Sm90GemmConfig config>
class PersistentTiles {
 public:
  static constexpr bool kBounded = false;  ///< items end with out
  __device__ __forceinline__ static void prepare(const Sm90GemmParameters& /*p*/) {}

  __device__ __forceinline__ PersistentTiles(const Sm90GemmParameters& p,
                                             const ClusterPlace<config>& place)
      : p_(p),
        place_(place),
        parts_(Parts<config>::of(p)),
        next_(ptx::ctaid_x() / (config.cluster_size() * parts_.count)),
        step_(ptx::nctaid_x() / (config.cluster_size() * parts_.count)) {}

  __device__ __forceinline__ bool done() const { return next_ >= p_.items; }
  /// Whether the cluster has an item after this one.
  __device__ __forceinline__ bool more() const { return next_ + step_ < p_.items; }
  __device__ __forceinline__ void advance() {
    next_ += step_;
    backwards_ = p_.zigzag && !backwards_;
  }
  /// K tiles of the item.
  __device__ __forceinline__ i32 k_tiles() const {
    const Share share = this->share();
    return share.end - share.first;
  }
  __device__ __forceinline__ Item item() const {
    const Share share = this->share();
    return {tile_at<config>(p_, place_, share.tile), share.end - share.first, backwards_,
            share.first, is_whole() ? -1 : static_cast<i32>(next_ - p_.undivided)};
  }

 private:
  /// K tiles `first` to `end` of a tile.
  struct Share {
    u32 tile;
    i32 first;
    i32 end;
  };
  __device__ __forceinline__ bool is_whole() const {
    return !config.has_tails() || next_ < p_.undivided;
  }
  __device__ __forceinline__ Share share() const {
    const i32 k_tiles = (p_.k + config.tile_k() - 1) / config.tile_k();
    if (is_whole()) {
      return {next_, parts_.first(parts_.own, k_tiles), parts_.first(parts_.own + 1, k_tiles)};
    }
    // CTAs beside each other have the same part of other tiles, and so share what they load.
    const u32 past = next_ - p_.undivided;
    const u32 part = past / p_.tail_tiles;
    const u32 all = static_cast<u32>(k_tiles);
    return {p_.undivided + past % p_.tail_tiles, static_cast<i32>(part * all / p_.tail_parts),
            static_cast<i32>((part + 1) * all / p_.tail_parts)};
  }

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
    if (!kPingpong || consumer == 0) return;
    first_ = work_.done() ? 0 : static_cast<u32>(work_.k_tiles());
    work_.advance();
  }
  /// Stages of the other consumer's item ahead of this one's first.
  __device__ __forceinline__ u32 ahead() const { return first_; }

  __device__ __forceinline__ bool done() const { return work_.done(); }
  /// Whether the CTA has an item after this one, of whichever consumer.
  __device__ __forceinline__ bool more() const { return work_.more(); }
  /// Goes on to the next item; gives the stages of the other consumer's item between the two.
  __device__ __forceinline__ u32 advance() {
    work_.advance();
    if constexpr (!kPingpong) return 0;
    const u32 passed = work_.done() ? 0 : static_cast<u32>(work_.k_tiles());
    work_.advance();
    return passed;
  }
  /// The item, of whose tile this consumer has the rows from tile.m on.
  __device__ __forceinline__ auto item() const {
    auto item = work_.item();
    item.tile.m += row_;
    return item;
  }

 private:
  Work work_;
  i32 row_;
  u32 first_ = 0;
};

}  // namespace estoc::sm90
