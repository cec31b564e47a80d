// Bulk copies for a pair of CTAs, which signal a barrier of its even CTA (PTX ISA 9.7.9.25.5.2,
// cp.async.bulk.tensor with .cta_group::2).
#pragma once

#include <estoc/ptx/tma.cuh>

namespace estoc::ptx {

namespace detail {

// In an address of a cluster's shared memory the rank of a CTA begins at bit 24; without that bit
// an address names the same place in the even CTA of the pair.
__device__ __forceinline__ u32 in_even_cta(u32 address) {
  return address & 0xfeffffff;
}

}  // namespace detail

/// cp.async.bulk.tensor, global to shared: the box at `at` goes to `shared` of this CTA; the
/// mbarrier at the place of `barrier` in the pair's even CTA receives its bytes.
template <int rank>
__device__ __forceinline__ void cp_async_bulk_tensor_load_pair(u32 shared, const TensorMap& map,
                                                               u32 barrier, const i32 (&at)[rank],
                                                               int = __builtin_LINE()) {
  if constexpr (rank == 2) {
    asm volatile(
        "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(detail::in_even_cta(barrier)), "r"(at[0]), "r"(at[1])
        : "memory");
  } else {
    static_assert(rank == 3);
    asm volatile(
        "cp.async.bulk.tensor.3d.cta_group::2.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(shared),
        "l"(detail::address_of(map)), "r"(detail::in_even_cta(barrier)), "r"(at[0]), "r"(at[1]),
        "r"(at[2])
        : "memory");
  }
}

/// The same for each CTA of the cluster whose bit `ctas` has; of each pair the even CTA's mbarrier
/// receives the bytes.
template <int rank>
__device__ __forceinline__ void cp_async_bulk_tensor_load_pair_multicast(u32 shared,
                                                                         const TensorMap& map,
                                                                         u32 barrier, u32 ctas,
                                                                         const i32 (&at)[rank],
                                                                         int = __builtin_LINE()) {
  static_assert(rank == 3);
  asm volatile(
      "cp.async.bulk.tensor.3d.cta_group::2.shared::cluster.global.tile"
      ".mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(
          shared),
      "l"(detail::address_of(map)), "r"(detail::in_even_cta(barrier)), "r"(at[0]), "r"(at[1]),
      "r"(at[2]), "h"(static_cast<u16>(ctas))
      : "memory");
}

}  // namespace estoc::ptx
