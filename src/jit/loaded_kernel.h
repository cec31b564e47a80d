// A compiled unit in the driver's hands: loaded once for all contexts, prepared for each device.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "jit/compile.h"
#include "jit/driver.h"

namespace estoc::jit {

/// A cubin loaded through the context-independent library API. If the object exists, the kernel
/// can be launched on every device of the unit's architecture.
class LoadedKernel {
 public:
  /// Loads `cubin`, which must stay alive while the object does, and finds kEntryName in it.
  /// Throws DriverError, for an architecture that does not match too.
  LoadedKernel(std::string name, std::shared_ptr<const Unit> unit);
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  CUkernel handle() const { return kernel_; }
  const Unit& unit() const { return *unit_; }

  /// Allows `dynamic_shared_bytes` on `device` and brings the code there, so that a first launch
  /// may be captured into a graph. The device's context must be current. Cheap when done before.
  void prepare(int device, int dynamic_shared_bytes);

 private:
  std::string name_;
  std::shared_ptr<const Unit> unit_;
  CUlibrary library_ = nullptr;
  CUkernel kernel_ = nullptr;
  std::mutex mutex_;
  std::atomic<std::uint64_t> prepared_{0};  // one bit a device
};

}  // namespace estoc::jit
