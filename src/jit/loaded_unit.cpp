// Compiled code in the driver's hands: loaded once for all contexts, prepared for each of them.
#include "jit/loaded_unit.h"

#include <fmt/core.h>

#include <algorithm>

namespace estoc::jit {
namespace {

// So much dynamic shared memory needs no permission.
constexpr unsigned kFreeSharedBytes = 48 * 1024;

}  // namespace

LoadedUnit::LoadedUnit(std::shared_ptr<const Unit> unit, const std::vector<std::string>& entries)
    : unit_(std::move(unit)), entries_(entries.size()) {
  const DriverTable& table = driver();
  table.check(table.library_load_data(&library_, unit_->code.bytes.c_str(), nullptr, nullptr, 0,
                                      nullptr, nullptr, 0),
              fmt::format("cuLibraryLoadData({}, {})", unit_->name, unit_->target.name()));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries_[i].name = entries[i];
    const CUresult result =
        table.library_get_kernel(&entries_[i].kernel, library_, entries[i].c_str());
    if (result == kCudaSuccess) continue;
    table.library_unload(library_);
    if (result != kCudaErrorNotFound) table.check(result, "cuLibraryGetKernel");
    throw Error(ErrorKind::not_found,
                fmt::format("kernel {}: expected its code to have the entry '{}', which it has not",
                            unit_->name, entries[i]));
  }
}

LoadedUnit::~LoadedUnit() {
  // Fails without harm when the driver is already shutting down.
  if (const DriverTable* table = driver_state().table) table->library_unload(library_);
}

bool LoadedUnit::is_prepared(const Entry& entry, CUcontext context, unsigned shared_bytes) const {
  if (entry.shared_bytes.load(std::memory_order_acquire) < shared_bytes) return false;
  return std::any_of(entry.prepared.begin(), entry.prepared.end(), [&](const auto& known) {
    return known.load(std::memory_order_acquire) == context;
  });
}

void LoadedUnit::prepare(std::size_t index, int device, CUcontext context, unsigned shared_bytes) {
  if (index >= entries_.size()) {
    throw Error(ErrorKind::value, fmt::format("kernel {}: expected an entry below {}, got {}",
                                              unit_->name, entries_.size(), index));
  }
  Entry& entry = entries_[index];
  if (is_prepared(entry, context, std::max(shared_bytes, 1U))) return;
  const std::lock_guard lock(mutex_);
  const DriverTable& table = driver();
  CUdevice handle = 0;
  table.check(table.device_get(&handle, device), "cuDeviceGet");
  const unsigned most = std::max(shared_bytes, entry.shared_bytes.load(std::memory_order_relaxed));
  if (most > kFreeSharedBytes) {
    table.check(
        table.kernel_set_attribute(kFunctionMaxDynamicSharedSizeBytes, static_cast<int>(most),
                                   entry.kernel, handle),
        fmt::format("cuKernelSetAttribute({}, {} bytes of shared memory)", unit_->name, most));
  }
  CUfunction function = nullptr;
  table.check(table.kernel_get_function(&function, entry.kernel),
              fmt::format("cuKernelGetFunction({})", unit_->name));
  table.check(table.func_load(function), fmt::format("cuFuncLoad({})", unit_->name));
  // A larger permission must reach the contexts that were prepared with a smaller one.
  if (most > std::max(entry.shared_bytes.load(std::memory_order_relaxed), kFreeSharedBytes)) {
    for (auto& known : entry.prepared)
      known.store(nullptr, std::memory_order_release);
  }
  const auto slot = std::find_if(entry.prepared.begin(), entry.prepared.end(), [&](auto& known) {
    return known.load(std::memory_order_relaxed) == nullptr;
  });
  if (slot != entry.prepared.end()) slot->store(context, std::memory_order_release);
  entry.shared_bytes.store(std::max(most, 1U), std::memory_order_release);
}

}  // namespace estoc::jit
