// Sorts the slots of an expert layer by expert, then by token: the end of each expert's rows, and
// the row of each slot.
//
// A stable counting sort without atomics: every warp counts a run of consecutive slots of its own,
// so that rows are the same in every run.
#pragma once

#include <estoc/abi/moe.cuh>
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/warp.cuh>

namespace estoc::experts {

__device__ __forceinline__ u32 count_bits(u32 bits) {
  bits -= bits >> 1 & 0x55555555u;
  bits = (bits & 0x33333333u) + (bits >> 2 & 0x33333333u);
  return ((bits + (bits >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}

__device__ __forceinline__ u32 word_at(u64 address, i64 index) {
  return ptx::ld_global<1>(address + static_cast<u64>(index * 4)).word[0];
}
__device__ __forceinline__ void put_word(u64 address, i64 index, u32 value) {
  ptx::st_global<1>(address + static_cast<u64>(index * 4), {value});
}

/// The counters of a CTA in shared memory: one of each expert for each warp, then one word for each
/// warp.
struct RouteCounters {
  u32 base;
  u32 experts;
  u32 warps;

  __device__ __forceinline__ static RouteCounters of(const abi::MoeRoute& p) {
    return {ptx::smem_base(), static_cast<u32>(p.experts), ptx::ntid() / 32};
  }
  __device__ __forceinline__ u32 at(u32 warp, u32 expert) const {
    return base + (warp * experts + expert) * 4;
  }
  __device__ __forceinline__ u32 sum_of(u32 warp) const {
    return base + (warps * experts + warp) * 4;
  }
};

__device__ __forceinline__ u32 shared_word(u32 address) {
  return ptx::ld_shared<1>(address).word[0];
}
__device__ __forceinline__ void put_shared(u32 address, u32 value) {
  ptx::st_shared<1>(address, {value});
}

/// The consecutive slots of a warp.
struct SlotRun {
  u32 begin;
  u32 end;

  __device__ __forceinline__ static SlotRun of(const abi::MoeRoute& p) {
    const u32 warps = ptx::ntid() / 32;
    const u32 groups = static_cast<u32>(p.slots_per_cta) / 32;
    const u32 per_warp = (groups + warps - 1) / warps * 32;
    const u32 first = ptx::ctaid_x() * static_cast<u32>(p.slots_per_cta);
    const u32 last = smaller(first + static_cast<u32>(p.slots_per_cta), static_cast<u32>(p.slots));
    const u32 begin = smaller(first + ptx::tid() / 32 * per_warp, last);
    return {begin, smaller(begin + per_warp, last)};
  }

  __device__ __forceinline__ static u32 smaller(u32 a, u32 b) { return a < b ? a : b; }
};

/// The expert of a slot; `experts` where it has none.
__device__ __forceinline__ u32 expert_of(const abi::MoeRoute& p, u32 slot, u32 end) {
  const auto experts = static_cast<u32>(p.experts);
  if (slot >= end) return experts;
  const auto top_k = static_cast<u32>(p.top_k);
  const u32 id = word_at(p.ids, slot / top_k * p.token_stride + slot % top_k * p.choice_stride);
  return id < experts ? id : experts;
}

/// The threads of the warp with the same expert; not called by some of them alone.
__device__ __forceinline__ u32 peers_of(const abi::MoeRoute& p, u32 expert) {
  u32 peers = ptx::vote_sync_ballot(expert < static_cast<u32>(p.experts));
#pragma unroll 1
  for (int bit = 0; bit < p.expert_bits; ++bit) {
    const bool is_set = expert >> bit & 1;
    const u32 set = ptx::vote_sync_ballot(is_set);
    peers &= is_set ? set : ~set;
  }
  return peers;
}

/// Calls visit(slot, expert, counter, rank) for the slots of the warp, 32 at a time: `counter`, a
/// shared address, has what was counted of the expert before, and is raised afterwards; `rank` is
/// the number of earlier slots of the 32 with that expert.
template <typename Visit>
__device__ __forceinline__ void walk(const abi::MoeRoute& p, const RouteCounters& counters,
                                     const Visit& visit) {
  const SlotRun run = SlotRun::of(p);
  const u32 lane = ptx::tid() % 32;
  u32 next = expert_of(p, run.begin + lane, run.end);
#pragma unroll 1
  for (u32 first = run.begin; first < run.end; first += 32) {
    const u32 expert = next;
    next = expert_of(p, first + 32 + lane, run.end);
    const u32 peers = peers_of(p, expert);
    const u32 rank = count_bits(peers & ((1u << lane) - 1));
    const bool is_there = expert < static_cast<u32>(p.experts);
    const u32 counter = counters.at(ptx::tid() / 32, is_there ? expert : 0);
    const u32 before = is_there ? shared_word(counter) : 0;
    visit(first + lane, is_there, before + rank);
    ptx::bar_warp_sync();
    if (is_there && rank == 0) put_shared(counter, before + count_bits(peers));
    ptx::bar_warp_sync();
  }
}

/// Counts the CTA's slots by warp and expert.
__device__ __forceinline__ void count_slots(const abi::MoeRoute& p, const RouteCounters& counters) {
  const u32 words = counters.warps * counters.experts;
  for (u32 i = ptx::tid(); i < words; i += ptx::ntid())
    put_shared(counters.base + i * 4, 0);
  ptx::barrier_sync();
  walk(p, counters, [](u32, bool, u32) {});
  ptx::barrier_sync();
}

/// Of several CTAs: writes how many slots of each expert this one has.
__device__ inline void count(const abi::MoeRoute& p) {
  ptx::griddepcontrol_wait();
  const RouteCounters counters = RouteCounters::of(p);
  count_slots(p, counters);
  for (u32 expert = ptx::tid(); expert < counters.experts; expert += ptx::ntid()) {
    u32 sum = 0;
    for (u32 warp = 0; warp < counters.warps; ++warp)
      sum += shared_word(counters.at(warp, expert));
    put_word(p.counts, static_cast<i64>(ptx::ctaid_x()) * p.experts + expert, sum);
  }
}

/// The sum over the values of all threads of the CTA up to this one's, which it includes.
/// `total` becomes that of all. Every thread calls it.
__device__ __forceinline__ u32 running_sum(const RouteCounters& counters, u32 value, u32& total) {
  const u32 lane = ptx::tid() % 32;
#pragma unroll
  for (u32 step = 1; step < 32; step *= 2) {
    const u32 others = ptx::shfl_sync_up(value, step);
    if (lane >= step) value += others;
  }
  ptx::barrier_sync();  // the sums of an earlier call have been read
  if (lane == 31) put_shared(counters.sum_of(ptx::tid() / 32), value);
  ptx::barrier_sync();
  total = 0;
  u32 before = 0;
#pragma unroll 1
  for (u32 warp = 0; warp < counters.warps; ++warp) {
    const u32 sum = shared_word(counters.sum_of(warp));
    if (warp < ptx::tid() / 32) before += sum;
    total += sum;
  }
  return before + value;
}

/// Slots of an expert: of all CTAs, and of those before this one.
struct ExpertCount {
  u32 all;
  u32 before;
};

__device__ __forceinline__ ExpertCount count_of(const abi::MoeRoute& p,
                                                const RouteCounters& counters, u32 expert) {
  ExpertCount found{0, 0};
  if (p.counts == 0) {
    for (u32 warp = 0; warp < counters.warps; ++warp)
      found.all += shared_word(counters.at(warp, expert));
    return found;
  }
#pragma unroll 4
  for (u32 cta = 0; cta < ptx::nctaid_x(); ++cta) {
    const u32 slots = word_at(p.counts, static_cast<i64>(cta) * p.experts + expert);
    if (cta < ptx::ctaid_x()) found.before += slots;
    found.all += slots;
  }
  return found;
}

/// Turns counts into the first row of each warp and expert, and writes the ends.
__device__ __forceinline__ void place_experts(const abi::MoeRoute& p,
                                              const RouteCounters& counters) {
  u32 carried = 0;
#pragma unroll 1
  for (u32 first = 0; first < counters.experts; first += ptx::ntid()) {
    const u32 expert = first + ptx::tid();
    const bool is_there = expert < counters.experts;
    const ExpertCount slots = is_there ? count_of(p, counters, expert) : ExpertCount{0, 0};
    u32 total;
    const u32 end = carried + running_sum(counters, slots.all, total);
    carried += total;
    if (!is_there) continue;
    u32 row = end - slots.all + slots.before;
    for (u32 warp = 0; warp < counters.warps; ++warp) {
      const u32 counter = counters.at(warp, expert);
      const u32 slots_of_warp = shared_word(counter);
      put_shared(counter, row);
      row += slots_of_warp;
    }
    if (ptx::ctaid_x() == 0) put_word(p.ends, expert, end);
  }
}

/// Writes the row of each slot and the end of each expert. One CTA, or as many as counted.
__device__ inline void place(const abi::MoeRoute& p) {
  ptx::griddepcontrol_wait();
  const RouteCounters counters = RouteCounters::of(p);
  count_slots(p, counters);
  place_experts(p, counters);
  ptx::barrier_sync();
  walk(p, counters, [&](u32 slot, bool is_there, u32 row) {
    if (slot < SlotRun::of(p).end) put_word(p.rows, slot, is_there ? row : ~u32{0});
  });
}

}  // namespace estoc::experts
