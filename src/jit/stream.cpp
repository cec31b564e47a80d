// Callers' streams: the context that a launch on one happens in, and whether it is still the same.
#include "jit/stream.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <limits>

namespace estoc::jit {
namespace {

constexpr std::uintptr_t kLegacy = 1;     // CU_STREAM_LEGACY, which null is too
constexpr std::uintptr_t kPerThread = 2;  // CU_STREAM_PER_THREAD

bool is_legacy(CUstream stream) {
  return std::bit_cast<std::uintptr_t>(stream) <= kLegacy;
}

/// The context that a stream was made in; null for one that belongs to whatever is current, and
/// where the driver may not be called.
CUcontext own_context(const DriverTable& table, CUstream stream) {
  if (std::bit_cast<std::uintptr_t>(stream) <= kPerThread || is_capturing(table, stream)) {
    return nullptr;
  }
  CUcontext context = nullptr;
  table.check(table.stream_get_ctx(stream, &context), "cuStreamGetCtx");
  return context;
}

void require_current_device(int expected) {
  const int device = current_device();
  if (device == expected) return;
  throw Error(ErrorKind::value,
              fmt::format("stream: expected one of cuda:{}, where the operands are, got one of "
                          "cuda:{}",
                          expected, device));
}

std::string name_of(CUstream stream) {
  if (is_legacy(stream)) return "the null stream";
  if (std::bit_cast<std::uintptr_t>(stream) == kPerThread) return "the thread's own stream";
  return fmt::format("stream {}", fmt::ptr(static_cast<const void*>(stream)));
}

}  // namespace

bool is_capturing(const DriverTable& table, CUstream stream) {
  if (is_legacy(stream)) return false;
  int status = 0;
  table.check(table.stream_is_capturing(stream, &status), "cuStreamIsCapturing");
  return status != 0;
}

unsigned long long stream_id(const DriverTable& table, CUstream stream) {
  if (is_legacy(stream)) return std::numeric_limits<unsigned long long>::max();
  unsigned long long id = 0;
  table.check(table.stream_get_id(stream, &id), "cuStreamGetId");
  return id;
}

LaunchScope::LaunchScope(int device, void* stream) {
  const CUcontext own = own_context(driver(), static_cast<CUstream>(stream));
  if (own == nullptr) {
    scope_.emplace(device);
  } else {
    scope_.emplace(own);
    require_current_device(device);
  }
}

BoundStream::BoundStream(CUcontext context, int device, void* stream, bool has_workspace)
    : context_(context),
      device_(device),
      has_workspace_(has_workspace),
      passed_(static_cast<CUstream>(stream)) {
  const DriverTable& table = driver();
  if (has_workspace && !is_capturing(table, passed_)) id_ = stream_id(table, passed_);
}

void BoundStream::require(const DriverTable& table, CUstream stream) {
  if (has_workspace_) {
    require_same(table, stream);
  } else if (stream != passed_) {
    require_context(table, stream);
    passed_ = stream;
  }
}

void BoundStream::require_same(const DriverTable& table, CUstream stream) const {
  const bool same_handle = stream == passed_ || (is_legacy(stream) && is_legacy(passed_));
  const bool asks = same_handle && id_ && !is_legacy(stream) && !is_capturing(table, stream);
  if (same_handle && (!asks || stream_id(table, stream) == *id_)) return;
  throw Error(
      ErrorKind::value,
      fmt::format("stream: expected {}, which the kernel was bound to and which its "
                  "workspace is for, got {}{}",
                  name_of(passed_), same_handle ? "another one, now at " : "", name_of(stream)));
}

void BoundStream::require_context(const DriverTable& table, CUstream stream) const {
  const CUcontext own = own_context(table, stream);
  if (own == nullptr || own == context_) return;
  const ContextScope scope(own);
  require_current_device(device_);
  throw Error(ErrorKind::driver,
              fmt::format("stream: expected one of the context that the kernel was bound in, got "
                          "one of another context of cuda:{}",
                          device_));
}

}  // namespace estoc::jit
