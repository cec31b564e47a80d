// Compiled code in the driver's hands: loaded once for all contexts, prepared for each of them.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "jit/compile.h"
#include "jit/driver.h"

namespace estoc::jit {

/// A unit loaded through the context-independent library API. If the object exists, its entries
/// can be launched on every device of the unit's architecture.
class LoadedUnit {
 public:
  /// Loads the unit's code and finds the entries in it. Throws DriverError, for an architecture
  /// that does not match too, and Error{not_found} for an entry that is not there.
  LoadedUnit(std::shared_ptr<const Unit> unit, const std::vector<std::string>& entries);
  ~LoadedUnit();
  LoadedUnit(const LoadedUnit&) = delete;
  LoadedUnit& operator=(const LoadedUnit&) = delete;

  CUkernel entry(std::size_t index) const { return entries_[index].kernel; }
  std::size_t entries() const { return entries_.size(); }
  const Unit& unit() const { return *unit_; }

  /// Brings an entry to `device`, whose context `context` is current, so that a first launch may be
  /// captured into a graph, and allows it `shared_bytes` of dynamic shared memory. Cheap when done
  /// before. Throws Error{value} when there is no such entry.
  void prepare(std::size_t entry, int device, CUcontext context, unsigned shared_bytes);

 private:
  // Of one entry; contexts beyond those are loaded at their first launch.
  struct Entry {
    std::string name;
    CUkernel kernel = nullptr;
    std::array<std::atomic<CUcontext>, 8> prepared{};
    std::atomic<unsigned> shared_bytes{0};
  };

  bool is_prepared(const Entry& entry, CUcontext context, unsigned shared_bytes) const;

  std::shared_ptr<const Unit> unit_;
  CUlibrary library_ = nullptr;
  std::vector<Entry> entries_;
  std::mutex mutex_;
};

}  // namespace estoc::jit
