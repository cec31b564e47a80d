// The virtual driver's calls about streams, captures and graphs.
#include <algorithm>
#include <bit>
#include <map>

#include "execution.h"

#define ESTOC_DRIVER_CALL extern "C" __attribute__((visibility("default"))) CUresult

namespace estoc::virtual_gpu {
namespace {

using jit::Capture;
using jit::kCudaErrorInvalidValue;
using jit::kCudaSuccess;
using jit::StreamHandle;

constexpr std::uintptr_t kLegacy = 1;
constexpr std::uintptr_t kPerThread = 2;
constexpr int kModeGlobal = 0;
constexpr int kModeThreadLocal = 1;

/// All streams there are or were; guarded by the mutex.
struct Streams {
  std::mutex mutex;
  std::vector<std::unique_ptr<StreamHandle>> all;
  std::vector<StreamHandle*> destroyed;  ///< a new stream gets the handle of the last one, as on a
                                         ///< GPU
  unsigned long long last_id = 0;
};

Streams& streams() {
  static auto* instance = new Streams;
  return *instance;
}

StreamHandle* new_stream(CUcontext context, bool waits_for_null) {
  Streams& known = streams();
  const std::lock_guard lock(known.mutex);
  StreamHandle* stream = nullptr;
  if (known.destroyed.empty()) {
    stream = known.all.emplace_back(std::make_unique<StreamHandle>()).get();
  } else {
    stream = known.destroyed.back();
    known.destroyed.pop_back();
  }
  stream->context = context;
  stream->waits_for_null = waits_for_null;
  stream->id = ++known.last_id;
  stream->awaited = std::make_shared<jit::Awaited>(0);
  return stream;
}

/// The stream of this thread in the current context; null without one.
StreamHandle* own_stream() {
  static thread_local std::map<CUcontext, StreamHandle*> own;
  const CUcontext context = current_context();
  if (context == nullptr) return nullptr;
  StreamHandle*& stream = own[context];
  if (stream == nullptr) stream = new_stream(context, true);
  return stream;
}

CUresult spoil(Capture& capture) {
  capture.invalidated = true;
  return refuse(kCaptureUnsupported, "a stream is being captured");
}

bool forbids(const Capture& capture) {
  if (capture.mode == kModeGlobal) return true;
  return capture.mode == kModeThreadLocal && capture.thread == std::this_thread::get_id();
}

}  // namespace

StreamHandle* resolve(CUstream handle) {
  const auto value = std::bit_cast<std::uintptr_t>(handle);
  if (value <= kLegacy) return nullptr;
  return value == kPerThread ? own_stream() : handle;
}

CUresult refuse_while_capturing() {
  Streams& known = streams();
  const std::lock_guard lock(known.mutex);
  CUresult result = kCudaSuccess;
  for (const auto& stream : known.all) {
    if (stream->capture != nullptr && forbids(*stream->capture)) result = spoil(*stream->capture);
  }
  return result;
}

CUresult check_stream(CUstream handle) {
  if (const CUresult result = usable_context(); result != kCudaSuccess) return result;
  const StreamHandle* const stream = resolve(handle);
  if (stream == nullptr || stream->context == current_context()) return kCudaSuccess;
  return refuse(kInvalidHandle, "the stream is another context's");
}

std::shared_ptr<Capture> capture_of(CUstream handle) {
  const StreamHandle* const stream = resolve(handle);
  if (stream == nullptr) return nullptr;
  return stream->capture != nullptr ? stream->capture : stream->joined.lock();
}

std::shared_ptr<jit::Awaited> awaited_of(CUstream handle) {
  const StreamHandle* const stream = resolve(handle);
  return stream == nullptr ? current_context()->legacy_awaited : stream->awaited;
}

void begin_work(CUstream handle) {
  const StreamHandle* const stream = resolve(handle);
  if (stream == nullptr || stream->waits_for_null) end_uploads();
}

CUresult submit(CUstream handle, std::function<CUresult()> step) {
  const auto capture = capture_of(handle);
  if (capture == nullptr) {
    begin_work(handle);
    return step();
  }
  if (capture->invalidated) return kCaptureInvalidated;
  capture->graph.steps.push_back(std::move(step));
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuStreamCreate(CUstream* stream, unsigned flags) {
  if (const CUresult result = usable_context(); result != kCudaSuccess) return result;
  constexpr unsigned kNonBlocking = 1;
  *stream = new_stream(current_context(), (flags & kNonBlocking) == 0);
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuStreamDestroy_v2(CUstream stream) {
  Streams& known = streams();
  const std::lock_guard lock(known.mutex);
  stream->capture.reset();
  stream->joined.reset();
  known.destroyed.push_back(stream);
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuStreamSynchronize(CUstream handle) {
  const StreamHandle* const stream = resolve(handle);
  if (const auto capture = capture_of(handle)) return spoil(*capture);
  const CUcontext context = stream == nullptr ? current_context() : stream->context;
  const CUresult result = usable_context(context);
  if (result != kCudaSuccess) return result;
  begin_work(handle);
  note_wait(*awaited_of(handle));
  return result;
}

// The driver answers only cuStreamIsCapturing about a stream that is being captured.
ESTOC_DRIVER_CALL cuStreamGetCtx(CUstream handle, CUcontext* context) {
  const StreamHandle* const stream = resolve(handle);
  if (const auto capture = capture_of(handle)) return spoil(*capture);
  *context = stream == nullptr ? current_context() : stream->context;
  return *context == nullptr ? jit::kCudaErrorInvalidContext : kCudaSuccess;
}

ESTOC_DRIVER_CALL cuStreamGetId(CUstream handle, unsigned long long* id) {
  constexpr unsigned long long kLegacyIds = 1ULL << 32;
  const StreamHandle* const stream = resolve(handle);
  if (const auto capture = capture_of(handle)) return spoil(*capture);
  if (stream == nullptr && current_context() == nullptr) return jit::kCudaErrorInvalidContext;
  *id = stream == nullptr ? kLegacyIds + current_context()->id : stream->id;
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuStreamIsCapturing(CUstream handle, int* status) {
  const auto capture = capture_of(handle);
  *status = 0;
  if (capture != nullptr) *status = capture->invalidated ? 2 : 1;
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuStreamBeginCapture_v2(CUstream handle, int mode) {
  StreamHandle* const stream = resolve(handle);
  if (stream == nullptr || capture_of(handle) != nullptr) return kCaptureUnsupported;
  const std::lock_guard lock(streams().mutex);
  stream->capture = std::make_shared<Capture>();
  stream->capture->mode = mode;
  stream->capture->thread = std::this_thread::get_id();
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuStreamEndCapture(CUstream handle, jit::CUgraph* graph) {
  StreamHandle* const stream = resolve(handle);
  *graph = nullptr;
  if (stream == nullptr || stream->capture == nullptr) return kCudaErrorInvalidValue;
  const std::lock_guard lock(streams().mutex);
  const auto capture = std::move(stream->capture);
  if (capture->invalidated) return kCaptureInvalidated;
  *graph = new jit::GraphHandle(std::move(capture->graph));
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuGraphInstantiateWithFlags(jit::CUgraphExec* executable, jit::CUgraph graph,
                                              unsigned long long /*flags*/) {
  *executable = new jit::GraphExecHandle{graph->steps};
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuGraphLaunch(jit::CUgraphExec executable, CUstream stream) {
  for (const auto& step : executable->steps) {
    if (const CUresult result = submit(stream, step); result != kCudaSuccess) return result;
  }
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuGraphExecDestroy(jit::CUgraphExec executable) {
  delete executable;
  return kCudaSuccess;
}

ESTOC_DRIVER_CALL cuGraphDestroy(jit::CUgraph graph) {
  delete graph;
  return kCudaSuccess;
}

}  // namespace estoc::virtual_gpu
