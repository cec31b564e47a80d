// The kernel ahead of sm90_pointer_gemm: reads the table of groups, makes the tensor maps of each,
// and numbers their tiles.
#pragma once

#include <estoc/abi/sm90_pointer_gemm.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/tensormap.cuh>
#include <estoc/ptx/warp.cuh>
#include <estoc/sm90/pointers.cuh>
#include <estoc/tile/group_table.cuh>

namespace estoc {

namespace sm90 {

/// What the table's entries refer to, named as pointed_group() takes it.
struct TableOperands {
  abi::GroupTable table;
  abi::Matrix a;
  abi::Matrix b;
  abi::Matrix out;
  i64 m;
  i64 n;
  i64 k;

  __device__ __forceinline__ static TableOperands of(const Sm90PointerGemmParameters& p) {
    return {p.table, {p.a_address, 0, 0, 0}, {p.b_address, 0, 0, 0}, p.out_raw, p.m, p.n, p.k};
  }
};

/// The matrix of one group as TMA loads it.
struct MapChange {
  u64 address;
  i32 inner;  ///< elements that are neighbours
  i32 outer;
  i64 stride;  ///< elements
};

/// Copies the map `like` to `to` and changes it.
template <Type type>
__device__ __forceinline__ void make_map(const abi::TensorMap& like, u64 to,
                                         const MapChange& change) {
#pragma unroll
  for (int i = 0; i < 16; i += 2) {
    const auto low = bit_cast<Words<2>>(like.opaque[i]);
    const auto high = bit_cast<Words<2>>(like.opaque[i + 1]);
    ptx::st_global<4>(to + static_cast<u64>(8 * i),
                      Words<4>{low.word[0], low.word[1], high.word[0], high.word[1]});
  }
  ptx::tensormap_replace_address(to, change.address);
  ptx::tensormap_replace_extent<0>(to, static_cast<u32>(change.inner));
  ptx::tensormap_replace_extent<1>(to, static_cast<u32>(change.outer));
  // What a single row's stride is does not matter, but it has to be one of a map.
  const i64 bytes = change.outer > 1 ? change.stride * abi::type_bytes(type) : 16;
  ptx::tensormap_replace_stride<0>(to, static_cast<u64>(bytes));
  ptx::fence_proxy_tensormap_release_gpu();
}

template <Sm90GemmConfig config>
__device__ __forceinline__ u32 tile_count(const PointedGroup& group) {
  return static_cast<u32>((group.m + config.tile_m - 1) / config.tile_m) *
         static_cast<u32>((group.n + config.tile_n - 1) / config.tile_n);
}

/// Tiles of the groups before `first`. Every thread of the warp gets the same.
template <Sm90GemmConfig config>
__device__ __forceinline__ u32 tiles_before(const TableOperands& operands, u32 first, u32 lane) {
  u32 tiles = 0;
#pragma unroll 2
  for (u32 group = lane; group < first; group += 32)
    tiles += tile_count<config>(pointed_group(operands, group));
#pragma unroll
  for (u32 mask = 16; mask > 0; mask /= 2)
    tiles += ptx::shfl_sync_bfly(tiles, mask);
  return tiles;
}

/// Numbers the tiles of a warp's groups, `first` and on, of which this lane has one.
template <Sm90GemmConfig config>
__device__ __forceinline__ void number_tiles(const Sm90PointerGemmParameters& p,
                                             const TableOperands& operands, const PointedGroup& own,
                                             u32 first, u32 lane) {
  const u32 tiles = tile_count<config>(own);
  u32 end = tiles;
#pragma unroll
  for (u32 step = 1; step < 32; step *= 2) {
    const u32 others = ptx::shfl_sync_up(end, step);
    if (lane >= step) end += others;
  }
  end += tiles_before<config>(operands, first, lane);
  if (first + lane >= static_cast<u32>(p.l)) return;
  const auto address = bit_cast<Words<2>>(own.out.address);
  const u64 to = group_address(p, first + lane);
  ptx::st_global<4>(
      to, Words<4>{address.word[0], address.word[1], static_cast<u32>(own.out.row_stride), end});
  ptx::st_global<4>(to + 16, Words<4>{static_cast<u32>(own.m), static_cast<u32>(own.n),
                                      static_cast<u32>(own.k), end - tiles});
}

}  // namespace sm90

/// The kernel's body: of the first half of a CTA's threads, each makes the map of one group's A, of
/// the others of B. Groups without products get none.
template <abi::Sm90GemmConfig config>
__device__ __forceinline__ void group_maps(const abi::Sm90PointerGemmParameters& p) {
  ptx::griddepcontrol_wait();
  const u32 lane = ptx::tid() % 32;
  const u32 thread = ptx::tid() % abi::kMapGroups;
  const u32 group = ptx::ctaid_x() * abi::kMapGroups + thread;
  if (group - lane >= static_cast<u32>(p.l)) return;
  const auto operands = sm90::TableOperands::of(p);
  PointedGroup own{};
  if (group < static_cast<u32>(p.l)) own = pointed_group(operands, group);
  const bool multiplies = own.m > 0 && own.n > 0 && own.k > 0;
  if (ptx::tid() < abi::kMapGroups) {
    sm90::number_tiles<config>(p, operands, own, group - lane, lane);
    constexpr bool kTurned = config.a_m_major;
    if (!multiplies) return;
    sm90::make_map<config.a>(p.a, sm90::map_address(p, group, 0),
                             {own.a.address, kTurned ? own.m : own.k, kTurned ? own.k : own.m,
                              kTurned ? own.a.column_stride : own.a.row_stride});
  } else {
    constexpr bool kTurned = !config.b_n_major;
    if (!multiplies) return;
    sm90::make_map<config.b>(p.b, sm90::map_address(p, group, 1),
                             {own.b.address, kTurned ? own.k : own.n, kTurned ? own.n : own.k,
                              kTurned ? own.b.column_stride : own.b.row_stride});
  }
}

}  // namespace estoc
