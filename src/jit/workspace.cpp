// Device workspace for callers who bring none: one slot a context and stream.
#include "jit/workspace.h"

#include <fmt/core.h>

#include <array>
#include <map>
#include <mutex>
#include <vector>

#include "estoc/device.hpp"
#include "jit/driver.h"
#include "jit/stream.h"

namespace estoc::jit {
namespace {

// 2 MiB, the driver's own granularity.
constexpr std::size_t kGranule = std::size_t{2} << 20;

// By ids: memory goes with its context, and the handles of contexts and streams come again.
struct Owner {
  unsigned long long context = 0;
  unsigned long long stream = 0;
  auto operator<=>(const Owner&) const = default;
};

struct Slots {
  std::mutex mutex;
  std::map<Owner, std::vector<DeviceMemory>> by_owner;
};

// Never destroyed: work may be queued when static objects go away.
Slots& slots() {
  static auto* instance = new Slots;
  return *instance;
}

/// What this thread was given lately, so that it is found again without a lock.
class Latest {
 public:
  const Workspace* find(const Owner& owner, std::size_t bytes) const {
    for (const Known& known : known_) {
      if (known.owner == owner && known.workspace.bytes >= bytes) return &known.workspace;
    }
    return nullptr;
  }
  void put(const Owner& owner, const Workspace& workspace) {
    known_[next_++ % known_.size()] = {owner, workspace};
  }

 private:
  struct Known {
    Owner owner;
    Workspace workspace;
  };
  std::array<Known, 4> known_;
  std::size_t next_ = 0;
};

Workspace slot_of(const Owner& owner, std::size_t bytes, int device) {
  Slots& all = slots();
  const std::lock_guard lock(all.mutex);
  auto& slot = all.by_owner[owner];
  if (slot.empty() || slot.back().bytes() < bytes) {
    const std::size_t rounded = (bytes + kGranule - 1) / kGranule * kGranule;
    slot.emplace_back(rounded, Device::cuda(device));
  }
  return {slot.back().data(), slot.back().bytes()};
}

}  // namespace

Workspace provide_workspace(const Workspace& given, std::size_t bytes, int device, void* stream) {
  if (bytes == 0 || given.data != nullptr) return given;
  const DriverTable& table = driver();
  const auto handle = static_cast<CUstream>(stream);
  if (is_capturing(table, handle)) {
    throw Error(ErrorKind::value,
                fmt::format("workspace: expected {} bytes of the caller's for a stream that is "
                            "being captured, got none",
                            bytes));
  }
  Owner owner{.stream = stream_id(table, handle)};
  table.check(table.ctx_get_id(nullptr, &owner.context), "cuCtxGetId");
  thread_local Latest latest;
  if (const Workspace* known = latest.find(owner, bytes)) return *known;
  const Workspace slot = slot_of(owner, bytes, device);
  latest.put(owner, slot);
  return slot;
}

}  // namespace estoc::jit
