// Host twin: bulk copies for a pair of CTAs (PTX ISA 9.7.9.25.5.2, cp.async.bulk.tensor with
// .cta_group::2).
#pragma once

#include <estoc/ptx/tma.cuh>

namespace estoc::ptx {

template <int rank>
inline void cp_async_bulk_tensor_load_pair(u32 shared, const TensorMap& map, u32 barrier,
                                           const i32 (&at)[rank], int line = __builtin_LINE(),
                                           const char* file = __builtin_FILE()) {
  static_assert(rank == 2 || rank == 3);
  emulator::tma_load_pair(shared, map, barrier, at, rank, 0, {file, line});
}

template <int rank>
inline void cp_async_bulk_tensor_load_pair_multicast(u32 shared, const TensorMap& map, u32 barrier,
                                                     u32 ctas, const i32 (&at)[rank],
                                                     int line = __builtin_LINE(),
                                                     const char* file = __builtin_FILE()) {
  static_assert(rank == 3);
  emulator::tma_load_pair(shared, map, barrier, at, rank, ctas, {file, line});
}

}  // namespace estoc::ptx
