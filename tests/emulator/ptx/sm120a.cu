// Uses every wrapper that came with sm_120a, so that compiling it shows that each is what ptxas
// takes.
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/mma_scaled.cuh>
#include <estoc/ptx/special.cuh>

namespace {

namespace ptx = estoc::ptx;
using estoc::u32;
using estoc::abi::Type;

template <Type a_type, Type b_type>
__device__ void of_bytes(float (&acc)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  ptx::mma_f8f6f4<a_type, b_type>(acc, a, b);
  ptx::mma_mxf8f6f4<a_type, b_type, 0>(acc, a, b, a[0], b[0]);
  ptx::mma_mxf8f6f4<a_type, b_type, 1>(acc, a, b, a[0], b[0]);
  ptx::mma_mxf8f6f4<a_type, b_type, 2>(acc, a, b, a[0], b[0]);
  ptx::mma_mxf8f6f4<a_type, b_type, 3>(acc, a, b, a[0], b[0]);
}

}  // namespace

extern "C" __global__ void estoc_kernel(estoc::u64 global) {
  const u32 lane = ptx::laneid();
  const u32 a[4] = {lane, lane + 1, lane + 2, lane + 3};
  const u32 b[2] = {lane, lane + 1};
  float acc[4] = {};
  of_bytes<Type::e4m3, Type::e4m3>(acc, a, b);
  of_bytes<Type::e4m3, Type::e5m2>(acc, a, b);
  of_bytes<Type::e5m2, Type::e4m3>(acc, a, b);
  of_bytes<Type::e5m2, Type::e5m2>(acc, a, b);
  ptx::mma_mxf4<0>(acc, a, b, a[0], b[0]);
  ptx::mma_mxf4<2>(acc, a, b, a[0], b[0]);
  ptx::mma_nvf4(acc, a, b, a[0], b[0]);
  ptx::st_global<2>(global, {estoc::bit_cast<u32>(acc[0]), estoc::bit_cast<u32>(acc[1])});
  ptx::st_global<2>(global + 8, {estoc::bit_cast<u32>(acc[2]), estoc::bit_cast<u32>(acc[3])});
}
