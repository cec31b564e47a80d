// Device workspace for callers who bring none: one slot a context and stream.
#include "jit/workspace.h"

#include <fmt/core.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "estoc/device.hpp"
#include "jit/driver.h"

namespace estoc::jit {
namespace {

// 2 MiB, the driver's own granularity.
constexpr std::size_t kGranule = std::size_t{2} << 20;

struct Slots {
  std::mutex mutex;
  // By the context's id, since memory goes with its context, and handles may come again.
  std::map<std::pair<unsigned long long, void*>, std::vector<DeviceMemory>> by_stream;
};

// Never destroyed: work may be queued when static objects go away.
Slots& slots() {
  static auto* instance = new Slots;
  return *instance;
}

bool is_capturing(void* stream) {
  int status = 0;
  const DriverTable& table = driver();
  table.check(table.stream_is_capturing(static_cast<CUstream>(stream), &status),
              "cuStreamIsCapturing");
  return status != 0;
}

}  // namespace

Workspace provide_workspace(const Workspace& given, std::size_t bytes, int device, void* stream) {
  if (bytes == 0 || given.data != nullptr) return given;
  const ContextScope scope(device);
  if (stream != nullptr && is_capturing(stream)) {
    throw Error(ErrorKind::value,
                fmt::format("workspace: expected {} bytes of the caller's for a stream that is "
                            "being captured, got none",
                            bytes));
  }
  unsigned long long context = 0;
  driver().check(driver().ctx_get_id(scope.context(), &context), "cuCtxGetId");
  Slots& all = slots();
  const std::lock_guard lock(all.mutex);
  auto& slot = all.by_stream[{context, stream}];
  if (slot.empty() || slot.back().bytes() < bytes) {
    const std::size_t rounded = (bytes + kGranule - 1) / kGranule * kGranule;
    slot.emplace_back(rounded, Device::cuda(device));
  }
  return {slot.back().data(), slot.back().bytes()};
}

}  // namespace estoc::jit
