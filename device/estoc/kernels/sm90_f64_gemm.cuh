// GEMM of f64 on Hopper: mma.sync fed by TMA.
//
// Persistent and warp-specialised as sm90_gemm: one thread of the first warpgroup fills a ring of
// stages. The warps of the others each multiply their part of the tile from fragments in registers,
// and store it through shared memory of their own while the stages of the next tile are filled.
// Where tiles are few, the CTAs of a cluster each sum up a part of K of one tile, or the sums of
// parts pass through the workspace, and a second kernel adds them up.
#pragma once

#include <estoc/abi/sm90_f64_gemm.cuh>
#include <estoc/epilogue/staged.cuh>
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/fence.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/setmaxnreg.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/tma.cuh>
#include <estoc/ptx/warp.cuh>
#include <estoc/sm90/f64.cuh>
#include <estoc/sm90/f64_gather.cuh>
#include <estoc/sm90/f64_parts.cuh>
#include <estoc/tile/pipeline.cuh>
#include <estoc/tile/raster.cuh>
#include <estoc/tile/staged_store.cuh>

namespace estoc {

using abi::Sm90F64GemmConfig;
using abi::Sm90F64GemmParameters;

namespace sm90 {

/// Shared memory of a CTA.
template <Sm90F64GemmConfig config>
struct F64Shared {
  u32 base = ptx::smem_base();

  __device__ __forceinline__ u32 stage(u32 number) const {
    return base + number * config.stage_bytes();
  }
  __device__ __forceinline__ u32 staging(u32 warp) const {
    return base + config.staging_offset() + warp * config.store_bytes();
  }
  __device__ __forceinline__ Ring<config.stages> ring() const {
    return {base + config.barrier_offset()};
  }
};

/// Deals items to CTAs in turn: the tiles of all batches, the last of them in parts of K whose sums
/// pass through the workspace. Or deals tiles to clusters, whose CTAs take parts of K.
template <Sm90F64GemmConfig config>
class F64Tiles {
 public:
  __device__ __forceinline__ explicit F64Tiles(const Sm90F64GemmParameters& p)
      : p_(p), next_(ptx::ctaid_x() / parts_of(p)) {}

  /// CTAs that sum up a tile together, and which of them this one is.
  __device__ __forceinline__ static u32 parts_of(const Sm90F64GemmParameters& p) {
    return p.parts > 1 ? p.parts : 1;
  }
  __device__ __forceinline__ static u32 part_of(const Sm90F64GemmParameters& p) {
    return ptx::ctaid_x() % parts_of(p);
  }
  /// Tile `number` of those of all batches.
  __device__ __forceinline__ static Tile tile_at(const Sm90F64GemmParameters& p, u32 number) {
    const u32 plane = p.tiles_m * p.tiles_n;
    const u32 l = number / plane;
    const TileIndex at = TileRaster{p.tiles_m, p.tiles_n, p.group}.at(number - l * plane);
    return {static_cast<i32>(l), static_cast<i32>(at.m) * config.tile_m,
            static_cast<i32>(at.n) * config.tile_n};
  }

  __device__ __forceinline__ bool done() const { return next_ >= p_.items; }
  /// Whether the CTA has an item after this one.
  __device__ __forceinline__ bool more() const { return next_ + step() < p_.items; }
  __device__ __forceinline__ void advance() { next_ += step(); }
  __device__ __forceinline__ Tile tile() const {
    return tile_at(p_, is_whole() ? next_ : p_.undivided + past() % p_.tail_tiles);
  }
  /// Which place of the workspace takes the item's sums; -1 where out does.
  __device__ __forceinline__ i32 slot() const { return is_whole() ? -1 : static_cast<i32>(past()); }
  /// The part of K that this CTA sums up.
  __device__ __forceinline__ i32 first_k() const { return begin(0); }
  __device__ __forceinline__ i32 end_of_k() const { return begin(1); }
  __device__ __forceinline__ i32 k_tiles() const {
    return (end_of_k() - first_k()) / config.tile_k();
  }

 private:
  __device__ __forceinline__ u32 step() const { return ptx::nctaid_x() / parts_of(p_); }
  __device__ __forceinline__ bool is_whole() const { return next_ < p_.undivided; }
  __device__ __forceinline__ u32 past() const { return next_ - p_.undivided; }
  /// Where the item's part of K begins, or the one after it.
  __device__ __forceinline__ i32 begin(u32 after) const {
    const auto all = static_cast<u32>((p_.k + config.tile_k() - 1) / config.tile_k());
    // CTAs beside each other have the same part of other tiles, and so share what they load.
    const u32 part = is_whole() ? part_of(p_) : past() / p_.tail_tiles;
    const u32 parts = is_whole() ? parts_of(p_) : p_.tail_parts;
    return static_cast<i32>((part + after) * all / parts) * config.tile_k();
  }

  const Sm90F64GemmParameters& p_;
  u32 next_;
};

/// Issues the loads of one operand's tile of a stage: along K one box, else boxes of 16 elements.
template <int tile, bool mn_major>
__device__ __forceinline__ void load_f64(const abi::TensorMap& map, u32 shared, u32 barrier,
                                         i32 first, i32 k, i32 l) {
  constexpr int kExtent = mn_major ? 16 : tile;
#pragma unroll 1
  for (int box = 0; box < tile / kExtent; ++box) {
    const i32 mn = first + box * kExtent;
    const i32 at[3] = {mn_major ? mn : k, mn_major ? k : mn, l};
    ptx::cp_async_bulk_tensor_load<3>(shared + static_cast<u32>(box) * 16 * kSwizzleRow, map,
                                      barrier, at);
  }
}

/// Fills stage after stage. One thread calls it.
template <Sm90F64GemmConfig config>
__device__ __forceinline__ void produce_f64(const Sm90F64GemmParameters& p,
                                            const F64Shared<config>& shared) {
  const Ring<config.stages> ring = shared.ring();
  RingPosition<config.stages> at;
  for (F64Tiles<config> tiles(p); !tiles.done(); tiles.advance()) {
    const Tile tile = tiles.tile();
    const i32 end = tiles.end_of_k();
#pragma unroll 1
    for (i32 k = tiles.first_k(); k < end; k += config.tile_k(), at.advance()) {
      ring.wait_empty(at);
      const u32 stage = shared.stage(at.stage);
      const u32 barrier = ring.full(at.stage);
      ptx::mbarrier_arrive_expect_tx(barrier, config.stage_bytes());
      load_f64<config.tile_m, config.a_m_major>(p.a, stage, barrier, tile.m, k,
                                                p.a_batched ? tile.l : 0);
      load_f64<config.tile_n, config.b_n_major>(p.b, stage + config.a_bytes(), barrier, tile.n, k,
                                                p.b_batched ? tile.l : 0);
    }
  }
}

/// A warp that multiplies: its number among them, and its part of the tile.
template <Sm90F64GemmConfig config>
struct F64Warp {
  using Fragment = F64Fragment<config.a_m_major, config.b_n_major>;
  static constexpr TileShape kShape{config.warp_rows(), config.warp_columns(),
                                    config.warp_columns()};
  u32 lane;
  u32 warp;
  TileOffset part;

  __device__ __forceinline__ static F64Warp here() {
    const u32 warp = ptx::tid() / 32 - 4;
    return {ptx::tid() % 32,
            warp,
            {warp / config.warps_n * config.warp_rows(),
             warp % config.warps_n * config.warp_columns()}};
  }

  __device__ __forceinline__ void store(const F64Sums<config>& sums, const Tile& tile,
                                        const Sm90F64GemmParameters& p, u32 buffer,
                                        const epilogue::Identity& /*none*/) const {
    StagedTileStore<Fragment, kShape, config.out, config.store_pitch(), config.out_vectors>(
        p.out, buffer, p.m, p.n, lane)
        .store(sums.block, tile, part);
  }

  /// The same through an epilogue.
  template <typename E>
  __device__ __forceinline__ void store(const F64Sums<config>& sums, const Tile& tile,
                                        const Sm90F64GemmParameters& p, u32 buffer,
                                        const epilogue::Fused<E>& fused) const {
    const i64 tile_m = tile.m / config.tile_m;
    const i64 tile_n = tile.n / config.tile_n;
    const epilogue::Parts parts{
        tile_n * config.warps_n + static_cast<i64>(warp % config.warps_n),
        tile_m * config.warps_m + static_cast<i64>(warp / config.warps_n),
        (tile_m * p.tiles_n + tile_n) * config.warps() + static_cast<i64>(warp)};
    epilogue::StagedEpilogue<Fragment, kShape, Type::f64, config.store_pitch(), E>(
        fused.parameters, buffer, p.m, p.n, p.n, lane)
        .store(sums.block, tile, part, parts);
  }
};

/// Adds up the stages of a tile, and releases them.
template <Sm90F64GemmConfig config>
__device__ __forceinline__ void sum_f64(F64Sums<config>& sums, i32 k_tiles,
                                        RingPosition<config.stages>& at,
                                        const F64Shared<config>& shared,
                                        const F64Warp<config>& place) {
  if (k_tiles == 0) return;
  const Ring<config.stages> ring = shared.ring();
  F64Fragments<config> fragments(place.lane, place.part.m, place.part.n);
  ring.wait_full(at);
  fragments.begin(shared.stage(at.stage));
  const auto multiply = [&]<bool more>() __attribute__((always_inline)) {
    fragments.template multiply<0, true>(sums, shared.stage(at.stage), [] {});
    const u32 empty = ring.empty(at.stage);
    at.advance();
    if constexpr (more) ring.wait_full(at);
    fragments.template multiply<1, more>(
        sums, shared.stage(at.stage), [&]() __attribute__((always_inline)) {
          // All that the warp reads of the stage is in registers.
          ptx::bar_warp_sync();
          if (place.lane == 0) ptx::mbarrier_arrive(empty);
        });
  };
#pragma unroll 1
  for (i32 left = k_tiles; left > 1; --left)
    multiply.template operator()<true>();
  multiply.template operator()<false>();
}

/// Computes and stores the part of one warp of all tiles.
template <Sm90F64GemmConfig config, typename Epilogue>
__device__ __forceinline__ void consume_f64(const Sm90F64GemmParameters& p,
                                            const F64Shared<config>& shared,
                                            const Epilogue& transform) {
  const F64Warp<config> place = F64Warp<config>::here();
  RingPosition<config.stages> at;
  for (F64Tiles<config> tiles(p); !tiles.done(); tiles.advance()) {
    F64Sums<config> sums;
    sum_f64(sums, tiles.k_tiles(), at, shared, place);
    if (p.parts > 1) {
      const u32 part = tiles.part_of(p);
      F64Gather<config>::add(sums, shared.base, part, p.parts, place.warp * 32 + place.lane);
      if (part > 0) break;
    }
    // Where a multiprocessor has room for two CTAs, it would get two of the next kernel.
    if (config.ctas() == 1 && !tiles.more()) ptx::griddepcontrol_launch_dependents();
    if (leave_f64_part(sums, p, tiles.slot(), place.part, place.lane)) continue;
    place.store(sums, tiles.tile(), p, shared.staging(place.warp), transform);
    ptx::bar_warp_sync();
  }
}

/// The second kernel, which adds up the sums of parts. A CTA has p.chunks chunks of the divided
/// tiles.
template <Sm90F64GemmConfig config, typename Epilogue>
__device__ __forceinline__ void sum_parts(const Sm90F64GemmParameters& p,
                                          const Epilogue& transform) {
  ptx::griddepcontrol_wait();
  const u32 lane = ptx::tid() % 32;
  const u32 warp = ptx::tid() / 32;
  const u32 warps = abi::kSumWarps / p.chunks;
  const u32 own = warp % warps;
  const F64SumChunk<config> chunk(ptx::ctaid_x() * p.chunks + warp / warps, lane);
  double sums[4] = {};
  chunk.add(p, own, warps, sums);
  if (warps > 1) epilogue::add_warps(warp, own, warps, lane, sums);
  const Tile at = F64Tiles<config>::tile_at(p, p.undivided + chunk.tile);
  const epilogue::QuadPlace to{p.out,
                               p.m,
                               p.n,
                               at.l,
                               at.m + static_cast<i64>(chunk.row),
                               at.n + static_cast<i64>(chunk.column)};
  ptx::griddepcontrol_launch_dependents();
  if (own == 0 && to.is_inside())
    epilogue::finish_quad<config.out, config.out_vectors>(to, transform, sums);
}

}  // namespace sm90

/// The kernel's body. Registers: the producer gives its own to the consumers.
template <Sm90F64GemmConfig config, typename Epilogue>
__device__ __forceinline__ void sm90_f64_gemm(const Sm90F64GemmParameters& p,
                                              const Epilogue& transform) {
  const sm90::F64Shared<config> shared;
  if (ptx::tid() == 0) {
    // Without K no maps were encoded.
    if (p.k > 0) {
      ptx::prefetch_tensormap(p.a);
      ptx::prefetch_tensormap(p.b);
    }
    shared.ring().init(config.warps());
    ptx::fence_mbarrier_init();
  }
  ptx::barrier_sync();
  ptx::griddepcontrol_wait();
  // What the launch before has written by st, this one reads by TMA.
  ptx::fence_proxy_async_global();
  if (ptx::shfl_sync_idx(ptx::tid() / 128, 0) == 0) {
    ptx::reg_dec<config.producer_registers(), config.ctas()>();
    if (ptx::tid() / 32 == 0 && ptx::elect_one()) sm90::produce_f64(p, shared);
    if (p.parts > 1) sm90::F64Gather<config>::join(p.parts);
  } else {
    ptx::reg_inc<config.consumer_registers(), config.ctas()>();
    sm90::consume_f64(p, shared, transform);
  }
}

}  // namespace estoc
