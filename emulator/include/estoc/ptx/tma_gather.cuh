// Host twin: bulk copies of four rows that need not be neighbours (PTX ISA 9.7.9.25.5,
// cp.async.bulk.tensor with .tile::gather4 and .tile::scatter4).
#pragma once

#include <estoc/ptx/tma_pair.cuh>

namespace estoc::ptx {

inline void cp_async_bulk_tensor_gather4(u32 shared, const TensorMap& map, u32 barrier, i32 column,
                                         const i32 (&rows)[4], int line = __builtin_LINE(),
                                         const char* file = __builtin_FILE()) {
  const i32 at[] = {column, rows[0], rows[1], rows[2], rows[3]};
  emulator::tma_load(shared, map, barrier, at, emulator::kFourRows, 0, {file, line});
}

inline void cp_async_bulk_tensor_gather4_multicast(u32 shared, const TensorMap& map, u32 barrier,
                                                   u32 ctas, i32 column, const i32 (&rows)[4],
                                                   int line = __builtin_LINE(),
                                                   const char* file = __builtin_FILE()) {
  const i32 at[] = {column, rows[0], rows[1], rows[2], rows[3]};
  emulator::tma_load(shared, map, barrier, at, emulator::kFourRows, ctas, {file, line});
}

inline void cp_async_bulk_tensor_gather4_pair(u32 shared, const TensorMap& map, u32 barrier,
                                              i32 column, const i32 (&rows)[4],
                                              int line = __builtin_LINE(),
                                              const char* file = __builtin_FILE()) {
  const i32 at[] = {column, rows[0], rows[1], rows[2], rows[3]};
  emulator::tma_load_pair(shared, map, barrier, at, emulator::kFourRows, 0, {file, line});
}

inline void cp_async_bulk_tensor_scatter4(const TensorMap& map, u32 shared, i32 column,
                                          const i32 (&rows)[4], int line = __builtin_LINE(),
                                          const char* file = __builtin_FILE()) {
  const i32 at[] = {column, rows[0], rows[1], rows[2], rows[3]};
  emulator::tma_store(map, shared, at, emulator::kFourRows, false, {file, line});
}

}  // namespace estoc::ptx
