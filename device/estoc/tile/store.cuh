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
#include <estoc/tile/fragment.cuh>
#include <estoc/tile/raster.cuh>
#include <estoc/tile/swizzle.cuh>

namespace estoc {

namespace detail {

/// Two neighbouring elements of one or two bytes, `low` first.
template <Type type, typename Value>
__device__ __forceinline__ u32 pack(Value low, Value high) {
  if constexpr (type == Type::e4m3) return ptx::cvt_rn_satfinite_e4m3x2_f32(low, high);
  if constexpr (type != Type::e4m3) return encode_pair<type>(low, high).word[0];
}

}  // namespace detail

/// Columns of a tile that are stored: all of them, or some.
struct AllColumns {
  __device__ __forceinline__ static constexpr bool has(i32 /*column*/) { return true; }
};
struct ColumnRange {
  i32 first;
  i32 end;

  __device__ __forceinline__ bool any() const { return first < end; }
  __device__ __forceinline__ bool has(i32 column) const { return column >= first && column < end; }
};

/// Sends boxes to out by TMA.
struct TmaSender {
  const abi::TensorMap& map;

  __device__ __forceinline__ TmaSender(const abi::TensorMap& out) : map(out) {}

  /// The box in `buffer`, which begins at `at`. All threads of the warpgroup call it.
  template <typename Box>
  __device__ __forceinline__ void send(Box /*shape*/, u32 buffer, const Tile& at,
                                       u32 thread) const {
    if (thread == 0) ptx::cp_async_bulk_tensor_store<3>(map, buffer, {at.n, at.m, at.l});
  }
};

/// The same as far as rows are ahead of an end: boxes that reach beyond it are stored by the
/// threads, 16 bytes at a time.
struct BoundedSender {
  const abi::TensorMap& map;
  const abi::Matrix& out;
  i32 columns;  ///< of out
  i32 end = 0;

  template <typename Box>
  __device__ __forceinline__ void send(Box /*shape*/, u32 buffer, const Tile& at,
                                       u32 thread) const {
    if (at.m + Box::kRows <= end) {
      if (thread == 0) ptx::cp_async_bulk_tensor_store<3>(map, buffer, {at.n, at.m, at.l});
      return;
    }
    constexpr u32 kChunks = Box::kRowBytes / 16;
    constexpr i32 kElements = 16 / Box::kBytes;
    for (u32 i = thread; i < Box::kRows * kChunks; i += Box::kThreads) {
      const u32 row = i / kChunks;
      const i32 m = at.m + static_cast<i32>(row);
      const i32 n = at.n + static_cast<i32>(i % kChunks) * kElements;
      if (m >= end || n >= columns) continue;
      const i64 element = at.l * out.batch_stride + m * out.row_stride + n;
      ptx::st_global<4>(
          out.address + static_cast<u64>(element * Box::kBytes),
          ptx::ld_shared<4>(buffer + swizzled<Box::kRowBytes>(row, i % kChunks * 16)));
    }
  }
};

/// Stores the blocks of one warpgroup, a box at a time, from two buffers.
template <typename Fragment, TileShape shape, Type type, typename Sender = TmaSender>
class TmaTileStore {
 public:
  static constexpr int kColumns = shape.box_columns;
  static constexpr int kBytes = abi::type_bytes(type);
  static constexpr int kRowBytes = kColumns * kBytes;
  static_assert(kColumns % 16 == 0);
  struct Box {
    static constexpr int kRows = Fragment::kBlockRows;
    static constexpr int kThreads = Fragment::kThreads;
    static constexpr int kBytes = TmaTileStore::kBytes;
    static constexpr int kRowBytes = TmaTileStore::kRowBytes;
  };

  /// `buffers` is this warpgroup's staging memory, `barrier` its named barrier, `thread` the number
  /// in the warpgroup.
  __device__ __forceinline__ TmaTileStore(const Sender& sender, u32 buffers, u32 barrier,
                                          u32 thread)
      : sender_(sender), buffers_(buffers), barrier_(barrier), thread_(thread) {}

  /// `acc` are blocks of rows from at.m on. Columns are stored a box at a time.
  template <typename Block, int blocks, typename Columns = AllColumns>
  __device__ __forceinline__ void store(const Block (&acc)[blocks], const Tile& at,
                                        const Columns& columns = {}) {
#pragma unroll
    for (int i = 0; i < blocks; ++i)
      store_block(acc[i], {at.l, at.m + Fragment::kBlockRows * i, at.n}, columns);
  }

  /// Where rows end from now on, for a BoundedSender.
  __device__ __forceinline__ void end_at(i32 end) {
    sender_.end = end;
  }
  /// Where tiles go from now on, for a sender that says so.
  template <typename To>
  __device__ __forceinline__ void move_to(const To& to) {
    sender_.move_to(to);
  }
  /// Waits until the stores have read shared memory.
  __device__ __forceinline__ void finish() const {
    if (thread_ == 0) ptx::cp_async_bulk_wait_group<0>();
  }

 private:
  template <typename Block, typename Columns>
  __device__ __forceinline__ void store_block(const Block& block, const Tile& at,
                                              const Columns& columns) {
#pragma unroll
    for (int first = 0; first < shape.columns; first += kColumns) {
      if (!columns.has(first)) continue;
      const u32 buffer = buffers_ + turn_ * Fragment::kBlockRows * kRowBytes;
      turn_ ^= 1;
      if (thread_ == 0) ptx::cp_async_bulk_wait_group_read<1>();
      ptx::bar_sync<Fragment::kThreads>(barrier_);
#pragma unroll
      for (int column = 0; column < kColumns; column += 16)
        fill(block, first + column, buffer, static_cast<u32>(column));
      ptx::fence_proxy_async();
      ptx::bar_sync<Fragment::kThreads>(barrier_);
      sender_.send(Box{}, buffer, {at.l, at.m, at.n + first}, thread_);
      if (thread_ == 0) ptx::cp_async_bulk_commit_group();
    }
  }

  /// Writes 16 columns of a block, `first` and on, to columns `column` and on of a buffer.
  template <typename Block>
  __device__ __forceinline__ void fill(const Block& block, int first, u32 buffer,
                                       u32 column) const {
    const int x = first / 16 * 2 * Fragment::kPairs;
    if constexpr (!Fragment::kMatrices) {
      fill_row(block, first, buffer, column);
    } else if constexpr (kBytes == 2) {
      Words<Fragment::kPairs> words;
#pragma unroll
      for (int q = 0; q < Fragment::kPairs; ++q) {
        words.word[q] = detail::pack<type>(Fragment::value(block, x + 2 * q),
                                           Fragment::value(block, x + 2 * q + 1));
      }
      const u32 byte = (column + Fragment::matrix_column(thread_)) * 2;
      ptx::stmatrix<4>(buffer + swizzled<kRowBytes>(Fragment::matrix_row(thread_), byte), words);
    } else {
      const Fragment place = Fragment::of(thread_);
#pragma unroll
      for (int q = 0; q < Fragment::kPairs; ++q) {
        const u32 row = place.row + Fragment::row_offset(q % Fragment::kRows);
        const u32 byte =
            (column + Fragment::column_offset(q / Fragment::kRows * 2) + place.column) *
            static_cast<u32>(kBytes);
        const u32 address = buffer + swizzled<kRowBytes>(row, byte);
        const auto low = Fragment::value(block, x + 2 * q);
        const auto high = Fragment::value(block, x + 2 * q + 1);
        if constexpr (kBytes == 4) {
          store_shared<8>(address, encode_pair<type>(low, high));
        } else {
          ptx::st_shared_u16(address, detail::pack<type>(low, high));
        }
      }
    }
  }

  /// The same where a thread has all 16 columns of its row.
  template <typename Block>
  __device__ __forceinline__ void fill_row(const Block& block, int first, u32 buffer,
                                           u32 column) const {
    constexpr int kEach = 16 / kBytes;  // elements of 16 bytes
    typename Block::Value values[16];
    block.take(values, static_cast<u32>(first));
#pragma unroll
    for (int i = 0; i < 16; i += kEach) {
      Words<4> words{};
#pragma unroll
      for (int e = 0; e < kEach; e += 2) {
        const typename Block::Value low = values[i + e];
        const typename Block::Value high = values[i + e + 1];
        if constexpr (kBytes == 4) {
          words.word[e] = encode<type>(low);
          words.word[e + 1] = encode<type>(high);
        } else {
          words.word[e * kBytes / 4] |= detail::pack<type>(low, high) << e * kBytes % 4 * 8;
        }
      }
      const u32 byte = (column + static_cast<u32>(i)) * kBytes;
      ptx::st_shared<4>(buffer + swizzled<kRowBytes>(thread_, byte), words);
    }
  }

  Sender sender_;
  u32 buffers_;
  u32 barrier_;
  u32 thread_;
  u32 turn_ = 0;
};

/// Stores element by element: any strides and alignment.
template <typename Fragment, TileShape shape, Type type>
class DirectTileStore {
 public:
  __device__ __forceinline__ DirectTileStore(const abi::Matrix& out, i32 m, i32 n, u32 thread)
      : out_(out), m_(m), n_(n), thread_(thread) {}

  /// `acc` are blocks of rows from at.m on.
  template <typename Block, int blocks>
  __device__ __forceinline__ void store(const Block (&acc)[blocks], const Tile& at) const {
    constexpr int kRows = Fragment::kRows;
    constexpr int kColumns = Fragment::kColumns;
    const Fragment place = Fragment::of(thread_);
#pragma unroll
    for (int h = 0; h < kRows * blocks; ++h) {
      const i32 m = at.m + static_cast<i32>(place.row) + Fragment::kBlockRows * (h / kRows) +
                    Fragment::row_offset(h % kRows);
      if (m >= m_) continue;
      const u64 row =
          out_.address + static_cast<u64>((at.l * out_.batch_stride + m * out_.row_stride) *
                                          abi::type_bytes(type));
#pragma unroll
      for (int c = 0; c < shape.columns * kColumns / 16; ++c) {
        const int first = c / kColumns * 16;
        const int x = c / 2 * 2 * kRows + h % kRows * 2 + c % 2;
        const i32 n =
            at.n + first + Fragment::column_offset(c % kColumns) + static_cast<i32>(place.column);
        if (n >= n_) continue;
        store_element<type>(row + static_cast<u64>(n * out_.column_stride * abi::type_bytes(type)),
                            Fragment::value(acc[h / kRows], x));
      }
    }
  }

  /// Where rows, or columns, end from now on.
  __device__ __forceinline__ void end_rows_at(i32 end) {
    m_ = end;
  }
  __device__ __forceinline__ void end_columns_at(i32 end) {
    n_ = end;
  }
  __device__ __forceinline__ void finish() const {}

 private:
  const abi::Matrix& out_;
  i32 m_;
  i32 n_;
  u32 thread_;
};

}  // namespace estoc
