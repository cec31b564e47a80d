// How clusters of an sm_100 kernel take over the tiles of those that have not begun: a thread of
// each CTA asks for them, and everyone who follows tiles reads the answers.
#pragma once

#include <estoc/ptx/fence.cuh>
#include <estoc/ptx/launch_control.cuh>
#include <estoc/ptx/warp.cuh>
#include <estoc/sm100/cta.cuh>

namespace estoc::sm100 {

/// The answers that have come to this CTA.
template <Sm100GemmConfig config>
struct Answers {
  static constexpr int kCount = Sm100GemmConfig::kAnswers;
  using Position = RingPosition<kCount>;

  u32 base = ptx::smem_base() + config.answers_offset();

  __device__ __forceinline__ u32 words(u32 slot) const { return base + 16 * slot; }
  /// Full in each CTA when the answer has come; the first CTA's is empty when all have read it.
  __device__ __forceinline__ Ring<kCount> ring() const { return {base + 16 * kCount}; }

  /// The answer; the thread, or the warp where one calls it together, lets go of it.
  __device__ __forceinline__ Words<4> take(const Position& at, bool by_warp) const {
    ring().wait_full(at);
    const Words<4> answer = ptx::ld_shared<4>(words(at.stage));
    ptx::fence_proxy_async();
    if (by_warp) ptx::bar_warp_sync();
    if (!by_warp || ptx::laneid() == 0) {
      if constexpr (config.cluster_size() == 1) {
        ptx::mbarrier_arrive(ring().empty(at.stage));
      } else {
        ptx::mbarrier_arrive_cluster(ring().empty(at.stage), 0);
      }
    }
    return answer;
  }
};

/// The item of the cluster itself, and then those that it has taken over.
template <Sm100GemmConfig config>
class DynamicTiles {
 public:
  static constexpr bool kBounded = false;
  __device__ __forceinline__ static void prepare(const Sm100GemmParameters& /*p*/) {}

  /// `by_warp`: the threads of a warp call all of it together; else one thread alone.
  __device__ __forceinline__ DynamicTiles(const Sm100GemmParameters& p, const ClusterIndex& place,
                                          bool by_warp)
      : p_(p), place_(place), by_warp_(by_warp), item_(ptx::ctaid_x() / config.cluster_size()) {}

  __device__ __forceinline__ bool done() const { return done_; }
  __device__ __forceinline__ void advance() {
    const Words<4> answer = Answers<config>{}.take(at_, by_warp_);
    at_.advance();
    done_ = !ptx::clusterlaunchcontrol_is_canceled(answer);
    if (!done_) {
      item_ = ptx::clusterlaunchcontrol_first_ctaid_x(answer) / config.cluster_size();
    }
  }
  /// K tiles of the item.
  __device__ __forceinline__ i32 k_tiles() const { return item().k_tiles; }
  __device__ __forceinline__ Item item() const { return item_at<config>(p_, place_, item_); }

 private:
  const Sm100GemmParameters& p_;
  ClusterIndex place_;
  bool by_warp_;
  u32 item_;
  bool done_ = false;
  typename Answers<config>::Position at_;
};

/// Readers of an answer in all CTAs of a cluster: those who load, who store, who bring inputs, and
/// the thread that asks; in the first CTA of a group the one who multiplies too.
template <Sm100GemmConfig config, bool loads>
__device__ __forceinline__ constexpr u32 answer_readers() {
  return config.cluster_size() * (2 + 4 + (loads ? 1 : 0)) + config.places();
}

/// Asks for item after item until there is none. One thread of each CTA calls it; that of the
/// cluster's first asks for all, when all have read what stood there before.
template <Sm100GemmConfig config>
__device__ __forceinline__ void ask_for_items(const Cta<config>& cta) {
  const Answers<config> answers;
  typename Answers<config>::Position at;
  const bool asks = cta.number(cta.where, cta.rank) == 0;
  while (true) {
    const u32 full = answers.ring().full(at.stage);
    if (asks) ptx::mbarrier_wait_cluster(answers.ring().empty(at.stage), at.phase ^ 1);
    ptx::mbarrier_arrive_expect_tx(full, 16);
    if (asks) {
      if constexpr (config.cluster_size() == 1) {
        ptx::clusterlaunchcontrol_try_cancel(answers.words(at.stage), full);
      } else {
        ptx::clusterlaunchcontrol_try_cancel_multicast(answers.words(at.stage), full);
      }
    }
    if (!ptx::clusterlaunchcontrol_is_canceled(answers.take(at, false))) return;
    at.advance();
  }
}

}  // namespace estoc::sm100
