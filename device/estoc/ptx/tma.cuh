// Bulk copies between global and shared memory, by tensor maps and plain (PTX ISA 9.7.9.25 to 27,
// asynchronous copy).
//
// Coordinates count elements, innermost mode first: {column, row} of a row-major matrix. Their
// number, 1 to 5, is the rank of the map. The first is a whole number of 16 bytes, or the GPU
// stops with an illegal instruction; all may lie outside the tensor.
#pragma once

#include <estoc/abi/tensor_map.cuh>
#include <estoc/ptx/types.cuh>

namespace estoc {

using abi::TensorMap;
static_assert(sizeof(TensorMap) == 128);

namespace ptx {

/// Cache policies of createpolicy.fractional with fraction 1, as TMA takes them.
inline constexpr u64 kEvictNormal = 0x1000000000000000;
inline constexpr u64 kEvictFirst = 0x12f0000000000000;
inline constexpr u64 kEvictLast = 0x14f0000000000000;

namespace detail {

__device__ __forceinline__ u64 address_of(const TensorMap& map) {
  return reinterpret_cast<u64>(&map);
}

}  // namespace detail

/// prefetch.tensormap: brings the map into the cache.
__device__ __forceinline__ void prefetch_tensormap(const TensorMap& map, int = __builtin_LINE()) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(detail::address_of(map)) : "memory");
}

/// cp.async.bulk.tensor, global to shared: the box at `at` goes to `shared`; `barrier` receives its
/// bytes.
template <int rank>
__device__ __forceinline__ void cp_async_bulk_tensor_load(u32 shared, const TensorMap& map,
                                                          u32 barrier, const i32 (&at)[rank],
                                                          int = __builtin_LINE()) {
  if constexpr (rank == 1) {
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3}], [%2];" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(barrier), "r"(at[0])
        : "memory");
  } else if constexpr (rank == 2) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4}], [%2];" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(barrier), "r"(at[0]), "r"(at[1])
        : "memory");
  } else if constexpr (rank == 3) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2])
        : "memory");
  } else if constexpr (rank == 4) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
        : "memory");
  } else {
    static_assert(rank == 5);
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]),
        "r"(at[4])
        : "memory");
  }
}

/// The same with a cache policy.
template <int rank>
__device__ __forceinline__ void cp_async_bulk_tensor_load_hint(u32 shared, const TensorMap& map,
                                                               u32 barrier, const i32 (&at)[rank],
                                                               u64 policy, int = __builtin_LINE()) {
  if constexpr (rank == 1) {
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::"
        "cache_hint "
        "[%0], [%1, {%3}], [%2], %4;" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(barrier), "r"(at[0]), "l"(policy)
        : "memory");
  } else if constexpr (rank == 2) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::"
        "cache_hint "
        "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(barrier), "r"(at[0]), "r"(at[1]), "l"(policy)
        : "memory");
  } else if constexpr (rank == 3) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::"
        "cache_hint "
        "[%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "l"(policy)
        : "memory");
  } else if constexpr (rank == 4) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::"
        "cache_hint "
        "[%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]),
        "l"(policy)
        : "memory");
  } else {
    static_assert(rank == 5);
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::"
        "cache_hint "
        "[%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]),
        "r"(at[4]), "l"(policy)
        : "memory");
  }
}

/// The same with .multicast::cluster: to the same address in each CTA of the mask `ctas`, whose
/// barrier at the same address receives the bytes.
template <int rank>
__device__ __forceinline__ void cp_async_bulk_tensor_load_multicast(u32 shared,
                                                                    const TensorMap& map,
                                                                    u32 barrier, u32 ctas,
                                                                    const i32 (&at)[rank],
                                                                    int = __builtin_LINE()) {
  if constexpr (rank == 1) {
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
        "multicast::cluster "
        "[%0], [%1, {%3}], [%2], %4;" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(barrier), "r"(at[0]), "h"(static_cast<u16>(ctas))
        : "memory");
  } else if constexpr (rank == 2) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
        "multicast::cluster "
        "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(barrier), "r"(at[0]), "r"(at[1]),
        "h"(static_cast<u16>(ctas))
        : "memory");
  } else if constexpr (rank == 3) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
        "multicast::cluster "
        "[%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]),
        "h"(static_cast<u16>(ctas))
        : "memory");
  } else if constexpr (rank == 4) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
        "multicast::cluster "
        "[%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]),
        "h"(static_cast<u16>(ctas))
        : "memory");
  } else {
    static_assert(rank == 5);
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
        "multicast::cluster "
        "[%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]),
        "r"(at[4]), "h"(static_cast<u16>(ctas))
        : "memory");
  }
}

/// The same with a cache policy.
template <int rank>
__device__ __forceinline__ void cp_async_bulk_tensor_load_multicast_hint(
    u32 shared, const TensorMap& map, u32 barrier, u32 ctas, const i32 (&at)[rank], u64 policy,
    int = __builtin_LINE()) {
  if constexpr (rank == 1) {
    asm volatile(
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
        "multicast::cluster.L2::cache_hint "
        "[%0], [%1, {%3}], [%2], %4, %5;" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(barrier), "r"(at[0]), "h"(static_cast<u16>(ctas)),
        "l"(policy)
        : "memory");
  } else if constexpr (rank == 2) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
        "multicast::cluster.L2::cache_hint "
        "[%0], [%1, {%3, %4}], [%2], %5, %6;" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(barrier), "r"(at[0]), "r"(at[1]),
        "h"(static_cast<u16>(ctas)), "l"(policy)
        : "memory");
  } else if constexpr (rank == 3) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
        "multicast::cluster.L2::cache_hint "
        "[%0], [%1, {%3, %4, %5}], [%2], %6, %7;" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]),
        "h"(static_cast<u16>(ctas)), "l"(policy)
        : "memory");
  } else if constexpr (rank == 4) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
        "multicast::cluster.L2::cache_hint "
        "[%0], [%1, {%3, %4, %5, %6}], [%2], %7, %8;" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]),
        "h"(static_cast<u16>(ctas)), "l"(policy)
        : "memory");
  } else {
    static_assert(rank == 5);
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
        "multicast::cluster.L2::cache_hint "
        "[%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8, %9;" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(barrier), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]),
        "r"(at[4]), "h"(static_cast<u16>(ctas)), "l"(policy)
        : "memory");
  }
}

/// cp.async.bulk.tensor, shared to global. Part of the bulk group that the thread commits next.
template <int rank>
__device__ __forceinline__ void cp_async_bulk_tensor_store(const TensorMap& map, u32 shared,
                                                           const i32 (&at)[rank],
                                                           int = __builtin_LINE()) {
  if constexpr (rank == 1) {
    asm volatile(
        "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%1, {%2}], [%0];" ::"r"(
            shared),
        "l"(detail::address_of(map)), "r"(at[0])
        : "memory");
  } else if constexpr (rank == 2) {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%1, {%2, %3}], [%0];" ::"r"(
            shared),
        "l"(detail::address_of(map)), "r"(at[0]), "r"(at[1])
        : "memory");
  } else if constexpr (rank == 3) {
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%1, {%2, %3, %4}], [%0];" ::
            "r"(shared),
        "l"(detail::address_of(map)), "r"(at[0]), "r"(at[1]), "r"(at[2])
        : "memory");
  } else if constexpr (rank == 4) {
    asm volatile(
        "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%1, {%2, %3, %4, %5}], "
        "[%0];" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
        : "memory");
  } else {
    static_assert(rank == 5);
    asm volatile(
        "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%1, {%2, %3, %4, %5, %6}], "
        "[%0];" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
        : "memory");
  }
}

/// The same with a cache policy.
template <int rank>
__device__ __forceinline__ void cp_async_bulk_tensor_store_hint(const TensorMap& map, u32 shared,
                                                                const i32 (&at)[rank], u64 policy,
                                                                int = __builtin_LINE()) {
  if constexpr (rank == 1) {
    asm volatile(
        "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group.L2::cache_hint [%1, {%2}], "
        "[%0], %3;" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(at[0]), "l"(policy)
        : "memory");
  } else if constexpr (rank == 2) {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint [%1, {%2, %3}], "
        "[%0], %4;" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(at[0]), "r"(at[1]), "l"(policy)
        : "memory");
  } else if constexpr (rank == 3) {
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group.L2::cache_hint [%1, {%2, %3, "
        "%4}], [%0], %5;" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(at[0]), "r"(at[1]), "r"(at[2]), "l"(policy)
        : "memory");
  } else if constexpr (rank == 4) {
    asm volatile(
        "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group.L2::cache_hint [%1, {%2, %3, "
        "%4, %5}], [%0], %6;" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "l"(policy)
        : "memory");
  } else {
    static_assert(rank == 5);
    asm volatile(
        "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group.L2::cache_hint [%1, {%2, %3, "
        "%4, %5, %6}], [%0], %7;" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]),
        "l"(policy)
        : "memory");
  }
}

/// cp.reduce.async.bulk.tensor.add: adds to what global memory holds.
template <int rank>
__device__ __forceinline__ void cp_reduce_async_bulk_tensor_add(const TensorMap& map, u32 shared,
                                                                const i32 (&at)[rank],
                                                                int = __builtin_LINE()) {
  if constexpr (rank == 1) {
    asm volatile(
        "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%1, {%2}], [%0];" ::
            "r"(shared),
        "l"(detail::address_of(map)), "r"(at[0])
        : "memory");
  } else if constexpr (rank == 2) {
    asm volatile(
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%1, {%2, %3}], "
        "[%0];" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(at[0]), "r"(at[1])
        : "memory");
  } else if constexpr (rank == 3) {
    asm volatile(
        "cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group [%1, {%2, %3, %4}], "
        "[%0];" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(at[0]), "r"(at[1]), "r"(at[2])
        : "memory");
  } else if constexpr (rank == 4) {
    asm volatile(
        "cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.tile.bulk_group [%1, {%2, %3, %4, "
        "%5}], [%0];" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
        : "memory");
  } else {
    static_assert(rank == 5);
    asm volatile(
        "cp.reduce.async.bulk.tensor.5d.global.shared::cta.add.tile.bulk_group [%1, {%2, %3, %4, "
        "%5, %6}], [%0];" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
        : "memory");
  }
}

/// cp.async.bulk.prefetch.tensor: brings the box into the L2 cache.
template <int rank>
__device__ __forceinline__ void cp_async_bulk_prefetch_tensor(const TensorMap& map,
                                                              const i32 (&at)[rank],
                                                              int = __builtin_LINE()) {
  if constexpr (rank == 1) {
    asm volatile("cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%0, {%1}];" ::"l"(
                     detail::address_of(map)),
                 "r"(at[0])
                 : "memory");
  } else if constexpr (rank == 2) {
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(
                     detail::address_of(map)),
                 "r"(at[0]), "r"(at[1])
                 : "memory");
  } else if constexpr (rank == 3) {
    asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%0, {%1, %2, %3}];" ::"l"(
                     detail::address_of(map)),
                 "r"(at[0]), "r"(at[1]), "r"(at[2])
                 : "memory");
  } else if constexpr (rank == 4) {
    asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global.tile [%0, {%1, %2, %3, %4}];" ::"l"(
                     detail::address_of(map)),
                 "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
                 : "memory");
  } else {
    static_assert(rank == 5);
    asm volatile(
        "cp.async.bulk.prefetch.tensor.5d.L2.global.tile [%0, {%1, %2, %3, %4, %5}];" ::"l"(
            detail::address_of(map)),
        "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
        : "memory");
  }
}

/// cp.async.bulk, global to shared: `bytes`, a multiple of 16 as the addresses are.
__device__ __forceinline__ void cp_async_bulk_load(u32 shared, u64 global, u32 bytes, u32 barrier,
                                                   int = __builtin_LINE()) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared),
      "l"(global), "r"(bytes), "r"(barrier)
      : "memory");
}

/// cp.async.bulk, shared to global. Part of the bulk group that the thread commits next.
__device__ __forceinline__ void cp_async_bulk_store(u64 global, u32 shared, u32 bytes,
                                                    int = __builtin_LINE()) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global),
               "r"(shared), "r"(bytes)
               : "memory");
}

/// cp.async.bulk.commit_group
__device__ __forceinline__ void cp_async_bulk_commit_group(int = __builtin_LINE()) {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// cp.async.bulk.wait_group: all but the latest `groups` groups of this thread are complete.
template <int groups>
__device__ __forceinline__ void cp_async_bulk_wait_group(int = __builtin_LINE()) {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(groups) : "memory");
}

/// cp.async.bulk.wait_group.read: they have read their source, which may be written again.
template <int groups>
__device__ __forceinline__ void cp_async_bulk_wait_group_read(int = __builtin_LINE()) {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(groups) : "memory");
}

}  // namespace ptx
}  // namespace estoc
