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
  std::unique_ptr<GraphHandle> capturing;
};

struct EventHandle {
  std::chrono::steady_clock::time_point time;
};

}  // namespace estoc::jit

namespace estoc::virtual_gpu {

/// Does `step` at once, or adds it to the graph that the stream captures.
CUresult submit(CUstream stream, std::function<CUresult()> step);

/// Whether `stream` is one of the current context's.
CUresult check_stream(CUstream stream);

}  // namespace estoc::virtual_gpu
