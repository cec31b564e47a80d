// Work on a stream of its own that is captured, to be replayed.
#pragma once

#include "estoc/device.hpp"
#include "jit/driver.h"

namespace estoc::gpu_test {

class Recording {
 public:
  explicit Recording(Device device) : device_(device), stream_(device) {}
  ~Recording() {
    if (instance_ != nullptr) table_.graph_exec_destroy(instance_);
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  void* stream() const { return stream_.handle(); }

  enum class Forbids {
    everywhere = 0,  ///< no thread may allocate, wait for a stream or the like meanwhile
    here = 1         ///< not this one
  };

  void begin(Forbids forbids = Forbids::everywhere) {
    table_.check(table_.stream_begin_capture(handle(), static_cast<int>(forbids)),
                 "cuStreamBeginCapture");
  }

  void end() {
    const jit::ContextScope scope(device_.index);
    jit::CUgraph graph = nullptr;
    table_.check(table_.stream_end_capture(handle(), &graph), "cuStreamEndCapture");
    table_.check(table_.graph_instantiate(&instance_, graph, 0), "cuGraphInstantiate");
    table_.graph_destroy(graph);
  }

  void replay() {
    table_.check(table_.graph_launch(instance_, handle()), "cuGraphLaunch");
    stream_.synchronize();
  }

 private:
  jit::CUstream handle() const { return static_cast<jit::CUstream>(stream_.handle()); }

  const jit::DriverTable& table_ = jit::driver();
  Device device_;
  DeviceStream stream_;
  jit::CUgraphExec instance_ = nullptr;
};

}  // namespace estoc::gpu_test
