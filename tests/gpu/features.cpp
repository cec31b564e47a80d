// What a launch promises besides right results: graphs, streams, threads, refusals.
#include "features.h"

#include <fmt/core.h>

#include <functional>
#include <memory>
#include <thread>

#include "estoc/check.hpp"
#include "estoc/discovery.hpp"
#include "jit/driver.h"

namespace estoc::gpu_test {
namespace {

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

// A bf16 GEMM with its operands on host and device.
struct Gemm {
  std::int64_t m, n, k;
  std::vector<std::uint16_t> a, b;
  std::vector<float> out;
  DeviceTensor device_a, device_b, device_out;

  Gemm(std::int64_t rows, std::int64_t columns, std::int64_t inner, std::uint64_t seed,
       Device device)
      : m(rows),
        n(columns),
        k(inner),
        a(static_cast<std::size_t>(rows * inner)),
        b(static_cast<std::size_t>(inner * columns)),
        out(static_cast<std::size_t>(rows * columns)) {
    fill_random(host_a(), seed);
    fill_random(host_b(), seed + 1);
    device_a = DeviceTensor::copy_of(host_a(), device);
    device_b = DeviceTensor::copy_of(host_b(), device);
    poison(device);
  }

  TensorView host_a() { return TensorView::row_major(a.data(), Dtype::bf16, {m, k}); }
  TensorView host_b() { return TensorView::column_major(b.data(), Dtype::bf16, {k, n}); }
  TensorView host_out() { return TensorView::row_major(out.data(), Dtype::f32, {m, n}); }

  void poison(Device device) {
    out.assign(out.size(), std::numeric_limits<float>::quiet_NaN());
    device_out = DeviceTensor::copy_of(host_out(), device);
  }

  GemmArguments arguments() const {
    return {device_a.view(), device_b.view(), device_out.view(), Dtype::f32};
  }

  void verify() {
    device_out.copy_to(host_out());
    const GemmArguments on_host(host_a(), host_b(), host_out(), Dtype::f32);
    const CheckResult result = check_output(on_host);
    require(result.passed,
            fmt::format("error {:.3g} over {:.3g}; {}", result.error, result.bound, result.worst));
  }
};

// The first launch of a kernel ever is captured, then replayed on other data.
void captured_in_a_graph(Device device) {
  Gemm gemm(190, 70, 130, 1, device);
  const GemmArguments arguments = gemm.arguments();
  const Kernel kernel = get_kernels(arguments)[0];
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

void leaves_the_current_context_alone(Device device) {
  Gemm gemm(33, 17, 65, 3, device);
  const GemmArguments arguments = gemm.arguments();
  const jit::DriverTable& table = jit::driver();
  jit::CUcontext before = nullptr;
  jit::CUcontext after = nullptr;
  table.check(table.ctx_get_current(&before), "cuCtxGetCurrent");
  get_kernels(arguments)[0].run(arguments);
  table.check(table.ctx_get_current(&after), "cuCtxGetCurrent");
  require(before == after, "the current context changed");
  synchronize(device);
  gemm.verify();
}

void refuses_host_memory(Device device) {
  Gemm gemm(8, 8, 8, 4, device);
  const TensorView claimed = TensorView::row_major(gemm.a.data(), Dtype::bf16, {8, 8}, device);
  try {
    const GemmArguments arguments(claimed, gemm.device_b.view(), gemm.device_out.view(),
                                  Dtype::f32);
  } catch (const Error& error) {
    require(std::string(error.what()).find("host pointer") != std::string::npos, error.what());
    return;
  }
  throw std::runtime_error("a host pointer was taken for device memory");
}

// More than 4 GiB in A: offsets need 64 bits.
void large_operand(Device device) {
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

void other_device(Device) {
  const Device second = Device::cuda(1);
  Gemm gemm(120, 60, 200, 5, second);
  const GemmArguments arguments = gemm.arguments();
  get_kernels(arguments)[0].run(arguments);
  synchronize(second);
  gemm.verify();
}

}  // namespace

std::vector<FeatureResult> check_features(Device device) {
  std::vector<std::pair<std::string, std::function<void(Device)>>> checks{
      {"captured_in_a_graph", captured_in_a_graph},
      {"on_eight_streams", on_eight_streams},
      {"from_sixteen_threads", from_sixteen_threads},
      {"leaves_the_current_context_alone", leaves_the_current_context_alone},
      {"refuses_host_memory", refuses_host_memory},
      {"large_operand", large_operand},
  };
  if (cuda_devices().size() > 1) checks.emplace_back("other_device", other_device);
  std::vector<FeatureResult> results;
  for (const auto& [name, check] : checks) {
    FeatureResult result{name, {}};
    try {
      check(device);
    } catch (const std::exception& error) {
      result.problem = error.what();
    }
    results.push_back(result);
  }
  return results;
}

}  // namespace estoc::gpu_test
