// What the host twins of the instruction wrappers call; one function an instruction or a family.
#pragma once

#include <estoc/abi/tensor_map.cuh>
#include <estoc/abi/types.cuh>
#include <estoc/ptx/types.cuh>

namespace estoc::abi {
struct TensorMap;
}

namespace estoc {
using abi::TensorMap;
}

namespace estoc::emulator {

/// Where an instruction stands in the source.
struct Site {
  const char* file;
  int line;
};

/// Special registers of a thread.
struct Place {
  u32 tid;
  u32 ntid;
  u32 ctaid[3];
  u32 nctaid[3];
  u32 cluster_ctaid[3];
  u32 cluster_ctarank;
  u32 cluster_nctarank;
  u32 clusterid;
  u32 nclusterid;
};
const Place& place();
u64 clock();

u32 smem_base();
void load_global(u64 address, void* to, u32 bytes, Site site);
void store_global(u64 address, const void* from, u32 bytes, Site site);
void load_shared(u32 address, void* to, u32 bytes, Site site);
void store_shared(u32 address, const void* from, u32 bytes, Site site);
u32 mapa(u32 address, u32 cta, Site site);

enum class Order { relaxed, acquire, release, both };
u32 atomic_add(u64 address, u32 value, Order order, Site site);
float atomic_add(u64 address, float value, Site site);
u32 load_acquire(u64 address, Site site);
void store_release(u64 address, u32 value, Site site);
void wait_acquire(u64 address, u32 value, Site site);

void barrier_sync(u32 id, u32 threads, const char* what, Site site);
void barrier_arrive(u32 id, u32 threads, Site site);
void cluster_arrive(bool releases, Site site);
void cluster_wait(Site site);

void mbarrier_init(u32 barrier, u32 count, Site site);
void mbarrier_inval(u32 barrier, Site site);
void mbarrier_arrive(u32 barrier, Site site);
void mbarrier_arrive_remote(u32 barrier, u32 cta, Site site);
void mbarrier_expect(u32 barrier, u32 bytes, bool arrives, Site site);
bool mbarrier_try(u32 barrier, u32 parity, Site site);
void mbarrier_wait(u32 barrier, u32 parity, Site site);

/// `of_shared`: of shared memory too, in which mbarriers are; without it, of global memory alone.
void fence_proxy_async(bool of_shared, Site site);
void fence_mbarrier_init(Site site);
void fence_memory(Site site);

void warp_sync(Site site);
bool elect(Site site);
enum class Shuffle { idx, bfly, down, up };
u32 shuffle(Shuffle mode, u32 value, u32 operand, Site site);
u32 ballot(bool predicate, const char* what, Site site);
enum class Reduce { add, min, max };
u32 reduce(Reduce operation, u32 value, Site site);
i32 reduce(Reduce operation, i32 value, Site site);

void cp_async(u32 shared, u64 global, u32 bytes, u32 source_bytes, Site site);
void cp_async_commit(Site site);
void cp_async_wait(u32 groups, const char* what, Site site);
void cp_async_mbarrier_arrive(u32 barrier, Site site);

void ldmatrix(u32 address, u32* words, int count, bool transpose, Site site);
void stmatrix(u32 address, const u32* words, int count, bool transpose, Site site);

/// A product of one warp: words of A, B and the accumulators, as the instruction takes them.
struct MmaOperands {
  abi::Type a_type;
  abi::Type b_type;
  abi::Type sum_type;  ///< f32, f16, i32 or f64
  int m;
  int k;
  const void* a;
  const void* b;
  void* acc;
};
void mma(const MmaOperands& operands, Site site);

void prefetch_tensormap(const TensorMap& map, Site site);
void tma_load(u32 shared, const TensorMap& map, u32 barrier, const i32* at, int rank, u32 ctas,
              Site site);
void tma_store(const TensorMap& map, u32 shared, const i32* at, int rank, bool adds, Site site);
void bulk_load(u32 shared, u64 global, u32 bytes, u32 barrier, Site site);
void bulk_store(u64 global, u32 shared, u32 bytes, Site site);
void bulk_commit(Site site);
void bulk_wait(u32 groups, bool reads_only, Site site);

struct WgmmaOperands {
  abi::Type a_type;
  abi::Type b_type;
  bool transpose_a;
  bool transpose_b;
  bool integers;
  int columns;
  void* acc;               ///< of the calling thread
  const u32* a_registers;  ///< or null
  u64 a;
  u64 b;
  bool add;
};
void wgmma(const WgmmaOperands& operands, Site site);
void wgmma_fence(Site site);
void wgmma_commit(Site site);
void wgmma_wait(u32 groups, Site site);
void accumulators_used(void* acc, Site site);

void set_registers(u32 registers, bool increases, Site site);
void grid_dependency(const char* what, Site site);

}  // namespace estoc::emulator
