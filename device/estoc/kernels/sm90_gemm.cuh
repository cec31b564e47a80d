// GEMM on Hopper's tensor cores: persistent, warp-specialised, fed by TMA.
//
// The first warpgroup of a CTA produces: one thread of it brings tiles of A and B into a ring of
// stages. The others consume: they multiply what a stage holds by wgmma, and store finished tiles
// through shared memory while the producer is at the next tile. CTAs of a cluster share rows of A
// and columns of B: each loads a part and multicasts it to the others.
#pragma once

#include <estoc/abi/sm90_gemm.cuh>
#include <estoc/epilogue_tile.cuh>
#include <estoc/pipeline.cuh>
#include <estoc/ptx/cluster.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/setmaxnreg.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/warp.cuh>
#include <estoc/ptx/wgmma.cuh>
#include <estoc/scheduler.cuh>
#include <estoc/swizzle.cuh>
#include <estoc/tile_store.cuh>

namespace estoc {

using abi::Schedule;
using abi::Sm90GemmConfig;
using abi::Sm90GemmParameters;

namespace sm90 {

/// This CTA's place in its cluster, and who takes part in which multicast.
template <Sm90GemmConfig config>
struct ClusterPlace {
  u32 m;
  u32 n;

  __device__ __forceinline__ static ClusterPlace here() {
    if constexpr (config.cluster_size() == 1) return {0, 0};
    const u32 rank = ptx::cluster_ctarank();
    return {rank % config.cluster_m, rank / config.cluster_m};
  }
  /// CTAs of the same rows: they read the same A.
  __device__ __forceinline__ u32 sharers_of_a() const {
    u32 mask = 0;
    for (u32 j = 0; j < config.cluster_n; ++j)
      mask |= 1u << (m + j * config.cluster_m);
    return mask;
  }
  /// CTAs of the same columns.
  __device__ __forceinline__ u32 sharers_of_b() const {
    return ((1u << config.cluster_m) - 1) << (n * config.cluster_m);
  }
};

/// Shared memory of a CTA.
template <Sm90GemmConfig config>
struct Shared {
  u32 base = ptx::smem_base();

  __device__ __forceinline__ u32 a(u32 stage) const { return base + stage * config.stage_bytes(); }
  __device__ __forceinline__ u32 b(u32 stage) const { return a(stage) + config.a_bytes(); }
  __device__ __forceinline__ u32 staging(u32 consumer) const {
    return base + config.staging_offset() +
           consumer * (config.staging_bytes() / config.consumers());
  }
  __device__ __forceinline__ Ring<config.stages> ring() const {
    return {base + config.barrier_offset()};
  }
};

/// Issues the loads of one operand's tile of one stage: this CTA's part of the boxes.
template <int tile, bool mn_major, int tile_k, int sharers>
struct OperandLoad {
  /// K-major tiles are cut by rows, one box for each sharer; MN-major ones into blocks of 64.
  static constexpr int kBoxes = mn_major ? tile / 64 : sharers;
  static constexpr int kOwn = kBoxes / sharers;
  static constexpr int kExtent = tile / kBoxes;
  static_assert(kBoxes % sharers == 0 && kExtent % 8 == 0);

  __device__ __forceinline__ static void issue(const abi::TensorMap& map, u32 shared, u32 barrier,
                                               i32 first, i32 k, i32 l, u32 rank, u32 mask) {
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const u32 box = rank * kOwn + static_cast<u32>(i);
      const u32 to = shared + box * kExtent * kSwizzleRow * (mn_major ? tile_k / 64 : 1);
      const i32 mn = first + static_cast<i32>(box) * kExtent;
      const i32 at[3] = {mn_major ? mn : k, mn_major ? k : mn, l};
      if constexpr (sharers == 1) {
        ptx::cp_async_bulk_tensor_load<3>(to, map, barrier, at);
      } else {
        ptx::cp_async_bulk_tensor_load_multicast<3>(to, map, barrier, mask, at);
      }
    }
  }
};

/// The K tiles of a problem in the order in which they are taken. With zigzag every second output
/// tile walks them backwards, and so starts with what the L2 cache still holds.
struct KWalk {
  i32 tiles;
  bool zigzag;
  bool backwards = false;

  __device__ __forceinline__ i32 at(i32 step) const { return backwards ? tiles - 1 - step : step; }
  __device__ __forceinline__ void turn() { backwards = zigzag && !backwards; }
};

/// Brings the tiles of A and B to shared memory, stage after stage. One thread calls it.
template <Sm90GemmConfig config>
__device__ __forceinline__ void produce(const Sm90GemmParameters& p, const Shared<config>& shared,
                                        const ClusterPlace<config>& place, TileScheduler tiles) {
  using LoadA = OperandLoad<config.tile_m, config.a_m_major, config.tile_k(), config.cluster_n>;
  using LoadB = OperandLoad<config.tile_n, config.b_n_major, config.tile_k(), config.cluster_m>;
  const Ring<config.stages> ring = shared.ring();
  RingPosition<config.stages> at;
  KWalk walk{(p.k + config.tile_k() - 1) / config.tile_k(), p.zigzag};
  for (; !tiles.done(); tiles.advance(), walk.turn()) {
    const Tile tile = tiles.tile();
    const i32 m = (tile.m * config.cluster_m + static_cast<i32>(place.m)) * config.tile_m;
    const i32 n = (tile.n * config.cluster_n + static_cast<i32>(place.n)) * config.tile_n;
    for (i32 step = 0; step < walk.tiles; ++step, at.advance()) {
      const i32 k = walk.at(step) * config.tile_k();
      const u32 barrier = ring.full(at.stage);
      ring.wait_empty(at);
      ptx::mbarrier_arrive_expect_tx(barrier, config.stage_bytes());
      LoadA::issue(p.a, shared.a(at.stage), barrier, m, k, p.a_batched ? tile.l : 0, place.n,
                   place.sharers_of_a());
      LoadB::issue(p.b, shared.b(at.stage), barrier, n, k, p.b_batched ? tile.l : 0, place.m,
                   place.sharers_of_b());
    }
  }
  // The stages still in use must be released before the peers' arrivals have nowhere to go.
  if constexpr (config.cluster_size() > 1) {
    for (int i = 0; i < config.stages; ++i, at.advance())
      ring.wait_empty(at);
  }
}

/// The sums of one consumer warpgroup: blocks of 64 rows.
template <Sm90GemmConfig config>
struct Accumulators {
  static constexpr int kBlocks = config.consumer_rows() / 64;
  Compute<config.accumulator> block[kBlocks][config.tile_n / 2];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < config.tile_n / 2; ++j)
        block[i][j] = 0;
    }
  }
  __device__ __forceinline__ void use() {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i)
      ptx::acc_use(block[i]);
  }
  __device__ __forceinline__ void add(const Accumulators& other) {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < config.tile_n / 2; ++j)
        block[i][j] += other.block[i][j];
    }
  }
};

/// Lets go of a stage: one thread of the warpgroup tells each CTA that loads for this one. It has
/// waited for its own warp's products alone: the four warps of a wgmma read a stage together and
/// are done with it together, which CUTLASS relies on too.
template <Sm90GemmConfig config>
__device__ __forceinline__ void release(const Ring<config.stages>& ring, u32 stage,
                                        const ClusterPlace<config>& place, u32 thread) {
  if constexpr (config.cluster_size() == 1) {
    if (thread == 0) ptx::mbarrier_arrive(ring.empty(stage));
  } else {
    if (thread >= config.cluster_size()) return;
    const auto sharers = place.sharers_of_a() | place.sharers_of_b();
    if ((sharers >> thread & 1) != 0) ptx::mbarrier_arrive_cluster(ring.empty(stage), thread);
  }
}

/// Starts the products of one stage for the rows of one consumer.
template <Sm90GemmConfig config>
__device__ __forceinline__ void multiply_stage(Accumulators<config>& acc, u32 a, u32 b, bool add) {
  using LayoutA = OperandLayout<config.a_m_major, config.tile_k()>;
  using LayoutB = OperandLayout<config.b_n_major, config.tile_k()>;
  constexpr int kSteps = 4;  // of 32 bytes each
  const u64 descriptor_a = LayoutA::descriptor(a);
  const u64 descriptor_b = LayoutB::descriptor(b);
  ptx::wgmma_fence();
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int i = 0; i < Accumulators<config>::kBlocks; ++i) {
      ptx::wgmma_mma_async<config.a, config.b, config.a_m_major, config.b_n_major>(
          acc.block[i], descriptor_a + ((i * LayoutA::kStep64 + step * LayoutA::kStepK) >> 4),
          descriptor_b + (step * LayoutB::kStepK >> 4), add || step > 0);
    }
  }
  ptx::wgmma_commit_group();
}

/// Consumers of a ping-pong schedule take turns at the tensor cores: barrier `1 + consumer` opens
/// when it is that consumer's turn.
template <Sm90GemmConfig config, int consumer>
struct Turns {
  static constexpr bool kTake = config.schedule == Schedule::pingpong;

  __device__ __forceinline__ static void begin() {
    if constexpr (kTake && consumer == 1) ptx::bar_arrive<1, 256>();
  }
  __device__ __forceinline__ static void wait() {
    if constexpr (kTake) ptx::bar_sync<1 + consumer, 256>();
  }
  /// `more`: a tile follows, so that the other consumer waits.
  __device__ __forceinline__ static void pass(bool more) {
    if constexpr (kTake) {
      if (more) ptx::bar_arrive<2 - consumer, 256>();
    }
  }
};

/// Multiplies the stages of one tile. A stage is let go when the products after it have started,
/// and the turn is passed when the last ones have. `more`: a tile follows this one.
template <Sm90GemmConfig config, int consumer>
__device__ __forceinline__ void multiply_tile(Accumulators<config>& acc, i32 k_tiles,
                                              RingPosition<config.stages>& at,
                                              const Shared<config>& shared,
                                              const ClusterPlace<config>& place, u32 row_offset,
                                              u32 thread, bool more) {
  const Ring<config.stages> ring = shared.ring();
  if (k_tiles == 0) acc.clear();
  u32 last = at.stage;
#pragma unroll 1
  for (i32 k = 0; k < k_tiles; ++k, at.advance()) {
    ring.wait_full(at);
    multiply_stage<config>(acc, shared.a(at.stage) + row_offset, shared.b(at.stage), k > 0);
    if (k > 0) {
      ptx::wgmma_wait_group<1>();
      release<config>(ring, last, place, thread);
    }
    last = at.stage;
  }
  Turns<config, consumer>::pass(more);
  ptx::wgmma_wait_group<0>();
  acc.use();
  if (k_tiles > 0) release<config>(ring, last, place, thread);
}

/// The same for narrow floats: what the tensor core adds up with few bits is added to f32
/// registers after each stage.
template <Sm90GemmConfig config>
__device__ __forceinline__ void multiply_tile_promoted(Accumulators<config>& acc, i32 k_tiles,
                                                       RingPosition<config.stages>& at,
                                                       const Shared<config>& shared,
                                                       const ClusterPlace<config>& place,
                                                       u32 row_offset, u32 thread) {
  const Ring<config.stages> ring = shared.ring();
  Accumulators<config> part;
  acc.clear();
  for (i32 k = 0; k < k_tiles; ++k, at.advance()) {
    ring.wait_full(at);
    multiply_stage<config>(part, shared.a(at.stage) + row_offset, shared.b(at.stage), false);
    ptx::wgmma_wait_group<0>();
    part.use();
    release<config>(ring, at.stage, place, thread);
    acc.add(part);
  }
}

/// The parts of an epilogue; of Identity there are none.
template <typename Epilogue>
struct Fusion {
  static constexpr bool kLoads = false;
};
template <Sm90GemmConfig config, typename E>
struct Fusion<epilogue::FusedTile<config, E>> {
  static constexpr bool kLoads = config.epilogue.loads();

  template <int barrier>
  __device__ __forceinline__ static auto consumer(const Sm90GemmParameters& p,
                                                  const epilogue::FusedTile<config, E>& fused,
                                                  u32 area, u32 thread) {
    return epilogue::TileEpilogue<config, E, barrier>(p.out, fused, area, thread, p.m, p.n);
  }
  __device__ __forceinline__ static auto loader(const Sm90GemmParameters& p,
                                                const epilogue::FusedTile<config, E>& fused,
                                                u32 area) {
    return epilogue::TileLoader<config, E>(fused, area, p.m, p.n);
  }
  __device__ __forceinline__ static void init_barriers(u32 area) {
    epilogue::TileLayout<config, E>{area}.init_barriers();
  }
};

/// Brings what the epilogue of one consumer reads, tile after tile. One warp calls it.
template <Sm90GemmConfig config, typename Epilogue>
__device__ __forceinline__ void load_inputs(const Sm90GemmParameters& p,
                                            const Shared<config>& shared,
                                            const ClusterPlace<config>& place, TileScheduler tiles,
                                            const Epilogue& transform, u32 consumer) {
  constexpr bool kPingpong = config.schedule == Schedule::pingpong;
  const i32 row = kPingpong ? 0 : static_cast<i32>(consumer) * config.consumer_rows();
  auto loader = Fusion<Epilogue>::loader(p, transform, shared.staging(consumer));
  if (kPingpong && consumer == 1) tiles.advance();
  while (!tiles.done()) {
    const Tile tile = tiles.tile();
    const i32 m = (tile.m * config.cluster_m + static_cast<i32>(place.m)) * config.tile_m + row;
    const i32 n = (tile.n * config.cluster_n + static_cast<i32>(place.n)) * config.tile_n;
    loader.load({tile.l, m, n});
    tiles.advance();
    if constexpr (kPingpong) tiles.advance();
  }
}

/// Computes and stores the tiles of one consumer warpgroup.
template <Sm90GemmConfig config, int consumer, typename Epilogue>
__device__ __forceinline__ void consume(const Sm90GemmParameters& p, const Shared<config>& shared,
                                        const ClusterPlace<config>& place, TileScheduler tiles,
                                        const Epilogue& transform) {
  constexpr bool kPingpong = config.schedule == Schedule::pingpong;
  constexpr int kRow = kPingpong ? 0 : consumer * config.consumer_rows();
  using LayoutA = OperandLayout<config.a_m_major, config.tile_k()>;
  const u32 thread = ptx::tid() % 128;
  const i32 k_tiles = (p.k + config.tile_k() - 1) / config.tile_k();
  auto store = [&] {
    if constexpr (!epilogue::kIsIdentity<Epilogue>) {
      return Fusion<Epilogue>::template consumer<3 + consumer>(p, transform,
                                                               shared.staging(consumer), thread);
    } else if constexpr (config.tma_store) {
      return TmaTileStore<config, 3 + consumer>(p.out, shared.staging(consumer), thread);
    } else {
      return DirectTileStore<config>(p.out_raw, p.m, p.n, thread);
    }
  }();
  RingPosition<config.stages> at;
  if (kPingpong && consumer == 1) {
    tiles.advance();
    at.skip(static_cast<u32>(k_tiles));
  }
  Turns<config, consumer>::begin();
  while (!tiles.done()) {
    const Tile tile = tiles.tile();
    Accumulators<config> acc;
    Turns<config, consumer>::wait();
    constexpr u32 kRowOffset = kRow / 64 * LayoutA::kStep64;
    if constexpr (config.promote) {
      multiply_tile_promoted<config>(acc, k_tiles, at, shared, place, kRowOffset, thread);
      Turns<config, consumer>::pass(tiles.more());
    } else {
      multiply_tile<config, consumer>(acc, k_tiles, at, shared, place, kRowOffset, thread,
                                      tiles.more());
    }
    const i32 m = (tile.m * config.cluster_m + static_cast<i32>(place.m)) * config.tile_m + kRow;
    const i32 n = (tile.n * config.cluster_n + static_cast<i32>(place.n)) * config.tile_n;
    if constexpr (!epilogue::kIsIdentity<Epilogue>) {
      store.store(acc.block, Tile{tile.l, m, n});
    } else {
#pragma unroll
      for (int i = 0; i < Accumulators<config>::kBlocks; ++i)
        store.store(acc.block[i], Tile{tile.l, m + 64 * i, n}, transform);
    }
    tiles.advance();
    if constexpr (kPingpong) {
      tiles.advance();
      at.skip(static_cast<u32>(k_tiles));
    }
  }
  store.finish();
}

/// Makes the barriers known to everyone who uses them.
template <Sm90GemmConfig config, typename Epilogue>
__device__ __forceinline__ void set_up(const Sm90GemmParameters& p, const Shared<config>& shared) {
  if (ptx::tid() == 0) {
    // Of no K there are no maps.
    if (p.k > 0) {
      ptx::prefetch_tensormap(p.a);
      ptx::prefetch_tensormap(p.b);
    }
    // A ping-pong stage is read by one consumer, any other by all of them.
    constexpr u32 kReaders = config.schedule == Schedule::cooperative ? 2 : 1;
    shared.ring().init(kReaders * (config.cluster_m + config.cluster_n - 1));
    if constexpr (Fusion<Epilogue>::kLoads) {
      for (u32 consumer = 0; consumer < config.consumers(); ++consumer)
        Fusion<Epilogue>::init_barriers(shared.staging(consumer));
    }
    ptx::fence_mbarrier_init();
  }
  if constexpr (config.cluster_size() > 1) {
    ptx::barrier_cluster_arrive_relaxed();
    ptx::barrier_cluster_wait();
  }
  ptx::barrier_sync();
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();
  // What the launch before has written by st, this one reads by TMA.
  ptx::fence_proxy_async_global();
}

}  // namespace sm90

/// The kernel's body. Registers: the producer gives its own to the consumers.
template <Sm90GemmConfig config, typename Epilogue>
__device__ __forceinline__ void sm90_gemm(const Sm90GemmParameters& p, const Epilogue& transform) {
  const sm90::Shared<config> shared;
  sm90::set_up<config, Epilogue>(p, shared);
  const auto place = sm90::ClusterPlace<config>::here();
  const TileScheduler tiles(p, ptx::ctaid_x() / config.cluster_size(),
                            ptx::nctaid_x() / config.cluster_size());
  const u32 warpgroup = ptx::shfl_sync_idx(ptx::tid() / 128, 0);
  // 256 threads have all the registers that an instruction can name.
  constexpr bool kMove = config.consumers() == 2;
  if (warpgroup == 0) {
    if constexpr (kMove) ptx::reg_dec<config.producer_registers()>();
    if (ptx::tid() / 32 == 0 && ptx::elect_one()) sm90::produce<config>(p, shared, place, tiles);
    if constexpr (sm90::Fusion<Epilogue>::kLoads) {
      const u32 consumer = ptx::shfl_sync_idx(ptx::tid() / 32, 0) - 1;
      if (consumer < config.consumers()) {
        sm90::load_inputs<config>(p, shared, place, tiles, transform, consumer);
      }
    }
  } else {
    if constexpr (kMove) ptx::reg_inc<config.consumer_registers()>();
    if (config.consumers() == 1 || warpgroup == 1) {
      sm90::consume<config, 0>(p, shared, place, tiles, transform);
    } else {
      sm90::consume<config, config.consumers() - 1>(p, shared, place, tiles, transform);
    }
  }
}

}  // namespace estoc
