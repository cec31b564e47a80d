// GEMM of 8-bit floats, and of MXFP8, MXFP4 and NVFP4, by the mma.sync instructions of sm_120a.
//
// As sm80_gemm: cp.async brings tiles to a ring of stages, here with the scales of their blocks;
// the tensor cores multiply products by the scales. Bytes are moved as sm80_gemm moves e4m3,
// whatever the elements are.
#pragma once

#include <estoc/abi/sm120_gemm.cuh>
#include <estoc/kernels/sm80_gemm.cuh>
#include <estoc/ptx/mma_scaled.cuh>
#include <estoc/tile/scale_words.cuh>

namespace estoc {

using abi::Sm120GemmConfig;
using abi::Sm120GemmParameters;

namespace sm120 {

/// The words of scales that a thread gives for its warp's blocks of sums.
template <Sm120GemmConfig config>
struct ScaleFragments {
  static constexpr Sm80GemmConfig kMoved = config.moved();
  static constexpr int kBlocksM = kMoved.warp_rows() / 16;
  static constexpr int kBlocksN = kMoved.warp_columns() / 8;
  u32 a[kBlocksM];
  u32 b[kBlocksN];

  /// Of word `word` along K: of four lanes that share a row, the first and the third have that row
  /// of A, the others the row 8 below; all have their column of B.
  __device__ __forceinline__ void read(u32 shared_a, u32 shared_b, u32 word,
                                       const sm80::WarpPlace<kMoved>& place) {
    const u32 row = word * config.tile_m + place.part.m + place.lane / 4 + place.lane % 2 * 8;
    const u32 column = word * config.tile_n + place.part.n + place.lane / 4;
#pragma unroll
    for (u32 i = 0; i < kBlocksM; ++i)
      a[i] = ptx::ld_shared<1>(shared_a + 4 * (row + 16 * i)).word[0];
#pragma unroll
    for (u32 j = 0; j < kBlocksN; ++j)
      b[j] = ptx::ld_shared<1>(shared_b + 4 * (column + 8 * j)).word[0];
  }
};

/// acc += a b for 16 rows, 8 columns and 32 bytes of K, whose scales are the bytes from `first` on.
template <Sm120GemmConfig config, int first>
__device__ __forceinline__ void multiply(float (&acc)[4], const u32 (&a)[4], const u32 (&b)[2],
                                         u32 a_scales, u32 b_scales) {
  if constexpr (config.block == 0) {
    ptx::mma_f8f6f4<config.a, config.b>(acc, a, b);
  } else if constexpr (config.block == 16) {
    ptx::mma_nvf4(acc, a, b, a_scales, b_scales);
  } else if constexpr (config.a == Type::e2m1) {
    ptx::mma_mxf4<first>(acc, a, b, a_scales, b_scales);
  } else {
    ptx::mma_mxf8f6f4<config.a, config.b, first>(acc, a, b, a_scales, b_scales);
  }
}

/// Adds the products of one step, 32 bytes of K, to the sums of a warp.
template <Sm120GemmConfig config, int first>
__device__ __forceinline__ void add_products(sm80::Sums<config.moved()>& sums,
                                             const sm80::Fragments<config.moved()>& fragments,
                                             const ScaleFragments<config>& scales) {
#pragma unroll
  for (int i = 0; i < ScaleFragments<config>::kBlocksM; ++i) {
#pragma unroll
    for (int j = 0; j < ScaleFragments<config>::kBlocksN; ++j) {
      const Words<4>& pair = fragments.b[j / 2];
      const u32 columns[2] = {pair.word[j % 2 * 2], pair.word[j % 2 * 2 + 1]};
      multiply<config, first>(sums.block[i][j], fragments.a[i].word, columns, scales.a[i],
                              scales.b[j]);
    }
  }
}

/// The products of one stage, steps of 32 bytes of K.
template <Sm120GemmConfig config>
class StageProducts {
 public:
  static constexpr Sm80GemmConfig kMoved = config.moved();
  static constexpr u32 kSteps = config.row_bytes() / 32;
  /// Steps that a word of scales lasts for.
  static constexpr u32 kPerWord = config.block == 0 ? kSteps : kSteps / config.scale_words();

  __device__ __forceinline__ explicit StageProducts(const sm80::WarpPlace<kMoved>& place)
      : place_(place) {}

  /// Fetches what step 0 takes of the stage at `stage`.
  __device__ __forceinline__ void enter(u32 stage) {
    stage_ = stage;
    read<0>();
  }
  __device__ __forceinline__ void add_to(sm80::Sums<kMoved>& sums) { add_from<0>(sums); }

 private:
  template <u32 step>
  __device__ __forceinline__ void add_from(sm80::Sums<kMoved>& sums) {
    if constexpr (step < kSteps) {
      if constexpr (step + 1 < kSteps) read<step + 1>();
      constexpr int kFirst = step % kPerWord * (4 / kPerWord);
      add_products<config, kFirst>(sums, fragments_[step % 2], scales_[step / kPerWord % 2]);
      add_from<step + 1>(sums);
    }
  }
  template <u32 step>
  __device__ __forceinline__ void read() {
    fragments_[step % 2].read(stage_, stage_ + config.a_bytes(), step, place_);
    if constexpr (config.block != 0 && step % kPerWord == 0) {
      const u32 scales = stage_ + config.a_bytes() + config.b_bytes();
      scales_[step / kPerWord % 2].read(scales, scales + 4 * config.scale_words() * config.tile_m,
                                        step / kPerWord, place_);
    }
  }

  const sm80::WarpPlace<kMoved>& place_;
  u32 stage_ = 0;
  sm80::Fragments<kMoved> fragments_[2];
  ScaleFragments<config> scales_[2] = {};
};

/// Copies tiles of one operand and the scales of their blocks.
template <Sm120GemmConfig config, Type type, int rows, int copy_bytes>
class TileCopy {
 public:
  __device__ __forceinline__ TileCopy(const abi::Matrix& matrix, i64 stride,
                                      const abi::Scales& scales, i32 l, i32 first, i32 extent,
                                      i32 k)
      : elements_(matrix.address + bytes_of(l * matrix.batch_stride),
                  static_cast<i64>(bytes_of(stride)), first, extent, static_cast<i32>(bytes_of(k)),
                  ptx::tid()),
        scales_(scales, l, first, extent, k, ptx::tid()) {}

  /// Starts the copies of K tile `k_tile`, of elements and of scales.
  __device__ __forceinline__ void start(u32 elements, u32 scales, i32 k_tile) {
    elements_.start(elements, k_tile * config.row_bytes());
    if constexpr (config.block != 0) scales_.start(scales, k_tile * config.scale_words());
  }

 private:
  __device__ __forceinline__ static u64 bytes_of(i64 elements) {
    return static_cast<u64>(elements * abi::type_bits(type) / 8);
  }

  OperandCopy<Type::e4m3, false, rows, config.row_bytes(), copy_bytes, config.threads()> elements_;
  ScaleCopy<config.block == 0 ? 32 : config.block, rows, config.scale_words(), config.threads()>
      scales_;
};

/// Computes one tile of one batch.
template <Sm120GemmConfig config, typename Epilogue>
__device__ __forceinline__ void compute_tile(const Sm120GemmParameters& p, i32 l, i32 m, i32 n,
                                             const Epilogue& transform) {
  constexpr Sm80GemmConfig kMoved = config.moved();
  const u32 shared = ptx::smem_base();
  const sm80::WarpPlace<kMoved> place = sm80::WarpPlace<kMoved>::here();
  TileCopy<config, config.a, config.tile_m, config.a_copy> copy_a(p.a, p.a.row_stride, p.a_scales,
                                                                  l, m, p.m, p.k);
  TileCopy<config, config.b, config.tile_n, config.b_copy> copy_b(p.b, p.b.column_stride,
                                                                  p.b_scales, l, n, p.n, p.k);
  const i32 k_tiles = (p.k + config.tile_k - 1) / config.tile_k;
  const auto stage_of = [shared](i32 k_tile) {
    return shared + static_cast<u32>(k_tile % config.stages) * config.stage_bytes();
  };
  // As in sm80_gemm: a group for each K tile, empty beyond the last.
  auto copy = [&](i32 k_tile) {
    if (k_tile < k_tiles) {
      const u32 stage = stage_of(k_tile);
      const u32 scales = stage + config.a_bytes() + config.b_bytes();
      copy_a.start(stage, scales, k_tile);
      copy_b.start(stage + config.a_bytes(), scales + 4 * config.scale_words() * config.tile_m,
                   k_tile);
    }
    ptx::cp_async_commit_group();
  };
#pragma unroll
  for (int k_tile = 0; k_tile < config.stages - 1; ++k_tile)
    copy(k_tile);
  sm80::Sums<kMoved> sums;
  StageProducts<config> products(place);
#pragma unroll 1
  for (i32 k_tile = 0; k_tile < k_tiles; ++k_tile) {
    ptx::cp_async_wait_group<config.stages - 2>();
    // What arrived is now everyone's, and no thread reads the stage before, which is filled next.
    ptx::barrier_sync();
    copy(k_tile + config.stages - 1);
    products.enter(stage_of(k_tile));
    products.add_to(sums);
  }
  ptx::cp_async_wait_all();
  ptx::barrier_sync();
  const Sm80GemmParameters plain{p.a, p.b,       p.out,     p.m,     p.n,  p.k,
                                 p.l, p.tiles_m, p.tiles_n, p.group, p.pad};
  sm80::store<kMoved>(sums, plain, place, {l, m, n}, {p.m, p.n}, transform);
}

}  // namespace sm120

/// The kernel's body: CTA (x, 0, z) computes tile x of batches z, z + gridDim.z, ...
template <Sm120GemmConfig config, typename Epilogue>
__device__ __forceinline__ void sm120_gemm(const Sm120GemmParameters& p,
                                           const Epilogue& transform) {
  ptx::griddepcontrol_wait();
  const TileIndex tile = TileRaster{p.tiles_m, p.tiles_n, p.group}.at(ptx::ctaid_x());
  for (i32 l = static_cast<i32>(ptx::ctaid_z()); l < p.l; l += static_cast<i32>(ptx::nctaid_z())) {
    sm120::compute_tile<config>(p, l, static_cast<i32>(tile.m) * config.tile_m,
                                static_cast<i32>(tile.n) * config.tile_n, transform);
    ptx::barrier_sync();
  }
}

}  // namespace estoc
