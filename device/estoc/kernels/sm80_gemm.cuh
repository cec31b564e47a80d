// GEMM on the tensor cores by mma.sync, fed by cp.async: Ampere and later, every dtype and layout.
//
// A CTA computes one tile of out. Its threads copy tiles of A and B into a ring of stages, some
// ahead of the products; each warp multiplies its part of the tile from fragments in registers,
// and in the end stores it through shared memory, sixteen rows at a time.
#pragma once

#include <estoc/abi/sm80_gemm.cuh>
#include <estoc/epilogue/staged.cuh>
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/math.cuh>
#include <estoc/ptx/mma.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/warp.cuh>
#include <estoc/tile/fp8.cuh>
#include <estoc/tile/mma_operand.cuh>
#include <estoc/tile/raster.cuh>
#include <estoc/tile/staged_store.cuh>

namespace estoc {

using abi::Sm80GemmConfig;
using abi::Sm80GemmParameters;

namespace sm80 {

/// This thread's place: its lane, and its warp's part of the tile.
template <Sm80GemmConfig config>
struct WarpPlace {
  u32 lane;
  u32 warp;
  TileOffset part;

  __device__ __forceinline__ static WarpPlace here() {
    const u32 warp = ptx::tid() / 32;
    return {ptx::tid() % 32,
            warp,
            {warp / config.warps_n * config.warp_rows(),
             warp % config.warps_n * config.warp_columns()}};
  }
};

/// tf32 operands are rounded where they enter a product.
template <Type type>
__device__ __forceinline__ void round_operand(Words<4>& words) {
  if constexpr (type == Type::tf32) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      words.word[i] = bit_cast<u32>(detail::round_tf32(bit_cast<float>(words.word[i])));
  }
}

/// acc += a b of f16 for 16 rows, 8 columns and 16 elements of K; sums of f16 are packed.
__device__ __forceinline__ void multiply_f16(float (&acc)[4], const u32 (&a)[4],
                                             const u32 (&b)[2]) {
  ptx::mma_m16n8k16<Type::f16>(acc, a, b);
}
__device__ __forceinline__ void multiply_f16(u32 (&acc)[2], const u32 (&a)[4], const u32 (&b)[2]) {
  ptx::mma_m16n8k16_f16(acc, a, b);
}

/// acc += a b for 16 rows, 8 columns and 32 bytes of K.
template <Type a_type, Type b_type, typename Value, int count>
__device__ __forceinline__ void multiply(Value (&acc)[count], const u32 (&a)[4],
                                         const u32 (&b)[2]) {
  if constexpr (a_type == Type::f16) {
    multiply_f16(acc, a, b);
  } else if constexpr (a_type == Type::bf16) {
    ptx::mma_m16n8k16<a_type>(acc, a, b);
  } else if constexpr (a_type == Type::tf32) {
    ptx::mma_m16n8k8_tf32(acc, a, b);
  } else if constexpr (a_type == Type::i8 || a_type == Type::u8) {
    ptx::mma_m16n8k32<a_type, b_type>(acc, a, b);
  } else {
    // As two products of f16: their order along K is the same for A and B, so it does not matter.
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const u32 wide_a[4] = {widen_fp8<a_type>(a[0], half), widen_fp8<a_type>(a[1], half),
                             widen_fp8<a_type>(a[2], half), widen_fp8<a_type>(a[3], half)};
      const u32 wide_b[2] = {widen_fp8<b_type>(b[0], half), widen_fp8<b_type>(b[1], half)};
      multiply_f16(acc, wide_a, wide_b);
    }
  }
}

/// acc += a b for 16 rows, 8 columns and four elements of K.
__device__ __forceinline__ void multiply_f64(double (&acc)[4], const double (&a)[2], double b) {
#if __CUDA_ARCH__ >= 900
  const double column[1] = {b};
  ptx::mma_m16n8_f64<4>(acc, a, column);
#else
  double low[2] = {acc[0], acc[1]};
  double high[2] = {acc[2], acc[3]};
  ptx::mma_m8n8k4_f64(low, a[0], b);
  ptx::mma_m8n8k4_f64(high, a[1], b);
  acc[0] = low[0];
  acc[1] = low[1];
  acc[2] = high[0];
  acc[3] = high[1];
#endif
}

/// The sums of one warp: blocks of 16 rows and 8 columns, four a thread. Those of f16 are packed,
/// two to a register.
template <Sm80GemmConfig config>
struct Sums {
  using Sum = SumOf<config.accumulator>;
  static constexpr int kBlocksM = config.warp_rows() / 16;
  static constexpr int kBlocksN = config.warp_columns() / 8;
  typename Sum::type block[kBlocksM][kBlocksN][4 / Sum::kCount] = {};
};

/// The fragments of one K step of a warp's part of a stage.
template <Sm80GemmConfig config>
struct Fragments {
  static constexpr bool kF64 = config.accumulator == Type::f64;
  using ReaderA = FragmentReader<config.a, config.a_m_major, config.tile_m, config.tile_k>;
  using ReaderB = FragmentReader<config.b, config.b_n_major, config.tile_n, config.tile_k>;
  static constexpr int kPairsM = config.warp_rows() / 16;
  static constexpr int kPairsN = config.warp_columns() / 16;
  Words<4> a[kPairsM];
  Words<4> b[kPairsN];

  __device__ __forceinline__ void read(u32 shared_a, u32 shared_b, u32 step,
                                       const WarpPlace<config>& place) {
#pragma unroll
    for (u32 i = 0; i < kPairsM; ++i) {
      a[i] = read_one<ReaderA, false>(shared_a, place.part.m + 16 * i, step, place.lane);
      round_operand<config.a>(a[i]);
    }
#pragma unroll
    for (u32 j = 0; j < kPairsN; ++j) {
      b[j] = read_one<ReaderB, true>(shared_b, place.part.n + 16 * j, step, place.lane);
      round_operand<config.b>(b[j]);
    }
  }

  __device__ __forceinline__ void multiply_into(Sums<config>& sums) const {
#pragma unroll
    for (int i = 0; i < Sums<config>::kBlocksM; ++i) {
#pragma unroll
      for (int j = 0; j < Sums<config>::kBlocksN; ++j) {
        const Words<4>& pair = b[j / 2];
        if constexpr (kF64) {
          multiply_f64(sums.block[i][j], bit_cast<Doubles>(a[i]).value,
                       bit_cast<Doubles>(pair).value[j % 2]);
        } else {
          const u32 columns[2] = {pair.word[j % 2 * 2], pair.word[j % 2 * 2 + 1]};
          multiply<config.a, config.b>(sums.block[i][j], a[i].word, columns);
        }
      }
    }
  }

 private:
  struct alignas(16) Doubles {
    double value[2];
  };

  template <typename Reader, bool is_b>
  __device__ __forceinline__ static Words<4> read_one(u32 shared, u32 first, u32 step, u32 lane) {
    if constexpr (kF64) return Reader::read_f64(shared, first, step, lane);
    if constexpr (!kF64) return Reader::template read<is_b>(shared, first, step, lane);
  }
};

/// The sums of a warp as stores and epilogues see them.
struct MmaFragment : Quad<1> {
  template <typename Value, int count>
  __device__ __forceinline__ static Value value(const Value (&block)[count][4], int x) {
    return block[x / 4][x % 4];
  }
  template <int count>
  __device__ __forceinline__ static float value(const u32 (&block)[count][2], int x) {
    return element_of<Type::f32, Type::f16>(Words<1>{block[x / 4][x % 4 / 2]}, x % 2);
  }
  __device__ __forceinline__ static MmaFragment of(u32 lane) { return {Quad::of(lane)}; }
};

/// What one warp stores.
template <Sm80GemmConfig config>
inline constexpr TileShape kTileShape{config.warp_rows(), config.warp_columns(),
                                      config.warp_columns()};

/// Where the rows and columns end that are stored.
struct TileEnds {
  i32 m;
  i32 n;
};

/// Brings the sums of a warp to memory; `tile` is the CTA's.
template <Sm80GemmConfig config, typename Epilogue>
__device__ __forceinline__ void store(const Sums<config>& sums, const Sm80GemmParameters& p,
                                      const WarpPlace<config>& place, const Tile& tile,
                                      const TileEnds& ends, const Epilogue& /*none*/) {
  const u32 buffer = ptx::smem_base() + place.warp * 16 * config.store_pitch();
  StagedTileStore<MmaFragment, kTileShape<config>, config.out, config.store_pitch(),
                  config.out_vectors>(p.out, buffer, ends.m, ends.n, place.lane)
      .store(sums.block, tile, place.part);
}

/// The same through an epilogue.
template <Sm80GemmConfig config, typename E>
__device__ __forceinline__ void store(const Sums<config>& sums, const Sm80GemmParameters& p,
                                      const WarpPlace<config>& place, const Tile& tile,
                                      const TileEnds& ends, const epilogue::Fused<E>& fused) {
  const u32 buffer = ptx::smem_base() + place.warp * 16 * config.store_pitch();
  const i64 tile_m = tile.m / config.tile_m;
  const i64 tile_n = tile.n / config.place_columns();
  const epilogue::Parts parts{
      tile_n * config.warps_n + static_cast<i64>(place.warp % config.warps_n),
      tile_m * config.warps_m + static_cast<i64>(place.warp / config.warps_n),
      (tile_m * p.tiles_n + tile_n) * (config.threads() / 32) + static_cast<i64>(place.warp)};
  epilogue::StagedEpilogue<MmaFragment, kTileShape<config>, abi::computed_as(config.accumulator),
                           config.store_pitch(), E, config.paired>(fused.parameters, buffer, ends.m,
                                                                   ends.n, p.n, place.lane)
      .store(sums.block, tile, place.part, parts);
}

/// Where the matrices are that a tile is the product of.
struct TileSource {
  u64 a;
  u64 b;
  i32 k;

  /// Of batch `l`.
  template <Sm80GemmConfig config>
  __device__ __forceinline__ static TileSource batch(const Sm80GemmParameters& p, i32 l) {
    const auto first = [l](const abi::Matrix& x, Type type) {
      return x.address + static_cast<u64>(l * x.batch_stride * abi::type_bytes(type));
    };
    return {first(p.a, config.a), first(p.b, config.b), p.k};
  }
};

/// Computes one tile, whose rows of A are brought by what `copy_of_a` makes.
template <Sm80GemmConfig config, typename CopyOfA, typename Epilogue>
__device__ __forceinline__ void compute_tile_of(const Sm80GemmParameters& p,
                                                const CopyOfA& copy_of_a, const TileSource& source,
                                                const Tile& tile, const TileEnds& ends,
                                                const Epilogue& transform) {
  using CopyB = OperandCopy<config.b, config.b_n_major, config.tile_n, config.tile_k, config.b_copy,
                            config.threads(), config.paired>;
  const u32 shared = ptx::smem_base();
  const WarpPlace<config> place = WarpPlace<config>::here();
  auto copy_a = copy_of_a();
  CopyB copy_b(source.b, config.b_n_major ? p.b.row_stride : p.b.column_stride, tile.n, p.n,
               source.k, ptx::tid(), config.paired ? p.pair_distance : 0);
  const i32 k_tiles = (source.k + config.tile_k - 1) / config.tile_k;
  // A group for each K tile, empty beyond the last, so that their number tells what has arrived.
  auto copy = [&](i32 k_tile) {
    if (k_tile < k_tiles) {
      const u32 stage = shared + static_cast<u32>(k_tile % config.stages) * config.stage_bytes();
      copy_a.start(stage, k_tile * config.tile_k);
      copy_b.start(stage + config.a_bytes(), k_tile * config.tile_k);
    }
    ptx::cp_async_commit_group();
  };
#pragma unroll
  for (int k_tile = 0; k_tile < config.stages - 1; ++k_tile)
    copy(k_tile);
  // In f64 the first fragments of a stage are fetched during the last products of the one before.
  constexpr bool kAhead = config.accumulator == Type::f64;
  constexpr u32 kSteps = config.tile_k * abi::type_bytes(config.a) / 32;
  Sums<config> sums;
  Fragments<config> fragments[2];
  auto read = [&](i32 k_tile, u32 step) __attribute__((always_inline)) {
    const u32 stage = shared + static_cast<u32>(k_tile % config.stages) * config.stage_bytes();
    fragments[step % 2].read(stage, stage + config.a_bytes(), step, place);
  };
  auto enter = [&](i32 k_tile) __attribute__((always_inline)) {
    ptx::cp_async_wait_group<config.stages - 2>();
    // What arrived is now everyone's, and no thread reads the stage before, which is filled next.
    ptx::barrier_sync();
    if (!kAhead) copy(k_tile + config.stages - 1);
    if (!kAhead || k_tile < k_tiles) read(k_tile, 0);
  };
  if (kAhead) enter(0);
  for (i32 k_tile = 0; k_tile < k_tiles; ++k_tile) {
    if (!kAhead) enter(k_tile);
#pragma unroll
    for (u32 step = 0; step < kSteps; ++step) {
      if (step + 1 < kSteps) read(k_tile, step + 1);
      if (kAhead && step == 0) copy(k_tile + config.stages - 1);
      if (kAhead && step + 1 == kSteps) enter(k_tile + 1);
      fragments[step % 2].multiply_into(sums);
    }
  }
  ptx::cp_async_wait_all();
  ptx::barrier_sync();
  store<config>(sums, p, place, tile, ends, transform);
}

/// Computes one tile.
template <Sm80GemmConfig config, typename Epilogue>
__device__ __forceinline__ void compute_tile(const Sm80GemmParameters& p, const TileSource& source,
                                             const Tile& tile, const TileEnds& ends,
                                             const Epilogue& transform) {
  using CopyA = OperandCopy<config.a, config.a_m_major, config.tile_m, config.tile_k, config.a_copy,
                            config.threads()>;
  const auto copy_of_a = [&]() __attribute__((always_inline)) {
    return CopyA(source.a, config.a_m_major ? p.a.column_stride : p.a.row_stride, tile.m, p.m,
                 source.k, ptx::tid());
  };
  compute_tile_of<config>(p, copy_of_a, source, tile, ends, transform);
}

}  // namespace sm80

/// The kernel's body: CTA (x, 0, z) computes tile x of batches z, z + gridDim.z, ...
template <Sm80GemmConfig config, typename Epilogue>
__device__ __forceinline__ void sm80_gemm(const Sm80GemmParameters& p, const Epilogue& transform) {
  ptx::griddepcontrol_wait();
  const TileIndex tile = TileRaster{p.tiles_m, p.tiles_n, p.group}.at(ptx::ctaid_x());
  for (i32 l = static_cast<i32>(ptx::ctaid_z()); l < p.l; l += static_cast<i32>(ptx::nctaid_z())) {
    const Tile at{l, static_cast<i32>(tile.m) * config.tile_m,
                  static_cast<i32>(tile.n) * config.place_columns()};
    sm80::compute_tile<config>(p, sm80::TileSource::batch<config>(p, l), at, {p.m, p.n}, transform);
    ptx::barrier_sync();
  }
}

}  // namespace estoc
