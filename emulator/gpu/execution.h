// Compiled code, and what streams and graphs do with it.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "driver_state.h"
#include "kernel_build.h"

namespace estoc::jit {

/// An image that was loaded: the text of a kernel, built when one of its entries is requested.
struct LibraryHandle {
  std::string name;
  std::string source;
  Target target = Target::cpu();
  std::vector<std::string> entries;  ///< that are built, by their number in the code
  emulator::BuiltLibrary code;
  std::mutex mutex;  ///< one launch at a time: __shared__ variables are static in what is built
  std::vector<std::unique_ptr<KernelHandle>> kernels;
  bool unloaded = false;  ///< it is kept, so that whoever still launches from it is found out
};

struct KernelHandle {
  LibraryHandle* library = nullptr;
  std::string entry;
  void* code = nullptr;  ///< the shared object
  emulator::Entry function = nullptr;
  std::vector<std::size_t> parameter_sizes;
  std::array<unsigned, 16> shared_bytes{};  ///< dynamic shared memory allowed on each device
};

/// What a graph holds: steps, in the order in which they were captured.
struct GraphHandle {
  std::vector<std::function<CUresult()>> steps;
};

struct GraphExecHandle {
  std::vector<std::function<CUresult()>> steps;
};

/// What a stream captures, and whose calls can spoil that.
struct Capture {
  GraphHandle graph;
  int mode = 0;  ///< CUstreamCaptureMode
  std::thread::id thread;
  std::atomic<bool> invalidated{false};
};

struct StreamHandle {
  CUcontext context = nullptr;
  unsigned long long id = 0;
  bool waits_for_null = true;        ///< and the null stream for it
  std::shared_ptr<Capture> capture;  ///< that it was told to begin
  std::weak_ptr<Capture> joined;     ///< that of a stream that it was made to wait for
  std::shared_ptr<Awaited> awaited;  ///< a new one for each stream that has the handle
};

struct EventHandle {
  std::mutex mutex;
  /// Shared with the graphs that it is recorded in, which may outlive it.
  std::shared_ptr<std::atomic<std::chrono::steady_clock::time_point>> time =
      std::make_shared<std::atomic<std::chrono::steady_clock::time_point>>();
  std::weak_ptr<Capture> captured;   ///< that it was last recorded in
  std::uint64_t number = 0;          ///< of the record, among all that happened; 0 is none
  CUcontext context = nullptr;       ///< in which it was recorded
  std::shared_ptr<Awaited> awaited;  ///< of the stream
};

}  // namespace estoc::jit

namespace estoc::virtual_gpu {

/// The stream behind a handle: null for the legacy one, the thread's own one of the current context
/// for CU_STREAM_PER_THREAD.
jit::StreamHandle* resolve(CUstream handle);

/// The capture that takes what the stream is given; null where it is done at once.
std::shared_ptr<jit::Capture> capture_of(CUstream handle);

/// For work that is done at once: ends what the stream waits for.
void begin_work(CUstream handle);

/// Does `step` at once, or adds it to the graph that the stream captures.
CUresult submit(CUstream handle, std::function<CUresult()> step);

/// Whether `stream` is one of the current context's.
CUresult check_stream(CUstream stream);

/// Of the stream, the current context's where it is the legacy one.
std::shared_ptr<jit::Awaited> awaited_of(CUstream stream);

/// For calls that may wait for the device: where a capture forbids them to this thread, that
/// capture is spoilt and the call fails.
CUresult refuse_while_capturing();

}  // namespace estoc::virtual_gpu
