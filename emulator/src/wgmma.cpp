// wgmma: products of a warpgroup, in flight until the wait. They happen when they are issued or
// when they are waited for; until acc_use their accumulators hold NaN.
//
// A thread enters an instruction into its warpgroup's log and goes on; the instruction takes place
// when the last thread has entered it. Before a thread does anything that others may notice it
// waits for what it has entered (flush_posted), so that the difference cannot be observed.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "machine.h"
#include "wgmma_product.h"

namespace estoc::emulator {
namespace {

// NaN, as one float and as two halves.
constexpr u32 kPoison = 0x7fc07ead;
constexpr std::size_t kRemembered = 8;

const char* posted_name(Posted::Kind kind) {
  if (kind == Posted::Kind::fence) return "wgmma.fence";
  return kind == Posted::Kind::product ? "wgmma.mma_async" : "wgmma.commit_group";
}

// Calls action(value, register) for the accumulators of a thread: their places in the matrix and in
// its registers, of packed ones those of the first.
template <typename Action>
void for_registers(Accumulators& acc, u32 thread, const Action& action) {
  const auto columns = static_cast<u32>(acc.columns);
  auto* registers = static_cast<float*>(acc.registers[thread]);
  const u32 place = (16 * (thread / 32) + thread % 32 / 4) * columns + thread % 4 * 2;
  for (u32 j = 0; j < columns / 8; ++j) {
    const u32 upper = place + 8 * j;
    const u32 lower = upper + 8 * columns;
    if (acc.packed()) {
      action(upper, registers[2 * j]);
      action(lower, registers[2 * j + 1]);
      continue;
    }
    action(upper, registers[4 * j]);
    action(upper + 1, registers[4 * j + 1]);
    action(lower, registers[4 * j + 2]);
    action(lower + 1, registers[4 * j + 3]);
  }
}

void poison(Accumulators& acc, u32 thread) {
  std::fill_n(static_cast<u32*>(acc.registers[thread]), acc.words(), kPoison);
}

void report_unused(const Thread& thread, Site site) {
  Machine::current().report(Fault::accumulator_in_flight, thread, site, 0,
                            "accumulators were waited for and not given to acc_use: the compiler "
                            "may read them before the wait; call acc_use after it");
}

// Takes a thread's accumulators out of its registers. Poison that nobody called acc_use for stands
// for what products left there.
void take_registers(Accumulators& acc, Thread& thread, u32 index, Site site) {
  const bool known = acc.before.size() == acc.values.size();
  const bool unused = known && acc.unused[index];
  u32 changed = known ? 0 : 1;
  bool overwritten = false;
  for_registers(acc, index, [&](u32 place, const float& slot) {
    const bool kept = unused && std::bit_cast<u32>(slot) == kPoison;
    overwritten |= unused && !kept;
    const float value = kept ? acc.before[place] : slot;
    std::memcpy(&acc.values[place], &value, 4);
    if (known) changed |= std::bit_cast<u32>(value) ^ std::bit_cast<u32>(acc.before[place]);
  });
  if (changed != 0) acc.untouched = false;
  if (overwritten) report_unused(thread, site);
  acc.unused.reset(index);
  if (Machine::current().checks()) poison(acc, index);
}

void check_poison(Accumulators& acc, Thread& thread, u32 index, Site site) {
  if (!Machine::current().checks()) return;
  const auto* registers = static_cast<const u32*>(acc.registers[index]);
  u32 changed = 0;
  for (int i = 0; i < acc.words(); ++i)
    changed |= registers[i] ^ kPoison;
  if (changed == 0) return;
  poison(acc, index);
  Machine::current().report(Fault::accumulator_in_flight, thread, site, 0,
                            "accumulators were written while a wgmma that has them is in flight: "
                            "call wgmma_wait_group first");
}

std::list<Accumulators>::iterator find_accumulators(std::list<Accumulators>& among, u32 thread,
                                                    const void* registers) {
  return std::find_if(among.begin(), among.end(),
                      [&](const Accumulators& acc) { return acc.registers[thread] == registers; });
}

// The accumulators that an instruction names, which one thread has in `registers`.
Accumulators& accumulators_of(WgmmaState& state, u32 thread, const WgmmaOperands& operands,
                              bool& taken) {
  const auto found = find_accumulators(state.in_flight, thread, operands.acc);
  taken = found == state.in_flight.end();
  if (!taken) return *found;
  const auto before = find_accumulators(state.written, thread, operands.acc);
  if (before != state.written.end() && before->columns == operands.columns &&
      before->sum_type == operands.sum_type) {
    state.in_flight.splice(state.in_flight.end(), state.written, before);
  } else {
    state.in_flight.emplace_back();
  }
  Accumulators& acc = state.in_flight.back();
  acc.before.swap(acc.values);
  acc.values.resize(static_cast<unsigned>(kProductRows * operands.columns));
  acc.registers_before = acc.registers;
  acc.registers = {};
  acc.columns = operands.columns;
  acc.sum_type = operands.sum_type;
  acc.untouched = true;
  acc.last_group = state.committed + 1;
  return acc;
}

void check_operand(Thread& thread, const Team& team, const Product& p, bool of_a, u64 epoch,
                   Site site) {
  Machine& m = Machine::current();
  const Descriptor d(of_a ? p.a : p.b);
  const bool transposed = of_a ? p.transpose_a : p.transpose_b;
  if (d.base_offset != 0) {
    m.report(Fault::bad_descriptor, thread, site, d.start,
             "descriptors with a base offset are not modelled: let the pattern start at a multiple "
             "of 1024 bytes");
  }
  if (!transposed && d.swizzle == 0 && d.leading == 0) {
    m.report(Fault::bad_descriptor, thread, site, d.start,
             "without a swizzle the leading offset, from 16 bytes of K to the next, is not 0");
  }
  Accessor accessor = Accessor::asynchronous(thread, site, false, thread.wgmma->agent, epoch, true);
  const TeamView view{team.members};
  accessor.all = &view;
  std::array<u32, kMaxChunks> addresses;
  u32 count = 0;
  for_chunks(p, of_a, of_a ? kProductRows : p.columns,
             [&](u32 address, u32, u32, bool) { addresses[count++] = address; });
  touch_chunks(accessor, *p.cta, addresses.data(), count);
}

Product product_of(const Posted& posted, Cta& cta) {
  const WgmmaOperands& o = posted.operands;
  return {o.a_type,       o.b_type,  o.transpose_a, o.transpose_b, o.sum_type,
          o.add,          o.columns, o.a,           o.b,           o.a_registers != nullptr,
          posted.a_words, &cta};
}

// A product that all threads have entered begins.
void issue(Posted& posted, Team& team) {
  Machine& m = Machine::current();
  Thread& thread = *team.members[0];
  WgmmaState& state = *thread.wgmma;
  const Site site = posted.site;
  Accumulators& acc = *posted.accumulators;
  ++m.statistics().wgmma;
  state.latest = site;
  if (team.members.size() != kGroupThreads) {
    m.report(Fault::divergent, thread, site, 0, "wgmma needs a warpgroup of 128 threads");
    return;
  }
  const u64 epoch = state.committed + 1;
  Product p = product_of(posted, *thread.cta);
  if (!p.a_in_registers) check_operand(thread, team, p, true, epoch, site);
  check_operand(thread, team, p, false, epoch, site);
  if (posted.takes && !state.fenced && (p.a_in_registers || !acc.untouched)) {
    m.report(Fault::missing_wgmma_fence, thread, site, 0,
             "registers of this wgmma were accessed since the last wgmma_fence(): call it before "
             "the first wgmma_mma_async and again after other instructions used the accumulators");
  }
  acc.last_group = epoch;
  if (const u64 event = m.trace_begin(TraceKind::wgmma, thread, site, "wgmma", 0, 0)) {
    state.traced.emplace_back(epoch, event);
  }
  if (!m.options().products) return;
  if (m.options().schedule == Schedule::eager ||
      (m.options().schedule == Schedule::random && m.draw(2) && state.queue.empty())) {
    execute(p, acc.values.data());
  } else {
    state.queue.emplace_back(epoch, [p = std::move(p), &acc] { execute(p, acc.values.data()); });
  }
}

void put_registers(Accumulators& acc, u32 thread) {
  for_registers(acc, thread,
                [&](u32 place, float& slot) { std::memcpy(&slot, &acc.values[place], 4); });
}

// The thread is late: others have already entered the next product of these accumulators.
void put_registers_before(Accumulators& acc, u32 thread) {
  acc.registers[thread] = acc.registers_before[thread];
  for_registers(acc, thread,
                [&](u32 place, float& slot) { std::memcpy(&slot, &acc.before[place], 4); });
  acc.registers[thread] = nullptr;
}

// Products are complete: their results come to the registers now, or with acc_use.
void leave_results(Accumulators& acc, u32 thread) {
  if (acc.registers[thread] == nullptr) return;
  if (Machine::current().checks()) {
    acc.unused.set(thread);
  } else {
    put_registers(acc, thread);
  }
}

// acc_use after the wait: the results come to the thread's registers.
void hand_over(WgmmaState& state, u32 thread, const void* registers) {
  for (Accumulators& acc : state.in_flight) {
    if (acc.registers_before[thread] != registers || !acc.unused[thread]) continue;
    acc.unused.reset(thread);
    put_registers_before(acc, thread);
    return;
  }
  const auto complete = find_accumulators(state.written, thread, registers);
  if (complete == state.written.end() || !complete->unused[thread]) return;
  complete->unused.reset(thread);
  put_registers(*complete, thread);
}

void finish(Team& team, u32 groups) {
  WgmmaState& state = *team.members[0]->wgmma;
  const u64 done = state.committed > groups ? state.committed - groups : 0;
  while (!state.queue.empty() && state.queue.front().first <= done) {
    state.queue.front().second();
    state.queue.pop_front();
  }
  for (; !state.traced.empty() && state.traced.front().first <= done; state.traced.pop_front())
    Machine::current().trace_end(state.traced.front().second);
  for (auto it = state.in_flight.begin(); it != state.in_flight.end();) {
    const auto acc = it++;
    if (acc->last_group > done) continue;
    for (u32 t = 0; t < team.members.size(); ++t)
      leave_results(*acc, t);
    state.written.splice(state.written.begin(), state.in_flight, acc);
    if (state.written.size() > kRemembered && state.written.back().unused.none()) {
      state.written.pop_back();
    }
    state.fenced = false;
  }
  if (!Machine::current().checks()) return;
  VectorClock::Raised latest;
  for (Thread* member : team.members)
    member->known.seen.raise(state.agent, static_cast<u32>(done), latest);
}

[[noreturn, gnu::noinline]] void fail_divergent(Thread& thread, Posted::Kind kind, Site site,
                                                const char* others, Site where,
                                                const char* relation) {
  Machine::current().fail(Fault::divergent, thread, site, 0,
                          fmt::format("{} {} {} ({}:{}): all of them must execute the same "
                                      "instruction",
                                      posted_name(kind), relation, others, where.file, where.line));
}

[[gnu::noinline]] void report_sites(Thread& thread, Posted::Kind kind, Site site, Site where) {
  Machine::current().report(Fault::divergent, thread, site, 0,
                            fmt::format("{} here, but at {}:{} in other threads: .aligned asks for "
                                        "one and the same instruction in all of them",
                                        posted_name(kind), where.file, where.line));
}

// The instruction that the thread enters next, which it has in common with the others.
Posted& post(Thread& thread, Posted::Kind kind, Site site) {
  WgmmaState& state = *thread.wgmma;
  Machine::current().maybe_yield(thread);
  const u64 index = thread.posted++ - state.executed;
  if (index == state.posted.size()) {
    const Team& team = *thread.group;
    if (team.arrived != 0) {
      fail_divergent(thread, kind, site, team.what, team.site,
                     "while other threads of the warpgroup are at");
    }
    return state.posted.add(kind, site);
  }
  Posted& posted = state.posted[index];
  if (posted.kind != kind) {
    fail_divergent(thread, kind, site, posted_name(posted.kind), posted.site,
                   "where other threads of the warpgroup execute");
  }
  if (posted.site.line != site.line || posted.site.file != site.file) {
    report_sites(thread, kind, site, posted.site);
  }
  return posted;
}

// Counts a thread; the instruction takes place with the last one. Instructions do so in order, as
// each thread enters them in order.
void count_in(Thread& thread, Posted& posted) {
  Machine& m = Machine::current();
  WgmmaState& state = *thread.wgmma;
  Team& team = *thread.group;
  if (++posted.arrived < team.members.size()) return;
  if (posted.kind == Posted::Kind::fence) state.fenced = true;
  if (posted.kind == Posted::Kind::commit) ++state.committed;
  if (posted.kind == Posted::Kind::product) issue(posted, team);
  state.posted.pop_front();
  ++state.executed;
  std::erase_if(state.flushing, [&](Thread* waiting) {
    if (waiting->posted > state.executed) return false;
    m.wake(*waiting);
    return true;
  });
}

}  // namespace

void Machine::flush_posted(Thread& thread) {
  WgmmaState& state = *thread.wgmma;
  while (thread.posted > state.executed) {
    state.flushing.push_back(&thread);
    const Posted& first = state.posted.front();
    block(thread, {.what = posted_name(first.kind), .site = first.site, .team = true});
  }
}

void Machine::check_posted(Thread& thread, const char* what, Site site) {
  const WgmmaState& state = *thread.wgmma;
  const u64 index = thread.posted - state.executed;
  if (index >= state.posted.size()) return;
  const Posted& missed = state.posted[index];
  fail(Fault::divergent, thread, site, 0,
       fmt::format("{} while other threads of the warpgroup are at {} ({}:{}): all of them must "
                   "execute the same instruction",
                   what, posted_name(missed.kind), missed.site.file, missed.site.line));
}

void wgmma(const WgmmaOperands& operands, Site site) {
  Thread& thread = Machine::posting();
  const u32 index = thread.place.tid % kGroupThreads;
  Posted& posted = post(thread, Posted::Kind::product, site);
  if (posted.arrived == 0) {
    posted.operands = operands;
    posted.accumulators = &accumulators_of(*thread.wgmma, index, operands, posted.takes);
    if (operands.a_registers != nullptr) posted.a_words.resize(4 * kGroupThreads);
  } else if (const WgmmaOperands& first = posted.operands;
             operands.a != first.a || operands.b != first.b || operands.add != first.add ||
             operands.columns != first.columns) {
    Machine::current().report(Fault::divergent, thread, site, 0,
                              "the descriptors or the scale differ between threads of the "
                              "warpgroup: they must be the same in all");
  }
  if (operands.a_registers != nullptr && !posted.a_words.empty()) {
    std::copy_n(operands.a_registers, 4, posted.a_words.begin() + 4 * index);
  }
  Accumulators& acc = *posted.accumulators;
  if (acc.registers[index] == nullptr) {
    acc.registers[index] = operands.acc;
    take_registers(acc, thread, index, site);
  } else if (acc.registers[index] == operands.acc) {
    check_poison(acc, thread, index, site);
  } else {
    Machine::current().report(Fault::divergent, thread, site, 0,
                              "the accumulators are not the same in all threads of the warpgroup");
  }
  count_in(thread, posted);
}

void wgmma_fence(Site site) {
  Thread& thread = Machine::posting();
  count_in(thread, post(thread, Posted::Kind::fence, site));
}

void wgmma_commit(Site site) {
  Thread& thread = Machine::posting();
  count_in(thread, post(thread, Posted::Kind::commit, site));
}

void wgmma_wait(u32 groups, Site site) {
  // What everyone has reached, everyone has entered all instructions before.
  Thread& thread = Machine::posting();
  together(*thread.group, thread, "wgmma.wait_group", site, nullptr,
           [groups](Team& team) { finish(team, groups); });
}

void accumulators_used(void* acc, Site site) {
  Thread& thread = Machine::posting();
  const u32 index = thread.place.tid % kGroupThreads;
  std::list<Accumulators>& in_flight = thread.wgmma->in_flight;
  if (find_accumulators(in_flight, index, acc) == in_flight.end()) {
    hand_over(*thread.wgmma, index, acc);
    return;
  }
  Machine::current().report(Fault::accumulator_in_flight, thread, site, 0,
                            "accumulators are used while a wgmma that has them is in flight: "
                            "call wgmma_commit_group and wgmma_wait_group first");
}

void check_unused(Thread& thread) {
  const u32 index = thread.place.tid % kGroupThreads;
  for (const Accumulators& acc : thread.wgmma->written) {
    if (acc.unused[index]) report_unused(thread, thread.wgmma->latest);
  }
}

}  // namespace estoc::emulator
