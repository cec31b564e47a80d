// Tensor memory: allocation, who may touch what, and what has happened before.
#include "tensor_memory.h"

#include <fmt/core.h>

#include <algorithm>

namespace estoc::emulator {
namespace {

u32 new_lane_agents(Cluster& cluster) {
  const u32 first = cluster.agents;
  cluster.agents += kWarpLanes;
  return first;
}

[[gnu::noinline]] void report_tensor_conflict(const TensorAccess& access, const TensorView& view,
                                              const Access& other, u32 address) {
  Machine& m = Machine::current();
  bool known = true;
  for (const Thread* thread : view.threads) {
    for (u32 lane = 0, lanes = std::max(other.lanes, 1u); lanes != 0; ++lane, lanes >>= 1)
      known = known && ((lanes & 1) == 0 || thread->known.seen[other.agent + lane] >= other.time);
  }
  const char* before = other.write ? "write" : "read";
  if (known) {
    m.report(Fault::missing_tcgen05_fence, access.thread, access.site, address,
             fmt::format("the {} of tensor memory at {} is waited for, but not for tcgen05: call "
                         "tcgen05_fence_after_thread_sync() after the wait",
                         before, m.site_text(other.site)));
    return;
  }
  const char* how = other.lanes != 0
                        ? "wait for it (tcgen05_wait_ld or st), and call "
                          "tcgen05_fence_before_thread_sync() before the arrival in its thread"
                        : "tcgen05_commit after it, and a wait for that mbarrier";
  m.report(Fault::race, access.thread, access.site, address,
           fmt::format("this {} of tensor memory is not ordered after the {} at {}: {}, then "
                       "tcgen05_fence_after_thread_sync() here",
                       access.write ? "write" : "read", before, m.site_text(other.site), how));
}

// The first column of so many that are free; they begin at a multiple of their number.
u32 free_columns(const TensorMemory& memory, u32 columns, bool from_the_end) {
  u32 found = ~0u;
  for (u32 column = 0; column + columns <= kTensorColumns; column += columns) {
    const bool taken = std::any_of(memory.blocks.begin(), memory.blocks.end(), [&](const auto& b) {
      return b.column < column + columns && column < b.column + b.columns;
    });
    if (taken) continue;
    found = column;
    if (!from_the_end) break;
  }
  return found;
}

void grant(Cta& cta, u32 column) {
  TensorMemory& memory = tensor_memory(cta);
  const TensorRequest request = memory.requests.front();
  memory.requests.pop_front();
  memory.blocks.push_back({column, request.columns, request.thread, request.site});
  TensorWarp& warp = tensor_warp(*request.thread);
  warp.granted = column;
  ++warp.allocations;
  for (Thread* member : request.thread->warp->members) {
    member->known.seen.raise(warp.alloc_agent, warp.allocations);
    member->tensor_known.raise(warp.alloc_agent, warp.allocations);
  }
  for (u32 c = column; c < column + request.columns; ++c) {
    memory.cells[c].forget();
    for (u32 lane = 0; lane < kTensorLanes; ++lane)
      memory.row(lane)[c] = kTensorPoison;
  }
  const TensorView view{request.thread->warp->members, &warp};
  touch_tensor({*request.thread, request.site, warp.alloc_agent, 0, warp.allocations, true}, view,
               memory, {column, request.columns, 0xffff});
  for (u32 c = column; c < column + request.columns; ++c)
    memory.cells[c].initialised = 0;
  Machine::current().wake_all(memory.waiting);
}

// Grants what the first in line asks for, as often as there is room.
void serve(Cta& cta) {
  // Code must not rely on the columns that it gets.
  const bool from_the_end = Machine::current().options().schedule == Schedule::eager;
  TensorMemory& memory = tensor_memory(cta);
  while (!memory.requests.empty()) {
    const TensorRequest& request = memory.requests.front();
    const u32 column = free_columns(memory, request.columns, from_the_end);
    if (column == ~0u) return;
    if (request.group == 1) {
      grant(cta, column);
      continue;
    }
    Cta& peer = *cta.cluster->ctas[cta.rank ^ 1];
    TensorMemory& other = tensor_memory(peer);
    if (other.requests.empty()) return;
    const TensorRequest& matching = other.requests.front();
    if (matching.group != 2 || matching.columns != request.columns) {
      Machine::current().report(
          Fault::tensor_memory, *request.thread, request.site, 0,
          fmt::format("a pair allocates {} columns here and {} at {}:{}: "
                      "both CTAs allocate the same",
                      request.columns, matching.columns, matching.site.file, matching.site.line));
    }
    if (free_columns(other, matching.columns, from_the_end) != column) return;
    grant(cta, column);
    grant(peer, column);
  }
}

}  // namespace

bool TensorView::seen(const Access& before, u32 lane) const {
  if (own != nullptr) {
    if (before.agent == own->load_agent) return before.time <= own->loads_done;
    if (before.agent == own->store_agent) return before.time <= own->stores_done;
  }
  if (pipe != nullptr) {
    if (after_products && before.agent == pipe->product_agent) return true;
    if (after_operands && before.agent == pipe->operand_agent) return true;
    if (after_copies && before.agent == pipe->copy_agent) return true;
    if (after_shifts && before.agent == pipe->shift_agent) return true;
  }
  return std::all_of(threads.begin(), threads.end(), [&](const Thread* thread) {
    return thread->tensor_known[before.agent + lane] >= before.time;
  });
}

TensorMemory& tensor_memory(Cta& cta) {
  if (cta.tensor != nullptr) return *cta.tensor;
  cta.tensor = std::make_shared<TensorMemory>();
  cta.tensor->words.assign(std::size_t{kTensorLanes} * kTensorColumns, kTensorPoison);
  cta.tensor->cells.resize(kTensorColumns);
  cta.tensor->warps.resize(cta.warps.size());
  for (TensorWarp& warp : cta.tensor->warps) {
    warp.load_agent = new_lane_agents(*cta.cluster);
    warp.store_agent = new_lane_agents(*cta.cluster);
    warp.alloc_agent = cta.cluster->new_agent();
  }
  return *cta.tensor;
}

TensorWarp& tensor_warp(Thread& thread) {
  return tensor_memory(*thread.cta).warps[thread.place.tid / kWarpLanes];
}

TensorPipe& tensor_pipe(Thread& thread) {
  TensorPipe& pipe = tensor_memory(*thread.cta).pipes[&thread];
  if (pipe.product_agent == 0) {
    pipe.product_agent = thread.cta->cluster->new_agent();
    pipe.operand_agent = thread.cta->cluster->new_agent();
    pipe.copy_agent = thread.cta->cluster->new_agent();
    pipe.shift_agent = thread.cta->cluster->new_agent();
  }
  return pipe;
}

bool check_tensor_group(Thread& thread, u32 group, bool leads, const char* what, Site site) {
  Machine& m = Machine::current();
  TensorMemory& memory = tensor_memory(*thread.cta);
  if (memory.group != 0 && memory.group != group) {
    m.report(Fault::tensor_memory, thread, site, 0,
             fmt::format("{} with cta_group::{}, after instructions with cta_group::{}: a kernel "
                         "uses one of them",
                         what, group, memory.group));
  }
  memory.group = group;
  if (group == 1) return true;
  if ((thread.cta->rank ^ 1) >= thread.cta->cluster->ctas.size()) {
    m.report(Fault::tensor_memory, thread, site, 0,
             fmt::format("{} with cta_group::2: CTA {} has no other of its pair in a cluster of {}",
                         what, thread.cta->rank, thread.cta->cluster->ctas.size()));
    return false;
  }
  if (leads && thread.cta->rank % 2 != 0) {
    m.report(Fault::tensor_memory, thread, site, 0,
             fmt::format("{} of a pair is for its even CTA to issue, not for CTA {}", what,
                         thread.cta->rank));
    return false;
  }
  return true;
}

bool check_tensor_columns(Thread& thread, TensorMemory& memory, u32 column, u32 columns,
                          Site site) {
  for (u32 c = column; c < column + columns; ++c) {
    const bool allocated = std::any_of(memory.blocks.begin(), memory.blocks.end(), [c](auto& b) {
      return c >= b.column && c < b.column + b.columns;
    });
    if (allocated) continue;
    Machine::current().report(Fault::out_of_bounds, thread, site, c,
                              fmt::format("columns {} to {} of tensor memory, of which {} is not "
                                          "allocated",
                                          column, column + columns - 1, c));
    return false;
  }
  return true;
}

void touch_tensor(const TensorAccess& access, const TensorView& view, TensorMemory& memory,
                  const TensorArea& area) {
  Machine& m = Machine::current();
  ++m.statistics().watched;
  if (!m.checks()) return;
  Access now{access.agent,
             access.lanes,
             access.time,
             m.site_id(access.site),
             access.thread.place.clusterid,
             area.lanes,
             access.write,
             false};
  const auto lane = 8 * static_cast<u32>(std::countr_zero(area.lanes));
  for (u32 column = area.column; column < area.column + area.columns; ++column) {
    Cell& cell = memory.cells[column];
    const u32 address = lane << 16 | column;
    if (access.write) {
      cell.initialised = static_cast<u16>(cell.initialised | area.lanes);
    } else if ((area.lanes & ~cell.initialised) != 0) {
      m.report(Fault::uninitialised, access.thread, access.site, address,
               "nothing has written the tensor memory that is read here");
      cell.initialised = static_cast<u16>(cell.initialised | area.lanes);
    }
    Access other;
    if (cell.enter(now, view, other) != Conflict::none) {
      report_tensor_conflict(access, view, other, address);
    }
  }
}

void visit_cta(Thread& thread, Cta& cta, u32 agent, u32 epoch, Site site) {
  if (cta.running == 0) {
    Machine::current().report(Fault::leaked_async, thread, site, kSharedBase,
                              fmt::format("CTA {} of the pair has ended: let it wait", cta.rank));
  }
  if (Machine::current().checks()) cta.visits[agent] = {epoch, kSharedBase, site, &thread};
}

void defer_tensor(Thread& thread, TensorPipe& pipe, Site site, std::function<void()> operation) {
  pipe.queue.push_back(std::move(operation));
  // Whichever of them the schedule picks, the first takes place.
  Machine::current().defer({thread.cta->cluster, &thread, site, 0, [&pipe] {
                              const std::function<void()> first = std::move(pipe.queue.front());
                              pipe.queue.pop_front();
                              first();
                            }});
}

void tensor_alloc(u32 shared, u32 columns, u32 group, Site site) {
  Thread& thread = Machine::self();
  Machine& m = Machine::current();
  TensorWarp& warp = tensor_warp(thread);
  const u32 before = warp.allocations;
  bool possible = true;
  together(*thread.warp, thread, "tcgen05.alloc", site, &possible, [&](Team& team) {
    Thread& first = *team.members[0];
    TensorMemory& memory = tensor_memory(*first.cta);
    if (!check_tensor_group(first, group, false, "tcgen05.alloc", site)) {
      for (void* operand : team.operands)
        if (operand != nullptr) *static_cast<bool*>(operand) = false;
      return;
    }
    if (memory.relinquished) {
      m.report(Fault::tensor_memory, first, site, 0,
               fmt::format("tcgen05.alloc after the CTA has relinquished its permit at {}:{}",
                           memory.relinquished_at.file, memory.relinquished_at.line));
    }
    if (columns > memory.smallest) {
      m.report(Fault::tensor_memory, first, site, 0,
               fmt::format("an allocation of {} columns follows one of {}: they must not grow",
                           columns, memory.smallest));
    }
    memory.smallest = std::min(memory.smallest, columns);
    memory.requests.push_back({&first, columns, group, site});
    serve(*first.cta);
  });
  while (possible && warp.allocations == before) {
    tensor_memory(*thread.cta).waiting.push_back(&thread);
    m.block(thread, {.what = "tcgen05.alloc", .site = site});
  }
  if (possible && thread.lane == 0) store_shared(shared, &warp.granted, 4, site);
}

void tensor_dealloc(u32 address, u32 columns, u32 group, Site site) {
  Thread& thread = Machine::self();
  u32 mine = address;
  together(*thread.warp, thread, "tcgen05.dealloc", site, &mine, [&](Team& team) {
    Machine& m = Machine::current();
    Thread& first = *team.members[0];
    TensorMemory& memory = tensor_memory(*first.cta);
    check_tensor_group(first, group, false, "tcgen05.dealloc", site);
    const auto block = std::find_if(
        memory.blocks.begin(), memory.blocks.end(),
        [&](const TensorBlock& b) { return b.column == address && b.columns == columns; });
    if (block == memory.blocks.end()) {
      m.report(Fault::tensor_memory, first, site, address,
               fmt::format("no tcgen05.alloc gave {} columns at {:#x}", columns, address));
      return;
    }
    // Whoever frees follows all accesses.
    const TensorWarp& warp = tensor_warp(first);
    touch_tensor({first, site, warp.alloc_agent, 0, warp.allocations, true},
                 TensorView{team.members, &warp}, memory, {address, columns, 0xffff});
    memory.blocks.erase(block);
    serve(*first.cta);
  });
}

void tensor_relinquish(u32 group, Site site) {
  Thread& thread = Machine::self();
  together(*thread.warp, thread, "tcgen05.relinquish_alloc_permit", site, nullptr, [&](Team& team) {
    Thread& first = *team.members[0];
    check_tensor_group(first, group, false, "tcgen05.relinquish_alloc_permit", site);
    TensorMemory& memory = tensor_memory(*first.cta);
    memory.relinquished = true;
    memory.relinquished_at = site;
  });
}

void tensor_fence(bool after, Site /*site*/) {
  Thread& thread = Machine::self();
  if (!Machine::current().checks()) return;
  if (after) {
    thread.tensor_known.join(thread.known.seen);
    return;
  }
  const TensorWarp& warp = tensor_warp(thread);
  thread.known.seen.raise(warp.load_agent + thread.lane, warp.loads_done);
  thread.known.seen.raise(warp.store_agent + thread.lane, warp.stores_done);
}

void finish_tensor(Thread& thread) {
  Machine& m = Machine::current();
  if (thread.cta->tensor == nullptr) return;
  const TensorWarp& warp = tensor_warp(thread);
  if (warp.loads != warp.loads_done || warp.stores != warp.stores_done) {
    m.report(Fault::leaked_async, thread, warp.latest, 0,
             "the thread ends while its tcgen05.ld or st are under way: call tcgen05_wait_ld() or "
             "tcgen05_wait_st()");
  }
  for (const TensorLoad& load : warp.arriving[thread.lane]) {
    if (!load.complete) continue;
    m.report(Fault::accumulator_in_flight, thread, load.site, 0,
             "what a tcgen05.ld brought was waited for and not given to tcgen05_use: the compiler "
             "may read it before the wait");
  }
  const auto pipe = thread.cta->tensor->pipes.find(&thread);
  if (pipe == thread.cta->tensor->pipes.end() || !pipe->second.open) return;
  m.report(Fault::leaked_async, thread, pipe->second.latest, 0,
           "the thread ends without a tcgen05_commit after its products and copies: nobody can "
           "know that they are complete");
}

void finish_tensor(Cta& cta) {
  if (cta.tensor == nullptr) return;
  for (const TensorBlock& block : cta.tensor->blocks) {
    Machine::current().report(Fault::tensor_memory, *block.owner, block.site, block.column,
                              fmt::format("the CTA ends and {} columns of tensor memory are not "
                                          "freed: call tcgen05_dealloc",
                                          block.columns));
  }
}

}  // namespace estoc::emulator
