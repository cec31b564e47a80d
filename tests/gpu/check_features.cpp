// Checks features, in this process or in one of their own.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <memory>

#include "features.h"
#include "gemm.h"

namespace estoc::gpu_test {
namespace {

using Outcome = FeatureResult::Outcome;

/// What a process printed last, without the line's end.
std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  const std::size_t end = text.rfind('\n');
  return end == std::string::npos ? text : text.substr(end + 1);
}

FeatureResult check_apart(const std::string& program, const Feature& feature) {
  const std::string command =
      "exec timeout 300 '" + program + "' --feature " + feature.name + " 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return {feature.name, Outcome::broken, "no process could be started"};
  std::string printed;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
    printed.append(buffer.data(), count);
  const int status = ::pclose(pipe);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code == kHeld) return {feature.name, Outcome::held, {}};
  if (code == kSkipped) return {feature.name, Outcome::skipped, last_line(printed)};
  std::string reason = last_line(printed);
  if (WIFSIGNALED(status)) reason = "ended by signal " + std::to_string(WTERMSIG(status));
  if (code == 124) reason = "did not end within 300 s";
  return {feature.name, Outcome::broken, reason.empty() ? "ended without a word" : reason};
}

}  // namespace

std::vector<Feature> all_features() {
  std::vector<Feature> all = launch_features();
  for (const auto& more :
       {allocation_features(), epilogue_features(), context_features(), cluster_features(),
        determinism_features(), device_features(), failure_features(), judging_features(),
        lifetime_features(), measuring_features(), moe_features(), offset_features(),
        plan_features(), stream_features()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

FeatureResult check_here(const Feature& feature, Device device) {
  try {
    feature.run(device);
    return {feature.name, Outcome::held, {}};
  } catch (const Skipped& skipped) {
    return {feature.name, Outcome::skipped, skipped.what()};
  } catch (const std::exception& error) {
    return {feature.name, Outcome::broken, error.what()};
  }
}

std::vector<FeatureResult> check_features(const std::string& program, Device device) {
  std::vector<FeatureResult> results;
  for (const Feature& feature : all_features()) {
    results.push_back(feature.isolated ? check_apart(program, feature)
                                       : check_here(feature, device));
  }
  return results;
}

}  // namespace estoc::gpu_test
