// The scales of blocks along K as mma.sync takes them: words of four, brought to shared memory by
// cp.async.
#pragma once

#include <estoc/abi/scales.cuh>
#include <estoc/ptx/cp_async.cuh>
#include <estoc/ptx/memory.cuh>

namespace estoc {

/// Copies the scales of `rows` rows of one operand (columns of B), stage after stage: `words` words
/// of a row for each, word w of row r being word w * rows + r in shared memory. Scales of rows and
/// blocks that the operand does not have are zero.
template <int block, int rows, int words, int threads>
class ScaleCopy {
 public:
  static constexpr u32 kWords = rows * words;

  /// `first` is the tile's first row, `extent` the operand's number of them.
  __device__ __forceinline__ ScaleCopy(const abi::Scales& scales, i32 l, i32 first, i32 extent,
                                       i32 k, u32 thread)
      : scales_(scales),
        base_(scales.address + static_cast<u64>(l * scales.batch_stride)),
        first_(first),
        extent_(extent),
        blocks_((k + block - 1) / block),
        thread_(thread),
        whole_(are_words(scales)) {}

  /// Starts the copies of the next stage, whose first word along K is `word`, to `shared`.
  __device__ __forceinline__ void start(u32 shared, i32 word) const {
#pragma unroll
    for (u32 i = 0; i < kWords; i += threads) {
      const u32 index = i + thread_;
      if (kWords % threads != 0 && index >= kWords) break;
      const i32 row = first_ + static_cast<i32>(index % rows);
      copy(shared + 4 * index, row, word + static_cast<i32>(index / rows));
    }
  }

 private:
  /// Whether four neighbours along K are a word in memory.
  __device__ __forceinline__ static bool are_words(const abi::Scales& scales) {
    const bool contiguous =
        scales.k_tiles > 0 || (scales.k_stride == 1 && scales.other_stride % 4 == 0);
    return contiguous && scales.address != 0 && scales.address % 4 == 0 &&
           scales.batch_stride % 4 == 0;
  }

  __device__ __forceinline__ void copy(u32 to, i32 row, i32 word) const {
    i32 count = blocks_ - 4 * word;
    count = row >= extent_ || count < 0 ? 0 : count > 4 ? 4 : count;
    if (whole_) {
      const u64 from = count > 0 ? base_ + offset(row, word) : scales_.address;
      ptx::cp_async<4>(to, from, static_cast<u32>(count));
    } else {
      ptx::st_shared<1>(to, {gathered(row, word, count)});
    }
  }
  __device__ __forceinline__ u64 offset(i64 row, i64 word) const {
    const i64 plain = row * scales_.other_stride + 4 * word;
    const i64 tile = row / 128 * scales_.k_tiles + word;
    const i64 blocked = tile * 512 + row % 32 * 16 + row % 128 / 32 * 4;
    return static_cast<u64>(scales_.k_tiles > 0 ? blocked : plain);
  }
  /// One by one; every scale is 1 where there are none.
  __device__ __forceinline__ u32 gathered(i64 row, i64 word, i32 count) const {
    if (scales_.address == 0) return block == 16 ? 0x38383838 : 0x7f7f7f7f;
    u32 bits = 0;
    for (i32 i = 0; i < count; ++i) {
      const i64 at = row * scales_.other_stride + (4 * word + i) * scales_.k_stride;
      bits |= ptx::ld_global_u8(base_ + static_cast<u64>(at)) << (8 * i);
    }
    return bits;
  }

  const abi::Scales& scales_;
  u64 base_;
  i32 first_;
  i32 extent_;
  i32 blocks_;
  u32 thread_;
  bool whole_;
};

}  // namespace estoc
