// Every function of runtime.h, once: what a kernel that is built on demand calls through a table.
#pragma once

#include <emulator/runtime.h>

// F(name in the table, result, function, parameters, their names)
#define ESTOC_EMULATOR_FUNCTIONS(F)                                                                \
  F(place, const Place&, place, (), ())                                                            \
  F(clock, u64, clock, (), ())                                                                     \
  F(smem_base, u32, smem_base, (), ())                                                             \
  F(load_global, void, load_global, (u64 address, void* to, u32 bytes, Site site),                 \
    (address, to, bytes, site))                                                                    \
  F(store_global, void, store_global, (u64 address, const void* from, u32 bytes, Site site),       \
    (address, from, bytes, site))                                                                  \
  F(load_shared, void, load_shared, (u32 address, void* to, u32 bytes, Site site),                 \
    (address, to, bytes, site))                                                                    \
  F(store_shared, void, store_shared, (u32 address, const void* from, u32 bytes, Site site),       \
    (address, from, bytes, site))                                                                  \
  F(mapa, u32, mapa, (u32 address, u32 cta, Site site), (address, cta, site))                      \
  F(atomic_add_u32, u32, atomic_add, (u64 address, u32 value, Order order, Site site),             \
    (address, value, order, site))                                                                 \
  F(atomic_add_float, float, atomic_add, (u64 address, float value, Site site),                    \
    (address, value, site))                                                                        \
  F(load_acquire, u32, load_acquire, (u64 address, Site site), (address, site))                    \
  F(store_release, void, store_release, (u64 address, u32 value, Site site),                       \
    (address, value, site))                                                                        \
  F(wait_acquire, void, wait_acquire, (u64 address, u32 value, Site site), (address, value, site)) \
  F(barrier_sync, void, barrier_sync, (u32 id, u32 threads, const char* what, Site site),          \
    (id, threads, what, site))                                                                     \
  F(barrier_arrive, void, barrier_arrive, (u32 id, u32 threads, Site site), (id, threads, site))   \
  F(cluster_arrive, void, cluster_arrive, (bool releases, Site site), (releases, site))            \
  F(cluster_wait, void, cluster_wait, (Site site), (site))                                         \
  F(mbarrier_init, void, mbarrier_init, (u32 barrier, u32 count, Site site),                       \
    (barrier, count, site))                                                                        \
  F(mbarrier_inval, void, mbarrier_inval, (u32 barrier, Site site), (barrier, site))               \
  F(mbarrier_arrive, void, mbarrier_arrive, (u32 barrier, Site site), (barrier, site))             \
  F(mbarrier_arrive_remote, void, mbarrier_arrive_remote, (u32 barrier, u32 cta, Site site),       \
    (barrier, cta, site))                                                                          \
  F(mbarrier_expect, void, mbarrier_expect, (u32 barrier, u32 bytes, bool arrives, Site site),     \
    (barrier, bytes, arrives, site))                                                               \
  F(mbarrier_try, bool, mbarrier_try, (u32 barrier, u32 parity, Site site),                        \
    (barrier, parity, site))                                                                       \
  F(mbarrier_wait, void, mbarrier_wait, (u32 barrier, u32 parity, Site site),                      \
    (barrier, parity, site))                                                                       \
  F(fence_proxy_async, void, fence_proxy_async, (bool of_shared, Site site), (of_shared, site))    \
  F(fence_mbarrier_init, void, fence_mbarrier_init, (Site site), (site))                           \
  F(fence_memory, void, fence_memory, (Site site), (site))                                         \
  F(warp_sync, void, warp_sync, (Site site), (site))                                               \
  F(elect, bool, elect, (Site site), (site))                                                       \
  F(shuffle, u32, shuffle, (Shuffle mode, u32 value, u32 operand, Site site),                      \
    (mode, value, operand, site))                                                                  \
  F(ballot, u32, ballot, (bool predicate, const char* what, Site site), (predicate, what, site))   \
  F(reduce_u32, u32, reduce, (Reduce operation, u32 value, Site site), (operation, value, site))   \
  F(reduce_i32, i32, reduce, (Reduce operation, i32 value, Site site), (operation, value, site))   \
  F(cp_async, void, cp_async, (u32 shared, u64 global, u32 bytes, u32 source_bytes, Site site),    \
    (shared, global, bytes, source_bytes, site))                                                   \
  F(cp_async_commit, void, cp_async_commit, (Site site), (site))                                   \
  F(cp_async_wait, void, cp_async_wait, (u32 groups, const char* what, Site site),                 \
    (groups, what, site))                                                                          \
  F(cp_async_mbarrier_arrive, void, cp_async_mbarrier_arrive, (u32 barrier, Site site),            \
    (barrier, site))                                                                               \
  F(ldmatrix, void, ldmatrix, (u32 address, u32 * words, int count, bool transpose, Site site),    \
    (address, words, count, transpose, site))                                                      \
  F(stmatrix, void, stmatrix,                                                                      \
    (u32 address, const u32* words, int count, bool transpose, Site site),                         \
    (address, words, count, transpose, site))                                                      \
  F(mma, void, mma, (const MmaOperands& operands, Site site), (operands, site))                    \
  F(prefetch_tensormap, void, prefetch_tensormap, (const TensorMap& map, Site site), (map, site))  \
  F(tma_load, void, tma_load,                                                                      \
    (u32 shared, const TensorMap& map, u32 barrier, const i32* at, int rank, u32 ctas, Site site), \
    (shared, map, barrier, at, rank, ctas, site))                                                  \
  F(tma_store, void, tma_store,                                                                    \
    (const TensorMap& map, u32 shared, const i32* at, int rank, bool adds, Site site),             \
    (map, shared, at, rank, adds, site))                                                           \
  F(bulk_load, void, bulk_load, (u32 shared, u64 global, u32 bytes, u32 barrier, Site site),       \
    (shared, global, bytes, barrier, site))                                                        \
  F(bulk_store, void, bulk_store, (u64 global, u32 shared, u32 bytes, Site site),                  \
    (global, shared, bytes, site))                                                                 \
  F(bulk_commit, void, bulk_commit, (Site site), (site))                                           \
  F(bulk_wait, void, bulk_wait, (u32 groups, bool reads_only, Site site),                          \
    (groups, reads_only, site))                                                                    \
  F(wgmma, void, wgmma, (const WgmmaOperands& operands, Site site), (operands, site))              \
  F(wgmma_fence, void, wgmma_fence, (Site site), (site))                                           \
  F(wgmma_commit, void, wgmma_commit, (Site site), (site))                                         \
  F(wgmma_wait, void, wgmma_wait, (u32 groups, Site site), (groups, site))                         \
  F(accumulators_used, void, accumulators_used, (void* acc, Site site), (acc, site))               \
  F(set_registers, void, set_registers, (u32 registers, bool increases, Site site),                \
    (registers, increases, site))                                                                  \
  F(grid_dependency, void, grid_dependency, (const char* what, Site site), (what, site))

namespace estoc::emulator {

struct FunctionTable {
#define ESTOC_EMULATOR_SLOT(slot, result, function, parameters, names) result(*slot) parameters;
  ESTOC_EMULATOR_FUNCTIONS(ESTOC_EMULATOR_SLOT)
#undef ESTOC_EMULATOR_SLOT
};

/// The functions of this process.
const FunctionTable& function_table();

}  // namespace estoc::emulator
