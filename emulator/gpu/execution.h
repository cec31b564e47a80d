// Compiled code, and what streams and graphs do with it.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver_state.h"

namespace estoc::jit {

/// An image that was loaded: the text of a kernel, built when one of its entries is asked for.
struct LibraryHandle {
  std::string name;
  std::string source;
  Target target = Target::cpu();
  std::mutex mutex;  ///< one launch at a time: __shared__ variables are static in what is built
  std::vector<std::unique_ptr<KernelHandle>> kernels;
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

struct StreamHandle {
  CUcontext context = nullptr;
  std::shared_ptr<GraphHandle> capturing;  ///< the graph that it was told to capture
  std::weak_ptr<GraphHandle> joined;       ///< that of a stream that it was made to wait for
};

struct EventHandle {
  /// Shared with the graphs that it is recorded in, which may outlive it.
  std::shared_ptr<std::chrono::steady_clock::time_point> time =
      std::make_shared<std::chrono::steady_clock::time_point>();
  std::weak_ptr<GraphHandle> captured;  ///< the graph that it was last recorded in
};

}  // namespace estoc::jit

namespace estoc::virtual_gpu {

/// Does `step` at once, or adds it to the graph that the stream captures.
CUresult submit(CUstream stream, std::function<CUresult()> step);

/// Whether `stream` is one of the current context's.
CUresult check_stream(CUstream stream);

}  // namespace estoc::virtual_gpu
