// GEMM of f32 by multiply-adds, fed by cp.async: Ampere and later, every layout.
//
// A CTA computes one tile of out. Its threads copy tiles of A and B into a ring of stages, a chunk
// at a time between products; a thread adds up 8 x 16 elements in registers. Slices of warps take
// every so many steps of K. In the end the sums of all slices lie in shared memory, and the threads
// walk them row by row.
#pragma once

#include <estoc/abi/sm80_f32_gemm.cuh>
#include <estoc/epilogue/direct.cuh>
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/math.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/tile/mma_operand.cuh>
#include <estoc/tile/raster.cuh>

namespace estoc {

using abi::Sm80F32GemmConfig;
using abi::Sm80F32GemmParameters;

namespace f32 {

inline constexpr int kStep = 4;      // elements of K that are multiplied at once
inline constexpr int kRows = 8;      // of a thread; 8 lanes of a warp lie along M
inline constexpr int kColumns = 16;  // likewise; 4 lanes lie along N

/// This thread's place: its slice, its part of the tile, and its lane along M and N. Neighbouring
/// lanes differ in pairs, so that reads of 16 bytes take half the cycles.
template <Sm80F32GemmConfig config>
struct Place {
  u32 slice;
  u32 m;
  u32 n;
  u32 lane_m;
  u32 lane_n;

  __device__ __forceinline__ static Place here() {
    const u32 lane = ptx::tid() % 32;
    const u32 warp = ptx::tid() / 32;
    constexpr u32 kParts = config.warps_m() * config.warps_n();
    const u32 part = warp % kParts;
    return {warp / kParts, part / config.warps_n() * 64, part % config.warps_n() * 64,
            (lane >> 1 & 1) | (lane >> 2 & 6), (lane & 1) | (lane >> 1 & 2)};
  }
};

/// A tile of one operand in shared memory: rows along K (K-major), or along M or N. The 16-byte
/// chunks of K-major rows are permuted, so that eight rows have a chunk in different banks.
template <bool mn_major, int outer, int tile_k>
struct F32Layout {
  static constexpr int kRows = mn_major ? tile_k : outer;
  static constexpr int kRowBytes = (mn_major ? outer : tile_k) * 4;
  static constexpr int kChunks = kRowBytes / 16;
  static_assert(mn_major || kChunks % 8 == 0);

  __device__ __forceinline__ static constexpr u32 offset(u32 row, u32 chunk) {
    return row * kRowBytes + (mn_major ? chunk : chunk ^ row % 8) * 16;
  }
};

/// What a thread reads of one operand for a step of K: `count` elements of M or N, beside those of
/// `lanes` lanes. Of K-major tiles they are `lanes` apart; of others four neighbours are.
template <bool mn_major, int outer, int tile_k, int slices, int count, int lanes>
struct OperandStep {
  using Layout = F32Layout<mn_major, outer, tile_k>;
  Words<4> words[count];

  /// Element `i` of a thread, counted from that of lane 0.
  __device__ __forceinline__ static constexpr u32 place(int i, u32 lane) {
    return mn_major ? static_cast<u32>(i / 4 * 4 * lanes + i % 4) + 4 * lane
                    : static_cast<u32>(i * lanes) + lane;
  }

  /// Where this thread finds its first element of a warp's part that begins at `first`, in the
  /// first step of its slice, in bytes from the tile.
  __device__ __forceinline__ static u32 begin(u32 first, u32 lane, u32 slice) {
    return mn_major ? Layout::offset(slice * kStep, (first + 4 * lane) / 4)
                    : Layout::offset(first + lane, slice);
  }

  /// Step number `step` of the slice, from the place of the first one.
  __device__ __forceinline__ void read(u32 begin, int step) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if constexpr (mn_major) {
        const int row = step * kStep * slices + i / (count / 4);
        const int column = i % (count / 4) * 4 * lanes;
        words[i] =
            ptx::ld_shared<4>(begin + static_cast<u32>(row * Layout::kRowBytes + column * 4));
      } else {
        // Tiles begin at multiples of 1024 bytes: of the address, the chunk is bits of its own.
        const u32 chunk = static_cast<u32>((step * slices) ^ (i * lanes % 8));
        words[i] = ptx::ld_shared<4>((begin ^ chunk * 16) +
                                     static_cast<u32>(i * lanes * Layout::kRowBytes));
      }
    }
  }

  __device__ __forceinline__ float value(int i, int k) const {
    return bit_cast<float>(mn_major ? words[k * (count / 4) + i / 4].word[i % 4]
                                    : words[i].word[k]);
  }
};

template <Sm80F32GemmConfig config>
using StepA = OperandStep<config.a_m_major, config.tile_m, config.tile_k, config.slices, kRows, 8>;
template <Sm80F32GemmConfig config>
using StepB =
    OperandStep<config.b_n_major, config.tile_n, config.tile_k, config.slices, kColumns, 4>;

/// Copies tiles of one operand, chunks of 16 bytes a thread. Rows beyond the last element of M or N
/// are copies of the last one, as their sums are not stored; what lies beyond the end of K is zero.
template <bool mn_major, int outer, int tile_k, int threads>
class ChunkCopy {
 public:
  using Layout = F32Layout<mn_major, outer, tile_k>;
  static constexpr int kOwn = Layout::kRows * Layout::kChunks / threads;
  /// A thread has the same chunk of every so many rows.
  static constexpr int kRowsBetween = threads / Layout::kChunks;
  static_assert(kOwn * kRowsBetween == Layout::kRows && (mn_major || kRowsBetween % 8 == 0));

  /// `first` is the tile's first element of M or N, `extent` their number; `stride` counts elements
  /// from one row of the operand to the next.
  __device__ __forceinline__ ChunkCopy(u64 address, i64 stride, i32 first, i32 extent, i32 k)
      : between_(static_cast<u64>(kRowsBetween * stride * 4)), k_(k) {
    const i32 chunk = static_cast<i32>(ptx::tid()) % Layout::kChunks;
    const i32 row = static_cast<i32>(ptx::tid()) / Layout::kChunks;
    to_ = Layout::offset(static_cast<u32>(row), static_cast<u32>(chunk));
    if constexpr (mn_major) {
      along_k_ = row;
      bytes_ = clamp16((extent - first - chunk * 4) * 4);
      rows_ = address + static_cast<u64>(i64{bytes_ > 0 ? first + chunk * 4 : 0} * 4);
    } else {
      along_k_ = chunk * 4;
      last_row_ = extent - 1 - first - row;
      rows_ = address +
              static_cast<u64>((i64{first} + row + (last_row_ < 0 ? last_row_ : 0)) * stride * 4);
    }
  }

  /// The K tile that is copied from now on begins at element `k`.
  __device__ __forceinline__ void enter(i32 k, i64 stride) {
    const i32 left = k_ - k - along_k_;
    if constexpr (mn_major) {
      last_ = left - 1;
      const i32 row = left > 0 ? k + along_k_ : k_ > 0 ? k_ - 1 : 0;
      from_ = rows_ + static_cast<u64>(row * stride * 4);
    } else {
      bytes_ = clamp16(left * 4);
      // That it depends on k keeps ptxas from computing all addresses ahead of the loop.
      last_ = left > 0 ? last_row_ : 0;
      from_ = rows_ + static_cast<u64>(i64{left > 0 ? k + along_k_ : 0} * 4);
    }
  }

  /// Starts the copy of chunk `i` of this thread to a tile in shared memory; one after the other.
  __device__ __forceinline__ void start(int i, u32 shared) {
    const i32 row = i * kRowsBetween;
    ptx::cp_async<16>(shared + to_ + static_cast<u32>(row * Layout::kRowBytes), from_,
                      static_cast<u32>(mn_major && row > last_ ? 0 : bytes_));
    if (row + kRowsBetween <= last_) from_ += between_;
  }

 private:
  __device__ __forceinline__ static i32 clamp16(i32 bytes) {
    return bytes < 0 ? 0 : bytes > 16 ? 16 : bytes;
  }

  u64 rows_;     // where this thread's first chunk would be, were the tile the first along K
  u64 from_;     // its next chunk
  u64 between_;  // from one of its rows to the next
  i32 k_;
  i32 along_k_;       // elements of K from a tile's first to this thread's first
  i32 last_row_ = 0;  // of K-major operands, what last_ is within K
  i32 last_;          // the operand's last row, counted from this thread's first
  i32 bytes_;
  u32 to_;
};

/// The copies of one CTA: those of a K tile, spread over the steps of one before.
template <Sm80F32GemmConfig config>
struct Copies {
  using CopyA = ChunkCopy<config.a_m_major, config.tile_m, config.tile_k, config.threads()>;
  using CopyB = ChunkCopy<config.b_n_major, config.tile_n, config.tile_k, config.threads()>;
  CopyA a;
  CopyB b;

  __device__ __forceinline__ void enter(i32 k, const Sm80F32GemmParameters& p) {
    a.enter(k, p.a.column_stride);
    b.enter(k, p.b.row_stride);
  }
  /// Part `part` of `parts` of the copies to a stage.
  template <int parts>
  __device__ __forceinline__ void start(int part, u32 stage) {
    constexpr int kAll = CopyA::kOwn + CopyB::kOwn;
#pragma unroll
    for (int i = part * kAll / parts; i < (part + 1) * kAll / parts; ++i) {
      if (i < CopyA::kOwn) {
        a.start(i, stage);
      } else {
        b.start(i - CopyA::kOwn, stage + config.a_bytes());
      }
    }
  }
};

/// acc += the products of one step.
template <Sm80F32GemmConfig config>
__device__ __forceinline__ void multiply(float (&acc)[kRows][kColumns], const StepA<config>& a,
                                         const StepB<config>& b) {
  // To and fro where ptxas then finds registers in more different banks.
  constexpr bool kTurns = config.a_m_major && config.threads() > 128;
#pragma unroll
  for (int k = 0; k < kStep; ++k) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int at = 0; at < kColumns; ++at) {
        const int j = kTurns && i % 2 == 1 ? kColumns - 1 - at : at;
        acc[i][j] = ptx::fma_rn(a.value(i, k), b.value(j, k), acc[i][j]);
      }
    }
  }
}

/// Adds up this slice's products of a tile of batch `at.l`.
template <Sm80F32GemmConfig config>
__device__ __forceinline__ void sum_tile(float (&acc)[kRows][kColumns],
                                         const Sm80F32GemmParameters& p, const Tile& at) {
  const auto place = Place<config>::here();
  const u32 shared = ptx::smem_base();
  Copies<config> copies{{p.a.address + static_cast<u64>(at.l * p.a.batch_stride * 4),
                         config.a_m_major ? p.a.column_stride : p.a.row_stride, at.m, p.m, p.k},
                        {p.b.address + static_cast<u64>(at.l * p.b.batch_stride * 4),
                         config.b_n_major ? p.b.row_stride : p.b.column_stride, at.n, p.n, p.k}};
  const i32 k_tiles = (p.k + config.tile_k - 1) / config.tile_k;
#pragma unroll
  for (int k_tile = 0; k_tile < config.stages - 1; ++k_tile) {
    copies.enter(k_tile * config.tile_k, p);
    copies.template start<1>(0, shared + k_tile * config.stage_bytes());
    ptx::cp_async_commit_group();
  }
  constexpr int kSteps = config.tile_k / kStep / config.slices;
  u32 stage = shared;
  u32 filled = shared + (config.stages - 1) * config.stage_bytes();
  const u32 end = shared + config.stages * config.stage_bytes();
  const u32 a_begin = StepA<config>::begin(place.m, place.lane_m, place.slice);
  const u32 b_begin = config.a_bytes() + StepB<config>::begin(place.n, place.lane_n, place.slice);
#pragma unroll 1
  for (i32 k_tile = 0; k_tile < k_tiles; ++k_tile) {
    ptx::cp_async_wait_group<config.stages - 2>();
    // What arrived is now everyone's, and no thread reads the stage before, which is filled next.
    ptx::barrier_sync();
    // Beyond the last K tile there are copies too, of zeros: a group for each, so that their number
    // tells what has arrived.
    copies.enter((k_tile + config.stages - 1) * config.tile_k, p);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      StepA<config> a;
      StepB<config> b;
      b.read(stage + b_begin, step);
      a.read(stage + a_begin, step);
      copies.template start<kSteps>(step, filled);
      multiply<config>(acc, a, b);
    }
    ptx::cp_async_commit_group();
    stage = stage + config.stage_bytes() == end ? shared : stage + config.stage_bytes();
    filled = filled + config.stage_bytes() == end ? shared : filled + config.stage_bytes();
  }
  ptx::cp_async_wait_all();
  ptx::barrier_sync();
}

/// Lays the sums of this thread into shared memory.
template <Sm80F32GemmConfig config>
__device__ __forceinline__ void put_sums(const float (&acc)[kRows][kColumns]) {
  // Found again: kept beside the sums it would take registers from them.
  const auto place = Place<config>::here();
  const u32 first = ptx::smem_base() + place.slice * config.sums_bytes();
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const u32 row = place.m + StepA<config>::place(i, place.lane_m);
#pragma unroll
    for (int j = 0; j < kColumns; j += config.b_n_major ? 4 : 1) {
      const u32 column = place.n + StepB<config>::place(j, place.lane_n);
      const u32 to = first + row * config.sums_pitch() + column * 4;
      if constexpr (config.b_n_major) {
        ptx::st_shared(to, Words<4>{bit_cast<u32>(acc[i][j]), bit_cast<u32>(acc[i][j + 1]),
                                    bit_cast<u32>(acc[i][j + 2]), bit_cast<u32>(acc[i][j + 3])});
      } else {
        ptx::st_shared(to, Words<1>{bit_cast<u32>(acc[i][j])});
      }
    }
  }
}

/// The rows of a tile as the threads of a CTA walk them: a warp has one or two at a time.
template <Sm80F32GemmConfig config>
struct RowWalk {
  static constexpr int kLanes = config.tile_n / 4 < 32 ? config.tile_n / 4 : 32;
  static constexpr int kGroups = config.tile_n / 4 / kLanes;
  static constexpr u32 kWarpRows = 32 / kLanes;
  static constexpr u32 kTurns = config.tile_m / (config.warps() * kWarpRows);

  __device__ __forceinline__ static u32 row(u32 turn) {
    return (turn * config.warps() + ptx::tid() / 32) * kWarpRows + ptx::tid() % 32 / kLanes;
  }
  /// The first of four columns.
  __device__ __forceinline__ static u32 column(int group) {
    return (static_cast<u32>(group) * kLanes + ptx::tid() % kLanes) * 4;
  }
  /// The sums of all slices, in their order.
  __device__ __forceinline__ static void sums(float (&four)[4], u32 row, int group) {
    const u32 from = ptx::smem_base() + row * config.sums_pitch() + column(group) * 4;
    load_shared_four(four, from);
#pragma unroll
    for (int slice = 1; slice < config.slices; ++slice) {
      float more[4];
      load_shared_four(more, from + slice * config.sums_bytes());
#pragma unroll
      for (int e = 0; e < 4; ++e)
        four[e] += more[e];
    }
  }
};

/// Stores the tile.
template <Sm80F32GemmConfig config, typename Epilogue>
__device__ __forceinline__ void store(const Sm80F32GemmParameters& p, const Tile& at,
                                      const Epilogue& /*none*/) {
  using Walk = RowWalk<config>;
  constexpr int kBytes = abi::type_bytes(config.out);
  const u64 first = p.out.address + static_cast<u64>((at.l * p.out.batch_stride + at.n) * kBytes);
#pragma unroll 4
  for (u32 turn = 0; turn < Walk::kTurns; ++turn) {
    const u32 row = Walk::row(turn);
    const i64 m = i64{at.m} + row;
    if (m >= p.m) continue;
#pragma unroll
    for (int g = 0; g < Walk::kGroups; ++g) {
      const i32 left = p.n - at.n - static_cast<i32>(Walk::column(g));
      float four[4];
      Walk::sums(four, row, g);
      const u64 to = first + static_cast<u64>((m * p.out.row_stride + Walk::column(g)) * kBytes);
      if (config.out_vectors && left >= 4) {
        epilogue::store_four<config.out>(to, four);
        continue;
      }
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        if (e < left) epilogue::store_one<config.out>(to + static_cast<u64>(e * kBytes), four[e]);
      }
    }
  }
}

/// The same through an epilogue.
template <Sm80F32GemmConfig config, typename E>
__device__ __forceinline__ void store(const Sm80F32GemmParameters& p, const Tile& at,
                                      const epilogue::Fused<E>& fused) {
  using Walk = RowWalk<config>;
  const i64 warp = static_cast<i64>(ptx::tid() / 32);
  const i64 tile_m = at.m / config.tile_m;
  const i64 tile_n = at.n / config.tile_n;
  const epilogue::Parts parts{tile_n, tile_m * config.warps() + warp,
                              (tile_m * p.tiles_n + tile_n) * config.warps() + warp};
  epilogue::DirectTile<E, Walk::kGroups, Walk::kLanes> tile(fused.parameters, at.l, p.m, p.n);
  auto column = [n = at.n](int g) __attribute__((always_inline)) {
    return i64{n} + Walk::column(g);
  };
#pragma unroll
  for (int g = 0; g < Walk::kGroups; ++g)
    tile.begin_columns(g, column(g));
#pragma unroll 1
  for (u32 turn = 0; turn < Walk::kTurns; ++turn) {
    const u32 row = Walk::row(turn);
    const i64 m = i64{at.m} + row;
#pragma unroll
    for (int g = 0; g < Walk::kGroups; ++g) {
      float four[4];
      Walk::sums(four, row, g);
      tile.group(g, four, m, column(g));
    }
    tile.end_row(m, parts);
  }
  tile.end(parts, column);
}

}  // namespace f32

/// The entry: CTA (x, 0, z) computes tile x of batches z, z + gridDim.z, ...
template <Sm80F32GemmConfig config, typename Epilogue>
__device__ __forceinline__ void sm80_f32_gemm(const Sm80F32GemmParameters& p,
                                              const Epilogue& transform) {
  ptx::griddepcontrol_wait();
  const TileIndex tile = TileRaster{p.tiles_m, p.tiles_n, p.group}.at(ptx::ctaid_x());
  for (i32 l = static_cast<i32>(ptx::ctaid_z()); l < p.l; l += static_cast<i32>(ptx::nctaid_z())) {
    const Tile at{l, static_cast<i32>(tile.m) * config.tile_m,
                  static_cast<i32>(tile.n) * config.tile_n};
    {
      float acc[f32::kRows][f32::kColumns] = {};
      f32::sum_tile<config>(acc, p, at);
      f32::put_sums<config>(acc);
    }
    ptx::barrier_sync();
    f32::store<config>(p, at, transform);
    ptx::barrier_sync();
  }
}

}  // namespace estoc
