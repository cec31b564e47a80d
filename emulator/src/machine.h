// The emulated GPU: grid, clusters, CTAs, warps and threads of one launch, and what they wait for.
#pragma once

#include <bitset>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <random>
#include <unordered_map>
#include <vector>

#include "clock.h"
#include "emulator/launch.h"
#include "emulator/runtime.h"
#include "emulator/trace.h"
#include "fiber.h"
#include "shadow.h"

namespace estoc::emulator {

inline constexpr u32 kSharedBase = 1024;
inline constexpr u32 kWarpLanes = 32;
inline constexpr u32 kGroupThreads = 128;

/// Global memory is the host's own.
template <typename Type = std::byte>
Type* host_pointer(u64 address) {
  return reinterpret_cast<Type*>(address);  // NOLINT(performance-no-int-to-ptr)
}

struct Thread;
struct Mbarrier;
struct Cta;
struct Cluster;
struct TensorMemory;
class Machine;

/// What a thread is blocked in; `what` is the instruction's name.
struct Wait {
  const char* what = "";
  Site site{};
  u64 object = 0;  ///< address of an mbarrier or of a word, number of a named barrier
  u32 parity = 0;
  Cta* cta = nullptr;  ///< where the mbarrier is
  bool team = false;   ///< for the other threads of an instruction
};

/// Threads that execute an instruction together: a warp or a warpgroup.
struct Team {
  std::vector<Thread*> members;
  std::vector<void*> operands;
  u32 arrived = 0;
  const char* what = "";
  Site site{};
};

/// A matrix of accumulators that wgmma instructions have in flight.
struct Accumulators {
  std::array<void*, kGroupThreads> registers{};  ///< of each thread that has entered the product
  std::array<void*, kGroupThreads> registers_before{};  ///< where the results of `before` go
  int columns = 0;
  abi::Type sum_type = abi::Type::f32;
  bool untouched = true;  ///< the registers were what products left there
  /// 64 x columns, row by row; bits of integers. Two neighbours of f16 are in the place of the
  /// first.
  std::vector<float> values;
  std::vector<float> before;  ///< what products left there
  /// Threads that have not called acc_use since the wait: their registers hold poison.
  std::bitset<kGroupThreads> unused;
  u64 last_group = 0;

  bool packed() const { return sum_type == abi::Type::f16; }
  /// Registers of each thread.
  int words() const { return columns / (packed() ? 4 : 2); }
};

/// An instruction that threads of a warpgroup have entered, and which takes place with the last.
struct Posted {
  enum class Kind { fence, product, commit };
  Kind kind;
  Site site;
  u32 arrived;
  WgmmaOperands operands;    ///< of the first thread
  std::vector<u32> a_words;  ///< 4 of each thread, where A is in registers
  Accumulators* accumulators;
  bool takes;  ///< it is the first that has these accumulators
};

/// Instructions in the order in which they are entered.
class PostedLog {
 public:
  std::size_t size() const { return log_.size() - begin_; }
  bool empty() const { return size() == 0; }
  Posted& operator[](std::size_t index) { return log_[begin_ + index]; }
  const Posted& operator[](std::size_t index) const { return log_[begin_ + index]; }
  Posted& front() { return log_[begin_]; }
  Posted& add(Posted::Kind kind, Site site) {
    return log_.emplace_back(Posted{kind, site, 0, {}, {}, nullptr, false});
  }
  void pop_front() {
    ++begin_;
    if (begin_ < kKept && begin_ < log_.size()) return;
    log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }

 private:
  static constexpr std::size_t kKept = 64;
  std::vector<Posted> log_;
  std::size_t begin_ = 0;
};

struct WgmmaState {
  u32 agent = 0;
  Site latest{};  ///< of the products
  u64 committed = 0;
  bool fenced = false;
  PostedLog posted;  ///< number `executed` and on
  u64 executed = 0;
  std::vector<Thread*> flushing;      ///< wait for what they have entered
  std::list<Accumulators> in_flight;  ///< from the first thread that enters a product on
  std::list<Accumulators> written;    ///< what completed products left, the latest first
  std::deque<std::pair<u64, std::function<void()>>> queue;
  std::deque<std::pair<u64, u64>> traced;  ///< group and event of the trace
};

/// A group of bulk stores or cp.async of one thread.
struct CopyGroup {
  Site latest{};  ///< where its latest copy was issued, and the shared memory that this touches
  u32 shared = 0;
  std::vector<std::function<void()>> read;
  std::vector<std::function<void()>> write;
  bool read_done = false;
  u64 traced = 0;
};

struct CopyState {
  u32 read_agent = 0;
  u32 write_agent = 0;
  u64 committed = 0;
  u64 read_complete = 0;
  u64 complete = 0;
  CopyGroup open;
  std::vector<CopyGroup> groups;  ///< those not complete
};

/// What every instruction looks at comes first.
struct alignas(64) Thread {
  Cta* cta = nullptr;
  Team* warp = nullptr;
  Team* group = nullptr;
  WgmmaState* wgmma = nullptr;
  u64 posted = 0;  ///< instructions that it has entered into its warpgroup's log
  Knowledge known;
  VectorClock tensor_known;  ///< what it knew at its latest tcgen05.fence::after_thread_sync
  u32 lane = 0;
  u32 agent = 0;
  /// Its own time, which `known` has only as far as others have told it: so threads that know the
  /// same share their clocks.
  u32 now = 1;
  u32 fenced_until = 0;  ///< its time at its latest proxy fence, which `known` is as silent about
  bool finished = false;
  bool at_barrier = false;  ///< it has arrived at a named barrier that is not complete
  bool asleep = false;      ///< and is blocked there
  bool init_fence = false;  ///< fence.mbarrier_init since the last cluster arrival
  Place place;
  FiberContext context;
  Wait wait;
  std::unordered_map<u32, VectorClock> foreign;  ///< of other clusters
  std::vector<Mbarrier*> initialised;            ///< by this thread, and not fenced yet
  u32 cluster_phase = 0;
  bool memory_fence = false;                   ///< it has executed one, so relaxed atomics release
  std::vector<u64> relaxed_words;              ///< that it accessed since its last fence
  std::vector<u64> changed_maps;               ///< by this thread, and not released yet
  std::unordered_map<u64, u64> acquired_maps;  ///< by address, the change that it has acquired
  CopyState bulk;
  CopyState copies;
  u64 burst = 0;         ///< the trace's event that another access of its kind prolongs
  u32 synchronised = 0;  ///< of a recording: synchronising instructions so far
  std::unique_ptr<Stack> stack;

  /// The agent of its bulk stores' reads or writes.
  u32 bulk_agent(bool writes);
  u32 time() const { return now; }
  void tick() { ++now; }
  u32 seen(u32 which) const { return which == agent ? now : known.seen[which]; }
  u32 fenced(u32 which) const { return which == agent ? fenced_until : known.fenced[which]; }
};

struct Mbarrier {
  bool valid = false;
  u32 count = 0;
  i64 pending = 0;
  i64 bytes = 0;
  u32 phase = 0;
  u32 agent = 0;  ///< of the bulk copies that complete here
  u32 init_agent = 0;
  u32 init_time = 0;
  bool init_fenced = false;
  bool overrun = false;  ///< the latest phase ended before that
  bool observed = true;  ///< a thread has seen the latest phase complete
  Site init_site{};
  Knowledge known;
  std::vector<Thread*> waiting;
};

struct NamedBarrier {
  u32 threads = 0;
  std::vector<Thread*> arrived;  ///< in this phase
  std::vector<Thread*> syncing;  ///< those of them that wait for its end
  std::vector<bool> present;     ///< by thread
  std::vector<std::pair<u32, u32>> next_before;
  std::vector<std::pair<u32, u32>> before;  ///< agent and time of each warp in the last phase
  VectorClock ordered;                      ///< whoever knows this knows of `before`
  Knowledge known;
  Site site{};
};

/// An access to the shared memory of another CTA.
struct Visit {
  u32 time = 0;
  u32 address = 0;
  Site site{};
  const Thread* by = nullptr;
};

struct Cta {
  Cluster* cluster = nullptr;
  u32 rank = 0;
  std::array<u32, 3> index{};
  std::vector<std::byte> storage;
  std::byte* shared = nullptr;  ///< aligned to 1024 bytes
  std::vector<Cell> cells;
  std::unordered_map<u32, Mbarrier> mbarriers;
  std::array<NamedBarrier, 16> barriers;
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<Team> warps;
  std::vector<Team> groups;
  std::vector<WgmmaState> wgmma;
  u32 running = 0;
  std::unordered_map<u32, Visit> visits;  ///< latest, by threads of other CTAs
  std::shared_ptr<TensorMemory> tensor;   ///< where an instruction has asked for it
  u32 sharers = 1;                        ///< CTAs that have a multiprocessor's registers
  u32 free_registers = 0;
  std::vector<u32> group_registers;
  std::vector<Thread*> register_waiters;

  /// Each thread has as many as launch bounds of so many CTAs leave it.
  void share_registers(u32 ctas, u32 count);
};

struct Cluster {
  u32 id = 0;
  std::vector<std::unique_ptr<Cta>> ctas;
  u32 agents = 0;
  u32 running = 0;
  u32 threads = 0;
  u32 barrier_arrived = 0;
  u32 barrier_phase = 0;
  Knowledge barrier_known;   ///< of this phase's arrivals
  Knowledge complete_known;  ///< of the phase before
  std::vector<Thread*> barrier_waiting;
  u32 pending_copies = 0;
  u32 dependency_agent = 0;  ///< whose first act griddepcontrol.wait makes known
  u32 cancelled = 0;         ///< clusters whose work it has taken over
  bool refused = false;      ///< one of its requests was, and it has learned of it

  u32 new_agent() { return agents++; }
};

/// An asynchronous operation that has not happened yet.
struct Pending {
  Cluster* cluster;
  const Thread* issuer;
  Site site;
  u32 shared;
  std::function<void()> run;
};

/// A word of global memory through which threads release and acquire.
struct SyncWord {
  std::unordered_map<u32, Knowledge> released;  ///< by cluster
  std::vector<Thread*> waiting;
};

/// What the cells of a page of global memory remember.
struct CellPage {
  static constexpr u64 kCells = 512;
  static constexpr u64 kBytes = 16 * kCells;
  std::array<Cell, kCells> cells;
};

struct GlobalAllocation {
  u64 address;
  u64 bytes;
  const Allocation* what;
  std::vector<std::unique_ptr<CellPage>> pages;  ///< null where nothing is touched

  u64 first_page() const { return address / CellPage::kBytes; }
};

/// Of the host thread that runs a launch.
extern constinit thread_local Machine* running_machine;
extern constinit thread_local Thread* running_thread;

class Machine {
 public:
  Machine(Entry entry, Dimensions grid, unsigned threads, unsigned shared_bytes, void** arguments,
          const Options& options);
  Report run();

  static Machine& current() { return *running_machine; }
  /// The running thread; what it has entered of its warpgroup's instructions takes place first.
  static Thread& self() {
    if (running_thread->posted > running_thread->wgmma->executed) {
      running_machine->flush_posted(*running_thread);
    }
    return *running_thread;
  }
  /// The same where an instruction of the warpgroup is entered.
  static Thread& posting() { return *running_thread; }
  void flush_posted(Thread& thread);
  /// Fails where others have entered an instruction that `thread`, which is at `what`, has not.
  void check_posted(Thread& thread, const char* what, Site site);

  /// Notes a finding at an instruction of `thread`; the same one at the same line is counted.
  void report(Fault fault, const Thread& thread, Site site, u64 address, std::string message);
  /// As report, then the launch ends; does not return.
  [[noreturn]] void fail(Fault fault, Thread& thread, Site site, u64 address, std::string message);

  void block(Thread& thread, const Wait& wait);
  void wake(Thread& thread);
  void wake_all(std::vector<Thread*>& threads);
  /// In random schedules, lets others go first now and then.
  void maybe_yield(Thread& thread) {
    if (options_.schedule == Schedule::random) yield_at_random(thread);
  }
  /// Runs `operation` now or later, as the schedule has it.
  void defer(const Pending& operation);

  /// Enters what begins now into the trace; 0 where there is none.
  u64 trace_begin(TraceKind kind, Thread& thread, Site site, const char* what, u64 object,
                  u64 bytes) const;
  void trace_end(u64 event) const;
  /// One of many accesses in a row by all threads of a warp, of which the first counts.
  void trace_burst(TraceKind kind, Thread& thread, Site site, const char* what) const;

  u32 site_id(Site site);
  std::string site_text(u32 id) const;
  bool checks() const { return options_.checks; }
  bool late() const { return options_.schedule == Schedule::late; }
  bool draw(u32 one_in);
  /// The lane that elect.sync picks in a warp: the same each time, as on a GPU, but code may not
  /// rely on that.
  u32 elected(std::size_t lanes) const { return elected_ % static_cast<u32>(lanes); }
  Statistics& statistics() { return report_.statistics; }
  const Options& options() const { return options_; }
  GlobalAllocation* find_allocation(u64 address, u64 bytes);
  /// The page of that number, for which there is room.
  static CellPage& page_of(GlobalAllocation& allocation, u64 number);
  /// Bytes count as written, by an access that cells do not see.
  void mark_written(u64 address, u64 bytes);
  bool has_allocations() const { return !allocations_.empty(); }
  SyncWord& sync_word(u64 address) { return sync_words_[address]; }
  Cluster* cluster_by_id(u32 id) const;
  /// Takes a cluster that has not begun out of the launch and gives its first CTA; none when all
  /// have begun, or `cluster`, as the hardware may, gets none.
  std::optional<std::array<u32, 3>> cancel_cluster(const Cluster& cluster);
  std::string name_of(const Access& access) const;

  /// What a fiber does.
  void thread_main();

  /// Whether a thread of the kernel runs, not the machine.
  bool in_kernel() const { return in_kernel_; }
  /// From a signal's handler: the launch ends; does not return.
  void trap(int signal, u64 address);

 private:
  void yield_at_random(Thread& thread);
  std::array<u32, 3> cluster_index(u32 id) const;
  void start_cluster();
  void start_threads(Cta& cta);
  void finish_cluster(Cluster& cluster);
  void check_visits(Cta& cta);
  void finish_thread(Thread& thread);
  void switch_from(Thread& thread);
  Thread* next();
  bool run_pending();
  bool waits_for_global() const;
  void report_deadlock();
  void keep_written() const;
  void step();
  void report_signal();
  std::string blocked_text(const Thread& thread) const;

  Entry entry_;
  Dimensions grid_;
  unsigned threads_;
  unsigned shared_bytes_;
  void** arguments_;
  const Options& options_;
  Report report_;
  std::mt19937_64 random_;
  u32 elected_ = 0;
  std::vector<const char*> files_;
  std::deque<Thread*> ready_;
  std::vector<Pending> pending_;
  std::vector<std::unique_ptr<Cluster>> clusters_;
  u32 next_cluster_ = 0;
  u32 cluster_count_ = 0;
  u32 cluster_end_ = 0;  ///< those before it run
  u32 running_clusters_ = 0;
  bool failed_ = false;
  volatile bool in_kernel_ = false;
  int signal_ = 0;
  u64 signal_address_ = 0;
  std::exception_ptr problem_;
  std::vector<GlobalAllocation> allocations_;
  std::unordered_map<u64, SyncWord> sync_words_;
  FiberContext host_;
  Thread* current_ = nullptr;
};

/// Makes what `thread` did so far known to whoever acquires from `into`.
inline void release(Thread& thread, Knowledge& into) {
  if (!Machine::current().checks()) return;
  into.join(thread.known);
  into.seen.raise(thread.agent, thread.time());
  into.fenced.raise(thread.agent, thread.fenced_until);
  thread.tick();
}

inline void acquire(Thread& thread, const Knowledge& from) {
  if (Machine::current().checks()) thread.known.join(from);
}

/// Calls what it was made of, which must outlive it. It owns nothing: a fiber that waits may be
/// given up, and its stack with it.
class TeamAction {
 public:
  template <typename Action>
  TeamAction(const Action& action)  // NOLINT(google-explicit-constructor): stands for a lambda
      : object_(&action),
        call_([](const void* object, Team& team) { (*static_cast<const Action*>(object))(team); }) {
  }
  void operator()(Team& team) const { call_(object_, team); }

 private:
  const void* object_;
  void (*call_)(const void*, Team&);
};

/// Executes an instruction once all threads of a team have reached it. `operands` is the caller's;
/// `execute` gets the team with everyone's.
void together(Team& team, Thread& thread, const char* what, Site site, void* operands,
              TeamAction execute);

/// A place in the shared memory of a CTA of the cluster.
struct SharedPlace {
  Cta* cta;
  u32 offset;
};

/// Where a shared address of `thread` points; reports and answers false when `bytes` do not fit.
bool locate_shared(Thread& thread, u32 address, u32 bytes, Site site, SharedPlace& place);

/// Reports accumulators that the thread has waited for and never given to acc_use.
void check_unused(Thread& thread);

/// Notes that a thread touches the shared memory of another CTA, which has to be there still.
void visit(Thread& thread, Cta& cta, u32 address, Site site);

/// What all threads of a team know. The answers for the last agent asked for are kept, so it is of
/// one instruction.
struct TeamView {
  const std::vector<Thread*>& threads;
  mutable u32 agent = ~0u;
  mutable u32 least_seen = 0;
  mutable u32 least_fenced = 0;

  void look(u32 which) const {
    if (agent == which) return;
    agent = which;
    least_seen = least_fenced = ~0u;
    const bool of_team = which - threads.front()->agent < threads.size();
    const Knowledge* latest = nullptr;
    for (const Thread* thread : threads) {
      if (!of_team && latest != nullptr && latest->shares(thread->known)) continue;
      latest = &thread->known;
      least_seen = std::min(least_seen, thread->seen(which));
      least_fenced = std::min(least_fenced, thread->fenced(which));
    }
  }
  bool seen(const Access& before, u32 lane) const {
    look(before.agent + lane);
    return least_seen >= before.time;
  }
  bool fenced(const Access& before, u32 lane) const {
    look(before.agent + lane);
    return least_fenced >= before.time;
  }
};

/// Checks and enters accesses of [offset, offset + bytes).
struct Accessor {
  Thread& thread;  ///< whose knowledge counts, and whom a report names
  Site site;
  u32 agent;
  u32 lanes;
  u32 time;
  bool write;
  bool async_proxy;
  const TeamView* all = nullptr;  ///< where what all of these know counts

  static Accessor generic(Thread& thread, Site site, bool write);
  static Accessor asynchronous(Thread& thread, Site site, bool write, u32 agent, u64 time,
                               bool async_proxy);
};

void touch_shared(const Accessor& accessor, Cta& cta, u32 offset, u32 bytes);
/// An mbarrier begins or ends to be there.
void mark_mbarrier(const Accessor& accessor, Cta& cta, u32 offset, bool exists);
/// The same for 16 bytes at each of some shared addresses, in as many threads' name as accessor.all
/// has; reports those out of bounds. Bytes that `read` lacks need not have been written.
void touch_chunks(const Accessor& accessor, Cta& cta, const u32* addresses, u32 count,
                  u16 read = 0xffff);
/// False when the bytes may not be touched.
bool touch_global(const Accessor& accessor, u64 address, u32 bytes);

/// The thread learns what others released through the word.
void acquire_word(Thread& thread, const SyncWord& word);

Mbarrier* find_mbarrier(Thread& thread, u32 address, const char* what, Site site, Cta*& cta);
/// One arrival, which tells whoever waits what is in `barrier.known`.
void count_arrival(Thread& thread, Mbarrier& barrier, u32 address, Site site);
/// Reports an mbarrier that no fence has made known to asynchronous operations, once.
void check_init_fence(Thread& thread, Mbarrier& barrier, u32 address, Site site);
/// Reports tensor memory that is in use or allocated at the end.
void finish_tensor(Thread& thread);
void finish_tensor(Cta& cta);
/// Bytes arrive at a barrier; `epoch` is of the barrier's agent.
void complete_bytes(Mbarrier& barrier, u32 bytes, u32 epoch);
/// Bytes on their way to offset `offset` of a CTA's shared memory; its barrier at `barrier` counts
/// them.
void deliver(Thread& thread, Cta& cta, u32 offset, std::vector<std::byte> bytes, u32 barrier,
             Site site);

}  // namespace estoc::emulator
