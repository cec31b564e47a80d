// Notes what warps execute: functions that stand before those of functions.def. A row that has no
// function `note` of its own below counts as an instruction that takes an issue slot.
#include "recorder.h"

#include <algorithm>
#include <cstring>

#include "emulator/functions.h"
#include "machine.h"
#include "tensor_map.h"

namespace estoc::emulator {
namespace {

Recording& recording_of(const Thread& /*thread*/) {
  return *Machine::current().options().recording;
}

u32 cta_number(const Cta& cta) {
  return cta.cluster->id * static_cast<u32>(cta.cluster->ctas.size()) + cta.rank;
}

/// Appends to the thread's warp.
void add(const Thread& thread, Act act, u32 object, u32 amount, u32 extra, u32 fetched = 0) {
  Recording& recording = recording_of(thread);
  const u32 warps = (recording.threads + kWarpLanes - 1) / kWarpLanes;
  const u32 warp = cta_number(*thread.cta) * warps + thread.place.tid / kWarpLanes;
  recording.warps[warp].ops.push_back({act, thread.synchronised, object, amount, extra, fetched});
}

/// What all lanes of a warp execute, which the first notes.
void add_warp(Act act, u32 object = 0, u64 amount = 0, u32 extra = 0) {
  const Thread& thread = *running_thread;
  if (thread.lane == 0) add(thread, act, object, static_cast<u32>(amount), extra);
}

/// The same of what orders a warp: what its other lanes note later comes after it.
void add_synchronising(Act act, u32 object = 0, u32 amount = 0, u32 extra = 0) {
  ++running_thread->synchronised;
  add_warp(act, object, amount, extra);
}

u32 warp_bytes(u64 bytes) {
  return static_cast<u32>(bytes * running_thread->warp->members.size());
}

u32 barrier_number(const Cta& cta, u32 address) {
  std::vector<Recording::Barrier>& all = recording_of(*running_thread).barriers;
  const u32 number = cta_number(cta);
  const auto found = std::find_if(all.begin(), all.end(), [&](const Recording::Barrier& b) {
    return b.cta == number && b.address == address;
  });
  if (found != all.end()) return static_cast<u32>(found - all.begin());
  all.push_back({number, address, 1});
  return static_cast<u32>(all.size()) - 1;
}

/// The CTA that a shared address leads to.
Cta& cta_at(u32 address) {
  Cta& own = *running_thread->cta;
  const u32 window = address >> 24;
  if (window == 0 || window > own.cluster->ctas.size()) return own;
  return *own.cluster->ctas[window - 1];
}

u32 barrier_at(u32 address) {
  return barrier_number(cta_at(address), address & 0xffffffu);
}

Act arrival(const Cta& cta) {
  return &cta == running_thread->cta ? Act::arrive : Act::arrive_far;
}

struct BoxBytes {
  u32 all;
  u32 inside;  ///< of the tensor
};

/// Of the box at `at`; null: at the origin.
BoxBytes box_bytes(const TensorMap& map, const i32* at, int rank) {
  EncodedMap encoded{};
  std::memcpy(&encoded, &map, sizeof(encoded));
  BoxBytes bytes{1, 1};
  for (u32 i = 0; i < std::min<u32>(encoded.rank, 5); ++i) {
    const i64 box = encoded.box[i];
    const i64 first = at == nullptr ? 0 : at[i];
    const i64 end = std::min(first + box, i64{encoded.last[i]} + 1);
    bytes.all *= static_cast<u32>(box);
    bytes.inside *= static_cast<u32>(std::max<i64>(end - std::max<i64>(first, 0), 0));
  }
  const MapUnit unit = map_unit(encoded.type);
  const u32 rows = rank == kFourRows ? 4 : 1;
  bytes.all = rows * bytes.all / unit.elements * unit.bytes;
  bytes.inside = rows * bytes.inside / unit.elements * unit.bytes;
  return bytes;
}

/// A copy to shared memory of the CTAs of a mask; 0: of the thread's own.
void add_load(u32 barrier, BoxBytes bytes, u32 ctas, bool pair) {
  const Thread& thread = *running_thread;
  const Cluster& cluster = *thread.cta->cluster;
  if (ctas == 0) ctas = 1u << thread.cta->rank;
  Act act = Act::bulk_load;
  for (u32 rank = 0; rank < cluster.ctas.size(); ++rank) {
    if ((ctas >> rank & 1) == 0) continue;
    const Cta& told = *cluster.ctas[pair ? rank & ~1u : rank];
    add(thread, act, barrier_number(told, barrier & 0xffffffu), bytes.all, rank, bytes.inside);
    act = Act::bulk_copy;
  }
}

// One type for each row of functions.def.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define ESTOC_FUNCTION(result, name, parameters, names) \
  struct row_##name {};
#include "emulator/functions.def"
#undef ESTOC_FUNCTION
// NOLINTEND(bugprone-macro-parentheses)

// No instructions: registers, and marks for the emulator.
void note(row_place) {}
void note(row_smem_base) {}
void note(row_mapa, u32, u32, Site) {}
void note(row_accumulators_used, const void*, Site) {}
void note(row_tensor_used, const u32*, Site) {}
void note(row_tensor_fence, bool, Site) {}
void note(row_mbarrier_inval, u32, Site) {}

void note(row_load_global, u64, const void*, u32 bytes, Site) {
  add_warp(Act::load, 0, warp_bytes(bytes));
}
void note(row_store_global, u64, const void*, u32 bytes, Site) {
  // Elements of a fragment lie in eight rows: their sectors count.
  add_warp(Act::store, 0, warp_bytes(std::max(bytes, 8u)));
}
void note(row_load_shared, u32, const void*, u32 bytes, Site) {
  add_warp(Act::shared, 0, warp_bytes(bytes));
}
void note(row_store_shared, u32, const void*, u32 bytes, Site) {
  add_warp(Act::shared, 0, warp_bytes(bytes));
}
void note(row_ldmatrix, u32, const u32*, int count, bool, Site) {
  add_warp(Act::shared, 0, static_cast<u64>(count) * 128);
}
void note(row_stmatrix, u32, const u32*, int count, bool, Site) {
  add_warp(Act::shared, 0, static_cast<u64>(count) * 128);
}

void note(row_barrier_sync, u32 id, u32 threads, const char*, Site) {
  add_synchronising(Act::named_sync, id, threads);
}
void note(row_barrier_arrive, u32 id, u32 threads, Site) {
  add_synchronising(Act::named_arrive, id, threads);
}
void note(row_cluster_arrive, bool, Site) {
  add_synchronising(Act::cluster_arrive);
}
void note(row_cluster_wait, Site) {
  add_synchronising(Act::cluster_wait);
}
void note(row_warp_sync, Site) {
  add_synchronising(Act::issue);
}

void note(row_mbarrier_init, u32 barrier, u32 count, Site) {
  recording_of(*running_thread).barriers[barrier_at(barrier)].count = count;
  add(*running_thread, Act::issue, 0, 0, 0);
}
void note(row_mbarrier_arrive, u32 barrier, Site) {
  add(*running_thread, arrival(cta_at(barrier)), barrier_at(barrier), 0, 1);
}
void note(row_mbarrier_arrive_remote, u32 barrier, u32 rank, Site) {
  const Cluster& cluster = *running_thread->cta->cluster;
  if (rank >= cluster.ctas.size()) return;
  const Cta& cta = *cluster.ctas[rank];
  add(*running_thread, arrival(cta), barrier_number(cta, barrier & 0xffffffu), 0, 1);
}
void note(row_mbarrier_expect, u32 barrier, u32 bytes, bool arrives, Site) {
  add(*running_thread, arrival(cta_at(barrier)), barrier_at(barrier), bytes, arrives ? 1 : 0);
}
void note(row_mbarrier_wait, u32 barrier, u32 parity, Site) {
  const Cta& cta = cta_at(barrier);
  const auto found = cta.mbarriers.find(barrier & 0xffffffu);
  const u32 phase = found == cta.mbarriers.end() ? 0 : found->second.phase;
  add_synchronising(Act::wait, barrier_at(barrier), phase + ((phase & 1) == (parity & 1) ? 1 : 0));
}

void note(row_cp_async, u32, u64, u32 bytes, u32, Site) {
  add_warp(Act::async_copy, 0, warp_bytes(bytes));
}
void note(row_cp_async_commit, Site) {
  add_warp(Act::async_commit);
}
void note(row_cp_async_wait, u32 groups, const char* what, Site) {
  if (std::strcmp(what, "cp.async.wait_all") == 0) add_warp(Act::async_commit);
  add_synchronising(Act::async_wait, 0, groups);
}
void note(row_cp_async_mbarrier_arrive, u32 barrier, Site) {
  add(*running_thread, Act::async_arrive, barrier_at(barrier), 0, 1);
}

void note(row_mma, const MmaOperands& o, Site) {
  add_warp(Act::mma, 0, static_cast<u64>(o.m) * 8 * static_cast<u64>(o.k),
           8 * static_cast<u32>(abi::type_bytes(o.a_type)));
}

void note(row_tma_load, u32, const TensorMap& map, u32 barrier, const i32* at, int rank, u32 ctas,
          Site) {
  add_load(barrier, box_bytes(map, at, rank), ctas, false);
}
void note(row_tma_load_pair, u32, const TensorMap& map, u32 barrier, const i32* at, int rank,
          u32 ctas, Site) {
  add_load(barrier, box_bytes(map, at, rank), ctas, true);
}
void note(row_bulk_load, u32, u64, u32 bytes, u32 barrier, Site) {
  add_load(barrier, {bytes, bytes}, 0, false);
}
void note(row_tma_store, const TensorMap& map, u32, const i32* at, int rank, bool, Site) {
  add(*running_thread, Act::bulk_store, 0, box_bytes(map, at, rank).inside, 0);
}
void note(row_bulk_store, u64, u32, u32 bytes, Site) {
  add(*running_thread, Act::bulk_store, 0, bytes, 0);
}
void note(row_bulk_commit, Site) {
  add(*running_thread, Act::bulk_commit, 0, 0, 0);
}
void note(row_bulk_wait, u32 groups, bool reads_only, Site) {
  add(*running_thread, Act::bulk_wait, 0, groups, reads_only ? 1 : 0);
}

void note(row_tensor_mma, const TensorOperands& o, Site) {
  const u32 columns = (o.instruction >> 17 & 0x3f) << 3;
  const u32 rows = (o.instruction >> 24 & 0x1f) << 4;
  add(*running_thread, Act::tensor_mma, 0, columns, rows + (o.group == 2 ? 1024 : 0));
}
void note(row_tensor_commit, u32 barrier, u32, u32 ctas, Site) {
  const Thread& thread = *running_thread;
  if ((ctas & kMulticast) == 0) {
    add(thread, Act::tensor_commit, barrier_at(barrier), 0, 1);
    return;
  }
  const Cluster& cluster = *thread.cta->cluster;
  for (u32 rank = 0; rank < cluster.ctas.size(); ++rank) {
    if ((ctas >> rank & 1) == 0) continue;
    add(thread, Act::tensor_commit, barrier_number(*cluster.ctas[rank], barrier & 0xffffffu), 0, 1);
  }
}
void note(row_tensor_copy, const TensorCopy& copy, Site) {
  add(*running_thread, Act::tensor_copy, 0, copy.row_count() * copy.chunks * 16, 0);
}
void note(row_tensor_load, const TensorMove& move, const u32*, Site) {
  add_warp(Act::tensor_move, 0, static_cast<u64>(move.registers()) * 128);
}
void note(row_tensor_store, const TensorMove& move, const u32*, Site) {
  add_warp(Act::tensor_move, 0, static_cast<u64>(move.registers()) * 128);
}
void note(row_tensor_wait, bool, Site) {
  add_synchronising(Act::tensor_wait);
}

void note(row_wgmma, const WgmmaOperands& o, Site) {
  add_synchronising(Act::wgmma, 0, static_cast<u32>(o.columns), o.a_registers != nullptr ? 1 : 0);
}
void note(row_wgmma_commit, Site) {
  add_synchronising(Act::wgmma_commit);
}
void note(row_wgmma_wait, u32 groups, Site) {
  add_synchronising(Act::wgmma_wait, 0, groups);
}

/// Notes an instruction of a row with its arguments.
template <typename Row>
struct Noted {
  template <typename... Arguments>
  void operator()(const Arguments&... arguments) const {
    if (Machine::current().options().recording == nullptr) return;
    if constexpr (requires { note(Row{}, arguments...); }) {
      note(Row{}, arguments...);
    } else {
      add_warp(Act::issue);
    }
  }
};

// NOLINTBEGIN(bugprone-macro-parentheses)
#define ESTOC_FUNCTION(result, name, parameters, names) \
  result recorded_##name parameters {                   \
    Noted<row_##name>() names;                          \
    return name names;                                  \
  }
#include "emulator/functions.def"
#undef ESTOC_FUNCTION
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace

void begin_recording(Recording& recording, const Options& options, u32 threads, u32 shared_bytes,
                     u64 clusters) {
  recording.cluster_size = options.cluster[0] * options.cluster[1] * options.cluster[2];
  recording.threads = threads;
  recording.shared_bytes = shared_bytes;
  recording.grid_clusters = clusters;
  recording.input_bytes = 0;
  for (const Allocation& allocation : options.memory)
    recording.input_bytes += allocation.writable ? 0 : static_cast<double>(allocation.bytes);
  recording.barriers.clear();
  recording.warps.clear();
  const u32 warps = (threads + kWarpLanes - 1) / kWarpLanes;
  for (u32 cta = 0; cta < recording.ctas(); ++cta) {
    for (u32 warp = 0; warp < warps; ++warp)
      recording.warps.push_back({cta, warp, {}});
  }
}

void finish_recording(Recording& recording) {
  for (Recording::Warp& warp : recording.warps) {
    std::stable_sort(warp.ops.begin(), warp.ops.end(),
                     [](const RecordedOp& a, const RecordedOp& b) { return a.key < b.key; });
  }
}

const FunctionTable& recording_table() {
  static constexpr FunctionTable kTable{
#define ESTOC_FUNCTION(result, name, parameters, names) .name = (recorded_##name),
#include "emulator/functions.def"
#undef ESTOC_FUNCTION
  };
  return kTable;
}

}  // namespace estoc::emulator
