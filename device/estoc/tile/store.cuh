// From a warpgroup's accumulators to the output: through swizzled shared memory by TMA, or by each
// thread's own stores.
#pragma once

#include <estoc/abi/matrix.cuh>
#include <estoc/abi/tensor_map.cuh>
#include <estoc/numeric.cuh>
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/fence.cuh>
#include <estoc/ptx/ldmatrix.cuh>
#include <estoc/ptx/tma.cuh>
#include <estoc/ptx/wgmma.cuh>
#include <estoc/tile/raster.cuh>
#include <estoc/tile/swizzle.cuh>

namespace estoc {

/// The part of a tile that one warpgroup stores: blocks of 64 rows.
struct TileShape {
  int rows;
  int columns;
  int box_columns;  ///< of the boxes of 64 rows in which it leaves
};

/// A thread's place in its warpgroup's 64 x N accumulators: rows `row` and row + 8, columns 8 * j +
/// `column` and the next.
struct FragmentPlace {
  u32 row;
  u32 column;

  __device__ __forceinline__ static FragmentPlace of(u32 thread) {
    return {thread / 32 * 16 + thread % 32 / 4, thread % 4 * 2};
  }
};

namespace detail {

/// Two neighbouring elements of one or two bytes, `low` first.
template <Type type, typename Value>
__device__ __forceinline__ u32 pack(Value low, Value high) {
  if constexpr (type == Type::e4m3) return ptx::cvt_rn_satfinite_e4m3x2_f32(low, high);
  if constexpr (type != Type::e4m3) return encode_pair<type>(low, high).word[0];
}

}  // namespace detail

/// Stores 64 x N tiles of one warpgroup by TMA, a box of 64 rows at a time, from two buffers.
template <TileShape shape, Type type>
class TmaTileStore {
 public:
  static constexpr int kColumns = shape.box_columns;
  static constexpr int kBytes = abi::type_bytes(type);
  static constexpr int kRowBytes = kColumns * kBytes;

  /// `buffers` is this warpgroup's staging memory, `barrier` its named barrier, `thread` the number
  /// in the warpgroup.
  __device__ __forceinline__ TmaTileStore(const abi::TensorMap& map, u32 buffers, u32 barrier,
                                          u32 thread)
      : map_(map), buffers_(buffers), barrier_(barrier), thread_(thread) {}

  /// `acc` are blocks of 64 rows from at.m on.
  template <typename Value, int blocks>
  __device__ __forceinline__ void store(const Value (&acc)[blocks][shape.columns / 2],
                                        const Tile& at) {
#pragma unroll
    for (int i = 0; i < blocks; ++i)
      store_block(acc[i], {at.l, at.m + 64 * i, at.n});
  }

  /// Shared memory may not go before the stores have read it.
  __device__ __forceinline__ void finish() const {
    if (thread_ == 0) ptx::cp_async_bulk_wait_group<0>();
  }

 private:
  template <typename Value>
  __device__ __forceinline__ void store_block(const Value (&acc)[shape.columns / 2],
                                              const Tile& at) {
#pragma unroll
    for (int first = 0; first < shape.columns; first += kColumns) {
      const u32 buffer = buffers_ + turn_ * 64 * kRowBytes;
      turn_ ^= 1;
      if (thread_ == 0) ptx::cp_async_bulk_wait_group_read<1>();
      ptx::bar_sync<128>(barrier_);
      fill(acc, first, buffer);
      ptx::fence_proxy_async();
      ptx::bar_sync<128>(barrier_);
      if (thread_ == 0) {
        ptx::cp_async_bulk_tensor_store<3>(map_, buffer, {at.n + first, at.m, at.l});
        ptx::cp_async_bulk_commit_group();
      }
    }
  }

  template <typename Value>
  __device__ __forceinline__ void fill(const Value (&acc)[shape.columns / 2], int first,
                                       u32 buffer) const {
    const FragmentPlace place = FragmentPlace::of(thread_);
    auto value = [&](int j, int h, int e) __attribute__((always_inline)) {
      return ptx::acc_value(acc[4 * j + 2 * h + e]);
    };
    if constexpr (kBytes == 2) {
      // Matrices in the order rows 0-7, rows 8-15, then the same of the next eight columns.
      const u32 lane = thread_ % 32;
      const u32 row = thread_ / 32 * 16 + lane % 16;
#pragma unroll
      for (int j = first / 8; j < (first + kColumns) / 8; j += 2) {
        Words<4> words;
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          words.word[q] =
              detail::pack<type>(value(j + q / 2, q % 2, 0), value(j + q / 2, q % 2, 1));
        }
        const u32 byte = (8 * static_cast<u32>(j) - static_cast<u32>(first) + lane / 16 * 8) * 2;
        ptx::stmatrix<4>(buffer + swizzled<kRowBytes>(row, byte), words);
      }
    } else {
#pragma unroll
      for (int j = first / 8; j < (first + kColumns) / 8; ++j) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const u32 byte = (8 * static_cast<u32>(j) - static_cast<u32>(first) + place.column) *
                           static_cast<u32>(kBytes);
          const u32 address = buffer + swizzled<kRowBytes>(place.row + 8 * h, byte);
          if constexpr (kBytes == 4) {
            store_shared<8>(address, encode_pair<type>(value(j, h, 0), value(j, h, 1)));
          } else {
            ptx::st_shared_u16(address, detail::pack<type>(value(j, h, 0), value(j, h, 1)));
          }
        }
      }
    }
  }

  const abi::TensorMap& map_;
  u32 buffers_;
  u32 barrier_;
  u32 thread_;
  u32 turn_ = 0;
};

/// Stores element by element: any strides and alignment.
template <TileShape shape, Type type>
class DirectTileStore {
 public:
  __device__ __forceinline__ DirectTileStore(const abi::Matrix& out, i32 m, i32 n, u32 thread)
      : out_(out), m_(m), n_(n), thread_(thread) {}

  /// `acc` are blocks of 64 rows from at.m on.
  template <typename Value, int blocks>
  __device__ __forceinline__ void store(const Value (&acc)[blocks][shape.columns / 2],
                                        const Tile& at) const {
    const FragmentPlace place = FragmentPlace::of(thread_);
#pragma unroll
    for (int h = 0; h < 2 * blocks; ++h) {
      const i32 m = at.m + static_cast<i32>(place.row) + 64 * (h / 2) + 8 * (h % 2);
      if (m >= m_) continue;
      const u64 row =
          out_.address + static_cast<u64>((at.l * out_.batch_stride + m * out_.row_stride) *
                                          abi::type_bytes(type));
#pragma unroll
      for (int j = 0; j < shape.columns / 8; ++j) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const i32 n = at.n + 8 * j + static_cast<i32>(place.column) + e;
          if (n >= n_) continue;
          store_element<type>(
              row + static_cast<u64>(n * out_.column_stride * abi::type_bytes(type)),
              ptx::acc_value(acc[h / 2][4 * j + 2 * (h % 2) + e]));
        }
      }
    }
  }

  __device__ __forceinline__ void finish() const {}

 private:
  const abi::Matrix& out_;
  i32 m_;
  i32 n_;
  u32 thread_;
};

}  // namespace estoc
