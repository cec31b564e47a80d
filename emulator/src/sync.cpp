// Barriers of CTAs and clusters, fences, and the register pool.
#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "machine.h"

namespace estoc::emulator {
namespace {

// A thread that takes part in a phase has seen the one before it end, or else two uses of the
// barrier are under way at once.
void check_order(NamedBarrier& barrier, Thread& thread, u32 id, const char* what, Site site) {
  Machine& m = Machine::current();
  if (!m.checks() || barrier.ordered.shares(thread.known.seen)) return;
  for (const auto& [agent, time] : barrier.before) {
    if (thread.seen(agent) >= time) continue;
    m.report(Fault::named_barrier_clash, thread, site, id,
             fmt::format("{} {}: the barrier's phase before had threads that this one is not "
                         "ordered after, so the two may mix: give each use an id of its own",
                         what, id));
    return;
  }
  // The first of a warp may owe that to its own time, others to what they know.
  if (thread.lane != 0) barrier.ordered = thread.known.seen;
}

void complete(NamedBarrier& barrier) {
  Machine& m = Machine::current();
  ++m.statistics().barriers;
  for (Thread* thread : barrier.syncing) {
    acquire(*thread, barrier.known);
    thread->at_barrier = false;
    if (thread->asleep) m.wake(*thread);
    thread->asleep = false;
  }
  barrier.arrived.clear();
  barrier.syncing.clear();
  barrier.known = {};
}

// Counts the thread in.
void arrive_at(Thread& thread, u32 id, u32 threads, bool waits, const char* what, Site site) {
  Machine& m = Machine::current();
  Cta& cta = *thread.cta;
  if (id >= cta.barriers.size()) {
    m.fail(Fault::named_barrier_clash, thread, site, id,
           fmt::format("{} {}: a CTA has {} named barriers", what, id, cta.barriers.size()));
  }
  NamedBarrier& barrier = cta.barriers[id];
  if (barrier.arrived.empty()) {
    barrier.ordered = {};
    barrier.threads = threads;
    barrier.site = site;
    barrier.present.assign(cta.threads.size(), false);
  } else if (barrier.threads != threads) {
    m.fail(Fault::named_barrier_clash, thread, site, id,
           fmt::format("{} {} for {} threads, while others have arrived for {} at {}:{}: give each "
                       "use an id of its own",
                       what, id, threads, barrier.threads, barrier.site.file, barrier.site.line));
  }
  if (threads > cta.threads.size()) {
    m.report(Fault::named_barrier_clash, thread, site, id,
             fmt::format("{} {} waits for {} threads, the CTA has {}", what, id, threads,
                         cta.threads.size()));
  }
  if (barrier.present[thread.place.tid]) {
    m.report(Fault::named_barrier_clash, thread, site, id,
             fmt::format("{} {}: the thread has arrived in this phase already, which began at "
                         "{}:{}; another use has the same id, or too few threads take part",
                         what, id, barrier.site.file, barrier.site.line));
  }
  check_order(barrier, thread, id, what, site);
  barrier.present[thread.place.tid] = true;
  const u32 time = thread.time();
  release(thread, barrier.known);
  if (barrier.arrived.empty()) barrier.next_before.clear();
  if (thread.lane == 0) barrier.next_before.emplace_back(thread.agent, time);
  barrier.arrived.push_back(&thread);
  thread.at_barrier = waits;
  if (waits) barrier.syncing.push_back(&thread);
  if (barrier.arrived.size() < barrier.threads) return;
  barrier.before = barrier.next_before;
  complete(barrier);
}

}  // namespace

void barrier_sync(u32 id, u32 threads, const char* what, Site site) {
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  m.maybe_yield(thread);
  if (threads == 0) {
    arrive_at(thread, id, static_cast<u32>(thread.cta->threads.size()), true, what, site);
  } else {
    together(*thread.warp, thread, what, site, nullptr, [=](Team& team) {
      for (Thread* member : team.members)
        arrive_at(*member, id, threads, true, what, site);
    });
  }
  while (thread.at_barrier) {
    thread.asleep = true;
    m.block(thread, {.what = what, .site = site, .object = id});
  }
}

void barrier_arrive(u32 id, u32 threads, Site site) {
  Thread& thread = Machine::self();
  Machine::current().maybe_yield(thread);
  together(*thread.warp, thread, "bar.arrive", site, nullptr, [=](Team& team) {
    for (Thread* member : team.members)
      arrive_at(*member, id, threads, false, "bar.arrive", site);
  });
}

void cluster_arrive(bool releases, Site site) {
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  thread.wait.site = site;
  m.maybe_yield(thread);
  Cluster& cluster = *thread.cta->cluster;
  // fence.mbarrier_init releases the initialisation, so that the arrival after it may be relaxed.
  if (releases || thread.init_fence) release(thread, cluster.barrier_known);
  thread.init_fence = false;
  if (++cluster.barrier_arrived < cluster.threads) return;
  cluster.barrier_arrived = 0;
  ++cluster.barrier_phase;
  // Whoever wakes late must not learn what others release in the next phase.
  cluster.complete_known = std::exchange(cluster.barrier_known, {});
  ++m.statistics().barriers;
  m.wake_all(cluster.barrier_waiting);
}

void cluster_wait(Site site) {
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  Cluster& cluster = *thread.cta->cluster;
  const u32 phase = thread.cluster_phase++;
  while (cluster.barrier_phase == phase) {
    cluster.barrier_waiting.push_back(&thread);
    m.block(thread, {.what = "barrier.cluster.wait", .site = site});
  }
  acquire(thread, cluster.complete_known);
}

Mbarrier* find_mbarrier(Thread& thread, u32 address, const char* what, Site site, Cta*& cta) {
  Machine& m = Machine::current();
  SharedPlace place{};
  if (!locate_shared(thread, address, 8, site, place)) return nullptr;
  cta = place.cta;
  if (address % 8 != 0) {
    m.report(Fault::misaligned, thread, site, address, "an mbarrier is aligned to 8 bytes");
  }
  const auto found = cta->mbarriers.find(kSharedBase + place.offset);
  if (found == cta->mbarriers.end() || !found->second.valid) {
    m.report(Fault::barrier_misuse, thread, site, address,
             fmt::format("{} on an mbarrier that is not initialised", what));
    return nullptr;
  }
  Mbarrier& barrier = found->second;
  if (m.checks() && thread.seen(barrier.init_agent) < barrier.init_time) {
    m.report(Fault::race, thread, site, address,
             fmt::format("{} is not ordered after the initialisation of the mbarrier at {}:{}: a "
                         "barrier is missing between the two{}",
                         what, barrier.init_site.file, barrier.init_site.line,
                         cta == thread.cta ? ""
                                           : " (of the cluster, the mbarrier being in another "
                                             "CTA)"));
  }
  return &barrier;
}

void mbarrier_init(u32 address, u32 count, Site site) {
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  SharedPlace place{};
  if (!locate_shared(thread, address, 8, site, place)) return;
  if (address % 8 != 0) {
    m.report(Fault::misaligned, thread, site, address, "an mbarrier is aligned to 8 bytes");
  }
  Mbarrier& barrier = place.cta->mbarriers[kSharedBase + place.offset];
  if (barrier.valid) {
    m.report(Fault::barrier_misuse, thread, site, address,
             fmt::format("the mbarrier was initialised at {}:{} and is initialised again: call "
                         "mbarrier_inval first",
                         barrier.init_site.file, barrier.init_site.line));
  }
  if (count == 0 || count >= 1u << 20) {
    m.report(Fault::barrier_misuse, thread, site, address,
             fmt::format("an mbarrier counts 1 to 2^20 - 1 arrivals, not {}", count));
  }
  barrier = {};
  barrier.valid = true;
  barrier.count = count;
  barrier.pending = count;
  barrier.agent = place.cta->cluster->new_agent();
  barrier.init_agent = thread.agent;
  barrier.init_time = thread.time();
  barrier.init_site = site;
  thread.initialised.push_back(&barrier);
  if (address % 8 == 0) {
    mark_mbarrier(Accessor::generic(thread, site, true), *place.cta, place.offset, true);
  }
}

void mbarrier_inval(u32 address, Site site) {
  Thread& thread = Machine::self();
  Cta* cta = nullptr;
  Mbarrier* barrier = find_mbarrier(thread, address, "mbarrier.inval", site, cta);
  if (barrier == nullptr) return;
  if (!barrier->waiting.empty()) {
    Machine::current().report(Fault::barrier_misuse, thread, site, address,
                              "the mbarrier is invalidated while threads wait on it");
  }
  barrier->valid = false;
  mark_mbarrier(Accessor::generic(thread, site, true), *cta, (address & 0xffffffu) - kSharedBase,
                false);
}

namespace {

void check_complete(Mbarrier& barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  Machine& m = Machine::current();
  ++barrier.phase;
  ++m.statistics().barriers;
  barrier.pending = barrier.count;
  barrier.overrun = !barrier.observed;
  barrier.observed = !barrier.waiting.empty();
  m.wake_all(barrier.waiting);
}

void arrive(Thread& thread, Mbarrier& barrier, u32 address, Site site) {
  release(thread, barrier.known);
  count_arrival(thread, barrier, address, site);
}

}  // namespace

void count_arrival(Thread& thread, Mbarrier& barrier, u32 address, Site site) {
  Machine& m = Machine::current();
  if (barrier.pending == 0) {
    m.report(
        Fault::arrival_overflow, thread, site, address,
        fmt::format("phase {} of the mbarrier has all its {} arrivals already: someone arrives "
                    "twice, does not wait for the phase before, or the count is too small",
                    barrier.phase, barrier.count));
    return;
  }
  --barrier.pending;
  check_complete(barrier);
  if (!barrier.overrun) return;
  barrier.overrun = false;
  m.report(
      Fault::arrival_overflow, thread, site, address,
      fmt::format("phase {} of the mbarrier ends before anybody has waited for the one before: "
                  "someone arrives twice, or the count of {} is too small",
                  barrier.phase - 1, barrier.count));
}

void check_init_fence(Thread& thread, Mbarrier& barrier, u32 address, Site site) {
  if (barrier.init_fenced) return;
  Machine::current().report(
      Fault::missing_init_fence, thread, site, address,
      fmt::format("the mbarrier initialised at {}:{} was not made known to asynchronous copies: "
                  "call fence_mbarrier_init() after mbarrier_init",
                  barrier.init_site.file, barrier.init_site.line));
  barrier.init_fenced = true;
}

void complete_bytes(Mbarrier& barrier, u32 bytes, u32 epoch) {
  if (Machine::current().checks()) barrier.known.seen.raise(barrier.agent, epoch);
  barrier.bytes -= bytes;
  check_complete(barrier);
}

void mbarrier_arrive(u32 address, Site site) {
  Thread& thread = Machine::self();
  Machine::current().maybe_yield(thread);
  Cta* cta = nullptr;
  Mbarrier* barrier = find_mbarrier(thread, address, "mbarrier.arrive", site, cta);
  if (barrier != nullptr) arrive(thread, *barrier, address, site);
}

void mbarrier_arrive_remote(u32 address, u32 rank, Site site) {
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  m.maybe_yield(thread);
  const u32 remote = mapa(address, rank, site);
  if (rank >= thread.cta->cluster->ctas.size()) return;
  Cta* cta = nullptr;
  Mbarrier* barrier = find_mbarrier(thread, remote, "mbarrier.arrive", site, cta);
  if (barrier == nullptr) return;
  visit(thread, *cta, remote, site);
  if (cta->running == 0) return;
  arrive(thread, *barrier, remote, site);
}

void mbarrier_expect(u32 address, u32 bytes, bool arrives, Site site) {
  Thread& thread = Machine::self();
  if (arrives) Machine::current().maybe_yield(thread);
  Cta* cta = nullptr;
  Mbarrier* barrier = find_mbarrier(thread, address, "mbarrier.expect_tx", site, cta);
  if (barrier == nullptr) return;
  barrier->bytes += bytes;
  if (arrives) arrive(thread, *barrier, address, site);
}

bool mbarrier_try(u32 address, u32 parity, Site site) {
  Thread& thread = Machine::self();
  Machine::current().maybe_yield(thread);
  Cta* cta = nullptr;
  Mbarrier* barrier = find_mbarrier(thread, address, "mbarrier.try_wait", site, cta);
  if (barrier == nullptr || (barrier->phase & 1) == parity) return false;
  barrier->observed = true;
  acquire(thread, barrier->known);
  return true;
}

void mbarrier_wait(u32 address, u32 parity, Site site) {
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  m.maybe_yield(thread);
  Cta* cta = nullptr;
  Mbarrier* barrier = find_mbarrier(thread, address, "mbarrier.try_wait", site, cta);
  if (barrier == nullptr) return;
  while ((barrier->phase & 1) == (parity & 1)) {
    barrier->waiting.push_back(&thread);
    m.block(thread, {.what = "mbarrier_wait",
                     .site = site,
                     .object = (address & 0xffffffu),
                     .parity = parity,
                     .cta = cta});
  }
  barrier->observed = true;
  acquire(thread, barrier->known);
}

void fence_proxy_async(bool of_shared, Site /*site*/) {
  Thread& thread = Machine::self();
  if (!Machine::current().checks()) return;
  thread.known.fenced.join(thread.known.seen);
  thread.fenced_until = thread.time();
  thread.tick();
  if (!of_shared) return;
  for (Mbarrier* barrier : thread.initialised)
    barrier->init_fenced = true;
}

void fence_mbarrier_init(Site /*site*/) {
  Thread& thread = Machine::self();
  for (Mbarrier* barrier : thread.initialised)
    barrier->init_fenced = true;
  thread.initialised.clear();
  thread.init_fence = true;
}

void fence_memory(Site /*site*/) {
  Thread& thread = Machine::self();
  thread.memory_fence = true;
  for (const u64 address : thread.relaxed_words)
    acquire_word(thread, Machine::current().sync_word(address));
  thread.relaxed_words.clear();
}

void set_registers(u32 registers, bool increases, u32 ctas, Site site) {
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  const char* what = increases ? "setmaxnreg.inc" : "setmaxnreg.dec";
  Cta& cta = *thread.cta;
  if (ctas != cta.sharers) cta.share_registers(ctas, thread.place.ntid);
  const u32 group = thread.place.tid / kGroupThreads;
  u32& held = cta.group_registers[group];
  if (thread.place.tid % kGroupThreads == 0 && (increases ? registers < held : registers > held)) {
    m.report(Fault::register_pool, thread, site, 0,
             fmt::format("{} to {} registers, the warpgroup has {}", what, registers, held));
  }
  if (!increases) {
    together(*thread.group, thread, what, site, nullptr, [&](Team& team) {
      const auto threads = static_cast<u32>(team.members.size());
      if (registers < held) cta.free_registers += (held - registers) * threads;
      held = registers;
      m.wake_all(cta.register_waiters);
    });
    return;
  }
  together(*thread.group, thread, what, site, nullptr, [](Team&) {});
  if (thread.place.tid % kGroupThreads != 0) {
    while (held < registers) {
      cta.register_waiters.push_back(&thread);
      m.block(thread, {.what = what, .site = site});
    }
    return;
  }
  const u32 more =
      registers > held ? (registers - held) * static_cast<u32>(thread.group->members.size()) : 0;
  while (cta.free_registers < more) {
    cta.register_waiters.push_back(&thread);
    m.block(thread, {.what = what, .site = site});
  }
  cta.free_registers -= more;
  held = registers;
  m.wake_all(cta.register_waiters);
}

void grid_dependency(const char* what, Site site) {
  Thread& thread = Machine::self();
  thread.wait.site = site;
  thread.wait.what = what;
  if (!Machine::current().checks() || std::string_view(what) != "griddepcontrol.wait") return;
  thread.known.seen.raise(thread.cta->cluster->dependency_agent, 1);
}

}  // namespace estoc::emulator
