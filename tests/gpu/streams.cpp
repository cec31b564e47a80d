// Promises about streams: each has a workspace of its own, and is one of the operands' device.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <set>
#include <thread>

#include "estoc/discovery.hpp"
#include "features.h"
#include "gemm.h"
#include "jit/driver.h"
#include "probe.h"
#include "recording.h"

namespace estoc::gpu_test {
namespace {

constexpr std::size_t kBytes = 4096;

// So many streams have workspaces of their own before one is given that of another.
constexpr std::size_t kOwnWorkspaces = 32;

/// Work that streams wait for, so that theirs is not finished.
class LongWork {
 public:
  explicit LongWork(Device device) : memory_(std::size_t{32} << 20, device), stream_(device) {
    const jit::ContextScope scope(device.index);
    table_.check(table_.event_create(&end_, 0), "cuEventCreate");
    for (int i = 0; i < 30; ++i)
      memory_.fill(0, stream_.handle());
    table_.check(table_.event_record(end_, handle(stream_)), "cuEventRecord");
  }
  ~LongWork() { table_.event_destroy(end_); }
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;

  void delay(const DeviceStream& stream) const {
    const jit::ContextScope scope(memory_.device().index);
    table_.check(table_.stream_wait_event(handle(stream), end_, 0), "cuStreamWaitEvent");
  }

  /// Throws Skipped where it has ended.
  void require_unfinished() const {
    if (table_.event_query(end_) == jit::kCudaSuccess) throw Skipped("the device was too fast");
  }

 private:
  static jit::CUstream handle(const DeviceStream& stream) {
    return static_cast<jit::CUstream>(stream.handle());
  }

  const jit::DriverTable& table_ = jit::driver();
  DeviceMemory memory_;
  DeviceStream stream_;
  jit::CUevent end_ = nullptr;
};

/// The workspaces of new streams, each of which ends its work before the next one begins.
std::set<void*> workspaces_of_new_streams(const ProbeCase& probe, Device device, int streams) {
  std::set<void*> all;
  for (int i = 0; i < streams; ++i) {
    const DeviceStream stream(device);
    all.insert(probe.run(stream.handle()));
    stream.synchronize();
  }
  return all;
}

void many_streams_take_few_workspaces(Device device) {
  ProbeCase probe(device, kBytes);
  const std::size_t count = workspaces_of_new_streams(probe, device, 200).size();
  require(count <= kOwnWorkspaces,
          fmt::format("200 streams, one after the other, took {} workspaces", count));
  probe.verify();
}

void streams_in_use_keep_their_workspace(Device device) {
  const ProbeCase probe(device, kBytes);
  const DeviceStream stream(device);
  void* const own = probe.run(stream.handle());
  for (int i = 0; i < 100; ++i) {
    stream.synchronize();
    (void)workspaces_of_new_streams(probe, device, 2);
    require(probe.run(stream.handle()) == own, "a stream in use has lost its workspace");
  }
}

// Half of the streams are destroyed, which leaves their work alone.
void workspace_of_unfinished_work_is_not_given_away(Device device) {
  ProbeCase probe(device, kBytes);
  (void)workspaces_of_new_streams(probe, device, 100);
  const LongWork work(device);
  std::vector<DeviceStream> streams;
  std::set<void*> workspaces;
  const std::size_t count = 2 * kOwnWorkspaces;
  for (std::size_t i = 0; i < count; ++i) {
    DeviceStream stream(device);
    work.delay(stream);
    workspaces.insert(probe.run(stream.handle()));
    if (i % 2 == 0) streams.push_back(std::move(stream));
  }
  work.require_unfinished();
  require(workspaces.size() == count,
          fmt::format("{} streams at work share {} workspaces", count, workspaces.size()));
  probe.verify();
}

void a_bound_kernel_keeps_its_workspace(Device device) {
  const ProbeCase probe(device, kBytes);
  const Artifact artifact = probe.kernel().compile(probe.arguments());
  std::optional<BoundKernel> bound;
  void* own = nullptr;
  {
    const DeviceStream stream(device);
    RunOptions options;
    options.stream = stream.handle();
    own = probe.run(stream.handle());
    bound.emplace(probe.kernel().bind(probe.arguments(), artifact, options));
    bound->launch(stream.handle());
    stream.synchronize();
  }
  require(workspaces_of_new_streams(probe, device, 200).count(own) == 0,
          "another stream has the workspace of a bound kernel");
  bound.reset();
  require(workspaces_of_new_streams(probe, device, 200).count(own) == 1,
          "the workspace of a bound kernel that is gone is not used again");
}

void work_outlives_its_bound_kernel(Device device) {
  ProbeCase probe(device, kBytes);
  const Artifact artifact = probe.kernel().compile(probe.arguments());
  (void)workspaces_of_new_streams(probe, device, 100);
  const DeviceStream stream(device);
  RunOptions options;
  options.stream = stream.handle();
  void* const own = probe.run(stream.handle());
  stream.synchronize();
  const LongWork work(device);
  work.delay(stream);
  probe.kernel().bind(probe.arguments(), artifact, options).launch(stream.handle());
  const std::set<void*> others = workspaces_of_new_streams(probe, device, 50);
  work.require_unfinished();
  require(others.count(own) == 0, "another stream has the workspace of a bound kernel's work");
  probe.verify();
}

// A graph may be replayed when kernel and stream are gone.
void a_graph_keeps_its_workspace(Device device) {
  ProbeCase probe(device, kBytes);
  const Artifact artifact = probe.kernel().compile(probe.arguments());
  Recording recording(device);
  RunOptions options;
  options.stream = recording.stream();
  void* const own = probe.run(recording.stream());
  {
    BoundKernel bound = probe.kernel().bind(probe.arguments(), artifact, options);
    recording.begin();
    bound.launch(recording.stream());
    refuses(ErrorKind::value, {"workspace: expected 4096 bytes", "captured"},
            [&] { (void)probe.run(recording.stream()); });
    recording.end();
    bound.launch(recording.stream());
  }
  require(probe.run(recording.stream()) != own, "a run shares the workspace of a graph");
  synchronize(device);
  require(workspaces_of_new_streams(probe, device, 200).count(own) == 0,
          "another stream has the workspace of a graph");
  probe.verify();
  recording.replay();
  probe.verify();
}

// In a process of its own, as it leaves little memory.
void idle_workspace_makes_room(Device device) {
  std::size_t free = 0;
  std::size_t total = 0;
  {
    const jit::ContextScope scope(device.index);
    jit::driver().check(jit::driver().mem_get_info(&free, &total), "cuMemGetInfo");
  }
  const DeviceStream stream(device);
  for (const unsigned percent : {25U, 40U, 75U}) {
    ProbeCase probe(device, free / 100 * percent);
    (void)probe.run(stream.handle());
    probe.verify();
  }
}

// The driver gives the handle of the stream that was destroyed last to the next one.
void a_new_stream_has_its_own_workspace(Device device) {
  ProbeCase probe(device, kBytes);
  const LongWork work(device);
  void* old_handle = nullptr;
  void* old_workspace = nullptr;
  {
    const DeviceStream stream(device);
    work.delay(stream);
    old_handle = stream.handle();
    old_workspace = probe.run(stream.handle());
    require(probe.run(stream.handle()) == old_workspace, "one stream has two workspaces");
  }
  const DeviceStream stream(device);
  if (stream.handle() != old_handle) throw Skipped("the new stream has a handle of its own");
  void* const workspace = probe.run(stream.handle());
  void* const null_workspace = probe.run(nullptr);
  work.require_unfinished();
  require(workspace != old_workspace,
          "a new stream has the workspace of a destroyed one, which is in use");
  require(null_workspace != old_workspace, "the null stream has another's workspace");
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
      {"many_streams_take_few_workspaces", many_streams_take_few_workspaces, true},
      {"streams_in_use_keep_their_workspace", streams_in_use_keep_their_workspace},
      {"workspace_of_unfinished_work_is_not_given_away",
       workspace_of_unfinished_work_is_not_given_away},
      {"a_bound_kernel_keeps_its_workspace", a_bound_kernel_keeps_its_workspace},
      {"work_outlives_its_bound_kernel", work_outlives_its_bound_kernel},
      {"a_graph_keeps_its_workspace", a_graph_keeps_its_workspace},
      {"idle_workspace_makes_room", idle_workspace_makes_room, true},
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
