// GEMM on the ordinary arithmetic units: any dtype, strides, alignment and size.
//
// A CTA computes one tile_m x tile_n tile of out at a time. Tiles of A and B pass through
// registers, are widened to the accumulator's type and laid K-outermost into one of two stages of
// shared memory, while the threads multiply what the other stage holds.
#pragma once

#include <estoc/abi/simt_gemm.cuh>
#include <estoc/epilogue/direct.cuh>
#include <estoc/numeric.cuh>
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/math.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/tile/raster.cuh>

namespace estoc {

using abi::SimtGemmConfig;
using abi::SimtGemmParameters;
using abi::Vectors;

/// Brings tiles of one operand from global memory to shared memory. `inner` is K, `outer` is M for
/// A and N for B. A thread moves kPerThread pieces of kVector elements, a fixed step apart.
template <Type type, Type compute, bool vectors, bool along_k, int outer_tile, int k_tile,
          int pitch, int threads>
class OperandTile {
 public:
  static constexpr int kBytes = abi::type_bytes(type);
  static constexpr int kVector = vectors ? 16 / kBytes : 1;
  static constexpr int kWords = vectors ? 4 : (kBytes == 8 ? 2 : 1);
  static constexpr int kPieces = outer_tile * k_tile / kVector;
  static constexpr int kPerThread = (kPieces + threads - 1) / threads;

  __device__ __forceinline__ OperandTile(u64 address, i64 outer_stride, i64 k_stride,
                                         i64 outer_extent, i64 outer_begin)
      : piece_step_((along_k ? outer_stride : k_stride) * (kStep * kBytes)),
        tile_step_(k_stride * (k_tile * kBytes)) {
    const i64 outer = outer_begin + outer_of_first();
    const i64 left = outer_extent - outer;
    outer_left_ = left < outer_tile ? static_cast<int>(left) : outer_tile;
    address_ =
        address + static_cast<u64>((outer * outer_stride + k_of_first() * k_stride) * kBytes);
  }

  /// Starts reading the next tile along K, of which `k_extent` elements or all exist; what lies
  /// outside the operand is zero.
  __device__ __forceinline__ void fetch(i64 k_extent) {
    const int first_left = (k_extent < k_tile ? static_cast<int>(k_extent) : k_tile) - k_of_first();
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      held_[i] = Words<kWords>{};
      const int outer_left = along_k ? outer_left_ - i * kStep : outer_left_;
      const int k_left = along_k ? first_left : first_left - i * kStep;
      if (outer_left <= 0 || k_left <= 0 || !has_piece(i)) continue;
      const int room = along_k ? k_left : outer_left;
      held_[i] = read(address_ + static_cast<u64>(i * piece_step_), room);
    }
    address_ += static_cast<u64>(tile_step_);
  }

  /// Widens what fetch read and writes it to the stage at `shared`.
  __device__ __forceinline__ void put(u32 shared) const {
    const u32 first = shared + static_cast<u32>(k_of_first() * pitch + outer_of_first()) * kWide;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      if (!has_piece(i)) continue;
#pragma unroll
      for (int e = 0; e < kVector; ++e) {
        const int offset = along_k ? e * pitch + i * kStep : i * kStep * pitch + e;
        const Value value = element_of<compute, type>(held_[i], e);
        ptx::st_shared(first + static_cast<u32>(offset) * kWide, bit_cast<Words<kWide / 4>>(value));
      }
    }
  }

 protected:
  using Value = Compute<compute>;
  static constexpr u32 kWide = sizeof(Value);
  // Pieces side by side along the contiguous mode; the threads cover kStep rows of them at a time.
  static constexpr int kAcross = (along_k ? k_tile : outer_tile) / kVector;
  static constexpr int kStep = threads / kAcross;
  static_assert((along_k ? k_tile : outer_tile) % kVector == 0 && threads % kAcross == 0);

  __device__ static __forceinline__ int outer_of_first() {
    const int t = static_cast<int>(ptx::tid());
    return along_k ? t / kAcross : t % kAcross * kVector;
  }
  __device__ static __forceinline__ int k_of_first() {
    const int t = static_cast<int>(ptx::tid());
    return along_k ? t % kAcross * kVector : t / kAcross;
  }
  __device__ static __forceinline__ bool has_piece(int i) {
    return kPieces % threads == 0 || static_cast<int>(ptx::tid()) + i * threads < kPieces;
  }

  // The next kVector elements, of which `room` exist.
  __device__ __forceinline__ Words<kWords> read(u64 address, int room) const {
    if constexpr (!vectors) {
      return load_global<kBytes>(address);
    } else {
      if (room >= kVector) return ptx::ld_global<4>(address);
      return read_partly(address, room);
    }
  }

  __device__ static __noinline__ Words<kWords> read_partly(u64 address, int room) {
    Words<kWords> words{};
#pragma unroll 1
    for (int e = 0; e < room; ++e) {
      const u64 at = address + static_cast<u64>(e * kBytes);
      if constexpr (kBytes == 8) {
        const Words<2> pair = ptx::ld_global<2>(at);
        set_word(words, 2 * e, pair.word[0]);
        set_word(words, 2 * e + 1, pair.word[1]);
      } else if constexpr (kBytes == 4) {
        set_word(words, e, ptx::ld_global<1>(at).word[0]);
      } else if constexpr (kBytes == 2) {
        set_word(words, e / 2, ptx::ld_global_u16(at) << (16 * (e % 2)));
      } else {
        set_word(words, e / 4, ptx::ld_global_u8(at) << (8 * (e % 4)));
      }
    }
    return words;
  }

  // Word `index` |= bits, without an index into registers known only at run time.
  __device__ static __forceinline__ void set_word(Words<kWords>& words, int index, u32 bits) {
#pragma unroll
    for (int w = 0; w < kWords; ++w)
      words.word[w] |= w == index ? bits : 0;
  }

  u64 address_;
  i64 piece_step_;
  i64 tile_step_;
  int outer_left_;
  Words<kWords> held_[kPerThread];
};

/// The part of a tile that one thread accumulates: groups of 4 x 4 elements, spread so that the
/// reads of a warp from shared memory meet no bank twice.
template <SimtGemmConfig config>
struct ThreadTile {
  static constexpr int kGroupsM = config.thread_m / 4;
  static constexpr int kGroupsN = config.thread_n / 4;
  static constexpr int kWarpM = 8 * config.thread_m;
  static constexpr int kWarpN = 4 * config.thread_n;
  static constexpr int kWarpsN = config.tile_n / kWarpN;

  __device__ static __forceinline__ int row(int i) {
    const int lane = static_cast<int>(ptx::tid()) % 32;
    const int warp = static_cast<int>(ptx::tid()) / 32;
    return warp / kWarpsN * kWarpM + i / 4 * 32 + lane / 4 * 4 + i % 4;
  }
  __device__ static __forceinline__ int column(int j) {
    const int lane = static_cast<int>(ptx::tid()) % 32;
    const int warp = static_cast<int>(ptx::tid()) / 32;
    return warp % kWarpsN * kWarpN + j / 4 * 16 + lane % 4 * 4 + j % 4;
  }
};

namespace detail {

__device__ __forceinline__ float multiply_add(float a, float b, float c) {
  return ptx::fma_rn(a, b, c);
}
__device__ __forceinline__ double multiply_add(double a, double b, double c) {
  return ptx::fma_rn(a, b, c);
}
__device__ __forceinline__ i32 multiply_add(i32 a, i32 b, i32 c) {
  return ptx::mad_lo(a, b, c);
}

}  // namespace detail

/// acc += A's stage times B's stage.
template <SimtGemmConfig config, typename Value>
__device__ __forceinline__ void multiply_stage(Value (&acc)[config.thread_m][config.thread_n],
                                               u32 a_stage, u32 b_stage) {
  using Tile = ThreadTile<config>;
#pragma unroll 2
  for (int k = 0; k < config.tile_k; ++k) {
    Value a[config.thread_m];
    Value b[config.thread_n];
#pragma unroll
    for (int g = 0; g < Tile::kGroupsM; ++g) {
      const int element = k * config.a_pitch() + Tile::row(4 * g);
      load_shared_four(&a[4 * g], a_stage + static_cast<u32>(element * sizeof(Value)));
    }
#pragma unroll
    for (int g = 0; g < Tile::kGroupsN; ++g) {
      const int element = k * config.b_pitch() + Tile::column(4 * g);
      load_shared_four(&b[4 * g], b_stage + static_cast<u32>(element * sizeof(Value)));
    }
#pragma unroll
    for (int i = 0; i < config.thread_m; ++i) {
#pragma unroll
      for (int j = 0; j < config.thread_n; ++j) {
        acc[i][j] = detail::multiply_add(a[i], b[j], acc[i][j]);
      }
    }
  }
}

/// Where a tile begins, and where the rows and columns end that it may store.
struct TileRange {
  i64 m_begin;
  i64 n_begin;
  i64 m_end;
  i64 n_end;
};

/// Passes the accumulators through the epilogue and stores those inside the range.
template <SimtGemmConfig config, typename Value, typename Epilogue>
__device__ __forceinline__ void store_tile(const Value (&acc)[config.thread_m][config.thread_n],
                                           const SimtGemmParameters& p, const Epilogue& epilogue,
                                           i64 l, const TileRange& at) {
  using Tile = ThreadTile<config>;
  constexpr int kBytes = abi::type_bytes(config.out);
#pragma unroll
  for (int i = 0; i < config.thread_m; ++i) {
    const i64 m = at.m_begin + Tile::row(i);
    if (m >= at.m_end) continue;
#pragma unroll
    for (int g = 0; g < Tile::kGroupsN; ++g) {
      const i64 n = at.n_begin + Tile::column(4 * g);
      Value values[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (n + j < at.n_end)
          values[j] = epilogue(acc[i][4 * g + j], epilogue::Position{l, m, n + j});
      }
      const i64 offset = l * p.out.batch_stride + m * p.out.row_stride + n * p.out.column_stride;
      const u64 address = p.out.address + static_cast<u64>(offset * kBytes);
      if (config.out_vectors && n + 4 <= at.n_end) {
        epilogue::store_four<config.out>(address, values);
        continue;
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (n + j >= at.n_end) continue;
        store_element<config.out>(address + static_cast<u64>(j * p.out.column_stride * kBytes),
                                  values[j]);
      }
    }
  }
}

namespace detail {

/// What the epilogue computes an element of.
template <typename Accumulator, typename Value>
__device__ __forceinline__ Accumulator accumulator_of(Value first, Value second) {
  if constexpr (sizeof(Accumulator) == sizeof(Value)) return first;
  if constexpr (sizeof(Accumulator) != sizeof(Value)) return {first, second};
}

}  // namespace detail

/// The same with an epilogue that is more than the accumulators. Where sums are not paired,
/// `second` are any.
template <SimtGemmConfig config, typename Value, typename E>
__device__ __forceinline__ void fuse_tile(const Value (&acc)[config.thread_m][config.thread_n],
                                          const Value (&second)[config.thread_m][config.thread_n],
                                          const SimtGemmParameters& p,
                                          const epilogue::Fused<E>& fused, i64 l,
                                          const TileRange& at) {
  using Tile = ThreadTile<config>;
  const i64 warp = static_cast<i64>(ptx::tid() / 32);
  const i64 tile_m = at.m_begin / config.tile_m;
  const i64 tile_n = at.n_begin / config.tile_n;
  const epilogue::Parts parts{tile_n * Tile::kWarpsN + warp % Tile::kWarpsN,
                              tile_m * (config.warps() / Tile::kWarpsN) + warp / Tile::kWarpsN,
                              (tile_m * p.tiles_n + tile_n) * config.warps() + warp};
  epilogue::DirectTile<E, Tile::kGroupsN, 4> tile(fused.parameters, l, at.m_end, at.n_end, p.n);
  auto column = [n_begin = at.n_begin](int g) __attribute__((always_inline)) {
    return n_begin + Tile::column(4 * g);
  };
#pragma unroll
  for (int g = 0; g < Tile::kGroupsN; ++g)
    tile.begin_columns(g, column(g));
#pragma unroll
  for (int i = 0; i < config.thread_m; ++i) {
    const i64 m = at.m_begin + Tile::row(i);
#pragma unroll
    for (int g = 0; g < Tile::kGroupsN; ++g) {
      using Accumulator = typename E::Accumulator;
      Accumulator four[4];
#pragma unroll
      for (int j = 0; j < 4; ++j)
        four[j] = detail::accumulator_of<Accumulator>(acc[i][4 * g + j], second[i][4 * g + j]);
      tile.group(g, four, m, column(g));
    }
    tile.end_row(m, parts);
  }
  tile.end(parts, column);
}

/// Of B, the columns of a tile.
template <SimtGemmConfig config>
using TileOfB = OperandTile<config.b, config.accumulator, config.b_vectors != Vectors::none,
                            config.b_vectors == Vectors::next_to_last, config.tile_n, config.tile_k,
                            config.b_pitch(), config.threads()>;

/// acc = the rows that `a` brings times the columns that `b` does, `k` products each. All threads
/// of the CTA call it, and synchronise before they do so again.
template <SimtGemmConfig config, typename Value, typename ATile>
__device__ __forceinline__ void sum_tiles(Value (&acc)[config.thread_m][config.thread_n], ATile& a,
                                          TileOfB<config>& b, i64 k) {
  constexpr u32 kABytes = static_cast<u32>(config.tile_k * config.a_pitch() * sizeof(Value));
  constexpr u32 kBBytes = static_cast<u32>(config.tile_k * config.b_pitch() * sizeof(Value));
  const u32 a_stages = ptx::smem_base();
  const u32 b_stages = a_stages + 2 * kABytes;
  a.fetch(k);
  b.fetch(k);
  u32 stage = 0;
  for (i64 k_left = k; k_left > 0; k_left -= config.tile_k) {
    a.put(a_stages + stage * kABytes);
    b.put(b_stages + stage * kBBytes);
    ptx::barrier_sync();
    if (k_left > config.tile_k) {
      a.fetch(k_left - config.tile_k);
      b.fetch(k_left - config.tile_k);
    }
    multiply_stage<config>(acc, a_stages + stage * kABytes, b_stages + stage * kBBytes);
    stage ^= 1;
  }
}

/// acc = the rows of A from m_begin on times the columns of B from n_begin on, `k` products each.
/// The matrices begin at the addresses, and have the strides of `p`; else as sum_tiles().
template <SimtGemmConfig config, typename Value>
__device__ __forceinline__ void sum_tile(Value (&acc)[config.thread_m][config.thread_n],
                                         const SimtGemmParameters& p, u64 a_address, u64 b_address,
                                         const TileRange& at, i64 k) {
  using ATile = OperandTile<config.a, config.accumulator, config.a_vectors != Vectors::none,
                            config.a_vectors != Vectors::next_to_last, config.tile_m, config.tile_k,
                            config.a_pitch(), config.threads()>;
  ATile a(a_address, p.a.row_stride, p.a.column_stride, at.m_end, at.m_begin);
  TileOfB<config> b(b_address, p.b.column_stride, p.b.row_stride, at.n_end, at.n_begin);
  sum_tiles<config>(acc, a, b, k);
}

/// Applies the epilogue to the sums of a tile of batch `l`, and stores.
template <SimtGemmConfig config, typename Value, typename Epilogue>
__device__ __forceinline__ void finish_tile(const Value (&acc)[config.thread_m][config.thread_n],
                                            const SimtGemmParameters& p, const Epilogue& epilogue,
                                            i64 l, const TileRange& at) {
  if constexpr (epilogue::kIsIdentity<Epilogue>) {
    store_tile<config>(acc, p, epilogue, l, at);
  } else {
    fuse_tile<config>(acc, acc, p, epilogue, l, at);
  }
}

/// Computes a tile of batch `l`: sum(acc, offset) adds up its products, B lying `offset` bytes
/// further, and says whether there is a tile; at() is its range. All threads of the CTA call it,
/// and synchronise before they do so again.
template <SimtGemmConfig config, typename Epilogue, typename Sum, typename At>
__device__ __forceinline__ bool compute_tile(const SimtGemmParameters& p, const Epilogue& epilogue,
                                             i64 l, const Sum& sum, const At& at) {
  using Value = Compute<config.accumulator>;
  Value acc[config.thread_m][config.thread_n] = {};
  if (!sum(acc, 0)) return false;
  if constexpr (config.paired) {
    Value second[config.thread_m][config.thread_n] = {};
    ptx::barrier_sync();
    sum(second, static_cast<u64>(p.pair_distance * abi::type_bytes(config.b)));
    fuse_tile<config>(acc, second, p, epilogue, l, at());
  } else {
    finish_tile<config>(acc, p, epilogue, l, at());
  }
  return true;
}

/// The entry: CTA (x, 0, z) computes tile x of batches z, z + gridDim.z, ...
template <SimtGemmConfig config, typename Epilogue>
__device__ __forceinline__ void simt_gemm(const SimtGemmParameters& p, const Epilogue& epilogue) {
  ptx::griddepcontrol_wait();
  const TileIndex tile = TileRaster{p.tiles_m, p.tiles_n, p.group}.at(ptx::ctaid_x());
  const TileRange at{static_cast<i64>(tile.m) * config.tile_m,
                     static_cast<i64>(tile.n) * config.tile_n, p.m, p.n};
  for (i64 l = ptx::ctaid_z(); l < p.l; l += ptx::nctaid_z()) {
    const u64 a_batch = static_cast<u64>(l * p.a.batch_stride * abi::type_bytes(config.a));
    const u64 b_batch = static_cast<u64>(l * p.b.batch_stride * abi::type_bytes(config.b));
    compute_tile<config>(
        p, epilogue, l,
        [&](auto& acc, u64 offset) __attribute__((always_inline)) {
          sum_tile<config>(acc, p, p.a.address + a_batch, p.b.address + b_batch + offset, at, p.k);
          return true;
        },
        [&]() __attribute__((always_inline)) { return at; });
    // The next batch starts with stage 0, which slower threads may still be reading.
    ptx::barrier_sync();
  }
}

}  // namespace estoc
