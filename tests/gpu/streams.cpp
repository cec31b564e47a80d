// Promises about streams: each has a workspace of its own, and is one of the operands' device.
#include <fmt/core.h>

#include <bit>
#include <functional>
#include <thread>

#include "estoc/discovery.hpp"
#include "features.h"
#include "gemm.h"
#include "jit/driver.h"
#include "probe.h"

namespace estoc::gpu_test {
namespace {

constexpr std::size_t kBytes = 4096;

// The driver gives the handle of the stream that was destroyed last to the next one.
void a_new_stream_has_its_own_workspace(Device device) {
  ProbeCase probe(device, kBytes);
  void* old_handle = nullptr;
  void* old_workspace = nullptr;
  {
    const DeviceStream stream(device);
    old_handle = stream.handle();
    old_workspace = probe.run(stream.handle());
    require(probe.run(stream.handle()) == old_workspace, "one stream has two workspaces");
  }
  const DeviceStream stream(device);
  if (stream.handle() != old_handle) throw Skipped("the new stream has a handle of its own");
  require(probe.run(stream.handle()) != old_workspace,
          "a new stream has the workspace of a destroyed one, which may be in use");
  require(probe.run(nullptr) != old_workspace, "the null stream has another's workspace");
  probe.verify();
}

void threads_own_streams_have_their_own_workspace(Device device) {
  void* const per_thread = std::bit_cast<void*>(std::uintptr_t{2});  // CU_STREAM_PER_THREAD
  const ProbeCase probe(device, kBytes);
  void* const here = probe.run(per_thread);
  void* there = nullptr;
  std::jthread([&] { there = probe.run(per_thread); }).join();
  require(here != there, "two threads' own streams share a workspace");
  require(probe.run(per_thread) == here, "the thread's own stream has another workspace now");
}

void a_bound_workspace_stays_on_its_stream(Device device) {
  const ProbeCase probe(device, kBytes);
  const Artifact artifact = probe.kernel().compile(probe.arguments());
  const DeviceStream other(device);
  const DeviceMemory memory(kBytes, device);
  for (void* own : {static_cast<void*>(nullptr), memory.data()}) {
    DeviceStream stream(device);
    RunOptions options;
    options.stream = stream.handle();
    options.workspace = {own, own != nullptr ? kBytes : 0};
    BoundKernel bound = probe.kernel().bind(probe.arguments(), artifact, options);
    for (void* handle : {other.handle(), static_cast<void*>(nullptr)}) {
      refuses(ErrorKind::value, {"stream: expected", "bound to", "workspace"},
              [&] { bound.launch(handle); });
    }
    bound.launch(stream.handle());
    void* const handle = stream.handle();
    stream.synchronize();
    { const DeviceStream destroyed(std::move(stream)); }
    const DeviceStream later(device);
    if (later.handle() != handle) continue;
    refuses(ErrorKind::value, {"stream: expected", "another one"},
            [&] { bound.launch(later.handle()); });
  }
}

void a_bound_kernel_without_workspace_goes_anywhere(Device device) {
  ProbeCase probe(device, 0);
  BoundKernel bound =
      probe.kernel().bind(probe.arguments(), probe.kernel().compile(probe.arguments()));
  const DeviceStream stream(device);
  for (void* handle : {stream.handle(), static_cast<void*>(nullptr), stream.handle()}) {
    bound.launch(handle);
    probe.verify();
  }
}

void refuses_a_stream_of_another_device(Device device) {
  if (cuda_devices().size() < 2) throw Skipped("this machine has one device");
  const std::vector<std::string> words{"stream: expected one of cuda:0", "got one of cuda:1"};
  const DeviceStream there(Device::cuda(1));
  const DeviceStream here(device);
  Gemm gemm(64, 80, 96, 30, device);
  const GemmArguments arguments = gemm.arguments();
  RunOptions options;
  options.stream = there.handle();
  for (const Kernel& kernel : one_of_each_class(arguments)) {
    const Artifact artifact = kernel.compile(arguments);
    refuses(ErrorKind::value, words, [&] { kernel.run(arguments, options); });
    refuses(ErrorKind::value, words, [&] { kernel.run(arguments, artifact, options); });
    refuses(ErrorKind::value, words, [&] { (void)kernel.bind(arguments, artifact, options); });
    BoundKernel bound = kernel.bind(arguments, artifact);
    refuses(ErrorKind::value, words, [&] { bound.launch(there.handle()); });
    gemm.poison();
    synchronize(device);
    bound.launch(here.handle());
    synchronize(device);
    gemm.verify();
  }
}

}  // namespace

std::vector<Feature> stream_features() {
  return {
      {"a_new_stream_has_its_own_workspace", a_new_stream_has_its_own_workspace},
      {"threads_own_streams_have_their_own_workspace",
       threads_own_streams_have_their_own_workspace},
      {"a_bound_workspace_stays_on_its_stream", a_bound_workspace_stays_on_its_stream},
      {"a_bound_kernel_without_workspace_goes_anywhere",
       a_bound_kernel_without_workspace_goes_anywhere},
      {"refuses_a_stream_of_another_device", refuses_a_stream_of_another_device, true},
  };
}

}  // namespace estoc::gpu_test
