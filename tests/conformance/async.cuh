// Copies that go on while threads do other things, mbarriers, clusters.
#pragma once

#include <conformance/parameters.cuh>
#include <estoc/ptx/cluster.cuh>
#include <estoc/ptx/cp_async.cuh>
#include <estoc/ptx/mbarrier.cuh>
#include <estoc/ptx/tensormap.cuh>
#include <estoc/ptx/tma.cuh>

namespace conformance {

__device__ inline void copies(const Parameters& p) {
  const u32 t = ptx::tid();
  const u32 base = ptx::smem_base();
  ptx::cp_async<16>(base + 16 * t, p.in + 16 * t);
  ptx::cp_async_commit_group();
  ptx::cp_async<16>(base + 512 + 16 * t, p.in + 16 * t, t % 17);
  ptx::cp_async_commit_group();
  ptx::cp_async_wait_group<1>();
  const Words<4> own = ptx::ld_shared<4>(base + 16 * t);
  ptx::cp_async<8>(base + 1024 + 8 * t, p.in + 8 * t, t % 9);
  ptx::cp_async<4>(base + 1280 + 4 * t, p.in + 4 * t, t % 5);
  ptx::cp_async_wait_all();
  ptx::barrier_sync();
  dump(p, base, 1408);
  ptx::st_global<4>(p.out + 1408 + 16 * t, own);
}

__device__ inline void copies_to_barrier(const Parameters& p) {
  const u32 t = ptx::tid();
  const u32 base = ptx::smem_base();
  const u32 barrier = base + 1024;
  if (t == 0) ptx::mbarrier_init(barrier, 64);
  ptx::barrier_sync();
  if (t < 64) {
    ptx::cp_async<16>(base + 16 * t, p.in + 16 * t);
    ptx::cp_async_mbarrier_arrive_noinc(barrier);
    ptx::cp_async_wait_all();
  } else {
    ptx::mbarrier_wait(barrier, 0);
    const u32 at = 16 * (127 - t);
    ptx::st_global<4>(p.out + at, ptx::ld_shared<4>(base + at));
  }
}

/// Two phases of a barrier, by threads and by a bulk copy; then what was copied is stored.
__device__ inline void bulk_copies(const Parameters& p) {
  const u32 t = ptx::tid();
  const u32 base = ptx::smem_base();
  const u32 barrier = base + 2048;
  const u32 other = barrier + 8;
  if (t == 0) {
    ptx::mbarrier_init(barrier, 2);
    ptx::mbarrier_init(other, 32);
    ptx::fence_mbarrier_init();
  }
  ptx::barrier_sync();
  // Used at once: a GPU may leave the answer open until it is, and then it is that of later.
  put(p, 320 + t, ptx::mbarrier_try_wait(barrier, 0) ? 1u : 0u);
  ptx::barrier_sync();
  if (t == 0) {
    ptx::mbarrier_arrive_expect_tx(barrier, 512);
    ptx::cp_async_bulk_load(base, p.in, 512, barrier);
    ptx::mbarrier_expect_tx(barrier, 256);
    ptx::cp_async_bulk_load(base + 512, p.in + 1024, 256, barrier);
    ptx::mbarrier_arrive(barrier);
  }
  ptx::mbarrier_wait(barrier, 0);
  ptx::mbarrier_arrive(other);
  ptx::mbarrier_wait(other, 0);
  const Words<4> got = ptx::ld_shared<4>(base + 16 * t);
  ptx::st_shared<4>(base + 1024 + 16 * t, got);
  ptx::fence_proxy_async();
  ptx::barrier_sync();
  if (t == 0) {
    ptx::mbarrier_inval(other);
    ptx::cp_async_bulk_store(p.out, base, 768);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_store(p.out + 768, base + 1024, 512);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read<0>();
    ptx::cp_async_bulk_wait_group<0>();
  }
}

/// What a thread wrote to global memory is read by a bulk copy.
__device__ inline void global_proxy(const Parameters& p) {
  const u32 t = ptx::tid();
  const u32 base = ptx::smem_base();
  const u32 barrier = base + 1024;
  put(p, t, get(p, t) + 5);
  ptx::fence_proxy_async_global();
  if (t == 0) {
    ptx::mbarrier_init(barrier, 1);
    ptx::fence_mbarrier_init();
  }
  ptx::barrier_sync();
  if (t == 0) {
    ptx::mbarrier_arrive_expect_tx(barrier, 128);
    ptx::cp_async_bulk_load(base, p.out, 128, barrier);
  }
  ptx::mbarrier_wait(barrier, 0);
  put(p, 32 + t, ptx::ld_shared<1>(base + 4 * t).word[0]);
}

template <int rank>
__device__ inline void copy_at(const Parameters& p, i32 (&at)[rank]) {
  for (int i = 0; i < rank; ++i)
    at[i] = p.at[i];
}

enum class Store { none, plain, hint, add };

/// Loads a box, writes shared memory as it is to the output, and stores the box by the other map.
template <int rank, bool hint, Store store>
__device__ inline void box(const Parameters& p) {
  const u32 base = ptx::smem_base();
  const u32 barrier = base + 32768;
  i32 at[rank];
  copy_at(p, at);
  // Bytes that the copy leaves out are seen as well.
  for (u32 i = 4 * ptx::tid(); i < 32768; i += 4 * ptx::ntid())
    ptx::st_shared<1>(base + i, Words<1>{{0x11111111}});
  ptx::fence_proxy_async();
  if (ptx::tid() == 0) {
    ptx::prefetch_tensormap(p.from);
    ptx::cp_async_bulk_prefetch_tensor<rank>(p.from, at);
    ptx::mbarrier_init(barrier, 1);
    ptx::fence_mbarrier_init();
  }
  ptx::barrier_sync();
  if (ptx::tid() == 0) {
    ptx::mbarrier_arrive_expect_tx(barrier, p.box_bytes);
    if constexpr (hint) {
      ptx::cp_async_bulk_tensor_load_hint<rank>(base, p.from, barrier, at, ptx::kEvictFirst);
    } else {
      ptx::cp_async_bulk_tensor_load<rank>(base, p.from, barrier, at);
    }
  }
  ptx::mbarrier_wait(barrier, 0);
  dump(p, base, 32768);
  if (ptx::tid() == 0 && store != Store::none) {
    if constexpr (store == Store::hint) {
      ptx::cp_async_bulk_tensor_store_hint<rank>(p.to, base, at, ptx::kEvictLast);
    } else if constexpr (store == Store::add) {
      ptx::cp_reduce_async_bulk_tensor_add<rank>(p.to, base, at);
    } else {
      ptx::cp_async_bulk_tensor_store<rank>(p.to, base, at);
    }
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group<0>();
  }
}

/// Loads a box by a copy of the map that stands in the output meanwhile, and is changed: it begins
/// `p.at[3]` bytes later, rows have p.at[4] elements, p.at[5] bytes apart.
__device__ inline void changed_box(const Parameters& p) {
  const u32 base = ptx::smem_base();
  const u32 barrier = base + 8192;
  const u64 copy = p.out + 8192;
  const i32 at[2] = {p.at[0], p.at[1]};
  if (ptx::tid() == 0) {
    for (u32 i = 0; i < 16; i += 2) {
      ptx::st_global<2>(copy + 8 * i, bit_cast<Words<2>>(p.from.opaque[i]));
      ptx::st_global<2>(copy + 8 * i + 8, bit_cast<Words<2>>(p.from.opaque[i + 1]));
    }
    ptx::tensormap_replace_address(copy, p.in + static_cast<u64>(p.at[3]));
    ptx::tensormap_replace_extent<0>(copy, static_cast<u32>(p.at[4]));
    ptx::tensormap_replace_stride<0>(copy, static_cast<u64>(p.at[5]));
    ptx::fence_proxy_tensormap_release_gpu();
    ptx::mbarrier_init(barrier, 1);
    ptx::fence_mbarrier_init();
  }
  ptx::barrier_sync();
  if (ptx::tid() == 32) {
    ptx::fence_proxy_tensormap_acquire_gpu(copy);
    ptx::mbarrier_arrive_expect_tx(barrier, p.box_bytes);
    ptx::cp_async_bulk_tensor_load<2>(base, *reinterpret_cast<const estoc::TensorMap*>(copy),
                                      barrier, at);
  }
  ptx::mbarrier_wait(barrier, 0);
  dump(p, base, p.box_bytes);
  ptx::barrier_sync();
  if (ptx::tid() < 32) ptx::st_global<1>(copy + 4 * ptx::tid(), Words<1>{});
}

/// Each CTA of a cluster of two loads a box for both, the second one `p.at[5]` elements further on.
template <int rank, bool hint>
__device__ inline void multicast(const Parameters& p) {
  const u32 base = ptx::smem_base();
  const u32 barrier = base + 32768;
  const u32 cta = ptx::cluster_ctarank();
  i32 at[rank];
  copy_at(p, at);
  at[0] += p.at[5] * static_cast<i32>(cta);
  if (ptx::tid() == 0) {
    ptx::mbarrier_init(barrier, 1);
    ptx::fence_mbarrier_init();
  }
  ptx::barrier_cluster_arrive_relaxed();
  ptx::barrier_cluster_wait();
  ptx::barrier_sync();
  if (ptx::tid() == 0) {
    ptx::mbarrier_arrive_expect_tx(barrier, 2 * p.box_bytes);
    const u32 to = base + cta * 4096;
    if constexpr (hint) {
      ptx::cp_async_bulk_tensor_load_multicast_hint<rank>(to, p.from, barrier, 3, at,
                                                          ptx::kEvictNormal);
    } else {
      ptx::cp_async_bulk_tensor_load_multicast<rank>(to, p.from, barrier, 3, at);
    }
  }
  ptx::mbarrier_wait(barrier, 0);
  for (u32 part = 0; part < 2; ++part)
    dump(p, base + part * 4096, p.box_bytes, (2 * cta + part) * 8192);
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
}

__device__ inline void cluster_places(const Parameters& p) {
  if (ptx::tid() != 0) return;
  const u32 cta = ptx::ctaid_y() * ptx::nctaid_x() + ptx::ctaid_x();
  put(p, 8 * cta, ptx::cluster_ctaid_x());
  put(p, 8 * cta + 1, ptx::cluster_ctaid_y());
  put(p, 8 * cta + 2, ptx::cluster_ctaid_z());
  put(p, 8 * cta + 3, ptx::cluster_ctarank());
  put(p, 8 * cta + 4, ptx::cluster_nctarank());
  put(p, 8 * cta + 5, ptx::clusterid_x());
  put(p, 8 * cta + 6, ptx::nclusterid_x());
}

/// A cluster of two: each writes into the other's shared memory, and arrives at its barrier.
__device__ inline void distributed_memory(const Parameters& p) {
  const u32 t = ptx::tid();
  const u32 cta = ptx::cluster_ctarank();
  const u32 base = ptx::smem_base();
  const u32 barrier = base + 1024;
  if (t == 0) {
    ptx::mbarrier_init(barrier, 32);
    ptx::fence_mbarrier_init();
  }
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
  const u32 there = ptx::mapa(base, cta ^ 1);
  ptx::st_shared_cluster<4>(there + 16 * t, ptx::ld_global<4>(p.in + 1024 * cta + 16 * t));
  ptx::st_shared_cluster<2>(there + 512 + 8 * t, ptx::ld_global<2>(p.in + 1024 * cta + 8 * t));
  ptx::st_shared_cluster<1>(there + 768 + 4 * t, ptx::ld_global<1>(p.in + 1024 * cta + 4 * t));
  ptx::fence_acq_rel_cluster();
  ptx::mbarrier_arrive_cluster(barrier, cta ^ 1);
  ptx::mbarrier_wait_cluster(barrier, 0);
  dump(p, base, 896, 4096 * cta);
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
  ptx::st_global<4>(p.out + 4096 * cta + 1024 + 16 * t, ptx::ld_shared_cluster<4>(there + 16 * t));
  ptx::st_global<2>(p.out + 4096 * cta + 1536 + 8 * t, ptx::ld_shared_cluster<2>(there + 8 * t));
  ptx::st_global<1>(p.out + 4096 * cta + 1792 + 4 * t, ptx::ld_shared_cluster<1>(there + 4 * t));
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
}

}  // namespace conformance
