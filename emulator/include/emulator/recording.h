// What the warps of a launch executed, in the order of each: what an estimate of its time is made
// from.
#pragma once

#include <cstdint>
#include <vector>

namespace estoc::emulator {

/// What an instruction does that takes time or orders warps.
enum class Act : std::uint8_t {
  issue,       ///< an issue slot, and nothing else that is known of it
  shared,      ///< `amount` bytes between shared memory and registers
  load,        ///< `amount` bytes of global memory to registers
  store,       ///< `amount` bytes of registers to global memory
  wait,        ///< for the end of phase `amount` of mbarrier `object`, counted from 1
  arrive,      ///< `extra` arrivals at mbarrier `object`, which then expects `amount` bytes more
  arrive_far,  ///< the same at the mbarrier of another CTA
  bulk_load,   ///< `amount` bytes for CTA `extra` of the cluster; they tell mbarrier `object`
  bulk_copy,   ///< the same by the bulk load before, which multicasts
  bulk_store,  ///< `amount` bytes
  bulk_commit,
  bulk_wait,   ///< until at most `amount` groups are left; `extra`: that have not read
  named_sync,  ///< named barrier `object` of `amount` threads; 0: of all of the CTA
  named_arrive,
  cluster_arrive,
  cluster_wait,
  wgmma,  ///< 64 rows, `amount` columns; `extra`: A is in registers
  wgmma_commit,
  wgmma_wait,          ///< until at most `amount` groups are left
  mma,                 ///< `amount` multiply-adds of operands of `extra` bits
  tensor_mma,          ///< `amount` columns; `extra`: rows of all CTAs, plus 1024 of two CTAs
  tensor_commit,       ///< tells mbarrier `object` when all before it is complete
  tensor_commit_copy,  ///< the same by the commit before, which multicasts
  tensor_copy,         ///< `amount` bytes of shared memory
  tensor_move,         ///< `amount` bytes between tensor memory and registers
  tensor_wait,         ///< for the moves before
  async_copy,          ///< cp.async, `amount` bytes
  async_commit,
  async_wait,    ///< until at most `amount` groups are left
  async_arrive,  ///< at mbarrier `object`, when the copies before are complete
};

struct RecordedOp {
  Act act;
  std::uint32_t key;  ///< synchronising instructions that its thread executed before
  std::uint32_t object;
  std::uint32_t amount;
  std::uint32_t extra;
  std::uint32_t fetched = 0;  ///< of a bulk load's bytes, those that lie inside the tensor
};

/// One launch: the first clusters of its grid.
struct Recording {
  struct Warp {
    unsigned cta = 0;  ///< among those recorded
    unsigned index = 0;
    std::vector<RecordedOp> ops;
  };
  struct Barrier {
    unsigned cta = 0;
    std::uint32_t address = 0;  ///< in its CTA's shared memory
    std::uint32_t count = 0;    ///< arrivals of a phase
  };

  /// How many are to be recorded; afterwards, how many were. A multiprocessor runs one CTA of each.
  unsigned clusters = 1;
  unsigned cluster_size = 1;
  unsigned threads = 0;       ///< of a CTA
  unsigned shared_bytes = 0;  ///< of a CTA, dynamic
  std::uint64_t grid_clusters = 0;
  double input_bytes = 0;  ///< of global memory that the launch may read and not write
  std::vector<Warp> warps;
  std::vector<Barrier> barriers;

  unsigned ctas() const { return clusters * cluster_size; }
};

}  // namespace estoc::emulator
