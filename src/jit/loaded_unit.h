// Compiled code in the driver's hands: loaded once for all contexts, prepared for each of them.
#pragma once

#include <array>
#include <atomic>
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
  /// The unit's code as the driver has it, with these entries; the same object for all units of
  /// equal code. It is loaded at its first use and stays loaded until the process ends: a
  /// captured graph may launch it at any time, and to unload code waits for it, or ends a capture.
  /// Throws DriverError, for an architecture that does not match too, and Error{not_found} for an
  /// entry that is not there.
  static LoadedUnit& of(const Unit& unit, const std::vector<std::string>& entries);

  LoadedUnit(const LoadedUnit&) = delete;
  LoadedUnit& operator=(const LoadedUnit&) = delete;

  CUkernel entry(std::size_t index) const { return entries_[index].kernel; }
  std::size_t entries() const { return entries_.size(); }

  /// Brings an entry to `device`, whose context `context` is current, so that a first launch may be
  /// captured into a graph, and allows it `shared_bytes` of dynamic shared memory. Cheap when done
  /// before. Throws Error{value} when there is no such entry.
  void prepare(std::size_t entry, int device, CUcontext context, unsigned shared_bytes);

 private:
  // Of one entry; the contexts that were prepared last.
  struct Entry {
    std::string name;
    CUkernel kernel = nullptr;
    std::array<std::atomic<CUcontext>, 8> prepared{};
    std::atomic<unsigned> shared_bytes{0};
  };

  LoadedUnit(const Unit& unit, const std::vector<std::string>& entries);
  bool is_prepared(const Entry& entry, CUcontext context, unsigned shared_bytes) const;

  std::string name_;
  std::vector<Entry> entries_;
  std::mutex mutex_;
  std::size_t next_slot_ = 0;  ///< of a context that was prepared when all slots were taken
};

}  // namespace estoc::jit
