// Compiled code in the driver's hands: loaded once for all contexts, prepared for each of them.
#include "jit/loaded_unit.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/hash.h"

namespace estoc::jit {
namespace {

// So much dynamic shared memory needs no permission.
constexpr unsigned kFreeSharedBytes = 48 * 1024;

/// Room for one unit, so that different units are loaded side by side.
struct Slot {
  std::once_flag once;
  LoadedUnit* unit = nullptr;
};

Slot& slot_of(const core::Hash128& key) {
  static auto* mutex = new std::mutex;
  static auto* slots = new std::map<core::Hash128, Slot>;  // never destroyed, as the code
  const std::lock_guard lock(*mutex);
  return (*slots)[key];
}

core::Hash128 key_of(const Unit& unit, const std::vector<std::string>& entries) {
  core::Hasher hasher;
  hasher.field(unit.code.bytes);
  for (const std::string& entry : entries)
    hasher.field(entry);
  return hasher.digest();
}

CUlibrary load(const DriverTable& table, const Unit& unit) {
  CUlibrary library = nullptr;
  const CUresult result = table.library_load_data(&library, unit.code.bytes.c_str(), nullptr,
                                                  nullptr, 0, nullptr, nullptr, 0);
  if (result != kCudaSuccess) {
    const std::string maker = unit.code.compiler.empty() ? "" : ", code of " + unit.code.compiler;
    table.check(result, fmt::format("cuLibraryLoadData({}, {}{}, driver for CUDA {}.{})", unit.name,
                                    unit.target.name(), maker, table.version / 1000,
                                    table.version % 1000 / 10));
  }
  return library;
}

}  // namespace

LoadedUnit& LoadedUnit::of(const Unit& unit, const std::vector<std::string>& entries) {
  Slot& slot = slot_of(key_of(unit, entries));
  std::call_once(slot.once, [&] { slot.unit = new LoadedUnit(unit, entries); });
  return *slot.unit;
}

LoadedUnit::LoadedUnit(const Unit& unit, const std::vector<std::string>& entries)
    : name_(unit.name), entries_(entries.size()) {
  const DriverTable& table = driver();
  CUlibrary const library = load(table, unit);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries_[i].name = entries[i];
    const CUresult result =
        table.library_get_kernel(&entries_[i].kernel, library, entries[i].c_str());
    if (result == kCudaSuccess) continue;
    table.library_unload(library);  // of which nothing was launched
    if (result != kCudaErrorNotFound) table.check(result, "cuLibraryGetKernel");
    throw Error(ErrorKind::not_found,
                fmt::format("kernel {}: expected its code to have the entry '{}', which it has not",
                            name_, entries[i]));
  }
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
                                              name_, entries_.size(), index));
  }
  Entry& entry = entries_[index];
  if (is_prepared(entry, context, std::max(shared_bytes, 1U))) return;
  const std::lock_guard lock(mutex_);
  const DriverTable& table = driver();
  CUdevice handle = 0;
  table.check(table.device_get(&handle, device), "cuDeviceGet");
  const unsigned most = std::max(shared_bytes, entry.shared_bytes.load(std::memory_order_relaxed));
  if (most > kFreeSharedBytes) {
    table.check(table.kernel_set_attribute(kFunctionMaxDynamicSharedSizeBytes,
                                           static_cast<int>(most), entry.kernel, handle),
                fmt::format("cuKernelSetAttribute({}, {} bytes of shared memory)", name_, most));
  }
  CUfunction function = nullptr;
  table.check(table.kernel_get_function(&function, entry.kernel),
              fmt::format("cuKernelGetFunction({})", name_));
  table.check(table.func_load(function), fmt::format("cuFuncLoad({})", name_));
  // A larger permission must reach the contexts that were prepared with a smaller one.
  if (most > std::max(entry.shared_bytes.load(std::memory_order_relaxed), kFreeSharedBytes)) {
    for (auto& known : entry.prepared)
      known.store(nullptr, std::memory_order_release);
  }
  const auto slot = std::find_if(entry.prepared.begin(), entry.prepared.end(), [&](auto& known) {
    return known.load(std::memory_order_relaxed) == nullptr;
  });
  auto& free =
      slot != entry.prepared.end() ? *slot : entry.prepared[next_slot_++ % entry.prepared.size()];
  free.store(context, std::memory_order_release);
  entry.shared_bytes.store(std::max(most, 1U), std::memory_order_release);
}

}  // namespace estoc::jit
