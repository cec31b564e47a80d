// What a launch promises besides right results: graphs, streams, threads, contexts, refusals.
#pragma once

#include <string>
#include <vector>

#include "estoc/device.hpp"

namespace estoc::gpu_test {

/// One promise. `run` throws when it does not hold, Skipped when that cannot be told here.
struct Feature {
  const char* name;
  void (*run)(Device device);
  /// Run in a process of its own, as it may leave the driver unusable.
  bool isolated = false;
};

std::vector<Feature> launch_features();       ///< features.cpp
std::vector<Feature> allocation_features();   ///< allocations.cpp
std::vector<Feature> epilogue_features();     ///< epilogue_features.cpp
std::vector<Feature> context_features();      ///< contexts.cpp
std::vector<Feature> cluster_features();      ///< clusters.cpp
std::vector<Feature> determinism_features();  ///< determinism.cpp
std::vector<Feature> device_features();       ///< devices.cpp
std::vector<Feature> failure_features();      ///< failures.cpp
std::vector<Feature> judging_features();      ///< judging.cpp
std::vector<Feature> lifetime_features();     ///< lifetimes.cpp
std::vector<Feature> measuring_features();    ///< measuring.cpp
std::vector<Feature> moe_features();          ///< moe.cpp
std::vector<Feature> offset_features();       ///< group_offsets.cpp
std::vector<Feature> plan_features();         ///< plans.cpp
std::vector<Feature> stream_features();       ///< streams.cpp
std::vector<Feature> all_features();

struct FeatureResult {
  enum class Outcome { held, broken, skipped };
  std::string name;
  Outcome outcome = Outcome::held;
  std::string reason;  ///< why it is broken or was skipped
};

/// Checks one in this process.
FeatureResult check_here(const Feature& feature, Device device);

/// Checks all of them, the isolated ones by `program --feature NAME`.
std::vector<FeatureResult> check_features(const std::string& program, Device device);

/// Exit statuses of a process that checks one feature, which prints the reason.
inline constexpr int kHeld = 0;
inline constexpr int kBroken = 1;
inline constexpr int kSkipped = 77;

}  // namespace estoc::gpu_test
