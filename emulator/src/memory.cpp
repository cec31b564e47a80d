// Loads and stores, and the checks every access goes through.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "machine.h"

namespace estoc::emulator {
namespace {

// What one thread knows.
struct ThreadView {
  const Thread& thread;

  bool seen(const Access& before, u32 lane) const {
    if (before.cluster == thread.place.clusterid) {
      return thread.seen(before.agent + lane) >= before.time;
    }
    const auto found = thread.foreign.find(before.cluster);
    return found != thread.foreign.end() && found->second[before.agent + lane] >= before.time;
  }
  bool fenced(const Access& before, u32 lane) const {
    return before.cluster != thread.place.clusterid ||
           thread.fenced(before.agent + lane) >= before.time;
  }
};

std::string_view kind_of(bool write) {
  return write ? "write" : "read";
}

[[gnu::noinline]] void report_conflict(const Accessor& accessor, Conflict conflict,
                                       const Access& other, u64 address) {
  Machine& m = Machine::current();
  if (conflict == Conflict::proxy) {
    m.report(Fault::missing_proxy_fence, accessor.thread, accessor.site, address,
             fmt::format("an asynchronous {} follows a store by {} at {} without a proxy fence: "
                         "call fence_proxy_async() after the store and before the barrier that "
                         "hands the memory over",
                         kind_of(accessor.write), m.name_of(other), m.site_text(other.site)));
    return;
  }
  m.report(Fault::race, accessor.thread, accessor.site, address,
           fmt::format("{}{} is not ordered after the {} by {} at {}: a barrier or a wait is "
                       "missing between the two",
                       accessor.lanes == 0 ? "an asynchronous " : "this ", kind_of(accessor.write),
                       kind_of(other.write), m.name_of(other), m.site_text(other.site)));
}

[[gnu::noinline]] void report_barrier_touch(const Accessor& accessor, u64 address) {
  Machine::current().report(Fault::barrier_misuse, accessor.thread, accessor.site, address,
                            fmt::format("the {} touches an mbarrier, which only its own "
                                        "instructions may",
                                        kind_of(accessor.write)));
}

[[gnu::noinline]] void report_uninitialised(const Accessor& accessor, u64 address) {
  Machine::current().report(Fault::uninitialised, accessor.thread, accessor.site, address,
                            "nothing has written the bytes that are read here");
}

Access access_of(const Accessor& accessor) {
  return {accessor.agent,
          accessor.lanes,
          accessor.time,
          Machine::current().site_id(accessor.site),
          accessor.thread.place.clusterid,
          0xffff,
          accessor.write,
          accessor.async_proxy};
}

template <typename View>
void touch_cells(const Accessor& accessor, const View& view, Cell* cells, u64 begin, u64 bytes,
                 u64 address, bool check_initialised) {
  Access now = access_of(accessor);
  CellRun<View> run(now, view);
  const u64 end = begin + bytes;
  for (u64 cell = begin / 16; cell * 16 < end; ++cell) {
    u64 from = 0;
    const bool whole = cell * 16 >= begin && end - cell * 16 >= 16;
    if (whole) {
      now.bytes = 0xffff;
    } else {
      from = cell * 16 < begin ? begin - cell * 16 : 0;
      now.bytes = static_cast<u16>((1u << std::min<u64>(16, end - cell * 16)) - (1u << from));
    }
    Cell& c = cells[cell];
    if ((now.bytes & c.barriers) != 0) {
      report_barrier_touch(accessor, address + cell * 16 - begin);
    } else if (accessor.write) {
      c.initialised = static_cast<u16>(c.initialised | now.bytes);
    } else if (check_initialised && (now.bytes & ~c.initialised) != 0) {
      report_uninitialised(accessor, address + cell * 16 - begin);
      c.initialised = static_cast<u16>(c.initialised | now.bytes);
    }
    Access other;
    const Conflict conflict = whole && bytes > 16 ? run.enter(c, other) : c.enter(now, view, other);
    if (conflict != Conflict::none) {
      report_conflict(accessor, conflict, other, address + cell * 16 + from - begin);
    }
  }
}

void check_alignment(const Thread& thread, u64 address, u32 bytes, Site site) {
  if (address % bytes == 0) return;
  Machine::current().report(
      Fault::misaligned, thread, site, address,
      fmt::format("an access of {} bytes needs an address that is a multiple of {}", bytes, bytes));
}

}  // namespace

Accessor Accessor::generic(Thread& thread, Site site, bool write) {
  return {thread, site, thread.agent - thread.lane, 1u << thread.lane, thread.time(), write, false};
}

Accessor Accessor::asynchronous(Thread& thread, Site site, bool write, u32 agent, u64 time,
                                bool async_proxy) {
  return {thread, site, agent, 0, static_cast<u32>(time), write, async_proxy};
}

bool locate_shared(Thread& thread, u32 address, u32 bytes, Site site, SharedPlace& place) {
  Cluster& cluster = *thread.cta->cluster;
  const u32 window = address >> 24;
  place.cta = thread.cta;
  bool inside = window <= cluster.ctas.size();
  if (inside && window != 0) place.cta = cluster.ctas[window - 1].get();
  place.offset = (address & 0xffffffu) - kSharedBase;
  const u64 size = place.cta->storage.size() - std::min<u64>(place.cta->storage.size(), 1024);
  inside = inside && (address & 0xffffffu) >= kSharedBase && place.offset + u64{bytes} <= size;
  if (inside) return true;
  Machine::current().report(Fault::out_of_bounds, thread, site, address,
                            fmt::format("{} bytes at byte {} of shared memory, which has {}", bytes,
                                        static_cast<i64>(address & 0xffffffu) - kSharedBase, size));
  return false;
}

void mark_mbarrier(const Accessor& accessor, Cta& cta, u32 offset, bool exists) {
  if (!Machine::current().checks()) return;
  Cell& cell = cta.cells[offset / 16];
  const auto bytes = static_cast<u16>(0xff << offset % 16);
  cell.barriers = static_cast<u16>(cell.barriers & ~bytes);
  touch_shared(accessor, cta, offset, 8);
  cell.initialised = static_cast<u16>(cell.initialised & ~bytes);
  if (exists) cell.barriers = static_cast<u16>(cell.barriers | bytes);
}

void touch_shared(const Accessor& accessor, Cta& cta, u32 offset, u32 bytes) {
  ++Machine::current().statistics().watched;
  if (!Machine::current().checks() || bytes == 0) return;
  const u64 address = kSharedBase + offset;
  if (accessor.all != nullptr) {
    touch_cells(accessor, *accessor.all, cta.cells.data(), offset, bytes, address, true);
  } else {
    touch_cells(accessor, ThreadView{accessor.thread}, cta.cells.data(), offset, bytes, address,
                true);
  }
}

// How far ahead cells are fetched: they are many, and in no order that the processor would guess.
constexpr u32 kAhead = 8;

void touch_chunks(const Accessor& accessor, Cta& cta, const u32* addresses, u32 count, u16 read) {
  Machine& m = Machine::current();
  const u32 size = static_cast<u32>(cta.storage.size()) - 1024;
  const bool checks = m.checks();
  m.statistics().watched += count;
  CellRun<TeamView> run(access_of(accessor), *accessor.all);
  for (u32 i = 0; i < count; ++i) {
    const u32 offset = addresses[i] - kSharedBase;
    if (offset >= size || offset + 16 > size) {
      SharedPlace place{};
      locate_shared(accessor.thread, addresses[i], 16, accessor.site, place);
      continue;
    }
    if (!checks) continue;
    Cell& cell = cta.cells[offset / 16];
    if (i + kAhead < count) {
      const u32 next = (addresses[i + kAhead] - kSharedBase) / 16;
      if (next < cta.cells.size()) __builtin_prefetch(&cta.cells[next], 1);
    }
    if ((read & ~cell.initialised) != 0) {
      touch_shared(accessor, cta, offset, 16);
      continue;
    }
    Access other;
    const Conflict conflict = run.enter(cell, other);
    if (conflict != Conflict::none) report_conflict(accessor, conflict, other, addresses[i]);
  }
}

namespace {

void check_dependency(const Accessor& accessor, u64 address) {
  Machine& m = Machine::current();
  Thread& thread = accessor.thread;
  if (!m.options().programmatic || !m.checks()) return;
  if (thread.known.seen[thread.cta->cluster->dependency_agent] != 0) return;
  m.report(Fault::missing_dependency_wait, thread, accessor.site, address,
           "global memory is touched while the launch before may still be running: call "
           "griddepcontrol_wait first");
}

}  // namespace

bool touch_global(const Accessor& accessor, u64 address, u32 bytes) {
  Machine& m = Machine::current();
  ++m.statistics().watched;
  if (!m.has_allocations() || bytes == 0) return true;
  GlobalAllocation* allocation = m.find_allocation(address, bytes);
  if (allocation == nullptr) {
    std::string message =
        fmt::format("{} of {} bytes outside every allocation", kind_of(accessor.write), bytes);
    for (const Allocation& a : m.options().memory) {
      const auto begin = reinterpret_cast<u64>(a.address);
      if (address + 4096 >= begin && address < begin + a.bytes + 4096) {
        message += fmt::format("; {} bytes after the start of {}, which has {}",
                               static_cast<i64>(address - begin), a.name, a.bytes);
        break;
      }
    }
    m.report(Fault::out_of_bounds, accessor.thread, accessor.site, address, std::move(message));
    return false;
  }
  check_dependency(accessor, address);
  const Allocation& what = *allocation->what;
  if (accessor.write && !what.writable) {
    m.report(Fault::read_only, accessor.thread, accessor.site, address,
             fmt::format("{} is an input", what.name));
    return false;
  }
  if (!m.checks() || !what.writable) return true;
  const u64 end = address + bytes;
  for (u64 begin = address; begin < end;) {
    const u64 number = begin / CellPage::kBytes;
    const u64 last = std::min(end, (number + 1) * CellPage::kBytes);
    touch_cells(accessor, ThreadView{accessor.thread},
                Machine::page_of(*allocation, number).cells.data(), begin % CellPage::kBytes,
                last - begin, begin, !what.initialised);
    begin = last;
  }
  return true;
}

void load_global(u64 address, void* to, u32 bytes, Site site) {
  Thread& thread = Machine::self();
  Machine::current().trace_burst(TraceKind::loads, thread, site, "global loads");
  check_alignment(thread, address, bytes, site);
  if (touch_global(Accessor::generic(thread, site, false), address, bytes)) {
    std::memcpy(to, host_pointer(address), bytes);
  } else {
    std::memset(to, 0xff, bytes);
  }
}

void store_global(u64 address, const void* from, u32 bytes, Site site) {
  Thread& thread = Machine::self();
  Machine::current().trace_burst(TraceKind::stores, thread, site, "global stores");
  check_alignment(thread, address, bytes, site);
  if (touch_global(Accessor::generic(thread, site, true), address, bytes)) {
    std::memcpy(host_pointer(address), from, bytes);
  }
}

void load_shared(u32 address, void* to, u32 bytes, Site site) {
  Thread& thread = Machine::self();
  check_alignment(thread, address, bytes, site);
  SharedPlace place{};
  std::memset(to, 0xff, bytes);
  if (!locate_shared(thread, address, bytes, site, place)) return;
  visit(thread, *place.cta, address, site);
  if (place.cta->running == 0) return;
  touch_shared(Accessor::generic(thread, site, false), *place.cta, place.offset, bytes);
  std::memcpy(to, place.cta->shared + place.offset, bytes);
}

void store_shared(u32 address, const void* from, u32 bytes, Site site) {
  Thread& thread = Machine::self();
  check_alignment(thread, address, bytes, site);
  SharedPlace place{};
  if (!locate_shared(thread, address, bytes, site, place)) return;
  visit(thread, *place.cta, address, site);
  if (place.cta->running == 0) return;
  touch_shared(Accessor::generic(thread, site, true), *place.cta, place.offset, bytes);
  std::memcpy(place.cta->shared + place.offset, from, bytes);
}

u32 mapa(u32 address, u32 cta, Site site) {
  Thread& thread = Machine::self();
  if (cta >= thread.cta->cluster->ctas.size()) {
    Machine::current().report(Fault::out_of_bounds, thread, site, address,
                              fmt::format("the cluster has no CTA {}", cta));
  }
  return (address & 0xffffffu) | (cta + 1) << 24;
}

void acquire_word(Thread& thread, const SyncWord& word) {
  if (!Machine::current().checks()) return;
  for (const auto& [cluster, known] : word.released) {
    if (cluster == thread.place.clusterid) {
      thread.known.join(known);
    } else {
      thread.foreign[cluster].join(known.seen);
    }
  }
}

namespace {

void release_word(Thread& thread, SyncWord& word) {
  Machine& m = Machine::current();
  if (!m.checks()) return;
  release(thread, word.released[thread.place.clusterid]);
  // What the thread had from other clusters goes along.
  for (const auto& [cluster, clock] : thread.foreign)
    word.released[cluster].seen.join(clock);
}

// Atomic accesses race with plain ones only; they check bounds here.
bool may_touch(Thread& thread, u64 address, bool write, Site site) {
  check_alignment(thread, address, 4, site);
  Machine& m = Machine::current();
  ++m.statistics().watched;
  if (!m.has_allocations()) return true;
  const GlobalAllocation* allocation = m.find_allocation(address, 4);
  if (allocation != nullptr && (!write || allocation->what->writable)) {
    if (write) m.mark_written(address, 4);
    return true;
  }
  m.report(allocation == nullptr ? Fault::out_of_bounds : Fault::read_only, thread, site, address,
           "an atomic access outside what may be written");
  return false;
}

}  // namespace

u32 atomic_add_u32(u64 address, u32 value, Order order, Site site) {
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  m.maybe_yield(thread);
  if (!may_touch(thread, address, true, site)) return 0;
  const u32 old = *host_pointer<u32>(address);
  *host_pointer<u32>(address) = old + value;
  SyncWord& word = m.sync_word(address);
  // A relaxed access releases what a fence before it covers, and acquires for a fence after it.
  const bool releases = order == Order::release || order == Order::both || thread.memory_fence;
  if (order == Order::acquire || order == Order::both) acquire_word(thread, word);
  if (order == Order::relaxed || order == Order::release) thread.relaxed_words.push_back(address);
  if (releases) release_word(thread, word);
  m.wake_all(word.waiting);
  return old;
}

float atomic_add_float(u64 address, float value, Site site) {
  Thread& thread = Machine::self();
  Machine::current().maybe_yield(thread);
  if (!may_touch(thread, address, true, site)) return 0;
  const float old = *host_pointer<float>(address);
  *host_pointer<float>(address) = old + value;
  return old;
}

u32 load_acquire(u64 address, Site site) {
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  m.maybe_yield(thread);
  if (!may_touch(thread, address, false, site)) return 0;
  acquire_word(thread, m.sync_word(address));
  return *host_pointer<u32>(address);
}

void store_release(u64 address, u32 value, Site site) {
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  if (!may_touch(thread, address, true, site)) return;
  SyncWord& word = m.sync_word(address);
  release_word(thread, word);
  *host_pointer<u32>(address) = value;
  m.wake_all(word.waiting);
}

void wait_acquire(u64 address, u32 value, Site site) {
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  while (load_acquire(address, site) != value) {
    m.sync_word(address).waiting.push_back(&thread);
    m.block(thread, {.what = "wait_acquire_global", .site = site, .object = address});
  }
}

}  // namespace estoc::emulator
