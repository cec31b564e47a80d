// Uses every wrapper that sm_80 has, so that compiling it shows that each is what ptxas takes.
#include <estoc/ptx/atomic.cuh>
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/cp_async.cuh>
#include <estoc/ptx/cvt.cuh>
#include <estoc/ptx/ldmatrix.cuh>
#include <estoc/ptx/math.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/mma.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/warp.cuh>

namespace {

namespace ptx = estoc::ptx;
using estoc::i32;
using estoc::u32;
using estoc::u64;
using estoc::Words;
using estoc::abi::Type;

// Where results go, so that nothing is left out as unused.
struct Sink {
  u64 address;

  __device__ void take(u32 value) {
    ptx::st_global<1>(address, Words<1>{value});
    address += 4;
  }
  __device__ void take(i32 value) { take(static_cast<u32>(value)); }
  __device__ void take(float value) { take(estoc::bit_cast<u32>(value)); }
  __device__ void take(double value) { take(static_cast<float>(value)); }
  template <typename Value, int count>
  __device__ void take(const Value (&values)[count]) {
    for (int i = 0; i < count; ++i)
      take(values[i]);
  }
};

template <int count>
__device__ void memory(Sink& sink, u32 shared) {
  ptx::st_shared<count>(shared, ptx::ld_global<count>(sink.address));
  ptx::st_global<count>(sink.address, ptx::ld_shared<count>(shared));
  sink.take(ptx::ld_global_nc<count>(sink.address).word);
  sink.take(ptx::ldmatrix<count>(shared).word);
  sink.take(ptx::ldmatrix<count, true>(shared).word);
}

__device__ void special(Sink& sink) {
  sink.take(ptx::tid() + ptx::ntid() + ptx::laneid() + ptx::smid());
  sink.take(ptx::ctaid_x() + ptx::ctaid_y() + ptx::ctaid_z());
  sink.take(ptx::nctaid_x() + ptx::nctaid_y() + ptx::nctaid_z());
  sink.take(static_cast<u32>(ptx::clock64() + ptx::globaltimer()));
}

__device__ void atomics(Sink& sink) {
  sink.take(ptx::atom_global_add(sink.address, 1u));
  sink.take(ptx::atom_global_add(sink.address, 1.0f));
  ptx::red_global_add(sink.address, 1u);
  ptx::red_global_add(sink.address, 1.0f);
  sink.take(ptx::atom_acq_rel_global_add(sink.address, 1));
  ptx::red_release_global_add(sink.address, 1);
  sink.take(ptx::ld_acquire_global(sink.address));
  ptx::st_release_global(sink.address, 1);
  ptx::wait_acquire_global(sink.address, 1);
}

__device__ void warp(Sink& sink) {
  const u32 lane = ptx::laneid();
  ptx::bar_warp_sync();
  sink.take(ptx::shfl_sync_idx(lane, 3));
  sink.take(ptx::shfl_sync_bfly(1.5f, 3));
  sink.take(ptx::shfl_sync_down(lane, 3));
  sink.take(ptx::shfl_sync_up(lane, 3));
  sink.take(ptx::vote_sync_ballot(lane > 3) + ptx::vote_sync_any(lane > 4) +
            ptx::vote_sync_all(lane > 5));
  sink.take(ptx::redux_sync_add(lane) + ptx::redux_sync_min(lane) + ptx::redux_sync_max(lane));
  const i32 value = static_cast<i32>(lane);
  sink.take(ptx::redux_sync_add(value) + ptx::redux_sync_min(value) + ptx::redux_sync_max(value));
}

__device__ void copies(u32 shared, u64 global) {
  ptx::cp_async<4>(shared, global);
  ptx::cp_async<8>(shared, global, 5);
  ptx::cp_async<16>(shared, global, 0);
  ptx::cp_async_commit_group();
  ptx::cp_async_wait_group<1>();
  ptx::cp_async_mbarrier_arrive_noinc(shared);
  ptx::cp_async_wait_all();
  ptx::barrier_sync();
  ptx::bar_sync<64>(1);
  ptx::bar_arrive<64>(2);
}

__device__ void products(Sink& sink) {
  const u32 lane = ptx::laneid();
  const u32 a[4] = {lane, lane + 1, lane + 2, lane + 3};
  const u32 b[2] = {lane, lane + 1};
  float f[4] = {};
  i32 s[4] = {};
  u32 h[2] = {};
  double d[2] = {};
  ptx::mma_m16n8k16<Type::f16>(f, a, b);
  ptx::mma_m16n8k16<Type::bf16>(f, a, b);
  ptx::mma_m16n8k8_tf32(f, a, b);
  ptx::mma_m16n8k16_f16(h, a, b);
  ptx::mma_m16n8k32<Type::i8, Type::i8>(s, a, b);
  ptx::mma_m16n8k32<Type::i8, Type::u8>(s, a, b);
  ptx::mma_m16n8k32<Type::u8, Type::i8>(s, a, b);
  ptx::mma_m16n8k32<Type::u8, Type::u8>(s, a, b);
  ptx::mma_m8n8k4_f64(d, lane, lane);
  sink.take(f);
  sink.take(s);
  sink.take(h);
  sink.take(d);
}

__device__ void conversions(Sink& sink, float x) {
  sink.take(ptx::cvt_rn_bf16x2_f32(x, 1) + ptx::cvt_rn_f16x2_f32(x, 1) + ptx::cvt_rna_tf32_f32(x));
  sink.take(ptx::cvt_rn_f16_f32(x) + ptx::cvt_rn_bf16_f32(x));
  sink.take(ptx::cvt_f32_f16(3) + ptx::cvt_rn_f32_f64(x) + ptx::cvt_rz_f32_f64(x));
  sink.take(ptx::cvt_rni_s32_f32(x) + ptx::cvt_rni_s32_f64(x));
  sink.take(ptx::fma_rn(x, x, x) + ptx::fma_rn(static_cast<double>(x), 1.0, 2.0));
  sink.take(ptx::mad_lo(i32(x), 3, 4));
}

}  // namespace

extern "C" __global__ void estoc_kernel(u64 global) {
  Sink sink{global};
  const u32 shared = ptx::smem_base();
  memory<1>(sink, shared);
  memory<2>(sink, shared);
  memory<4>(sink, shared);
  ptx::st_shared_u8(shared, ptx::ld_global_u8(global));
  ptx::st_shared_u16(shared, ptx::ld_global_u16(global));
  ptx::st_global_u8(global, ptx::ld_shared_u8(shared));
  ptx::st_global_u16(global, ptx::ld_shared_u16(shared));
  special(sink);
  atomics(sink);
  warp(sink);
  copies(shared, global);
  products(sink);
  conversions(sink, static_cast<float>(ptx::tid()));
}
