// Device workspace for callers who bring none: pieces of memory that streams use in turn.
#include "jit/workspace.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "estoc/device.hpp"
#include "jit/driver.h"
#include "jit/stream.h"

namespace estoc::jit {
namespace {

// 2 MiB, the driver's own granularity.
constexpr std::size_t kGranule = std::size_t{2} << 20;

// So much of a context's memory is handed out before streams are given what others had.
constexpr std::size_t kOwnBytes = std::size_t{64} << 20;

/// By ids: memory goes with its context, and the handles of contexts and streams come again.
struct Owner {
  unsigned long long context = 0;
  unsigned long long stream = 0;
  bool operator==(const Owner&) const = default;
};

}  // namespace

/// Memory that one stream at a time uses. Never destroyed, as threads remember it.
class WorkspaceSlot {
 public:
  /// For the current context, which has this id; without memory, and taken.
  WorkspaceSlot(const DriverTable& table, unsigned long long context)
      : table_(table), context_(context) {
    constexpr unsigned kWithoutTime = 2;
    table.check(table.event_create(&end_, kWithoutTime), "cuEventCreate");
  }

  std::size_t bytes() const { return memory_.bytes(); }
  Workspace workspace() const { return {memory_.data(), memory_.bytes()}; }

  /// Leases it to `owner` where it is that one's and large enough. Takes no lock.
  bool lease(const Owner& owner, std::size_t bytes) {
    if (!belongs_to(owner)) return false;
    const bool is_taken = leases_.fetch_add(1, std::memory_order_acquire) >= kTaken;
    if (!is_taken && belongs_to(owner) && memory_.bytes() >= bytes) {
      last_use_.store(turn.load(std::memory_order_relaxed), std::memory_order_relaxed);
      return true;
    }
    give_back();
    return false;
  }

  void give_back() { leases_.fetch_sub(1, std::memory_order_release); }

  /// Takes it where there is no lease and its work has ended: no lease is given from then on.
  bool take() {
    unsigned none = 0;
    if (leases_.load(std::memory_order_relaxed) != 0 || !work_has_ended()) return false;
    if (!leases_.compare_exchange_strong(none, kTaken, std::memory_order_acquire)) return false;
    if (work_has_ended()) return true;  // also that of leases that have come and gone meanwhile
    leases_.fetch_sub(kTaken, std::memory_order_release);
    return false;
  }

  /// These are for whoever has taken it.
  void set_memory(DeviceMemory memory) { memory_ = std::move(memory); }
  void put_back() { leases_.fetch_sub(kTaken, std::memory_order_release); }
  void lease_to(unsigned long long stream) {
    stream_.store(stream, std::memory_order_relaxed);
    last_use_.store(++turn, std::memory_order_relaxed);
    leases_.fetch_sub(kTaken - 1, std::memory_order_release);
  }

  /// Larger for slots that were leased later; time goes on with each stream that gets a slot.
  std::uint64_t last_use() const { return last_use_.load(std::memory_order_relaxed); }

  /// These are for whoever has a lease. Notes that the work which was started last on `stream`,
  /// which is the slot's, uses it.
  void note_work(CUstream stream) {
    if (table_.event_record(end_, stream) != kCudaSuccess) keep();  // its end will not be known
  }
  /// No stream is given it from now on, nor leases it again.
  void give_to_graph() {
    stream_.store(kNone, std::memory_order_relaxed);
    keep();
  }

 private:
  static constexpr unsigned kTaken = 1U << 31;
  // No stream's id, nor what stands for the legacy one.
  static constexpr unsigned long long kNone = std::numeric_limits<unsigned long long>::max() - 1;

  bool belongs_to(const Owner& owner) const {
    return context_ == owner.context && stream_.load(std::memory_order_relaxed) == owner.stream;
  }
  /// By one more lease, for good.
  void keep() {
    if (!is_kept_.exchange(true)) leases_.fetch_add(1, std::memory_order_relaxed);
  }
  bool work_has_ended() const { return table_.event_query(end_) == kCudaSuccess; }

  inline static std::atomic<std::uint64_t> turn{0};

  const DriverTable& table_;
  unsigned long long context_;
  CUevent end_ = nullptr;  ///< of the work that was started last
  DeviceMemory memory_;
  std::atomic<unsigned long long> stream_{kNone};
  std::atomic<unsigned> leases_{kTaken};
  std::atomic<std::uint64_t> last_use_{0};
  std::atomic<bool> is_kept_{false};
};

namespace {

/// The slots of one context.
class Pool {
 public:
  /// A slot for `owner`, leased: its own, that of a stream whose work has ended, or a new one.
  WorkspaceSlot& lease(const DriverTable& table, const Owner& owner, std::size_t bytes,
                       int device) {
    for (const auto& slot : slots_) {
      if (slot->lease(owner, bytes)) return *slot;
    }
    const std::size_t size = rounded(bytes);
    WorkspaceSlot* slot = total() + size > kOwnBytes ? take_over(bytes) : nullptr;
    if (slot == nullptr) slot = &make(table, owner.context, size, device);
    slot->lease_to(owner.stream);
    return *slot;
  }

 private:
  /// Few sizes, so that what one stream needed is right for the next.
  static std::size_t rounded(std::size_t bytes) {
    const std::size_t step = std::max(std::bit_ceil(std::min(bytes, kOwnBytes)), kGranule);
    return std::max(bytes, (bytes + step - 1) / step * step);  // the sum may wrap
  }

  std::size_t total() const {
    std::size_t bytes = 0;
    for (const auto& slot : slots_)
      bytes += slot->bytes();
    return bytes;
  }

  /// The one that was leased longest ago, so that streams in use keep theirs.
  WorkspaceSlot* take_over(std::size_t bytes) {
    by_last_use_.clear();
    for (const auto& slot : slots_) {
      if (slot->bytes() >= bytes) by_last_use_.emplace_back(slot->last_use(), slot.get());
    }
    std::sort(by_last_use_.begin(), by_last_use_.end());
    const auto taken = std::find_if(by_last_use_.begin(), by_last_use_.end(),
                                    [](const auto& each) { return each.second->take(); });
    return taken == by_last_use_.end() ? nullptr : taken->second;
  }

  WorkspaceSlot& make(const DriverTable& table, unsigned long long context, std::size_t bytes,
                      int device) {
    DeviceMemory memory = allocate(bytes, Device::cuda(device));
    const auto empty = std::find_if(slots_.begin(), slots_.end(), [](const auto& slot) {
      return slot->bytes() == 0 && slot->take();
    });
    WorkspaceSlot& slot =
        empty != slots_.end()
            ? **empty
            : *slots_.emplace_back(std::make_unique<WorkspaceSlot>(table, context));
    slot.set_memory(std::move(memory));
    return slot;
  }

  DeviceMemory allocate(std::size_t bytes, Device device) {
    try {
      return {bytes, device};
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::memory) throw;
    }
    for (const auto& slot : slots_) {
      if (slot->bytes() == 0 || !slot->take()) continue;
      slot->set_memory({});
      slot->put_back();
    }
    return {bytes, device};
  }

  std::vector<std::unique_ptr<WorkspaceSlot>> slots_;
  std::vector<std::pair<std::uint64_t, WorkspaceSlot*>> by_last_use_;  ///< of take_over
};

struct Pools {
  std::mutex mutex;
  std::map<unsigned long long, Pool> by_context;
};

// Never destroyed: work may be queued when static objects go away.
Pools& pools() {
  static auto* instance = new Pools;
  return *instance;
}

/// What this thread leased lately, so that it is found again without a lock.
class Latest {
 public:
  WorkspaceSlot* lease(const Owner& owner, std::size_t bytes) {
    for (const Known& known : known_) {
      if (known.slot == nullptr || known.owner != owner) continue;
      if (known.slot->lease(owner, bytes)) return known.slot;
    }
    return nullptr;
  }
  void put(const Owner& owner, WorkspaceSlot& slot) {
    known_[next_++ % known_.size()] = {owner, &slot};
  }

 private:
  struct Known {
    Owner owner;
    WorkspaceSlot* slot = nullptr;
  };
  std::array<Known, 4> known_;
  std::size_t next_ = 0;
};

WorkspaceSlot* lease_slot(std::size_t bytes, int device, CUstream stream) {
  const DriverTable& table = driver();
  if (is_capturing(table, stream)) {
    throw Error(ErrorKind::value,
                fmt::format("workspace: expected {} bytes of the caller's for a stream that is "
                            "being captured, got none",
                            bytes));
  }
  Owner owner{.stream = stream_id(table, stream)};
  table.check(table.ctx_get_id(nullptr, &owner.context), "cuCtxGetId");
  thread_local Latest latest;
  if (WorkspaceSlot* const known = latest.lease(owner, bytes)) return known;
  Pools& all = pools();
  const std::lock_guard lock(all.mutex);
  WorkspaceSlot& slot = all.by_context[owner.context].lease(table, owner, bytes, device);
  latest.put(owner, slot);
  return &slot;
}

}  // namespace

WorkspaceLease::WorkspaceLease(const Workspace& given, std::size_t bytes, int device, void* stream)
    : workspace_(given) {
  if (bytes == 0 || given.data != nullptr) return;
  slot_ = lease_slot(bytes, device, static_cast<CUstream>(stream));
  workspace_ = slot_->workspace();
}

WorkspaceLease::~WorkspaceLease() {
  if (slot_ != nullptr) slot_->give_back();
}

WorkspaceLease::WorkspaceLease(WorkspaceLease&& other) noexcept
    : workspace_(other.workspace_), slot_(std::exchange(other.slot_, nullptr)) {}

WorkspaceLease& WorkspaceLease::operator=(WorkspaceLease&& other) noexcept {
  std::swap(workspace_, other.workspace_);
  std::swap(slot_, other.slot_);
  return *this;
}

WorkspaceUse::WorkspaceUse(const WorkspaceLease& lease, CUstream stream)
    : slot_(lease.slot_), stream_(stream) {
  if (slot_ == nullptr || !is_capturing(driver(), stream)) return;
  slot_->give_to_graph();
  slot_ = nullptr;
}

WorkspaceUse::~WorkspaceUse() {
  if (slot_ != nullptr) slot_->note_work(stream_);
}

}  // namespace estoc::jit
