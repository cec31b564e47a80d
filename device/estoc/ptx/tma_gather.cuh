// Bulk copies of four rows that need not be neighbours (PTX ISA 9.7.9.25.5, cp.async.bulk.tensor
// with .tile::gather4 and .tile::scatter4).
//
// The map has two modes and boxes of one row; in shared memory the four rows lie one below the
// other, as those of a box do. Rows outside the tensor are loaded as zeros.
#pragma once

#include <estoc/ptx/tma_pair.cuh>

namespace estoc::ptx {

/// Global to shared: of each of `rows` what begins at `column`; `barrier` receives the bytes.
__device__ __forceinline__ void cp_async_bulk_tensor_gather4(u32 shared, const TensorMap& map,
                                                             u32 barrier, i32 column,
                                                             const i32 (&rows)[4],
                                                             int = __builtin_LINE()) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4"
      ".mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(shared),
      "l"(detail::address_of(map)), "r"(barrier), "r"(column), "r"(rows[0]), "r"(rows[1]),
      "r"(rows[2]), "r"(rows[3])
      : "memory");
}

/// The same with .multicast::cluster: to the same address in each CTA of the mask `ctas`, whose
/// barrier at the same address receives the bytes.
__device__ __forceinline__ void cp_async_bulk_tensor_gather4_multicast(
    u32 shared, const TensorMap& map, u32 barrier, u32 ctas, i32 column, const i32 (&rows)[4],
    int = __builtin_LINE()) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4"
      ".mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;" ::"r"(shared),
      "l"(detail::address_of(map)), "r"(barrier), "r"(column), "r"(rows[0]), "r"(rows[1]),
      "r"(rows[2]), "r"(rows[3]), "h"(static_cast<u16>(ctas))
      : "memory");
}

/// The same to this CTA alone; the mbarrier at the place of `barrier` in the pair's even CTA
/// receives the bytes.
__device__ __forceinline__ void cp_async_bulk_tensor_gather4_pair(u32 shared, const TensorMap& map,
                                                                  u32 barrier, i32 column,
                                                                  const i32 (&rows)[4],
                                                                  int = __builtin_LINE()) {
  asm volatile(
      "cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global.tile::gather4"
      ".mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(shared),
      "l"(detail::address_of(map)), "r"(detail::in_even_cta(barrier)), "r"(column), "r"(rows[0]),
      "r"(rows[1]), "r"(rows[2]), "r"(rows[3])
      : "memory");
}

/// Shared to global: the four rows go to `rows`, from `column` on. Part of the bulk group that the
/// thread commits next.
__device__ __forceinline__ void cp_async_bulk_tensor_scatter4(const TensorMap& map, u32 shared,
                                                              i32 column, const i32 (&rows)[4],
                                                              int = __builtin_LINE()) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group "
      "[%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(detail::address_of(map)),
      "r"(shared), "r"(column), "r"(rows[0]), "r"(rows[1]), "r"(rows[2]), "r"(rows[3])
      : "memory");
}

}  // namespace estoc::ptx
