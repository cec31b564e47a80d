// Promises about what outlives what: captured graphs and running work need no handle of a kernel.
#include <algorithm>
#include <optional>

#include "estoc/discovery.hpp"
#include "features.h"
#include "gemm.h"
#include "recording.h"

namespace estoc::gpu_test {
namespace {

/// Names of kernels for the arguments that need no workspace, the first of each class, then others.
std::vector<std::string> names_for(const GemmArguments& arguments) {
  std::vector<std::string> names;
  for (const Kernel& kernel : one_of_each_class(arguments)) {
    const bool own = kernel.metadata().provider == "cuda";
    if (own && kernel.workspace_size(arguments) == 0) names.push_back(kernel.name());
  }
  KernelQuery query;
  query.filter = MetadataFilter::parse("class=simt_gemm");
  for (const Kernel& kernel : get_kernels(arguments, query)) {
    if (std::find(names.begin(), names.end(), kernel.name()) == names.end()) {
      names.push_back(kernel.name());
    }
  }
  return names;
}

// Handles that are found by name are all that knows of their kernel.
void graphs_outlive_their_kernels(Device device) {
  constexpr std::size_t kOthers = 8;
  Gemm gemm(33, 17, 65, 3, device);
  Gemm other(34, 18, 66, 4, device);
  const GemmArguments arguments = gemm.arguments();
  std::vector<std::string> names = names_for(arguments);
  names.resize(std::min(names.size(), kOthers + 1));
  Recording recording(device);
  recording.begin();
  std::optional<Kernel> captured = kernel_by_name(names.front());
  RunOptions options;
  options.stream = recording.stream();
  captured->run(arguments, options);
  recording.end();
  captured.reset();
  const GemmArguments others = other.arguments();
  for (std::size_t i = 1; i < names.size(); ++i) {
    const Kernel kernel = kernel_by_name(names[i]);
    if (kernel.supports(others)) kernel.run(others);
  }
  clear_discovery_cache();
  synchronize(device);
  for (int round = 0; round < 2; ++round) {
    gemm.poison();
    synchronize(device);
    recording.replay();
    gemm.verify();
  }
}

void kernels_that_go_spoil_no_capture(Device device) {
  Gemm gemm(33, 17, 65, 3, device);
  const GemmArguments arguments = gemm.arguments();
  const std::vector<std::string> names = names_for(arguments);
  std::optional<Kernel> first = kernel_by_name(names[0]);
  std::optional<Kernel> second = kernel_by_name(names[1]);
  first->run(arguments);
  second->run(arguments);
  synchronize(device);
  Recording recording(device);
  recording.begin();
  first.reset();
  RunOptions options;
  options.stream = recording.stream();
  second->run(arguments, options);
  second.reset();
  recording.end();
  gemm.poison();
  synchronize(device);
  recording.replay();
  gemm.verify();
}

}  // namespace

std::vector<Feature> lifetime_features() {
  return {{"graphs_outlive_their_kernels", graphs_outlive_their_kernels, true},
          {"kernels_that_go_spoil_no_capture", kernels_that_go_spoil_no_capture, true}};
}

}  // namespace estoc::gpu_test
