// Tensor memory of a CTA: what is allocated, what it holds, and who touched it last.
#pragma once

#include <span>

#include "machine.h"

namespace estoc::emulator {

inline constexpr u32 kTensorLanes = 128;
inline constexpr u32 kTensorColumns = 512;
/// What words hold that nothing has written.
inline constexpr u32 kTensorPoison = 0x7fc07eadu;

/// Columns that one tcgen05.alloc gave.
struct TensorBlock {
  u32 column;
  u32 columns;
  const Thread* owner;
  Site site;
};

/// A warp that waits for columns.
struct TensorRequest {
  Thread* thread;  ///< the warp's first
  u32 columns;
  u32 group;
  Site site;
};

/// What a tcgen05.ld of one thread brings: to registers that hold poison until they are used.
struct TensorLoad {
  u32* registers;
  Site site;
  std::vector<u32> values;
  std::function<void(std::vector<u32>&)> read;  ///< until it has happened
  bool complete = false;                        ///< it has been waited for
};

/// What the threads of a warp have under way in tensor memory. Loads and stores of lane t are
/// agents load_agent + t and store_agent + t, whose times count instructions.
struct TensorWarp {
  u32 load_agent = 0;
  u32 store_agent = 0;
  u32 alloc_agent = 0;
  u32 loads = 0;
  u32 loads_done = 0;
  u32 stores = 0;
  u32 stores_done = 0;
  u32 allocations = 0;
  u32 granted = ~0u;  ///< column of the latest allocation
  Site latest{};
  std::vector<std::function<void()>> writes;                 ///< of stores that have not happened
  std::array<std::vector<TensorLoad>, kWarpLanes> arriving;  ///< of each lane
};

/// Where the sums of products lie: those of one place and shape follow one another.
struct TensorSums {
  u32 address;
  u32 m;
  u32 n;
  u32 columns;
  u32 epoch;
};

/// The products and copies that one thread issues, which take place in this order. Times of its
/// agents are the commits that cover them.
struct TensorPipe {
  u32 product_agent = 0;  ///< sums, and operands in shared memory
  u32 operand_agent = 0;  ///< operands in tensor memory
  u32 copy_agent = 0;
  u32 shift_agent = 0;
  std::unordered_map<const Mbarrier*, u32> signal_agents;  ///< arrivals at each barrier
  u32 epoch = 1;
  Site latest{};
  bool open = false;  ///< something follows the latest commit
  std::deque<std::function<void()>> queue;
  std::vector<TensorSums> sums;
};

/// A cell of `cells` is a column; its 16 bytes stand for groups of eight lanes.
struct TensorMemory {
  std::vector<u32> words;  ///< column by column of lane 0, then of the next
  std::vector<Cell> cells;
  std::vector<TensorBlock> blocks;
  std::deque<TensorRequest> requests;
  std::vector<Thread*> waiting;
  std::vector<TensorWarp> warps;
  std::unordered_map<const Thread*, TensorPipe> pipes;
  u32 group = 0;  ///< of its instructions
  u32 smallest = kTensorColumns;
  bool relinquished = false;
  Site relinquished_at{};

  u32* row(u32 lane) { return words.data() + lane * kTensorColumns; }
};

/// Lanes and columns of tensor memory.
struct TensorArea {
  u32 column;
  u32 columns;
  u16 lanes;  ///< a bit for eight of them
};

/// What counts for accesses to tensor memory: what each of some threads knew at its latest
/// fence::after_thread_sync, and what needs none, of its own warp or its own pipe.
struct TensorView {
  std::span<Thread* const> threads;
  const TensorWarp* own = nullptr;
  const TensorPipe* pipe = nullptr;
  bool after_products = false;  ///< those of the pipe
  bool after_operands = false;  ///< reads by these
  bool after_copies = false;
  bool after_shifts = false;

  bool seen(const Access& before, u32 lane) const;
  bool fenced(const Access& /*before*/, u32 /*lane*/) const { return true; }
};

/// How an access is entered.
struct TensorAccess {
  Thread& thread;
  Site site;
  u32 agent;
  u32 lanes;  ///< agents of them from `agent` on, or 0 where there is one
  u32 time;
  bool write;
};

TensorMemory& tensor_memory(Cta& cta);
TensorWarp& tensor_warp(Thread& thread);
TensorPipe& tensor_pipe(Thread& thread);

/// Reports a second .cta_group, a pair that the cluster has not, or its odd CTA where `leads`.
bool check_tensor_group(Thread& thread, u32 group, bool leads, const char* what, Site site);
/// False where columns are not allocated, which it reports.
bool check_tensor_columns(Thread& thread, TensorMemory& memory, u32 column, u32 columns, Site site);
/// Checks an access against those before and enters it.
void touch_tensor(const TensorAccess& access, const TensorView& view, TensorMemory& memory,
                  const TensorArea& area);
/// An operation of a pipe touches memory of a CTA, which must be there until it is complete.
void visit_cta(Thread& thread, Cta& cta, u32 agent, u32 epoch, Site site);
/// Lets the next operation of a pipe take place when the schedule has it.
void defer_tensor(Thread& thread, TensorPipe& pipe, Site site, std::function<void()> operation);

}  // namespace estoc::emulator
