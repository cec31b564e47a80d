// Products of f64 on Hopper: how mma.sync reads tiles that TMA brought, and which elements its sums
// are.
//
// Tiles have rows of 128 bytes in TMA's swizzle: of an operand along K one for each element of M
// or N, else boxes of 16 elements of M or N with one row for each element of K. Which of a tile's
// rows and columns an instruction takes is free. They are chosen such that 16 neighbouring lanes,
// which read together, read from all banks, and that two sums of a lane are neighbours of a row.
#pragma once

#include <estoc/abi/sm90_f64_gemm.cuh>
#include <estoc/numeric.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/mma.cuh>
#include <estoc/ptx/warp.cuh>
#include <estoc/tile/swizzle.cuh>

namespace estoc::sm90 {

using abi::Sm90F64GemmConfig;

/// Which elements a lane has of 16 rows of A or 16 columns of B: own() and the other one, so many
/// further on. The rows are those of an instruction's halves, the columns those of two
/// instructions.
template <bool mn_major>
struct F64Place {
  static constexpr int kOther = mn_major ? 4 : 1;

  __device__ __forceinline__ static u32 own(u32 lane) {
    const u32 g = lane / 4;
    return mn_major ? g % 2 + g / 2 % 2 * 8 + g / 4 * 2 : 2 * g;
  }
};

/// The sums of one warp as stores and epilogues see them. Of 16 columns, a lane has the own and the
/// other ones of two neighbours of g.
template <bool a_m_major, bool b_n_major>
struct F64Fragment {
  using Rows = F64Place<a_m_major>;
  using Columns = F64Place<b_n_major>;
  static constexpr int kThreads = 32;
  static constexpr int kWarpRows = 16;
  static constexpr int kBlockRows = 16;
  static constexpr int kRows = 2;
  static constexpr int kColumns = 4;
  static constexpr int kPairs = kRows * kColumns / 2;
  static constexpr u32 kRowLanes = 4;
  static constexpr bool kMatrices = false;

  u32 row;
  u32 column;

  __device__ __forceinline__ static F64Fragment of(u32 thread) {
    return {Rows::own(thread % 32), Columns::own(thread % 4 * 8)};
  }
  __device__ static constexpr int row_offset(int h) { return h * Rows::kOther; }
  /// Along K the other column is the next, else that of the neighbour.
  __device__ static constexpr int column_offset(int c) {
    return b_n_major ? c / 2 * Columns::kOther + c % 2 : c;
  }
  template <int count>
  __device__ __forceinline__ static double value(const double (&block)[count][4], int x) {
    const int row = x / 2 % 2;
    const int other = b_n_major ? x / 4 % 2 : x % 2;
    const int neighbour = b_n_major ? x % 2 : x / 4 % 2;
    return block[x / 8 * 2 + other][2 * row + neighbour];
  }
};

/// Two sums as they are stored.
__device__ __forceinline__ Words<4> pair_words(double first, double second) {
  const Words<2> a = bit_cast<Words<2>>(first);
  const Words<2> b = bit_cast<Words<2>>(second);
  return {a.word[0], a.word[1], b.word[0], b.word[1]};
}

/// Reads one operand of one warp.
template <bool mn_major>
class F64Reader {
 public:
  using Place = F64Place<mn_major>;

  /// `first`: the warp's first row or column of the tile.
  __device__ __forceinline__ F64Reader(u32 lane, u32 first)
      : place_(first * kSwizzleRow +
               (mn_major ? swizzled<kSwizzleRow>(lane % 4, Place::own(lane) * 8)
                         : swizzled<kSwizzleRow>(Place::own(lane), lane % 4 * 8))) {}

  /// Where the lane's own row or column (or the other one) of block `block` of 16 is; of K it is
  /// element lane % 4 + 4 * h + 8 * step.
  __device__ __forceinline__ u32 address(u32 tile, int block, int step, int h, int other) const {
    const int k = 4 * h + 8 * step;
    const int mn = other * Place::kOther;
    // Rows further down, and the chunk of the row, whose number the swizzle has changed.
    const int row = mn_major ? k : mn;
    const int chunk = (mn_major ? mn : k) / 2 ^ row % 8;
    // The tile comes first, so that these addresses are not kept in registers.
    return ((tile + place_) ^ static_cast<u32>(chunk * 16)) +
           static_cast<u32>((16 * block + row) * kSwizzleRow);
  }

  __device__ __forceinline__ double read(u32 tile, int block, int step, int h, int other) const {
    return bit_cast<double>(ptx::ld_shared<2>(address(tile, block, step, h, other)));
  }

 private:
  u32 place_;
};

/// acc += a b for 16 rows, 8 columns and eight elements of K.
template <int mma_k>
__device__ __forceinline__ void multiply_f64(double (&acc)[4], const double (&a)[4],
                                             const double (&b)[2]) {
  if constexpr (mma_k == 8) {
    ptx::mma_m16n8_f64<8>(acc, a, b);
  } else {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const double rows[2] = {a[2 * h], a[2 * h + 1]};
      const double column[1] = {b[h]};
      ptx::mma_m16n8_f64<4>(acc, rows, column);
    }
  }
}

/// The sums of one warp: blocks of 16 rows and 8 columns, four a thread.
template <Sm90F64GemmConfig config>
struct F64Sums {
  static constexpr int kBlocksM = config.warp_rows() / 16;
  static constexpr int kBlocksN = config.warp_columns() / 8;
  double block[kBlocksM][kBlocksN][4] = {};
};

/// The fragments of a warp, of eight elements of K. Those of B are there twice, the next ones
/// beside those in use; those of A are replaced row by row as soon as they have been multiplied.
template <Sm90F64GemmConfig config>
class F64Fragments {
 public:
  using Sums = F64Sums<config>;

  __device__ __forceinline__ F64Fragments(u32 lane, u32 first_m, u32 first_n)
      : read_a_(lane, first_m), read_b_(lane, first_n) {}

  /// Those of the first step of a stage.
  __device__ __forceinline__ void begin(u32 stage) {
    fetch_b<0>(stage, 0, Sums::kBlocksN);
#pragma unroll
    for (int i = 0; i < Sums::kBlocksM; ++i)
      fetch_a<0>(stage, i);
  }

  /// Multiplies step `step`, and fetches the other one from `next` if there is one. `started` is
  /// called when the first products have been. Loads stand beside products, in order: ptxas has few
  /// registers left, and takes them where loads stand together.
  template <int step, bool more, typename Started>
  __device__ __forceinline__ void multiply(Sums& sums, u32 next, const Started& started) {
    constexpr int kRows = Sums::kBlocksM;
    constexpr int kColumns = Sums::kBlocksN;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kColumns; ++j)
        multiply_f64<config.mma_k>(sums.block[i][j], a_[i], b_[step][j]);
      if constexpr (more) {
        fetch_a<1 - step>(next, i);
        fetch_b<1 - step>(next, i * kColumns / kRows, (i + 1) * kColumns / kRows);
      }
      if (i == 0) started();
    }
  }

 private:
  template <int step>
  __device__ __forceinline__ void fetch_a(u32 stage, int i) {
#pragma unroll
    for (int x = 0; x < 4; ++x)
      a_[i][x] = read_a_.read(stage, i, step, x / 2, x % 2);
  }
  template <int step>
  __device__ __forceinline__ void fetch_b(u32 stage, int first, int end) {
#pragma unroll
    for (int j = first; j < end; ++j) {
#pragma unroll
      for (int h = 0; h < 2; ++h)
        b_[step][j][h] = read_b_.read(stage + config.a_bytes(), j / 2, step, h, j % 2);
    }
  }

  F64Reader<config.a_m_major> read_a_;
  F64Reader<config.b_n_major> read_b_;
  double a_[Sums::kBlocksM][4];
  double b_[2][Sums::kBlocksN][2];
};

}  // namespace estoc::sm90
