// A compiled unit in the driver's hands: loaded once for all contexts, prepared for each device.
#include "jit/loaded_kernel.h"

#include <fmt/core.h>

namespace estoc::jit {

LoadedKernel::LoadedKernel(std::string name, std::shared_ptr<const Unit> unit)
    : name_(std::move(name)), unit_(std::move(unit)) {
  const DriverTable& table = driver();
  table.check(table.library_load_data(&library_, unit_->cubin.data(), nullptr, nullptr, 0, nullptr,
                                      nullptr, 0),
              fmt::format("cuLibraryLoadData({}, {})", name_, unit_->target.name()));
  const CUresult result = table.library_get_kernel(&kernel_, library_, kEntryName);
  if (result == kCudaSuccess) return;
  table.library_unload(library_);
  table.check(result, fmt::format("cuLibraryGetKernel({})", name_));
}

LoadedKernel::~LoadedKernel() {
  // Fails without harm when the driver is already shutting down.
  if (const DriverTable* table = driver_state().table) table->library_unload(library_);
}

void LoadedKernel::prepare(int device, int dynamic_shared_bytes) {
  const std::uint64_t bit = std::uint64_t{1} << (device & 63);
  if ((prepared_.load(std::memory_order_acquire) & bit) != 0) return;
  const std::lock_guard lock(mutex_);
  const DriverTable& table = driver();
  CUdevice handle = 0;
  table.check(table.device_get(&handle, device), "cuDeviceGet");
  // 48 KiB need no permission.
  if (dynamic_shared_bytes > 48 * 1024) {
    table.check(table.kernel_set_attribute(kFunctionMaxDynamicSharedSizeBytes, dynamic_shared_bytes,
                                           kernel_, handle),
                fmt::format("cuKernelSetAttribute({}, {} bytes of shared memory)", name_,
                            dynamic_shared_bytes));
  }
  CUfunction function = nullptr;
  table.check(table.kernel_get_function(&function, kernel_),
              fmt::format("cuKernelGetFunction({})", name_));
  table.check(table.func_load(function), fmt::format("cuFuncLoad({})", name_));
  prepared_.fetch_or(bit, std::memory_order_release);
}

}  // namespace estoc::jit
