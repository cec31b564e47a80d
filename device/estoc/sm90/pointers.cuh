// How an sm_90 kernel computes products of matrices that a table tells: a kernel ahead has made
// tensor maps of each group's A and B and numbered the groups' tiles.
//
// A map ends with its group's matrix, so that loads bring zeros from beyond it; stores end with the
// group's out.
#pragma once

#include <estoc/abi/sm90_pointer_gemm.cuh>
#include <estoc/ptx/tensormap.cuh>
#include <estoc/sm90/load.cuh>
#include <estoc/sm90/store.cuh>
#include <estoc/sm90/work.cuh>
#include <estoc/vector_io.cuh>

namespace estoc::sm90 {

using abi::Sm90PointerGemmParameters;

/// In workspace: a group's PointedTiles, and its map of A (0) or of B (1).
__device__ __forceinline__ u64 group_address(const Sm90PointerGemmParameters& p, u32 group) {
  return p.groups + static_cast<u64>(group) * sizeof(abi::PointedTiles);
}
__device__ __forceinline__ u64 map_address(const Sm90PointerGemmParameters& p, u32 group,
                                           u32 operand) {
  return p.maps + (static_cast<u64>(group) * 2 + operand) * sizeof(abi::TensorMap);
}

struct PointedItem : Item {
  u64 out;  ///< address of its group's PointedTiles
  u32 group;
  bool is_first;  ///< that this CTA has of its group
};

/// Deals the tiles of all groups, one group after the other, to CTAs in turn. Tiles of a group are
/// rasterised as those of a product of its own. Of the groups no more is kept than the search
/// takes: consumers have no register to spare.
template <Sm90GemmConfig config>
class PointedWork {
 public:
  static constexpr bool kBounded = false;
  static_assert(config.cluster_size() == 1);
  __device__ __forceinline__ static void prepare(const Sm90PointerGemmParameters& /*p*/) {}

  __device__ __forceinline__ PointedWork(const Sm90PointerGemmParameters& p,
                                         const ClusterPlace<config>& /*place*/)
      : p_(p), next_(ptx::ctaid_x()) {
    // No more than the grid is made for, whatever stands there.
    const u32 all = end_of(static_cast<u32>(p.l) - 1);
    all_ = all < p.items ? all : p.items;
    find();
  }

  __device__ __forceinline__ bool done() const { return next_ >= all_; }
  __device__ __forceinline__ bool more() const { return next_ + ptx::nctaid_x() < all_; }
  __device__ __forceinline__ void advance() {
    next_ += ptx::nctaid_x();
    find();
  }
  __device__ __forceinline__ i32 k_tiles() const {
    return tiles_of_k(ptx::ld_global<1>(group_address(p_, group_) + 24).word[0]);
  }
  __device__ __forceinline__ PointedItem item() const {
    const u64 group = group_address(p_, group_);
    const Words<4> extents = ptx::ld_global<4>(group + 16);  // m, n, k, the first tile
    const TileRaster raster{(extents.word[0] + config.tile_m - 1) / config.tile_m,
                            (extents.word[1] + config.tile_n - 1) / config.tile_n,
                            static_cast<u32>(p_.group), p_.along_n};
    const TileIndex at = raster.at(next_ - extents.word[3]);
    const Tile tile{0, static_cast<i32>(at.m) * config.tile_m,
                    static_cast<i32>(at.n) * config.tile_n};
    return {{tile, tiles_of_k(extents.word[2]), false, 0, -1}, group, group_, is_first_};
  }

 private:
  __device__ __forceinline__ static i32 tiles_of_k(u32 k) {
    return static_cast<i32>((k + config.tile_k() - 1) / config.tile_k());
  }
  __device__ __forceinline__ u32 end_of(u32 group) const {
    return ptx::ld_global<1>(group_address(p_, group) + 12).word[0];
  }
  /// Goes on to the group of the next tile, which is the first one that ends behind it.
  __device__ __forceinline__ void find() {
    is_first_ = next_ >= end_;
    if (done() || !is_first_) return;
    u32 last = static_cast<u32>(p_.l) - 1;
#pragma unroll 1
    while (group_ < last) {
      const u32 middle = (group_ + last) / 2;
      if (end_of(middle) > next_) {
        last = middle;
      } else {
        group_ = middle + 1;
      }
    }
    end_ = end_of(group_);
  }

  const Sm90PointerGemmParameters& p_;
  u32 next_;
  u32 all_;
  u32 group_ = 0;
  u32 end_ = 0;  ///< of the group's tiles
  bool is_first_ = false;
};

/// Where a group's results go: `rows` x `columns`, in rows.
struct PointedOut {
  u64 address;
  i32 row_stride;
  i32 rows;
  i32 columns;

  /// `group` is the address of its PointedTiles.
  __device__ __forceinline__ static PointedOut of(u64 group) {
    const Words<4> front = ptx::ld_global<4>(group);
    const Words<2> extents = ptx::ld_global<2>(group + 16);
    return {bit_cast<u64>(Words<2>{front.word[0], front.word[1]}), static_cast<i32>(front.word[2]),
            static_cast<i32>(extents.word[0]), static_cast<i32>(extents.word[1])};
  }
};

/// Tiles of A and B by the maps of the item's group.
template <Sm90GemmConfig config>
struct PointedTmaTiles : TmaTiles<config> {
  using Tiles = TmaTiles<config>;

  // There are no maps before the kernel ahead has ended.
  __device__ __forceinline__ static void prefetch(const Sm90PointerGemmParameters& /*p*/) {}

  __device__ __forceinline__ static void fill(const Sm90PointerGemmParameters& p,
                                              const Cta<config>& cta, const PointedItem& item,
                                              i32 step, u32 stage) {
    const u64 a = map_address(p, item.group, 0);
    const u64 b = map_address(p, item.group, 1);
    if (step == 0 && item.is_first) {
      ptx::fence_proxy_tensormap_acquire_gpu(a);
      ptx::fence_proxy_tensormap_acquire_gpu(b);
    }
    const u32 barrier = cta.shared.ring().full(stage);
    const i32 k = step * config.tile_k();
    ptx::mbarrier_arrive_expect_tx(barrier, config.stage_bytes());
    Tiles::LoadA::issue(map_at(a), cta.shared.a(stage), barrier, item.tile.m, k, 0, 0, 1);
    Tiles::LoadB::issue(map_at(b), cta.shared.b(stage), barrier, item.tile.n, k, 0, 0, 1);
  }

 private:
  __device__ __forceinline__ static const abi::TensorMap& map_at(u64 address) {
    return *reinterpret_cast<const abi::TensorMap*>(address);
  }
};

/// Takes boxes to the out of a group: the threads store them, 16 bytes at a time but for the last
/// columns.
struct PointedSender {
  PointedOut out{};

  __device__ __forceinline__ void move_to(u64 group) { out = PointedOut::of(group); }

  template <typename Box>
  __device__ __forceinline__ void send(Box /*shape*/, u32 buffer, const Tile& at,
                                       u32 thread) const {
    constexpr u32 kChunks = Box::kRowBytes / 16;
    constexpr i32 kElements = 16 / Box::kBytes;
    for (u32 i = thread; i < Box::kRows * kChunks; i += Box::kThreads) {
      const u32 row = i / kChunks;
      const i32 m = at.m + static_cast<i32>(row);
      const i32 n = at.n + static_cast<i32>(i % kChunks) * kElements;
      if (m >= out.rows || n >= out.columns) continue;
      const i64 element = static_cast<i64>(m) * out.row_stride + n;
      store_chunk<Box::kBytes>(out.address + static_cast<u64>(element * Box::kBytes),
                               buffer + swizzled<Box::kRowBytes>(row, i % kChunks * 16),
                               out.columns - n);
    }
  }

 private:
  /// `left` elements of a row, as many as 16 bytes hold.
  template <int bytes>
  __device__ __forceinline__ static void store_chunk(u64 address, u32 shared, i32 left) {
    if (left >= 16 / bytes) {
      ptx::st_global<4>(address, ptx::ld_shared<4>(shared));
      return;
    }
#pragma unroll 1
    for (i32 e = 0; e < left; ++e) {
      const auto offset = static_cast<u32>(e * bytes);
      store_global<bytes>(address + offset, load_shared<bytes>(shared + offset));
    }
  }
};

/// Through shared memory, in rows.
template <Sm90GemmConfig config>
struct PointedStagedStore : TmaStore<config> {
  __device__ __forceinline__ static auto of(const Sm90PointerGemmParameters& /*p*/,
                                            const epilogue::Identity& /*none*/, u32 staging,
                                            u32 barrier, u32 thread) {
    return TmaTileStore<WgmmaFragment, kTileShape<config>, config.out, PointedSender>(
        PointedSender{}, staging, barrier, thread);
  }
};

/// Element by element.
template <Sm90GemmConfig config>
struct PointedDirectStore : DirectStore<config> {
  class Stores {
   public:
    __device__ __forceinline__ Stores(const Sm90PointerGemmParameters& p, u32 thread)
        : p_(p), thread_(thread) {}
    __device__ __forceinline__ void move_to(u64 group) { out_ = PointedOut::of(group); }

    template <typename Block, int blocks>
    __device__ __forceinline__ void store(const Block (&acc)[blocks], const Tile& at) const {
      // A stride of 1 that the compiler knew would have it keep a comparison for each column.
      const abi::Matrix matrix{out_.address, out_.row_stride, p_.out_raw.column_stride, 0};
      DirectTileStore<WgmmaFragment, kTileShape<config>, config.out>(matrix, out_.rows,
                                                                     out_.columns, thread_)
          .store(acc, at);
    }
    __device__ __forceinline__ void finish() const {}

   private:
    const Sm90PointerGemmParameters& p_;
    u32 thread_;
    PointedOut out_{};
  };

  __device__ __forceinline__ static auto of(const Sm90PointerGemmParameters& p,
                                            const epilogue::Identity& /*none*/, u32 /*staging*/,
                                            u32 /*barrier*/, u32 thread) {
    return Stores(p, thread);
  }
};

}  // namespace estoc::sm90
