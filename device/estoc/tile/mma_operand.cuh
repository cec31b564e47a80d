// Operand tiles of mma.sync kernels: brought to shared memory by cp.async, read as fragments.
//
// A tile lies in shared memory as it does in global memory: rows of K elements for each element of
// M or N (K-major), or the reverse (MN-major). Its 16-byte chunks are permuted so that the reads of
// a warp fall into different banks.
#pragma once

#include <estoc/numeric.cuh>
#include <estoc/ptx/cp_async.cuh>
#include <estoc/ptx/ldmatrix.cuh>
#include <estoc/ptx/memory.cuh>

namespace estoc {

/// The tile of one operand: `outer` elements of M or N, `tile_k` of K.
template <Type type, bool mn_major, int outer, int tile_k>
struct OperandTileLayout {
  static constexpr int kBytes = abi::type_bytes(type);
  static constexpr int kRows = mn_major ? tile_k : outer;
  static constexpr int kRowBytes = (mn_major ? outer : tile_k) * kBytes;
  static constexpr int kChunks = kRowBytes / 16;
  /// Fragments are read by ldmatrix, eight rows at a time; else element by element, four rows.
  static constexpr bool kMatrices = kBytes < 8 && (!mn_major || kBytes == 2);

  /// Offset of byte `byte` of row `row`.
  __device__ __forceinline__ static u32 offset(u32 row, u32 byte) {
    constexpr u32 kMask = kChunks >= 8 ? 7 : kChunks - 1;
    const u32 lines = kChunks >= 8 ? row : row * kChunks / 8;
    const u32 permutation = (kMatrices ? lines : lines << 1) & kMask;
    return row * kRowBytes + (byte ^ permutation << 4);
  }
};

/// Where element `at` of M or N of a tile lies. Of a paired one, eight elements for first sums are
/// followed by eight for second ones, and so on.
struct PairedPlace {
  i32 element;  ///< of those for first or for second sums
  i32 is_second;

  template <bool paired>
  __device__ __forceinline__ static constexpr PairedPlace of(i32 at) {
    if constexpr (!paired) return {at, 0};
    return {at / 16 * 8 + at % 8, at / 8 % 2};
  }
};

/// Copies tiles of one operand, stage after stage, each thread its share of the 16-byte chunks.
/// What lies outside the operand becomes zero.
template <Type type, bool mn_major, int outer, int tile_k, int copy_bytes, int threads,
          bool paired = false>
class OperandCopy {
 public:
  using Layout = OperandTileLayout<type, mn_major, outer, tile_k>;
  static_assert(!paired || !mn_major || Layout::kBytes >= 2);
  static constexpr int kOwn = Layout::kRows * Layout::kChunks / threads;
  /// A thread has the same chunk of every so many rows.
  static constexpr int kRowsBetween = threads / Layout::kChunks;
  static_assert(kOwn * threads == Layout::kRows * Layout::kChunks &&
                kRowsBetween * Layout::kChunks == threads);

  /// `first` is the tile's first element of M or N, `extent` their number; `stride` counts elements
  /// from one row of the operand to the next, `distance` from an element for a first sum to that
  /// for the second.
  __device__ __forceinline__ OperandCopy(u64 address, i64 stride, i32 first, i32 extent, i32 k,
                                         u32 thread, i64 distance = 0)
      : operand_(address),
        between_(static_cast<u64>((paired ? 1 : kRowsBetween) * stride * Layout::kBytes)),
        step_(static_cast<u64>(mn_major ? tile_k * stride : tile_k) * Layout::kBytes),
        distance_(static_cast<u64>(distance * Layout::kBytes)),
        k_(k),
        row_(thread / Layout::kChunks),
        byte_(thread % Layout::kChunks * 16) {
    const PairedPlace own =
        PairedPlace::of<paired>(static_cast<i32>(mn_major ? byte_ / Layout::kBytes : row_));
    const i64 row = mn_major ? i64{row_} : i64{own.element} + first;
    const i64 byte = mn_major ? (i64{own.element} + first) * Layout::kBytes : i64{byte_};
    address_ = address + static_cast<u64>(row * stride * Layout::kBytes + byte);
    if (paired && own.is_second != 0) address_ += distance_;
    left_ = mn_major ? clamp16((extent - first - own.element) * Layout::kBytes)
                     : extent - first - own.element;
  }

  /// Starts the copies of the next K tile, whose first element is `k`, to `shared`.
  __device__ __forceinline__ void start(u32 shared, i32 k) {
    // Elements of K from this thread's first row, or its first byte of a row, on.
    const i32 k_left = k_ - k - (mn_major ? static_cast<i32>(row_) : 0);
    const i32 row_bytes = clamp16(k_left * Layout::kBytes - static_cast<i32>(byte_));
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const PairedPlace further = PairedPlace::of < paired && !mn_major > (i * kRowsBetween);
      const i32 outer_left = mn_major ? left_ : left_ - further.element;
      const i32 bytes =
          mn_major ? (k_left > i * kRowsBetween ? left_ : 0) : (outer_left > 0 ? row_bytes : 0);
      const u32 row = row_ + static_cast<u32>(i * kRowsBetween);
      copy_chunk(shared + Layout::offset(row, byte_), address_ + offset_of(i, further), bytes);
    }
    address_ += step_;
  }

 private:
  /// From this thread's first chunk to its chunk number `i`.
  __device__ __forceinline__ u64 offset_of(int i, PairedPlace further) const {
    if constexpr (!paired) return static_cast<u64>(i) * between_;
    if constexpr (mn_major) return static_cast<u64>(i * kRowsBetween) * between_;
    const u64 offset = static_cast<u64>(further.element) * between_;
    return further.is_second != 0 ? offset + distance_ : offset;
  }
  __device__ __forceinline__ static i32 clamp16(i32 bytes) {
    return bytes < 0 ? 0 : bytes > 16 ? 16 : bytes;
  }
  /// What lies outside the operand starts from its first element: nothing is read there, but the
  /// address is legal.
  __device__ __forceinline__ void copy_chunk(u32 to, u64 from, i32 bytes) const {
    if (bytes == 0) from = operand_;
    if constexpr (copy_bytes == 16) {
      ptx::cp_async<16>(to, from, static_cast<u32>(bytes));
    } else {
#pragma unroll
      for (int part = 0; part < 16; part += copy_bytes) {
        const i32 left = bytes - part;
        const u32 source = static_cast<u32>(left < 0 ? 0 : left < copy_bytes ? left : copy_bytes);
        ptx::cp_async<copy_bytes>(to + part, from + part, source);
      }
    }
  }

  u64 operand_;
  u64 address_;  // of this thread's first chunk
  u64 between_;  // from one of its chunks to the next, or, of a paired tile, from row to row
  u64 step_;
  u64 distance_;
  i32 k_;
  u32 row_;
  u32 byte_;
  i32 left_;  // rows of the operand from its first on; of MN-major ones, bytes of its chunks
};

/// Fragments of 16 elements of M, or twice 8 of N, and 32 bytes of K, as mma.sync takes them: words
/// with h along K and r along the other mode, in the order that makes an instruction's operand a
/// run of registers. An f64 has two words.
template <Type type, bool mn_major, int outer, int tile_k>
struct FragmentReader {
  using Layout = OperandTileLayout<type, mn_major, outer, tile_k>;
  static constexpr int kPerWord = 4 / Layout::kBytes;

  /// Elements `first` to first + 15 at K step `step`. A: word 2 * h + r; B: word h + 2 * r.
  template <bool is_b>
  __device__ __forceinline__ static Words<4> read(u32 shared, u32 first, u32 step, u32 lane) {
    // The matrix whose row this lane points to.
    const u32 r = is_b ? lane / 16 : lane / 8 % 2;
    const u32 h = is_b ? lane / 8 % 2 : lane / 16;
    if constexpr (!mn_major) {
      const u32 row = first + 8 * r + lane % 8;
      return ptx::ldmatrix<4>(shared + Layout::offset(row, step * 32 + 16 * h));
    } else if constexpr (Layout::kMatrices) {
      const u32 row = step * 16 + 8 * h + lane % 8;
      return ptx::ldmatrix<4, true>(shared + Layout::offset(row, (first + 8 * r) * 2));
    } else {
      Words<4> words;
#pragma unroll
      for (u32 i = 0; i < 4; ++i) {
        const u32 word_r = is_b ? i / 2 : i % 2;
        const u32 word_h = is_b ? i % 2 : i / 2;
        words.word[i] = gather(shared, first + lane / 4 + 8 * word_r,
                               step * (32 / Layout::kBytes) + kPerWord * (lane % 4 + 4 * word_h));
      }
      return words;
    }
  }

  /// The same of f64: rows first + lane / 4 and eight more, K element 4 * step + lane % 4.
  __device__ __forceinline__ static Words<4> read_f64(u32 shared, u32 first, u32 step, u32 lane) {
    Words<4> words;
#pragma unroll
    for (u32 r = 0; r < 2; ++r) {
      const u32 at = first + lane / 4 + 8 * r;
      const u32 k = 4 * step + lane % 4;
      const u32 offset = mn_major ? Layout::offset(k, at * 8) : Layout::offset(at, k * 8);
      const Words<2> value = ptx::ld_shared<2>(shared + offset);
      words.word[2 * r] = value.word[0];
      words.word[2 * r + 1] = value.word[1];
    }
    return words;
  }

 private:
  /// The consecutive K elements of one word, from rows of their own.
  __device__ __forceinline__ static u32 gather(u32 shared, u32 at, u32 k) {
    if constexpr (Layout::kBytes == 4) {
      return ptx::ld_shared<1>(shared + Layout::offset(k, at * 4)).word[0];
    } else {
      u32 word = 0;
#pragma unroll
      for (u32 i = 0; i < 4; ++i)
        word |= ptx::ld_shared_u8(shared + Layout::offset(k + i, at)) << (8 * i);
      return word;
    }
  }
};

}  // namespace estoc
