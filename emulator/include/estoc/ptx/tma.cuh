// Host twin: bulk copies between global and shared memory, by tensor maps and plain (PTX
// ISA 9.7.9.25 to 27, asynchronous copy).
#pragma once

#include <emulator/runtime.h>
#include <estoc/abi/tensor_map.cuh>

namespace estoc {

using abi::TensorMap;

}  // namespace estoc

namespace estoc::ptx {

inline constexpr u64 kEvictNormal = 0x1000000000000000;
inline constexpr u64 kEvictFirst = 0x12f0000000000000;
inline constexpr u64 kEvictLast = 0x14f0000000000000;

inline void prefetch_tensormap(const TensorMap& map, int line = __builtin_LINE(),
                               const char* file = __builtin_FILE()) {
  emulator::prefetch_tensormap(map, {file, line});
}

template <int rank>
inline void cp_async_bulk_tensor_load(u32 shared, const TensorMap& map, u32 barrier,
                                      const i32 (&at)[rank], int line = __builtin_LINE(),
                                      const char* file = __builtin_FILE()) {
  emulator::tma_load(shared, map, barrier, at, rank, 0, {file, line});
}

template <int rank>
inline void cp_async_bulk_tensor_load_hint(u32 shared, const TensorMap& map, u32 barrier,
                                           const i32 (&at)[rank], u64 policy,
                                           int line = __builtin_LINE(),
                                           const char* file = __builtin_FILE()) {
  (void)policy;
  emulator::tma_load(shared, map, barrier, at, rank, 0, {file, line});
}

template <int rank>
inline void cp_async_bulk_tensor_load_multicast(u32 shared, const TensorMap& map, u32 barrier,
                                                u32 ctas, const i32 (&at)[rank],
                                                int line = __builtin_LINE(),
                                                const char* file = __builtin_FILE()) {
  emulator::tma_load(shared, map, barrier, at, rank, ctas, {file, line});
}

template <int rank>
inline void cp_async_bulk_tensor_load_multicast_hint(u32 shared, const TensorMap& map, u32 barrier,
                                                     u32 ctas, const i32 (&at)[rank], u64 policy,
                                                     int line = __builtin_LINE(),
                                                     const char* file = __builtin_FILE()) {
  (void)policy;
  emulator::tma_load(shared, map, barrier, at, rank, ctas, {file, line});
}

template <int rank>
inline void cp_async_bulk_tensor_store(const TensorMap& map, u32 shared, const i32 (&at)[rank],
                                       int line = __builtin_LINE(),
                                       const char* file = __builtin_FILE()) {
  emulator::tma_store(map, shared, at, rank, false, {file, line});
}

template <int rank>
inline void cp_async_bulk_tensor_store_hint(const TensorMap& map, u32 shared, const i32 (&at)[rank],
                                            u64 policy, int line = __builtin_LINE(),
                                            const char* file = __builtin_FILE()) {
  (void)policy;
  emulator::tma_store(map, shared, at, rank, false, {file, line});
}

template <int rank>
inline void cp_reduce_async_bulk_tensor_add(const TensorMap& map, u32 shared, const i32 (&at)[rank],
                                            int line = __builtin_LINE(),
                                            const char* file = __builtin_FILE()) {
  emulator::tma_store(map, shared, at, rank, true, {file, line});
}

template <int rank>
inline void cp_async_bulk_prefetch_tensor(const TensorMap& map, const i32 (&at)[rank],
                                          int line = __builtin_LINE(),
                                          const char* file = __builtin_FILE()) {
  (void)at;
  emulator::prefetch_tensormap(map, {file, line});
}

inline void cp_async_bulk_load(u32 shared, u64 global, u32 bytes, u32 barrier,
                               int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  emulator::bulk_load(shared, global, bytes, barrier, {file, line});
}

inline void cp_async_bulk_store(u64 global, u32 shared, u32 bytes, int line = __builtin_LINE(),
                                const char* file = __builtin_FILE()) {
  emulator::bulk_store(global, shared, bytes, {file, line});
}

inline void cp_async_bulk_commit_group(int line = __builtin_LINE(),
                                       const char* file = __builtin_FILE()) {
  emulator::bulk_commit({file, line});
}

template <int groups>
inline void cp_async_bulk_wait_group(int line = __builtin_LINE(),
                                     const char* file = __builtin_FILE()) {
  emulator::bulk_wait(groups, false, {file, line});
}

template <int groups>
inline void cp_async_bulk_wait_group_read(int line = __builtin_LINE(),
                                          const char* file = __builtin_FILE()) {
  emulator::bulk_wait(groups, true, {file, line});
}

}  // namespace estoc::ptx
