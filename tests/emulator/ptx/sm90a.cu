// Uses every wrapper that came with sm_90 or sm_90a, so that compiling it shows that each is what
// ptxas takes. wgmma has a file of its own.
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/cluster.cuh>
#include <estoc/ptx/fence.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/ldmatrix.cuh>
#include <estoc/ptx/mbarrier.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/mma.cuh>
#include <estoc/ptx/setmaxnreg.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/tensormap.cuh>
#include <estoc/ptx/tma.cuh>
#include <estoc/ptx/warp.cuh>

namespace {

namespace ptx = estoc::ptx;
using estoc::i32;
using estoc::TensorMap;
using estoc::u32;
using estoc::u64;
using estoc::Words;

template <int rank>
__device__ void tma(const TensorMap& map, u32 shared, u32 barrier, const i32 (&at)[rank]) {
  ptx::cp_async_bulk_tensor_load(shared, map, barrier, at);
  ptx::cp_async_bulk_tensor_load_hint(shared, map, barrier, at, ptx::kEvictFirst);
  ptx::cp_async_bulk_tensor_load_multicast(shared, map, barrier, 3, at);
  ptx::cp_async_bulk_tensor_load_multicast_hint(shared, map, barrier, 3, at, ptx::kEvictLast);
  ptx::cp_async_bulk_prefetch_tensor(map, at);
  ptx::cp_async_bulk_tensor_store(map, shared, at);
  ptx::cp_async_bulk_tensor_store_hint(map, shared, at, ptx::kEvictNormal);
  ptx::cp_reduce_async_bulk_tensor_add(map, shared, at);
}

__device__ void barriers(u32 barrier) {
  ptx::mbarrier_init(barrier, 3);
  ptx::fence_mbarrier_init();
  ptx::mbarrier_arrive(barrier);
  ptx::mbarrier_arrive_expect_tx(barrier, 128);
  ptx::mbarrier_expect_tx(barrier, 128);
  ptx::mbarrier_arrive_cluster(barrier, ptx::cluster_ctarank() ^ 1);
  if (!ptx::mbarrier_try_wait(barrier, 0)) ptx::mbarrier_wait(barrier, 0);
  ptx::mbarrier_wait_cluster(barrier, 1);
  ptx::mbarrier_wait(barrier, 0);
  ptx::mbarrier_inval(barrier);
}

__device__ u32 cluster(u32 shared) {
  ptx::barrier_cluster_arrive_relaxed();
  ptx::barrier_cluster_wait();
  const u32 remote = ptx::mapa(shared, ptx::cluster_nctarank() - 1);
  ptx::st_shared_cluster<4>(remote, ptx::ld_shared_cluster<4>(remote));
  ptx::st_shared_cluster<2>(remote, ptx::ld_shared_cluster<2>(remote));
  ptx::st_shared_cluster<1>(remote, ptx::ld_shared_cluster<1>(remote));
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
  return ptx::cluster_ctaid_x() + ptx::cluster_ctaid_y() + ptx::cluster_ctaid_z() +
         ptx::clusterid_x() + ptx::nclusterid_x();
}

__device__ void changes(u64 map) {
  ptx::tensormap_replace_address(map, map + 256);
  ptx::tensormap_replace_extent<0>(map, 64);
  ptx::tensormap_replace_extent<4>(map, 64);
  ptx::tensormap_replace_stride<0>(map, 128);
  ptx::tensormap_replace_stride<3>(map, 128);
  ptx::fence_proxy_tensormap_release_gpu();
  ptx::fence_proxy_tensormap_acquire_gpu(map);
}

__device__ double products() {
  const double x = ptx::laneid();
  double acc[4] = {};
  ptx::mma_m16n8_f64<4>(acc, {x, x}, {x});
  ptx::mma_m16n8_f64<8>(acc, {x, x, x, x}, {x, x});
  ptx::mma_m16n8_f64<16>(acc, {x, x, x, x, x, x, x, x}, {x, x, x, x});
  return acc[0] + acc[1] + acc[2] + acc[3];
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256, 1)
    estoc_kernel(const __grid_constant__ TensorMap map, u64 global) {
  const u32 shared = ptx::smem_base();
  const u32 barrier = shared + 1024;
  ptx::griddepcontrol_wait();
  barriers(barrier);
  if (ptx::tid() < 128) {
    ptx::reg_dec<40>();
    if (ptx::elect_one()) {
      ptx::prefetch_tensormap(map);
      tma<1>(map, shared, barrier, {1});
      tma<2>(map, shared, barrier, {1, 2});
      tma<3>(map, shared, barrier, {1, 2, 3});
      tma<4>(map, shared, barrier, {1, 2, 3, 4});
      tma<5>(map, shared, barrier, {1, 2, 3, 4, 5});
      changes(global);
      ptx::cp_async_bulk_load(shared, global, 64, barrier);
      ptx::cp_async_bulk_store(global, shared, 64);
      ptx::cp_async_bulk_commit_group();
      ptx::cp_async_bulk_wait_group_read<1>();
      ptx::cp_async_bulk_wait_group<0>();
    }
  } else {
    ptx::reg_inc<232>();
    const u32 sum = cluster(shared) + static_cast<u32>(products());
    ptx::stmatrix<4>(shared, Words<4>{sum, 1, 2, 3});
    ptx::stmatrix<2>(shared, Words<2>{sum, 1});
    ptx::stmatrix<1>(shared, Words<1>{sum});
    ptx::stmatrix<4, true>(shared, Words<4>{sum, 1, 2, 3});
    ptx::stmatrix<2, true>(shared, Words<2>{sum, 1});
    ptx::stmatrix<1, true>(shared, Words<1>{sum});
    ptx::fence_proxy_async();
    ptx::fence_proxy_async_global();
    ptx::fence_acq_rel_cluster();
    ptx::fence_acq_rel_gpu();
    ptx::membar_gl();
    ptx::bar_sync<128>(1);
    ptx::griddepcontrol_launch_dependents();
  }
}
