// A small persistent, warp-specialised GEMM for sm_90a: TMA in, wgmma, TMA out. `fault` plants one
// mistake, which the emulator is to find.
#pragma once

#include <estoc/abi/types.cuh>
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/cluster.cuh>
#include <estoc/ptx/cvt.cuh>
#include <estoc/ptx/fence.cuh>
#include <estoc/ptx/ldmatrix.cuh>
#include <estoc/ptx/mbarrier.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/setmaxnreg.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/tma.cuh>
#include <estoc/ptx/warp.cuh>
#include <estoc/ptx/wgmma.cuh>

namespace estoc::sm90_test {

enum class Mistake {
  none,
  no_wait_on_empty,
  wrong_phase,
  expect_too_small,
  expect_too_large,
  no_proxy_fence,
  early_release,
  read_before_wait,
  no_read_wait,
  no_barrier_before_store,
  no_wgmma_fence,
  no_init_fence,
  no_start_barrier,
  lane_zero_waits,
  shared_barrier_id,
  wrong_stage,
  wrong_swizzle,
  off_by_one_k,
  too_few_arrivals,
  no_cluster_end,
  second_arrival,
  store_not_drained,
  divergent_fence,
  k_not_counted,
  no_commit,
};

/// out (M x N, bf16, row-major) = A (M x K, row-major) B (K x N, column-major, or row-major where
/// `b_rows`), bf16. Tiles of 128 x kN x 64, two warpgroups that multiply and one that loads.
template <int tile_n, int stages, bool b_rows, int cluster_m, Mistake mistake>
struct Kernel {
  static constexpr int kThreads = 384;
  static constexpr u32 kABytes = 128 * 64 * 2;
  static constexpr u32 kBBytes = tile_n * 64 * 2;
  static constexpr u32 kStageBytes = kABytes + kBBytes;
  static constexpr u32 kOutBytes = 128 * tile_n * 2;
  static constexpr u32 kSharedBytes = stages * kStageBytes + kOutBytes + 2 * stages * 8;

  struct Parameters {
    i32 tiles_m;
    i32 tiles_n;
    i32 k_steps;
  };

  u32 base = ptx::smem_base();

  __device__ u32 a_stage(u32 s) const { return base + s * kStageBytes; }
  __device__ u32 b_stage(u32 s) const { return a_stage(s) + kABytes; }
  __device__ u32 out() const { return base + stages * kStageBytes; }
  __device__ u32 full(u32 s) const { return out() + kOutBytes + s * 8; }
  __device__ u32 empty(u32 s) const { return full(s) + stages * 8; }

  __device__ static u64 descriptor(u32 address, u32 leading, u32 stride) {
    return (address >> 4) | u64{leading >> 4} << 16 | u64{stride >> 4} << 32 |
           u64{mistake == Mistake::wrong_swizzle ? 2u : 1u} << 62;
  }

  struct Position {
    u32 stage = 0;
    u32 phase = 0;
    __device__ void next() {
      if (++stage == stages) {
        stage = 0;
        phase ^= 1;
      }
    }
  };

  __device__ void initialise() const {
    if (ptx::tid() == 0) {
      for (u32 s = 0; s < stages; ++s) {
        ptx::mbarrier_init(full(s), 1);
        ptx::mbarrier_init(empty(s), (mistake == Mistake::too_few_arrivals ? 1 : 2) * cluster_m);
      }
      if (mistake != Mistake::no_init_fence) ptx::fence_mbarrier_init();
    }
    if constexpr (cluster_m > 1) {
      ptx::barrier_cluster_arrive_release();
      ptx::barrier_cluster_wait();
    } else {
      if (mistake != Mistake::no_start_barrier) ptx::barrier_sync();
    }
  }

  __device__ void load(const TensorMap& a, const TensorMap& b, const Parameters& p) const {
    if (ptx::tid() / 32 % 4 != 0 || !ptx::elect_one()) return;
    const i32 rank = cluster_m > 1 ? static_cast<i32>(ptx::cluster_ctarank()) : 0;
    Position at;
    for (i32 tile = first_tile(); tile < p.tiles_m * p.tiles_n; tile += tile_step()) {
      const i32 m = tile % p.tiles_m * 128;
      const i32 n = tile / p.tiles_m * tile_n;
      for (i32 k = 0; k < p.k_steps; ++k) {
        if (mistake != Mistake::no_wait_on_empty) {
          ptx::mbarrier_wait(empty(at.stage),
                             mistake == Mistake::wrong_phase ? at.phase : at.phase ^ 1);
        }
        u32 bytes = kStageBytes;
        if (mistake == Mistake::expect_too_small) bytes -= 128;
        if (mistake == Mistake::expect_too_large) bytes += 128;
        if (mistake == Mistake::k_not_counted) bytes -= kBBytes;
        ptx::mbarrier_arrive_expect_tx(full(at.stage), bytes);
        ptx::cp_async_bulk_tensor_load(a_stage(at.stage), a, full(at.stage), {k * 64, m});
        load_b(b, at.stage, k * 64, n, rank);
        at.next();
      }
    }
    if (cluster_m > 1 && mistake != Mistake::no_cluster_end) {
      // No CTA may end while another still sends to it.
      for (u32 s = 0; s < stages; ++s) {
        ptx::mbarrier_wait(empty(at.stage), at.phase ^ 1);
        at.next();
      }
    }
  }

  // Each CTA of a cluster loads a part of B, for all of them.
  __device__ void load_b(const TensorMap& b, u32 stage, i32 k, i32 n, i32 rank) const {
    constexpr int kPart = tile_n / cluster_m;
    if constexpr (cluster_m > 1) {
      ptx::cp_async_bulk_tensor_load_multicast(
          b_stage(stage) + static_cast<u32>(rank * kPart * 128), b, full(stage),
          (1u << cluster_m) - 1, {k, n + rank * kPart});
    } else if constexpr (b_rows) {
      for (int part = 0; part < tile_n / 64; ++part) {
        ptx::cp_async_bulk_tensor_load(b_stage(stage) + static_cast<u32>(part * 64 * 128), b,
                                       full(stage), {n + part * 64, k});
      }
    } else {
      ptx::cp_async_bulk_tensor_load(b_stage(stage), b, full(stage), {k, n});
    }
  }

  __device__ static i32 first_tile() { return static_cast<i32>(ptx::ctaid_x()); }
  __device__ static i32 tile_step() { return static_cast<i32>(ptx::nctaid_x()); }

  __device__ void multiply(float (&acc)[tile_n / 2], u32 stage, i32 group, bool add) const {
    const u32 a = a_stage(stage) + static_cast<u32>(group * 64 * 128);
    const u32 b = b_stage(mistake == Mistake::wrong_stage ? (stage + 1) % stages : stage);
    if (mistake == Mistake::divergent_fence && ptx::tid() % 32 < 16) {
      ptx::wgmma_fence();
    } else if (mistake != Mistake::no_wgmma_fence) {
      ptx::wgmma_fence();
    }
    constexpr u32 kSteps = mistake == Mistake::off_by_one_k ? 5 : 4;
#pragma unroll
    for (u32 k = 0; k < kSteps; ++k) {
      const u64 a_descriptor = descriptor(a + k * 32, 16, 1024);
      const u64 b_descriptor =
          b_rows ? descriptor(b + k * 16 * 128, 64 * 128, 1024) : descriptor(b + k * 32, 16, 1024);
      ptx::wgmma_mma_async<abi::Type::bf16, abi::Type::bf16, false, b_rows>(
          acc, a_descriptor, b_descriptor, add || k > 0);
    }
    if (mistake != Mistake::no_commit) ptx::wgmma_commit_group();
  }

  __device__ void release(u32 stage) const {
    if (mistake == Mistake::too_few_arrivals || ptx::tid() % 128 != 0) {
      if (mistake != Mistake::too_few_arrivals || ptx::tid() % 128 > 0) return;
    }
    if constexpr (cluster_m > 1) {
      for (u32 cta = 0; cta < cluster_m; ++cta)
        ptx::mbarrier_arrive_cluster(empty(stage), cta);
    } else {
      ptx::mbarrier_arrive(empty(stage));
      if (mistake == Mistake::second_arrival) ptx::mbarrier_arrive(empty(stage));
    }
  }

  // All threads of the warpgroup are through with the stage before one of them says so.
  __device__ void release_after(u32 stage, i32 group) const {
    if (group == 0) ptx::bar_sync<128>(2);
    if (group == 1) ptx::bar_sync<128>(mistake == Mistake::shared_barrier_id ? 2 : 3);
    release(stage);
  }

  __device__ void consume(const TensorMap& map, const Parameters& p, i32 group) const {
    Position at;
    for (i32 tile = first_tile(); tile < p.tiles_m * p.tiles_n; tile += tile_step()) {
      float acc[tile_n / 2];
      for (i32 k = 0; k < p.k_steps; ++k) {
        if (mistake != Mistake::lane_zero_waits || ptx::tid() % 128 == 0) {
          ptx::mbarrier_wait(full(at.stage), at.phase);
        }
        multiply(acc, at.stage, group, k > 0);
        if (mistake == Mistake::early_release) release_after(at.stage, group);
        if (mistake != Mistake::read_before_wait) ptx::wgmma_wait_group<0>();
        if (mistake != Mistake::early_release) release_after(at.stage, group);
        at.next();
      }
      ptx::acc_use(acc);
      if (mistake == Mistake::read_before_wait) ptx::wgmma_wait_group<0>();
      store(acc, map, tile % p.tiles_m * 128, tile / p.tiles_m * tile_n, group);
    }
    if (leader() && mistake != Mistake::store_not_drained) ptx::cp_async_bulk_wait_group_read<0>();
  }

  __device__ static bool leader() {
    return ptx::tid() % 128 == 0;
  }

  __device__ void group_sync(i32 group) const {
    if (group == 0) ptx::bar_sync<128>(2);
    if (group == 1) ptx::bar_sync<128>(3);
  }

  __device__ void store(const float (&acc)[tile_n / 2], const TensorMap& map, i32 m, i32 n,
                        i32 group) const {
    const u32 t = ptx::tid() % 128;
    const u32 part = out() + static_cast<u32>(group * 64 * tile_n * 2);
    if (mistake != Mistake::no_read_wait) {
      if (leader()) ptx::cp_async_bulk_wait_group_read<0>();
      group_sync(group);
    }
    const u32 row = t / 32 * 16 + t % 16;
#pragma unroll
    for (u32 j = 0; j < tile_n / 16; ++j) {
      const float* x = acc + 8 * j;
      const Words<4> words{{ptx::cvt_rn_bf16x2_f32(x[0], x[1]), ptx::cvt_rn_bf16x2_f32(x[2], x[3]),
                            ptx::cvt_rn_bf16x2_f32(x[4], x[5]),
                            ptx::cvt_rn_bf16x2_f32(x[6], x[7])}};
      ptx::stmatrix<4>(part + row * tile_n * 2 + j * 32 + t % 32 / 16 * 16, words);
    }
    if (mistake != Mistake::no_proxy_fence) ptx::fence_proxy_async();
    if (mistake != Mistake::no_barrier_before_store) group_sync(group);
    if (leader()) {
      ptx::cp_async_bulk_tensor_store(map, part, {n, m + group * 64});
      ptx::cp_async_bulk_commit_group();
    }
  }

  __device__ void run(const TensorMap& a, const TensorMap& b, const TensorMap& d,
                      const Parameters& p) const {
    initialise();
    const i32 group = static_cast<i32>(ptx::tid() / 128);
    if (group == 2) {
      ptx::reg_dec<40>();
      load(a, b, p);
    } else {
      ptx::reg_inc<232>();
      consume(d, p, group);
    }
  }
};

}  // namespace estoc::sm90_test
