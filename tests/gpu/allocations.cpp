// Counts what this program takes from the heap: on the way of a run, nothing.
#include "counted_heap.h"
#include "estoc/discovery.hpp"
#include "features.h"
#include "gemm.h"

namespace estoc::gpu_test {
namespace {

std::size_t allocations_of(const auto& action) {
  const std::size_t before = allocations();
  action();
  return allocations() - before;
}

void takes_nothing_from_the_heap(Device device) {
  Gemm gemm(64, 80, 96, 30, device);
  const GemmArguments arguments = gemm.arguments();
  const DeviceStream stream(device);
  RunOptions options;
  options.stream = stream.handle();
  for (const Kernel& kernel : one_of_each_class(arguments)) {
    if (kernel.metadata().provider != "cuda") continue;
    const Artifact artifact = kernel.compile(arguments);
    BoundKernel bound = kernel.bind(arguments, artifact, options);
    kernel.run(arguments, artifact, options);
    require(allocations_of([&] { kernel.run(arguments, artifact, options); }) == 0,
            kernel.name() + ": run takes memory from the heap");
    require(allocations_of([&] { bound.launch(stream.handle()); }) == 0,
            kernel.name() + ": a bound kernel takes memory from the heap");
    require(allocations_of([] { std::string(100, 'x'); }) == 1, "allocations are not counted");
  }
  stream.synchronize();
  gemm.verify();
}

}  // namespace

std::vector<Feature> allocation_features() {
  return {{"takes_nothing_from_the_heap", takes_nothing_from_the_heap}};
}

}  // namespace estoc::gpu_test
