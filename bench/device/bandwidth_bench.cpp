// Bandwidth of an elementwise addition beside the driver's own copy of as many bytes, interleaved.
// Prints JSON. Needs a GPU with 3 GiB of free memory.
//
// Usage: estoc_bandwidth_bench [ROUNDS]    (default: 30)
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "estoc/estoc.hpp"
#include "jit/driver.h"

namespace {

using namespace estoc;

constexpr std::int64_t kBytes = std::int64_t{1} << 30;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Seconds on the device from the start of what `work` puts on the stream to its end.
template <typename Work>
double time_of(const Work& work, const DeviceStream& stream, DeviceEvent& start, DeviceEvent& end) {
  start.record(stream.handle());
  work();
  end.record(stream.handle());
  stream.synchronize();
  return end.seconds_since(start);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 30;
  if (cuda_devices().empty()) {
    fmt::print(stderr, "there is no CUDA device\n");
    return 3;
  }
  const Device device = Device::cuda(0);
  const DeviceStream stream(device);
  const DeviceMemory memory(3 * kBytes, device);
  auto tensor = [&](int i) {
    return TensorView::row_major(static_cast<std::byte*>(memory.data()) + i * kBytes, Dtype::f32,
                                 {kBytes / 4}, device);
  };
  const jit::ContextScope scope(device.index);
  const jit::DriverTable& table = jit::driver();
  const auto address =
      static_cast<jit::CUdeviceptr>(reinterpret_cast<std::uintptr_t>(memory.data()));
  table.check(
      table.memset_d8_async(address, 0x3c, 3 * kBytes, static_cast<jit::CUstream>(stream.handle())),
      "cuMemsetD8Async");
  const ElementwiseArguments arguments(ElementwiseOp::add, tensor(0), tensor(1), tensor(2));
  KernelQuery query;
  query.providers = {"cuda"};
  const Kernel kernel = get_kernels(arguments, query).front();
  RunOptions options;
  options.stream = stream.handle();
  BoundKernel add = kernel.bind(arguments, kernel.compile(arguments), options);
  // Half of what is moved is read, half is written: 1.5 GiB each way move as many bytes.
  auto copy = [&] {
    table.check(table.memcpy_dtod_async(address + 3 * kBytes / 2, address, 3 * kBytes / 2,
                                        static_cast<jit::CUstream>(stream.handle())),
                "cuMemcpyDtoDAsync");
  };
  DeviceEvent start(device);
  DeviceEvent end(device);
  std::vector<double> add_seconds;
  std::vector<double> copy_seconds;
  for (int round = 0; round < rounds + 3; ++round) {
    const double added = time_of([&] { add.launch(stream.handle()); }, stream, start, end);
    const double copied = time_of(copy, stream, start, end);
    if (round < 3) continue;  // warming up
    add_seconds.push_back(added);
    copy_seconds.push_back(copied);
  }
  const double moved = 3.0 * static_cast<double>(kBytes);
  const double add_speed = moved / median(add_seconds);
  const double copy_speed = moved / median(copy_seconds);
  fmt::print(
      "{{\"kernel\": \"{}\", \"bytes\": {}, \"add_bytes_per_second\": {:.4g}, "
      "\"copy_bytes_per_second\": {:.4g}, \"ratio\": {:.3f}}}\n",
      kernel.name(), 3 * kBytes, add_speed, copy_speed, add_speed / copy_speed);
  return 0;
}
