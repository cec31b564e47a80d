// Starting clusters, switching between threads, and ending: the scheduler of one launch.
#include "machine.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <stdexcept>

#include "recorder.h"
#include "signals.h"

namespace estoc::emulator {

constinit thread_local Machine* running_machine = nullptr;
constinit thread_local Thread* running_thread = nullptr;

namespace {

void fiber_main() {
  enter_fiber();
  running_machine->thread_main();
}

// Cells of CTAs that have ended, for those that begin: fresh memory costs more than a small launch.
constexpr std::size_t kKeptCells = 16;

std::vector<std::vector<Cell>>& kept_cells() {
  thread_local std::vector<std::vector<Cell>> kept;
  return kept;
}

std::vector<Cell> take_cells(std::size_t count) {
  std::vector<Cell> cells;
  if (!kept_cells().empty()) {
    cells = std::move(kept_cells().back());
    kept_cells().pop_back();
  }
  for (std::size_t i = 0; i < std::min(count, cells.size()); ++i)
    cells[i].forget();
  cells.resize(count);
  return cells;
}

void give_cells(std::vector<Cell> cells) {
  if (!cells.empty() && kept_cells().size() < kKeptCells) kept_cells().push_back(std::move(cells));
}

// A group of copies that may not have read yet; groups without copies do not count.
const CopyGroup* unread_group(const CopyState& state) {
  const auto unread = [](const CopyGroup& group) {
    return !group.read_done && !(group.read.empty() && group.write.empty());
  };
  for (const CopyGroup& group : state.groups) {
    if (unread(group)) return &group;
  }
  return unread(state.open) ? &state.open : nullptr;
}

/// Makes a machine that of its host thread.
class Running {
 public:
  explicit Running(Machine& machine) { running_machine = &machine; }
  ~Running() {
    running_machine = machine_;
    running_thread = thread_;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Machine* machine_ = running_machine;
  Thread* thread_ = running_thread;
};

constexpr u32 kRegisters = 65536;
constexpr u32 kSharedLimit = 232448;

}  // namespace

const Place& place() {
  return running_thread->place;
}

u64 clock() {
  static thread_local u64 ticks = 0;
  return ++ticks;
}

u32 smem_base() {
  return kSharedBase;
}

Machine::Machine(Entry entry, Dimensions grid, unsigned threads, unsigned shared_bytes,
                 void** arguments, const Options& options)
    : entry_(entry),
      grid_(grid),
      threads_(threads),
      shared_bytes_(shared_bytes),
      arguments_(arguments),
      options_(options),
      random_(options.seed) {
  const Dimensions& c = options.cluster;
  for (std::size_t i = 0; i < 3; ++i) {
    if (grid[i] == 0 || c[i] == 0 || grid[i] % c[i] != 0) {
      throw std::invalid_argument("the grid is not a whole number of clusters");
    }
  }
  if (c[0] * c[1] * c[2] > 16) throw std::invalid_argument("a cluster has at most 16 CTAs");
  if (threads == 0 || threads > 1024) throw std::invalid_argument("a CTA has 1 to 1024 threads");
  if (shared_bytes > kSharedLimit) {
    throw std::invalid_argument(
        fmt::format("{} bytes of shared memory, of {}", shared_bytes, kSharedLimit));
  }
  if (options.schedule == Schedule::eager) elected_ = kWarpLanes - 1;
  if (options.schedule == Schedule::random) elected_ = static_cast<u32>(random_() % kWarpLanes);
  cluster_count_ = grid[0] / c[0] * (grid[1] / c[1]) * (grid[2] / c[2]);
  cluster_end_ = cluster_count_;
  if (Recording* recording = options.recording) {
    cluster_end_ = recording->clusters = std::min(recording->clusters, cluster_count_);
    begin_recording(*recording, options, threads, shared_bytes, cluster_count_);
  }
  for (const Allocation& a : options.memory) {
    const auto address = reinterpret_cast<u64>(a.address);
    allocations_.push_back({address, a.bytes, &a, {}});
  }
  std::sort(allocations_.begin(), allocations_.end(),
            [](const auto& x, const auto& y) { return x.address < y.address; });
}

Report Machine::run() {
  const Running running(*this);
  const SignalGuard guard(entry_, options_.seconds);
  report_.statistics.launches = 1;
  while (!failed_) {
    if (running_clusters_ == 0) {
      if (next_cluster_ == cluster_end_) break;
      start_cluster();
    }
    step();
  }
  if (problem_ != nullptr) std::rethrow_exception(problem_);
  if (signal_ != 0) report_signal();
  if (options_.recording != nullptr) finish_recording(*options_.recording);
  keep_written();
  return std::move(report_);
}

// Lets a thread run until it waits, or what is asynchronous happen.
void Machine::step() {
  if (Thread* thread = next()) {
    current_ = running_thread = thread;
    if (options_.trace != nullptr && thread->lane == 0) ++options_.trace->end;
    in_kernel_ = true;
    switch_fiber(host_, thread->context);
    in_kernel_ = false;
    return;
  }
  if (run_pending()) return;
  if (waits_for_global() && next_cluster_ < cluster_end_ &&
      running_clusters_ < options_.resident_clusters) {
    start_cluster();
    return;
  }
  report_deadlock();
  failed_ = true;
}

void Machine::trap(int signal, u64 address) {
  signal_ = signal;
  signal_address_ = address;
  failed_ = true;
  FiberContext given_up;
  switch_fiber(given_up, host_);
}

void Machine::report_signal() {
  const auto bottom = reinterpret_cast<u64>(current_->stack->bottom());
  const bool full = signal_address_ < bottom && signal_address_ + Stack::kGuard >= bottom;
  report(signal_ == SIGVTALRM ? Fault::time_limit : Fault::trap, *current_, {}, signal_address_,
         signal_text(signal_, signal_address_, full, options_.seconds));
}

std::array<u32, 3> Machine::cluster_index(u32 id) const {
  const Dimensions& shape = options_.cluster;
  const std::array<u32, 3> clusters{grid_[0] / shape[0], grid_[1] / shape[1], grid_[2] / shape[2]};
  return {id % clusters[0], id / clusters[0] % clusters[1], id / clusters[0] / clusters[1]};
}

// Hardware shares the work out among the clusters that it has begun; which get how much is not
// known. Here the late schedule gives one cluster all of it, and the eager one two pieces to each.
std::optional<std::array<u32, 3>> Machine::cancel_cluster(const Cluster& cluster) {
  const bool declines = (options_.schedule == Schedule::eager && cluster.cancelled == 2) ||
                        (options_.schedule == Schedule::random && draw(4));
  if (next_cluster_ == cluster_count_ || declines) return std::nullopt;
  std::array<u32, 3> first = cluster_index(next_cluster_);
  for (std::size_t i = 0; i < 3; ++i)
    first[i] *= options_.cluster[i];
  // Numbers of clusters stay their places in the list.
  clusters_.push_back(std::make_unique<Cluster>());
  clusters_.back()->id = next_cluster_++;
  return first;
}

void Machine::start_cluster() {
  const Dimensions& shape = options_.cluster;
  const u32 id = next_cluster_++;
  const std::array<u32, 3> at = cluster_index(id);
  auto cluster = std::make_unique<Cluster>();
  cluster->id = id;
  const u32 count = shape[0] * shape[1] * shape[2];
  const u32 padded = (threads_ + kWarpLanes - 1) / kWarpLanes * kWarpLanes;
  cluster->agents = count * padded;
  cluster->threads = cluster->running = count * threads_;
  cluster->dependency_agent = cluster->new_agent();
  for (u32 rank = 0; rank < count; ++rank) {
    auto cta = std::make_unique<Cta>();
    cta->cluster = cluster.get();
    cta->rank = rank;
    const std::array<u32, 3> within{rank % shape[0], rank / shape[0] % shape[1],
                                    rank / shape[0] / shape[1]};
    for (std::size_t i = 0; i < 3; ++i)
      cta->index[i] = at[i] * shape[i] + within[i];
    cta->storage.resize(shared_bytes_ + 1024);
    const auto base = reinterpret_cast<std::uintptr_t>(cta->storage.data());
    cta->shared = cta->storage.data() + (1024 - base % 1024) % 1024;
    if (options_.checks) cta->cells = take_cells(shared_bytes_ / 16 + 1);
    cluster->ctas.push_back(std::move(cta));
  }
  clusters_.push_back(std::move(cluster));
  ++running_clusters_;
  for (auto& cta : clusters_.back()->ctas)
    start_threads(*cta);
}

// What its threads do not get at the launch is not in the CTA's pool: an H200 waits for it forever.
void Cta::share_registers(u32 ctas, u32 count) {
  sharers = ctas;
  group_registers.assign(groups.size(), std::min<u32>(kRegisters / ctas / count / 8 * 8, 248));
  free_registers = 0;
}

void Machine::start_threads(Cta& cta) {
  Cluster& cluster = *cta.cluster;
  const u32 padded = (threads_ + kWarpLanes - 1) / kWarpLanes * kWarpLanes;
  cta.running = threads_;
  cta.warps.resize(padded / kWarpLanes);
  cta.groups.resize((threads_ + kGroupThreads - 1) / kGroupThreads);
  cta.wgmma.resize(cta.groups.size());
  cta.share_registers(1, threads_);
  for (WgmmaState& state : cta.wgmma)
    state.agent = cluster.new_agent();
  for (u32 t = 0; t < threads_; ++t) {
    auto thread = std::make_unique<Thread>();
    Place& place = thread->place;
    place.tid = t;
    place.ntid = threads_;
    place.cluster_ctarank = cta.rank;
    place.cluster_nctarank = static_cast<u32>(cluster.ctas.size());
    for (std::size_t i = 0; i < 3; ++i) {
      place.ctaid[i] = cta.index[i];
      place.nctaid[i] = grid_[i];
      place.cluster_ctaid[i] = cta.index[i] % options_.cluster[i];
    }
    place.clusterid = cluster.id;
    place.nclusterid = cluster_count_;
    thread->cta = &cta;
    thread->warp = &cta.warps[t / kWarpLanes];
    thread->group = &cta.groups[t / kGroupThreads];
    thread->wgmma = &cta.wgmma[t / kGroupThreads];
    thread->warp->members.push_back(thread.get());
    thread->group->members.push_back(thread.get());
    thread->lane = t % kWarpLanes;
    thread->agent = cta.rank * padded + t;
    thread->stack = std::make_unique<Stack>();
    make_fiber(thread->context, *thread->stack, fiber_main);
    ready_.push_back(thread.get());
    cta.threads.push_back(std::move(thread));
  }
}

void Machine::thread_main() {
  try {
    entry_(arguments_);
    finish_thread(*current_);
  } catch (...) {
    // In a fiber there is no frame that could catch it.
    problem_ = std::current_exception();
    failed_ = true;
  }
  switch_fiber(current_->context, host_);
}

void Machine::finish_thread(Thread& thread) {
  if (thread.posted > thread.wgmma->executed) flush_posted(thread);
  check_posted(thread, "the end", thread.wait.site);
  thread.finished = true;
  if (const CopyGroup* left = unread_group(thread.bulk)) {
    report(Fault::leaked_async, thread, left->latest, left->shared,
           "the thread ends while its bulk stores may still read shared memory: commit the group "
           "and call cp_async_bulk_wait_group_read<0>() before the end");
  }
  if (const CopyGroup* left = unread_group(thread.copies)) {
    report(Fault::leaked_async, thread, left->latest, left->shared,
           "the thread ends while its cp.async copies are under way: call "
           "cp_async_wait_group<0>()");
  }
  // Whatever is left happens now: the stores of a grid are complete at its end.
  for (CopyState* state : {&thread.bulk, &thread.copies}) {
    if (!state->open.read.empty() || !state->open.write.empty()) {
      state->groups.push_back(std::move(state->open));
    }
    for (CopyGroup& group : state->groups) {
      if (!group.read_done) {
        for (auto& operation : group.read)
          operation();
      }
      for (auto& operation : group.write)
        operation();
    }
    state->groups.clear();
  }
  Cta& cta = *thread.cta;
  Cluster& cluster = *cta.cluster;
  if (!thread.wgmma->in_flight.empty() && thread.place.tid % kGroupThreads == 0) {
    report(Fault::leaked_async, thread, thread.wgmma->latest, 0,
           "the warpgroup ends while its wgmma instructions are under way: call "
           "wgmma_wait_group<0>()");
  }
  check_unused(thread);
  finish_tensor(thread);
  if (--cta.running == 0) {
    check_visits(cta);
    finish_tensor(cta);
  }
  if (--cluster.running == 0) finish_cluster(cluster);
}

// Some thread of a CTA that ends must know that the visitors from other CTAs are through.
void Machine::check_visits(Cta& cta) {
  for (const auto& [agent, visit] : cta.visits) {
    const bool known = std::any_of(cta.threads.begin(), cta.threads.end(),
                                   [&, visitor = agent, time = visit.time](const auto& thread) {
                                     return thread->known.seen[visitor] >= time;
                                   });
    if (known) continue;
    const Place& from = visit.by->place;
    report(Fault::leaked_async, *visit.by, visit.site, visit.address,
           fmt::format("the access from CTA {} of the cluster may come after CTA {}, whose shared "
                       "memory it is, has ended: let the CTA wait for it, or end with a barrier of "
                       "the cluster",
                       from.cluster_ctarank, cta.rank));
    return;
  }
}

void Machine::finish_cluster(Cluster& cluster) {
  if (cluster.pending_copies != 0) {
    const Pending& first = *std::find_if(pending_.begin(), pending_.end(),
                                         [&](const Pending& p) { return p.cluster == &cluster; });
    report(Fault::leaked_async, *first.issuer, first.site, first.shared,
           fmt::format("the CTA ends while {} bulk copies into its shared memory, or products, are "
                       "under way: wait for their mbarrier first",
                       cluster.pending_copies));
  }
  std::erase_if(pending_, [&](const Pending& p) { return p.cluster == &cluster; });
  --running_clusters_;
  // The last thread still runs on its stack; what else the cluster had is not needed any more.
  for (auto& cta : cluster.ctas) {
    give_cells(std::move(cta->cells));
    cta->storage = {};
    cta->mbarriers.clear();
    cta->tensor = nullptr;
    for (auto& thread : cta->threads) {
      if (thread.get() != current_) thread->stack.reset();
      thread->known = {};
      thread->tensor_known = {};
    }
  }
}

bool Machine::draw(u32 one_in) {
  return random_() % one_in == 0;
}

Thread* Machine::next() {
  if (options_.schedule == Schedule::random && !pending_.empty() && draw(4)) run_pending();
  if (ready_.empty()) return nullptr;
  if (options_.schedule == Schedule::random && ready_.size() > 1) {
    std::swap(ready_.front(), ready_[random_() % ready_.size()]);
  }
  Thread* thread = ready_.front();
  ready_.pop_front();
  return thread;
}

bool Machine::run_pending() {
  if (pending_.empty()) return false;
  std::size_t index = 0;
  if (options_.schedule == Schedule::random) index = random_() % pending_.size();
  Pending operation = std::move(pending_[index]);
  pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(index));
  --operation.cluster->pending_copies;
  operation.run();
  return true;
}

void Machine::defer(const Pending& operation) {
  if (options_.schedule == Schedule::eager) {
    operation.run();
    return;
  }
  ++operation.cluster->pending_copies;
  pending_.push_back(operation);
}

void Machine::block(Thread& thread, const Wait& wait) {
  thread.wait = wait;
  const bool traced = options_.trace != nullptr && !wait.team && thread.lane == 0;
  const u64 event =
      traced ? trace_begin(TraceKind::wait, thread, wait.site, wait.what, wait.object, 0) : 0;
  switch_from(thread);
  trace_end(event);
}

// To the host's stack only where it has something to decide.
void Machine::switch_from(Thread& thread) {
  Thread* following = next();
  if (following == &thread) return;
  if (following == nullptr) {
    switch_fiber(thread.context, host_);
    return;
  }
  current_ = running_thread = following;
  switch_fiber(thread.context, following->context);
}

void Machine::wake(Thread& thread) {
  ready_.push_back(&thread);
}

void Machine::wake_all(std::vector<Thread*>& threads) {
  ready_.insert(ready_.end(), threads.begin(), threads.end());
  threads.clear();
}

void Machine::yield_at_random(Thread& thread) {
  if (!draw(8)) return;
  ready_.push_back(&thread);
  switch_from(thread);
}

bool Machine::waits_for_global() const {
  return std::any_of(sync_words_.begin(), sync_words_.end(),
                     [](const auto& word) { return !word.second.waiting.empty(); });
}

Cluster* Machine::cluster_by_id(u32 id) const {
  return id < clusters_.size() ? clusters_[id].get() : nullptr;
}

GlobalAllocation* Machine::find_allocation(u64 address, u64 bytes) {
  const auto after = std::upper_bound(allocations_.begin(), allocations_.end(), address,
                                      [](u64 x, const auto& a) { return x < a.address; });
  if (after == allocations_.begin()) return nullptr;
  GlobalAllocation& allocation = *(after - 1);
  return address + bytes <= allocation.address + allocation.bytes ? &allocation : nullptr;
}

void visit(Thread& thread, Cta& cta, u32 address, Site site) {
  if (&cta == thread.cta) return;
  Machine& m = Machine::current();
  if (cta.running == 0) {
    m.report(Fault::leaked_async, thread, site, address,
             fmt::format("an access to CTA {} of the cluster, which has ended: let it wait, or end "
                         "with a barrier of the cluster",
                         cta.rank));
  }
  if (m.checks()) cta.visits[thread.agent] = {thread.time(), address, site, &thread};
}

void together(Team& team, Thread& thread, const char* what, Site site, void* operands,
              TeamAction execute) {
  Machine& m = Machine::current();
  const auto size = static_cast<u32>(team.members.size());
  const bool is_group = &team == thread.group;
  if (is_group) m.check_posted(thread, what, site);
  if (team.arrived == 0) {
    team.what = what;
    team.site = site;
    team.operands.assign(size, nullptr);
  } else if (team.what != what && std::string_view(team.what) != what) {
    m.fail(Fault::divergent, thread, site, 0,
           fmt::format("{} while other threads of the {} are at {} ({}:{}): all of them must "
                       "execute the same instruction",
                       what, size > kWarpLanes ? "warpgroup" : "warp", team.what, team.site.file,
                       team.site.line));
  } else if (team.site.line != site.line || team.site.file != site.file) {
    m.report(Fault::divergent, thread, site, 0,
             fmt::format("{} here, but at {}:{} in other threads: .aligned asks for one and the "
                         "same instruction in all of them",
                         what, team.site.file, team.site.line));
  }
  // Warps and warpgroups begin at multiples of their size, which the last one may not have.
  team.operands[thread.place.tid % (is_group ? kGroupThreads : kWarpLanes)] = operands;
  if (++team.arrived < size) {
    m.block(thread, {.what = what, .site = site, .team = true});
    return;
  }
  team.arrived = 0;
  execute(team);
  for (Thread* member : team.members) {
    if (member != &thread) m.wake(*member);
  }
  m.maybe_yield(thread);
}

Report launch(Entry entry, Dimensions grid, unsigned threads, unsigned shared_bytes,
              void** arguments, const Options& options) {
  Machine instance(entry, grid, threads, shared_bytes, arguments, options);
  return instance.run();
}

}  // namespace estoc::emulator
