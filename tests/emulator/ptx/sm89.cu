// Uses every wrapper that came with sm_89, so that compiling it shows that each is what ptxas
// takes.
#include <estoc/ptx/cvt.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/mma.cuh>
#include <estoc/ptx/special.cuh>

namespace ptx = estoc::ptx;
using estoc::u32;
using estoc::abi::Type;

extern "C" __global__ void estoc_kernel(estoc::u64 global) {
  const u32 lane = ptx::laneid();
  const u32 a[4] = {lane, lane + 1, lane + 2, lane + 3};
  const u32 b[2] = {lane, lane + 1};
  float acc[4] = {};
  ptx::mma_m16n8k32<Type::e4m3, Type::e4m3>(acc, a, b);
  ptx::mma_m16n8k32<Type::e4m3, Type::e5m2>(acc, a, b);
  ptx::mma_m16n8k32<Type::e5m2, Type::e4m3>(acc, a, b);
  ptx::mma_m16n8k32<Type::e5m2, Type::e5m2>(acc, a, b);
  const u32 e4m3 = ptx::cvt_rn_satfinite_e4m3x2_f32(acc[0], acc[1]);
  const u32 e5m2 = ptx::cvt_rn_satfinite_e5m2x2_f32(acc[2], acc[3]);
  ptx::st_global<2>(global, {ptx::cvt_rn_f16x2_e4m3x2(e4m3), ptx::cvt_rn_f16x2_e5m2x2(e5m2)});
}
