// A small GEMM for sm_80: cp.async in, ldmatrix, mma.sync. `fault` plants one mistake, which the
// emulator is to find.
#pragma once

#include <estoc/abi/types.cuh>
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/cp_async.cuh>
#include <estoc/ptx/cvt.cuh>
#include <estoc/ptx/ldmatrix.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/mma.cuh>
#include <estoc/ptx/special.cuh>

namespace estoc::sm80_test {

enum class Mistake {
  none,
  no_wait,
  waits_for_too_few,
  no_barrier,
  no_second_barrier,
  past_the_end,
  no_zero_fill,
  misaligned,
  wrong_fragment,
  not_drained,
  divergent_mma,
};

/// out (M x N, f32, row-major) = A (M x K, row-major) B (K x N, column-major), f16. Tiles of
/// 64 x 64 x 32, four warps of 32 x 32.
template <int stages, Mistake mistake>
struct Kernel {
  static constexpr int kThreads = 128;
  static constexpr u32 kPitch = 80;  // bytes of a row of 32 elements, padded against bank conflicts
  static constexpr u32 kOperandBytes = 64 * kPitch;
  static constexpr u32 kSharedBytes = stages * 2 * kOperandBytes;

  struct Parameters {
    u64 a;
    u64 b;
    u64 out;
    i32 m;
    i32 n;
    i32 k;
  };

  // Copies 64 rows of 32 elements; what lies outside becomes zero.
  __device__ static void fetch(u32 shared, u64 base, i32 row, i32 rows, i32 k, i32 depth) {
#pragma unroll
    for (u32 i = 0; i < 2; ++i) {
      const u32 piece = ptx::tid() + i * kThreads;
      const u32 r = piece / 4;
      const u32 c = piece % 4 * 8;
      const bool inside = row + static_cast<i32>(r) < rows || mistake == Mistake::past_the_end;
      const i32 left = inside ? depth - k - static_cast<i32>(c) : 0;
      const u32 bytes = left >= 8 ? 16 : left > 0 ? static_cast<u32>(left) * 2 : 0;
      const u64 from = base + static_cast<u64>((static_cast<i64>(row + r) * depth + k + c) * 2);
      const u32 skew = mistake == Mistake::misaligned ? 8 : 0;
      if (mistake == Mistake::no_zero_fill && bytes == 0) continue;
      ptx::cp_async<16>(shared + r * kPitch + c * 2 + skew, bytes > 0 ? from : base, bytes);
    }
  }

  __device__ static void multiply(float (&acc)[2][4][4], u32 a_shared, u32 b_shared) {
    const u32 lane = ptx::laneid();
    const u32 warp = ptx::tid() / 32;
    const u32 a_row = warp / 2 * 32 + lane % 16;
    const u32 b_row = warp % 2 * 32 + lane % 8 + lane / 16 * 8;
#pragma unroll
    for (u32 k = 0; k < 2; ++k) {
      Words<4> a[2];
      Words<4> b[2];
#pragma unroll
      for (u32 i = 0; i < 2; ++i) {
        a[i] = ptx::ldmatrix<4>(a_shared + (a_row + i * 16) * kPitch + k * 32 + lane / 16 * 16);
        b[i] = ptx::ldmatrix<4, mistake == Mistake::wrong_fragment>(
            b_shared + (b_row + i * 16) * kPitch + k * 32 + lane / 8 % 2 * 16);
      }
#pragma unroll
      for (u32 i = 0; i < 2; ++i) {
#pragma unroll
        for (u32 j = 0; j < 4; ++j) {
          const u32 pair[2] = {b[j / 2].word[j % 2 * 2], b[j / 2].word[j % 2 * 2 + 1]};
          if (mistake == Mistake::divergent_mma && lane < 16) {
            ptx::mma_m16n8k16<abi::Type::f16>(acc[i][j], a[i].word, pair);
          } else {
            ptx::mma_m16n8k16<abi::Type::f16>(acc[i][j], a[i].word, pair);
          }
        }
      }
    }
  }

  __device__ static void store(const float (&acc)[2][4][4], const Parameters& p, i32 m, i32 n) {
    const i32 lane = static_cast<i32>(ptx::laneid());
    const i32 warp = static_cast<i32>(ptx::tid() / 32);
#pragma unroll
    for (i32 i = 0; i < 2; ++i) {
#pragma unroll
      for (i32 j = 0; j < 4; ++j) {
#pragma unroll
        for (i32 e = 0; e < 4; ++e) {
          const i32 row = m + warp / 2 * 32 + i * 16 + lane / 4 + e / 2 * 8;
          const i32 column = n + warp % 2 * 32 + j * 8 + lane % 4 * 2 + e % 2;
          if (row >= p.m || column >= p.n) continue;
          const i64 offset = static_cast<i64>(row) * p.n + column;
          ptx::st_global<1>(p.out + static_cast<u64>(offset * 4),
                            Words<1>{{bit_cast<u32>(acc[i][j][e])}});
        }
      }
    }
  }

  __device__ static void run(const Parameters& p) {
    const u32 base = ptx::smem_base();
    const i32 m = static_cast<i32>(ptx::ctaid_x()) * 64;
    const i32 n = static_cast<i32>(ptx::ctaid_y()) * 64;
    const i32 steps = (p.k + 31) / 32;
    float acc[2][4][4] = {};
    for (i32 s = 0; s < stages - 1; ++s) {
      if (s < steps) load_stage(base, s, p, m, n);
      ptx::cp_async_commit_group();
    }
    for (i32 k = 0; k < steps; ++k) {
      if (mistake == Mistake::waits_for_too_few) ptx::cp_async_wait_group<stages - 1>();
      if (mistake != Mistake::no_wait && mistake != Mistake::waits_for_too_few) {
        ptx::cp_async_wait_group<stages - 2>();
      }
      if (mistake != Mistake::no_barrier) ptx::barrier_sync();
      const i32 next = k + stages - 1;
      const u32 stage = base + static_cast<u32>(k % stages) * 2 * kOperandBytes;
      if (mistake == Mistake::no_second_barrier) {
        // One stage too early: others may still read it.
        multiply(acc, stage, stage + kOperandBytes);
        if (next + 1 < steps) load_stage(base, next + 1, p, m, n);
      } else {
        if (next < steps) load_stage(base, next, p, m, n);
        ptx::cp_async_commit_group();
        multiply(acc, stage, stage + kOperandBytes);
      }
      if (mistake == Mistake::no_second_barrier) ptx::cp_async_commit_group();
    }
    if (mistake == Mistake::not_drained) {
      ptx::cp_async<16>(base, p.a);
      ptx::cp_async_commit_group();
    } else {
      ptx::cp_async_wait_group<0>();
    }
    store(acc, p, m, n);
  }

  __device__ static void load_stage(u32 base, i32 k, const Parameters& p, i32 m, i32 n) {
    const u32 stage = base + static_cast<u32>(k % stages) * 2 * kOperandBytes;
    fetch(stage, p.a, m, p.m, k * 32, p.k);
    fetch(stage + kOperandBytes, p.b, n, p.n, k * 32, p.k);
  }
};

}  // namespace estoc::sm80_test
