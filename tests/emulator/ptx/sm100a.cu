// Uses every wrapper that came with sm_100a, so that compiling it shows that each is what ptxas
// takes. GROUP is the .cta_group, as a kernel uses one alone.
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/tcgen05.cuh>
#include <estoc/ptx/tcgen05_memory.cuh>
#include <estoc/ptx/tma_gather.cuh>
#include <estoc/ptx/tma_pair.cuh>

#ifndef GROUP  // as the golden text has it
#define GROUP 2
#endif

namespace {

namespace ptx = estoc::ptx;
using estoc::i32;
using estoc::TensorMap;
using estoc::u32;
using estoc::u64;
using estoc::abi::Tcgen05Kind;
using estoc::abi::TensorShape;
using estoc::abi::TensorSource;

template <TensorShape shape, int repeat>
__device__ void move(u32 address) {
  u32 words[repeat * estoc::abi::tensor_registers(shape)];
  ptx::tcgen05_ld<shape, repeat>(words, address);
  ptx::tcgen05_wait_ld();
  ptx::tcgen05_use(words);
  ptx::tcgen05_st<shape, repeat>(address + 128, words);
  ptx::tcgen05_wait_st();
}

template <TensorShape shape>
__device__ void moves(u32 address) {
  move<shape, 1>(address);
  move<shape, 2>(address);
  move<shape, 4>(address);
  move<shape, 8>(address);
  move<shape, 16>(address);
  move<shape, 32>(address);
  if constexpr (estoc::abi::tensor_registers(shape) <= 2) move<shape, 64>(address);
  if constexpr (estoc::abi::tensor_registers(shape) == 1) move<shape, 128>(address);
}

template <Tcgen05Kind kind>
__device__ void products(u32 d, u64 a, u64 b, u32 instruction, bool add) {
  ptx::tcgen05_mma<kind, GROUP>(d, a, b, instruction, add);
  ptx::tcgen05_mma_tensor<kind, GROUP>(d, d + 256, b, instruction, add);
}

template <Tcgen05Kind kind, int block>
__device__ void scaled_products(u32 d, u64 a, u64 b, u32 instruction, bool add) {
  ptx::tcgen05_mma_scaled<kind, GROUP, block>(d, a, b, instruction, d + 384, d + 400, add);
}

template <TensorSource source>
__device__ void copies(u32 address, u64 from) {
  ptx::tcgen05_cp_128x256b<GROUP, source>(address, from);
  ptx::tcgen05_cp_4x256b<GROUP, source>(address, from);
  ptx::tcgen05_cp_128x128b<GROUP, source>(address, from);
  ptx::tcgen05_cp_64x128b_warpx2_02_13<GROUP, source>(address, from);
  ptx::tcgen05_cp_64x128b_warpx2_01_23<GROUP, source>(address, from);
  ptx::tcgen05_cp_32x128b_warpx4<GROUP, source>(address, from);
}

template <Tcgen05Kind kind>
__device__ void masked_products(u32 d, u64 a, u64 b, u32 instruction, bool add) {
  u32 disabled[4 * GROUP];
  for (int i = 0; i < 4 * GROUP; ++i)
    disabled[i] = instruction + i;
  ptx::tcgen05_mma_disable_lanes<kind, GROUP>(d, a, b, instruction, disabled, add);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128, 1)
    estoc_kernel(const __grid_constant__ TensorMap map, u64 a, u64 b, u32 instruction, u32 ctas) {
  const u32 shared = ptx::smem_base();
  const u32 barrier = shared + 1024;
  ptx::tcgen05_alloc<GROUP, 512>(shared);
  ptx::tcgen05_relinquish_alloc_permit<GROUP>();
  const u32 address = 0;
  ptx::tcgen05_fence_after_thread_sync();
  if (ptx::tid() == 0) {
    copies<TensorSource::bytes>(address, a);
    copies<TensorSource::packed4>(address, a);
    copies<TensorSource::packed6>(address, a);
    ptx::tcgen05_shift_down<GROUP>(address);
    products<Tcgen05Kind::f16>(address, a, b, instruction, ctas != 0);
    products<Tcgen05Kind::tf32>(address, a, b, instruction, ctas != 0);
    products<Tcgen05Kind::f8f6f4>(address, a, b, instruction, ctas != 0);
    ptx::tcgen05_mma_scale_d<Tcgen05Kind::f16, GROUP, 15>(address, a, b, instruction, ctas != 0);
    ptx::tcgen05_mma_scale_d<Tcgen05Kind::tf32, GROUP, 1>(address, a, b, instruction, ctas != 0);
    masked_products<Tcgen05Kind::f16>(address, a, b, instruction, ctas != 0);
    masked_products<Tcgen05Kind::tf32>(address, a, b, instruction, ctas != 0);
    masked_products<Tcgen05Kind::f8f6f4>(address, a, b, instruction, ctas != 0);
    scaled_products<Tcgen05Kind::mxf8f6f4, 32>(address, a, b, instruction, ctas != 0);
    scaled_products<Tcgen05Kind::mxf4, 32>(address, a, b, instruction, ctas != 0);
    scaled_products<Tcgen05Kind::mxf4nvf4, 32>(address, a, b, instruction, ctas != 0);
    scaled_products<Tcgen05Kind::mxf4nvf4, 16>(address, a, b, instruction, ctas != 0);
#ifdef INTEGERS
    products<Tcgen05Kind::i8>(address, a, b, instruction, ctas != 0);
    masked_products<Tcgen05Kind::i8>(address, a, b, instruction, ctas != 0);
#endif
    ptx::tcgen05_commit<GROUP>(barrier);
    ptx::tcgen05_commit_multicast<GROUP>(barrier, ctas);
    ptx::cp_async_bulk_tensor_gather4(shared, map, barrier, 0, {1, 2, 3, 4});
    ptx::cp_async_bulk_tensor_gather4_multicast(shared, map, barrier, ctas, 0, {1, 2, 3, 4});
    ptx::cp_async_bulk_tensor_scatter4(map, shared, 0, {1, 2, 3, 4});
    if constexpr (GROUP == 2) {
      ptx::cp_async_bulk_tensor_load_pair<2>(shared, map, barrier, {0, 1});
      ptx::cp_async_bulk_tensor_load_pair<3>(shared, map, barrier, {0, 1, 2});
      ptx::cp_async_bulk_tensor_load_pair_multicast<3>(shared, map, barrier, ctas, {0, 1, 2});
      ptx::cp_async_bulk_tensor_gather4_pair(shared, map, barrier, 0, {1, 2, 3, 4});
    }
  }
  moves<TensorShape::lanes32x32>(address);
  moves<TensorShape::lanes16x64>(address);
  moves<TensorShape::lanes16x128>(address);
  moves<TensorShape::lanes16x256>(address);
  ptx::tcgen05_fence_before_thread_sync();
  ptx::tcgen05_dealloc<GROUP, 512>(address);
}
