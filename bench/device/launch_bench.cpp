// Host time of a launch: the driver's call alone, a bound kernel, a plan that is given other
// operands each time, and a run; and a process's way from the disk cache to its first launch.
// Prints JSON. Needs a GPU.
//
// Usage: estoc_launch_bench [ROUNDS]    (default: 200 rounds of 100 launches each way, interleaved)
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "estoc/cuda_kernel_class.hpp"
#include "estoc/estoc.hpp"
#include "jit/driver.h"
#include "jit/launch.h"

namespace {

using namespace estoc;
using Clock = std::chrono::steady_clock;

constexpr int kLaunches = 100;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The driver's call with everything made beforehand.
class BareLaunch {
 public:
  BareLaunch(const Kernel& kernel, const RuntimeArguments& arguments, const Artifact& artifact)
      : unit_(jit::LoadedUnit::of({kernel.name(), artifact.target(), *artifact.code()},
                                  {"estoc_kernel"})) {
    const auto& kernel_class = dynamic_cast<const CudaKernelClass&>(kernel.kernel_class());
    kernel_class.plan(kernel.point(), kernel.knobs(), arguments, {}, plan_);
    const jit::ContextScope scope(arguments.device().index);
    jit::prepare_plan(plan_, unit_, arguments.device().index, scope.context());
    const CudaGeometry& g = plan_.step(0).geometry;
    config_ = {.grid_x = g.grid[0],
               .grid_y = g.grid[1],
               .grid_z = g.grid[2],
               .block_x = g.block[0],
               .block_y = g.block[1],
               .block_z = g.block[2],
               .shared_bytes = g.shared_bytes,
               .stream = nullptr,
               .attributes = nullptr,
               .attribute_count = 0};
    plan_.parameters_of(plan_.step(0), parameters_.data());
  }

  void launch(void* stream) {
    config_.stream = static_cast<jit::CUstream>(stream);
    table_.check(table_.launch_kernel_ex(&config_, unit_.entry(0), parameters_.data(), nullptr),
                 "cuLaunchKernelEx");
  }

 private:
  const jit::DriverTable& table_ = jit::driver();
  jit::LoadedUnit& unit_;
  LaunchPlan plan_;
  jit::CUlaunchConfig config_{};
  std::array<void*, LaunchPlan::kMaxParameters> parameters_{};
};

/// Seconds of one call, the device idle before and after.
template <typename Launch>
double time_of(const Launch& launch, const DeviceStream& stream) {
  stream.synchronize();
  const auto start = Clock::now();
  for (int i = 0; i < kLaunches; ++i)
    launch();
  const double seconds = seconds_since(start) / kLaunches;
  stream.synchronize();
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
  if (cuda_devices().empty()) {
    fmt::print(stderr, "there is no CUDA device\n");
    return 3;
  }
  const Device device = Device::cuda(0);
  const DeviceStream stream(device);
  const DeviceMemory memory(3 * 64 * 64 * 4, device);
  auto matrix = [&](int i) {
    return TensorView::row_major(static_cast<std::byte*>(memory.data()) + i * 64 * 64 * 4,
                                 Dtype::f32, {64, 64}, device);
  };
  // A program that launches has a context of its own current.
  const jit::ContextScope scope(device.index);
  const GemmArguments arguments(matrix(0), matrix(1), matrix(2), Dtype::f32);
  KernelQuery query;
  query.providers = {"cuda"};
  query.filter = MetadataFilter::parse("class=simt_gemm");

  const auto begin = Clock::now();
  const Kernel kernel = get_kernels(arguments, query).front();
  const Artifact artifact = kernel.compile(arguments);
  RunOptions options;
  options.stream = stream.handle();
  kernel.run(arguments, artifact, options);
  const double first = seconds_since(begin);

  BareLaunch bare(kernel, arguments, artifact);
  BoundKernel bound = kernel.bind(arguments, artifact, options);
  std::vector<double> bare_times;
  std::vector<double> bound_times;
  Plan plan(artifact, arguments);
  bool turn = false;
  std::vector<double> plan_times;
  std::vector<double> run_times;
  for (int round = 0; round < rounds; ++round) {
    bare_times.push_back(time_of([&] { bare.launch(stream.handle()); }, stream));
    bound_times.push_back(time_of([&] { bound.launch(stream.handle()); }, stream));
    plan_times.push_back(time_of(
        [&] {
          turn = !turn;
          plan.rebind(matrix(turn ? 0 : 1).data(), matrix(turn ? 1 : 0).data(), matrix(2).data());
          plan.run(stream.handle());
        },
        stream));
    run_times.push_back(time_of([&] { kernel.run(arguments, artifact, options); }, stream));
  }
  fmt::print(
      "{{\"kernel\": \"{}\", \"find_compile_and_first_launch_ms\": {:.3f}, \"bare_us\": {:.3f}, "
      "\"bound_us\": {:.3f}, \"plan_us\": {:.3f}, \"run_us\": {:.3f}}}\n",
      kernel.name(), 1e3 * first, 1e6 * median(bare_times), 1e6 * median(bound_times),
      1e6 * median(plan_times), 1e6 * median(run_times));
  return 0;
}
