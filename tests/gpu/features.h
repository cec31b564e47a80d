// What a launch promises besides right results: graphs, streams, threads, refusals.
#pragma once

#include <string>
#include <vector>

#include "estoc/device.hpp"

namespace estoc::gpu_test {

/// One named check; `problem` is empty when it held.
struct FeatureResult {
  std::string name;
  std::string problem;
};

std::vector<FeatureResult> check_features(Device device);

}  // namespace estoc::gpu_test
