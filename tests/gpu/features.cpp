// What a launch promises besides right results: graphs, streams, threads, refusals.
#include "features.h"

#include <fmt/core.h>

#include <memory>
#include <thread>

#include "estoc/discovery.hpp"
#include "estoc/measure.hpp"
#include "gemm.h"
#include "jit/driver.h"

namespace estoc::gpu_test {
namespace {

// The first launch of a kernel ever is captured, then replayed on other data.
void captured_in_a_graph(Device device) {
  Gemm gemm(190, 70, 130, 1, device);
  const GemmArguments arguments = gemm.arguments();
  const Kernel kernel = first_without_workspace(arguments);
  const Artifact artifact = kernel.compile(arguments);
  BoundKernel bound = kernel.bind(arguments, artifact);
  DeviceStream stream(device);
  const jit::DriverTable& table = jit::driver();
  const auto handle = static_cast<jit::CUstream>(stream.handle());
  const jit::ContextScope scope(device.index);
  constexpr int kThreadLocal = 1;
  table.check(table.stream_begin_capture(handle, kThreadLocal), "cuStreamBeginCapture");
  bound.launch(stream.handle());
  jit::CUgraph graph = nullptr;
  table.check(table.stream_end_capture(handle, &graph), "cuStreamEndCapture");
  jit::CUgraphExec instance = nullptr;
  table.check(table.graph_instantiate(&instance, graph, 0), "cuGraphInstantiate");
  table.check(table.graph_launch(instance, handle), "cuGraphLaunch");
  stream.synchronize();
  table.graph_exec_destroy(instance);
  table.graph_destroy(graph);
  gemm.verify();
}

// The driver's copy returns before the bytes are there for a stream that does not wait for it.
void an_upload_is_there_for_every_stream(Device device) {
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  DeviceMemory from(kBytes, device);
  DeviceMemory to(kBytes, device);
  const DeviceStream stream(device);
  const jit::ContextScope scope(device.index);
  auto address = [](const DeviceMemory& memory) {
    return static_cast<jit::CUdeviceptr>(reinterpret_cast<std::uintptr_t>(memory.data()));
  };
  for (int round = 1; round <= 20; ++round) {
    const std::vector<std::uint8_t> bytes(kBytes, static_cast<std::uint8_t>(round));
    from.upload(bytes.data(), kBytes);
    jit::driver().check(
        jit::driver().memcpy_dtod_async(address(to), address(from), kBytes,
                                        static_cast<jit::CUstream>(stream.handle())),
        "cuMemcpyDtoDAsync");
    stream.synchronize();
    std::vector<std::uint8_t> seen(kBytes);
    to.download(seen.data(), kBytes);
    require(seen == bytes, "a stream was ahead of an upload");
  }
}

// Fills on one stream come after those that another had been given.
void after_another_stream(Device device) {
  constexpr std::size_t kBytes = std::size_t{32} << 20;
  DeviceMemory memory(kBytes, device);
  const DeviceStream first(device);
  const DeviceStream second(device);
  for (int i = 0; i < 30; ++i)
    memory.fill(1, first.handle());
  await_stream(second.handle(), first.handle(), device);
  memory.fill(2, second.handle());
  second.synchronize();
  first.synchronize();
  for (const std::size_t place : {std::size_t{0}, kBytes / 2, kBytes - 1}) {
    std::uint8_t seen = 0;
    memory.download(&seen, 1, place);
    require(seen == 2, "the later fill to be the last");
  }
}

void on_eight_streams(Device device) {
  std::vector<std::unique_ptr<Gemm>> gemms;
  std::vector<DeviceStream> streams;
  for (int i = 0; i < 8; ++i) {
    gemms.push_back(std::make_unique<Gemm>(100 + i, 64 + 8 * i, 96, 10 + i, device));
    streams.emplace_back(device);
  }
  for (std::size_t i = 0; i < gemms.size(); ++i) {
    const GemmArguments arguments = gemms[i]->arguments();
    RunOptions options;
    options.stream = streams[i].handle();
    get_kernels(arguments)[0].run(arguments, options);
  }
  for (std::size_t i = 0; i < gemms.size(); ++i) {
    streams[i].synchronize();
    gemms[i]->verify();
  }
}

void from_sixteen_threads(Device device) {
  std::vector<std::string> problems(16);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < problems.size(); ++i) {
      threads.emplace_back([&, i] {
        try {
          const DeviceStream stream(device);
          for (int round = 0; round < 5; ++round) {
            Gemm gemm(50 + static_cast<int>(i), 40 + round, 77, 100 + i, device);
            const GemmArguments arguments = gemm.arguments();
            RunOptions options;
            options.stream = stream.handle();
            get_kernels(arguments)[0].run(arguments, options);
            stream.synchronize();
            gemm.verify();
          }
        } catch (const std::exception& error) {
          problems[i] = error.what();
        }
      });
    }
  }
  for (const std::string& problem : problems)
    require(problem.empty(), problem);
}

// More than 4 GiB in A: offsets need 64 bits.
void large_operand(Device device) {
  const std::int64_t memory = cuda_devices()[static_cast<std::size_t>(device.index)].memory_bytes;
  if (memory < std::int64_t{8} << 30) throw Skipped("the device has less than 8 GiB");
  const std::int64_t rows = 70'000;
  const std::int64_t k = 65'536;
  DeviceMemory a(static_cast<std::size_t>(rows * k), device);
  DeviceMemory b(static_cast<std::size_t>(k * 8), device);
  DeviceMemory out(static_cast<std::size_t>(rows * 8 * 4), device);
  a.fill(1);
  b.fill(2);
  const GemmArguments arguments(TensorView::row_major(a.data(), Dtype::i8, {rows, k}, device),
                                TensorView::row_major(b.data(), Dtype::i8, {k, 8}, device),
                                TensorView::row_major(out.data(), Dtype::i32, {rows, 8}, device),
                                Dtype::i32);
  get_kernels(arguments)[0].run(arguments);
  synchronize(device);
  std::vector<std::int32_t> host(static_cast<std::size_t>(rows * 8));
  out.download(host.data(), host.size() * 4);
  for (std::int32_t value : host)
    require(value == 2 * k, fmt::format("got {}", value));
}

// Twice what a kernel takes, and the fastest of them again.
void is_measured(Device device) {
  const Problem problem = Problem::parse("gemm m=512 n=512 k=512 a=bf16:t b=bf16:n");
  const auto described = problem.arguments(device);
  const KernelList found = get_kernels(*described);
  MeasureOptions options;
  options.device = device;
  options.rounds = 3;
  options.noise_floor = true;
  const std::vector<Kernel> kernels(found.begin(), found.begin() + 1);
  const Measurement measurement = measure(problem, kernels, options);
  require(measurement.timings.size() == 1, "one kernel gives one timing");
  const KernelTiming& timing = measurement.timings[0];
  require(timing.problem.empty(), timing.problem);
  require(timing.slices.size() == 3 && timing.low > 0 && timing.low <= timing.median &&
              timing.median <= timing.high,
          "three slices, ordered quartiles");
  require(measurement.noise.has_value() && *measurement.noise < 0.5,
          fmt::format("noise {}", measurement.noise.value_or(-1)));
  require(measurement.operand_sets > 1, "several sets of operands");
}

}  // namespace

std::vector<Feature> launch_features() {
  return {{"captured_in_a_graph", captured_in_a_graph},
          {"an_upload_is_there_for_every_stream", an_upload_is_there_for_every_stream},
          {"after_another_stream", after_another_stream},
          {"on_eight_streams", on_eight_streams},
          {"from_sixteen_threads", from_sixteen_threads},
          {"large_operand", large_operand},
          {"is_measured", is_measured}};
}

}  // namespace estoc::gpu_test
