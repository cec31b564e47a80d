// What all kernels for sm_90 have in common: persistent, warp-specialised, fed by a ring of stages.
//
// The first warpgroup of a CTA produces: one thread of it fills stages. The others consume: they
// multiply what a stage holds, and store finished tiles while the producer is at the next one. A
// kernel is a struct of policies, a file each: kConfig, Parameters, and
//   Work    deals items to CTAs (work.cuh)
//   Load    fills a stage (load.cuh)
//   Math    sums up the stages of an item (math.cuh); kMathTakesItems: of one that it is given
//   Store   takes the accumulators from there (store.cuh)
#pragma once

#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/fence.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/setmaxnreg.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/warp.cuh>
#include <estoc/sm90/gather.cuh>
#include <estoc/sm90/load.cuh>
#include <estoc/sm90/math.cuh>
#include <estoc/sm90/parts.cuh>
#include <estoc/sm90/work.cuh>

namespace estoc::sm90 {

/// Makes the barriers known to everyone who uses them, and waits for the launch before.
template <typename Kernel, Sm90GemmConfig config = Kernel::kConfig>
__device__ __forceinline__ void begin(const typename Kernel::Parameters& p,
                                      const Shared<config>& shared) {
  if (ptx::tid() == 0) {
    Kernel::Load::prefetch(p);
    // A ping-pong stage is read by one consumer, any other by all of them.
    constexpr u32 kReaders = config.storers();
    shared.ring().init(kReaders * config.releases() * (config.cluster_m + config.cluster_n - 1),
                       config.fills());
    if constexpr (Kernel::Store::kLoads) {
      for (u32 consumer = 0; consumer < config.consumers(); ++consumer)
        Kernel::Store::init_barriers(shared.staging(consumer));
    }
    ptx::fence_mbarrier_init();
  }
  if constexpr (config.shortens()) clear_missing_rows(p, shared);
  if constexpr (config.cluster_size() > 1) {
    ptx::barrier_cluster_arrive_relaxed();
    ptx::barrier_cluster_wait();
  }
  ptx::barrier_sync();
  ptx::griddepcontrol_wait();
  // What the launch before has written by st, this one reads by TMA.
  ptx::fence_proxy_async_global();
  Kernel::Work::prepare(p);
}

/// Fills stage after stage. One thread calls it.
template <typename Kernel, Sm90GemmConfig config = Kernel::kConfig>
__device__ __forceinline__ void produce(const typename Kernel::Parameters& p,
                                        const Cta<config>& cta) {
  const Ring<config.stages> ring = cta.shared.ring();
  RingPosition<config.stages> at;
  for (typename Kernel::Work work(p, cta.place); !work.done(); work.advance()) {
    const auto item = work.item();
    for (i32 step = 0; step < item.k_tiles; ++step, at.advance()) {
      ring.wait_empty(at);
      Kernel::Load::fill(p, cta, item, step, at.stage);
    }
  }
  // The stages still in use must be released before the peers' arrivals have nowhere to go.
  if constexpr (config.cluster_size() > 1) {
    for (int i = 0; i < config.stages; ++i, at.advance())
      ring.wait_empty(at);
  }
}

/// Brings what the epilogue of one consumer reads, item after item. One warp calls it.
template <typename Kernel, Sm90GemmConfig config = Kernel::kConfig>
__device__ __forceinline__ void load_inputs(const typename Kernel::Parameters& p,
                                            const Cta<config>& cta,
                                            const typename Kernel::Store::Epilogue& transform,
                                            u32 consumer) {
  using Work = typename Kernel::Work;
  auto loader = Kernel::Store::loader(p, transform, cta.shared.staging(consumer));
  for (OwnItems<config, Work> items(Work(p, cta.place), consumer); !items.done(); items.advance()) {
    const auto item = items.item();
    if (item.slot < 0) loader.load(item.tile);
  }
}

/// Consumers of a ping-pong schedule take turns at the tensor cores: barrier 1 + `consumer` opens
/// when it is that consumer's turn.
template <Sm90GemmConfig config>
struct Turns {
  static constexpr bool kTake = config.schedule == Schedule::pingpong;
  u32 consumer;

  __device__ __forceinline__ void begin() const {
    if (kTake && consumer == 1) ptx::bar_arrive<256>(1);
  }
  __device__ __forceinline__ void wait() const {
    if constexpr (kTake) ptx::bar_sync<256>(1 + consumer);
  }
  /// `more`: an item follows, so that the other consumer waits.
  __device__ __forceinline__ void pass(bool more) const {
    if (kTake && more) ptx::bar_arrive<256>(2 - consumer);
  }
};

/// Computes and stores the items of one consumer warpgroup.
template <typename Kernel, Sm90GemmConfig config = Kernel::kConfig>
__device__ __forceinline__ void consume(const typename Kernel::Parameters& p,
                                        const Cta<config>& cta,
                                        const typename Kernel::Store::Epilogue& transform,
                                        u32 consumer) {
  using Work = typename Kernel::Work;
  using Items = OwnItems<config, Work>;
  const u32 thread = ptx::tid() % 128;
  auto store = Kernel::Store::of(p, transform, cta.shared.staging(consumer), 3 + consumer, thread);
  const StageReader<config> reader{cta, consumer, thread};
  const Turns<config> turns{consumer};
  Items items(Work(p, cta.place), consumer);
  RingPosition<config.stages> at;
  // Stages of the other's items are passed over.
  if constexpr (Items::kPingpong) at.skip(items.ahead());
  const auto issued = [&]() __attribute__((always_inline)) {
    turns.pass(items.more());
  };
  turns.begin();
  while (!items.done()) {
    const auto item = items.item();
    Accumulators<config> acc;
    turns.wait();
    if constexpr (Kernel::kMathTakesItems) {
      Kernel::Math::sum(acc, p, item, at, reader, issued);
    } else {
      Kernel::Math::sum(acc, item.k_tiles, at, reader, issued);
    }
    if constexpr (config.splits_k()) {
      if (p.parts > 1) {
        const Parts<config> parts = Parts<config>::of(p);
        PartGather<config>::add(acc, cta, parts, consumer * 128 + thread);
        if constexpr (config.column_shares() > 1) {
          if (config.lets_next_begin()) ptx::griddepcontrol_launch_dependents();
          const ColumnRange columns = PartGather<config>::columns(parts);
          if (columns.any()) store.store(acc.block, item.tile, columns);
          break;
        } else if (parts.own > 0) {
          break;
        }
      }
    }
    if (config.lets_next_begin() && !items.more()) ptx::griddepcontrol_launch_dependents();
    if constexpr (Kernel::Work::kBounded) store.end_at(item.end);
    if constexpr (requires { item.out; }) store.move_to(item.out);
    if (!leave_part(acc, p, cta.place, item, consumer, thread)) store.store(acc.block, item.tile);
    const u32 passed = items.advance();
    if constexpr (Items::kPingpong) at.skip(passed);
  }
  store.finish();
}

/// The kernel's body. Registers: the producer gives its own to the consumers.
template <typename Kernel, Sm90GemmConfig config = Kernel::kConfig>
__device__ __forceinline__ void run(const typename Kernel::Parameters& p,
                                    const typename Kernel::Store::Epilogue& transform) {
  const Shared<config> shared;
  begin<Kernel>(p, shared);
  const Cta<config> cta{shared, ClusterPlace<config>::here()};
  const u32 warpgroup = ptx::shfl_sync_idx(ptx::tid() / 128, 0);
  // 256 threads have all the registers that an instruction can name.
  constexpr bool kMove = config.consumers() > 1;
  if (warpgroup == 0) {
    if constexpr (kMove) ptx::reg_dec<config.producer_registers()>();
    if (ptx::tid() / 32 == 0 && ptx::elect_one()) produce<Kernel>(p, cta);
    if constexpr (config.fills() > 1) {
      if (ptx::tid() / 32 == 3) Kernel::Load::template bring_besides<Kernel>(p, cta);
    }
    if constexpr (config.splits_k()) {
      if (p.parts > 1) {
        PartGather<config>::join(p.parts);
        if (Parts<config>::of(p).own > 0) return;
      }
    }
    if constexpr (Kernel::Store::kLoads) {
      static_assert(config.consumers() <= config.input_warps());
      const u32 consumer = ptx::shfl_sync_idx(ptx::tid() / 32, 0) - 1;
      if (consumer < config.consumers()) load_inputs<Kernel>(p, cta, transform, consumer);
    }
  } else {
    if constexpr (kMove) ptx::reg_inc<config.consumer_registers()>();
    consume<Kernel>(p, cta, transform, config.consumers() == 1 ? 0 : warpgroup - 1);
  }
}

}  // namespace estoc::sm90
