// What the device allows a product, timed beside it: a kernel that reads as many bytes, an empty
// launch, and wgmma without loads. Prints JSON. Needs a Hopper GPU.
//
// Usage: estoc_ceiling_bench PROBLEM [SECONDS]    (default: 0.2 s of each kernel, in slices that
// take turns; the operands are to be larger than twice the L2 cache)
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "estoc/check.hpp"
#include "estoc/estoc.hpp"
#include "jit/driver.h"
#include "jit/loaded_unit.h"

namespace {

using namespace estoc;

constexpr int kLaunches = 20;  // of a graph
constexpr int kSlices = 8;
constexpr int kSteps = 4096;  // of 64 of K, in a launch of kProducts
constexpr unsigned kThreads = 512;
constexpr unsigned kSharedBytes = 1024 + 4 * (128 + 256) * 128;

constexpr const char* kRead = R"(
extern "C" __global__ void __launch_bounds__(512)
estoc_kernel(const uint4* from, long long count, int* never) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  uint4 sum{};
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const auto add = [&](const uint4& v) {
    sum.x ^= v.x, sum.y ^= v.y, sum.z ^= v.z, sum.w ^= v.w;
  };
  for (; at + 7 * step < count; at += 8 * step) {
    uint4 values[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) values[i] = __ldcs(from + at + i * step);
#pragma unroll
    for (int i = 0; i < 8; ++i) add(values[i]);
  }
  for (; at < count; at += step) add(__ldcs(from + at));
  asm volatile("griddepcontrol.launch_dependents;");
  if ((sum.x ^ sum.y ^ sum.z ^ sum.w) == 0x12345679) *never = 1;
}
)";

constexpr const char* kEmpty = R"(
extern "C" __global__ void estoc_kernel() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
}
)";

constexpr const char* kProducts = R"(
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/fence.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/wgmma.cuh>
#include <estoc/tile/swizzle.cuh>
using namespace estoc;
extern "C" __global__ void __launch_bounds__(256, 1) estoc_kernel(int steps, float* never) {
  constexpr u32 kStage = (128 + 256) * 128;
  const u32 base = (ptx::smem_base() + 1023) / 1024 * 1024;
  u32 state = (ptx::ctaid_x() * 256 + ptx::tid()) * 747796405u + 2891336453u;
  // Pairs of bf16 with random signs and mantissas between 0.25 and 1.
  for (u32 at = ptx::tid() * 4; at < 4 * kStage; at += 256 * 4) {
    state = state * 1664525u + 1013904223u;
    ptx::st_shared<1>(base + at, Words<1>{(state & 0x80ff80ffu) | 0x3e803e80u});
  }
  ptx::fence_proxy_async();
  ptx::barrier_sync();
  using Layout = OperandLayout<false, 64>;
  float acc[128] = {};
  for (int step = 0; step < steps; ++step) {
    const u32 stage = base + step % 4 * kStage;
    const u64 a = Layout::descriptor(stage + ptx::tid() / 128 * Layout::kStep64);
    const u64 b = Layout::descriptor(stage + 128 * 128);
    ptx::wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; ++k)
      ptx::wgmma_mma_async<abi::Type::bf16, abi::Type::bf16>(
          acc, a + (k * Layout::kStepK >> 4), b + (k * Layout::kStepK >> 4), true);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<1>();
  }
  ptx::wgmma_wait_group<0>();
  ptx::acc_use(acc);
  float sum = 0;
  for (float value : acc) sum += value;
  if (sum == 0.123456f) *never = sum;
}
)";

/// Launches of something, as a graph.
class Graph {
 public:
  Graph(const DeviceStream& stream, const std::function<void()>& launch)
      : stream_(static_cast<jit::CUstream>(stream.handle())) {
    jit::CUgraph graph = nullptr;
    table_.check(table_.stream_begin_capture(stream_, 2), "cuStreamBeginCapture");
    for (int i = 0; i < kLaunches; ++i)
      launch();
    table_.check(table_.stream_end_capture(stream_, &graph), "cuStreamEndCapture");
    table_.check(table_.graph_instantiate(&graph_, graph, 0), "cuGraphInstantiate");
    table_.check(table_.graph_destroy(graph), "cuGraphDestroy");
  }
  ~Graph() { table_.graph_exec_destroy(graph_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// Seconds of a launch, of so many graphs one after the other.
  double time(int graphs, DeviceEvent& start, DeviceEvent& end) const {
    start.record(stream_);
    for (int i = 0; i < graphs; ++i)
      table_.check(table_.graph_launch(graph_, stream_), "cuGraphLaunch");
    end.record(stream_);
    end.synchronize();
    return end.seconds_since(start) / (graphs * kLaunches);
  }

 private:
  const jit::DriverTable& table_ = jit::driver();
  jit::CUstream stream_;
  jit::CUgraphExec graph_ = nullptr;
};

/// A kernel of CUDA C++ text, with its parameters.
class OwnKernel {
 public:
  OwnKernel(const char* source, unsigned grid, unsigned block, unsigned shared)
      : unit_(jit::LoadedUnit::of(*jit::compile_unit({"ceiling", source, jit::device_target(0)}),
                                  {jit::kEntryName})) {
    const jit::ContextScope scope(0);
    unit_.prepare(0, 0, scope.context(), shared);
    attribute_.id = jit::kLaunchAttributeProgrammaticStreamSerialization;
    attribute_.value.programmatic_serialization = 1;
    config_ = {grid, 1, 1, block, 1, 1, shared, nullptr, &attribute_, 1};
  }

  void launch(void* stream, std::vector<void*> parameters) {
    config_.stream = static_cast<jit::CUstream>(stream);
    table_.check(table_.launch_kernel_ex(&config_, unit_.entry(0), parameters.data(), nullptr),
                 "cuLaunchKernelEx");
  }

 private:
  const jit::DriverTable& table_ = jit::driver();
  jit::LoadedUnit& unit_;
  jit::CUlaunchAttribute attribute_{};
  jit::CUlaunchConfig config_{};
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Operands of a problem on the device, inputs random.
class Operands {
 public:
  explicit Operands(const std::string& text, Device device) {
    Problem problem = Problem::parse(text);
    problem.complete();
    const auto described = problem.arguments(Device::cpu());
    std::vector<Operand> placed;
    for (const NamedOperand& operand : described->operands()) {
      const TensorView& view = *operand.tensor;
      const auto shape = view.shape();
      const std::int64_t count =
          std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
      std::vector<std::byte> host(static_cast<std::size_t>(count * dtype_bits(view.dtype()) / 8));
      const TensorView random(host.data(), view.dtype(), shape, view.strides(), Device::cpu());
      if (operand.role != OperandRole::output) fill_random(random, bytes_ + 1);
      bytes_ += host.size();
      tensors_.push_back(DeviceTensor::copy_of(random, device));
      placed.emplace_back(tensors_.back().view());
    }
    arguments_ = described->with_operands(placed);
  }
  const RuntimeArguments& arguments() const { return *arguments_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
  std::vector<DeviceTensor> tensors_;
  std::unique_ptr<RuntimeArguments> arguments_;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) {
    fmt::print(stderr, "usage: estoc_ceiling_bench PROBLEM [SECONDS]\n");
    return 2;
  }
  if (cuda_devices().empty()) {
    fmt::print(stderr, "there is no CUDA device\n");
    return 3;
  }
  const double seconds = argc > 2 ? std::atof(argv[2]) : 0.2;
  const Device device = Device::cuda(0);
  const jit::ContextScope scope(device.index);
  const DeviceStream stream(device);
  const Operands operands(argv[1], device);
  const auto& gemm = dynamic_cast<const GemmArguments&>(operands.arguments());
  KernelQuery query;
  query.providers = {"cuda"};
  const Kernel kernel = get_kernels(operands.arguments(), query).front();
  RunOptions options;
  options.stream = stream.handle();
  BoundKernel bound =
      kernel.bind(operands.arguments(), kernel.compile(operands.arguments()), options);

  const auto processors = static_cast<unsigned>(cuda_devices().front().multiprocessors);
  const DeviceMemory memory(operands.bytes() + 64, device);
  OwnKernel read(kRead, 8 * processors, kThreads, 0);
  OwnKernel empty(kEmpty, processors, 32, 0);
  OwnKernel products(kProducts, processors, 256, kSharedBytes);
  void* data = memory.data();
  auto count = static_cast<long long>(operands.bytes() / 16);
  int steps = kSteps;
  const std::vector<std::function<void()>> launches{
      [&] { bound.launch(stream.handle()); },
      [&] {
        read.launch(stream.handle(), {&data, &count, &data});
      },
      [&] { empty.launch(stream.handle(), {}); },
      [&] {
        products.launch(stream.handle(), {&steps, &data});
      }};
  std::vector<std::vector<double>> times(launches.size());
  DeviceEvent start(device);
  DeviceEvent end(device);
  std::vector<std::unique_ptr<Graph>> graphs;
  for (const auto& launch : launches) {
    launch();  // what is loaded lazily cannot be captured
    stream.synchronize();
    graphs.push_back(std::make_unique<Graph>(stream, launch));
    graphs.back()->time(1, start, end);
  }
  for (int slice = 0; slice < kSlices; ++slice) {
    for (std::size_t i = 0; i < graphs.size(); ++i) {
      const double once = graphs[i]->time(1, start, end);
      const int repeats = static_cast<int>(seconds / kSlices / (once * kLaunches));
      times[i].push_back(graphs[i]->time(std::clamp(repeats, 1, 10000), start, end));
    }
  }
  const double product = median(times[0]);
  const double reading = median(times[1]);
  const double nothing = median(times[2]);
  const double rate = 2.0 * 128 * 256 * 64 * steps * processors / median(times[3]);
  const auto& e = gemm.extents();
  const double operations = 2.0 * static_cast<double>(e.m * e.n) * static_cast<double>(e.k * e.l);
  fmt::print(
      "{{\"problem\": \"{}\", \"kernel\": \"{}\", \"us\": {:.2f}, \"read_us\": {:.2f}, "
      "\"read_bytes_per_second\": {:.4g}, \"empty_us\": {:.2f}, \"share_of_reading\": {:.3f}, "
      "\"wgmma_flops\": {:.4g}, \"share_of_wgmma\": {:.3f}}}\n",
      argv[1], kernel.name(), 1e6 * product, 1e6 * reading,
      static_cast<double>(operands.bytes()) / reading, 1e6 * nothing, (reading + nothing) / product,
      rate, operations / product / rate);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
