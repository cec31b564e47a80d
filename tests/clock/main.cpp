// Estimates times of kernels by the emulator, and fits the rates of a device to measured times.
//
//   estoc_clock estimate TARGET FILE            microseconds, measured and estimated, of each line
//   estoc_clock fit TARGET FILE NAME=LEAST:MOST...   the rates that bring the two closest
//
// FILE has lines of microseconds, knobs, kernel and problem (measured.h). `estimate` takes
// NAME=VALUE too, in place of a rate of the device.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "measured.h"

namespace estoc::clock {
namespace {

using emulator::DeviceTiming;
using emulator::Recording;

constexpr std::pair<const char*, double DeviceTiming::*> kRates[] = {
    {"memory_bytes_per_s", &DeviceTiming::memory_bytes_per_s},
    {"l2_per_clock", &DeviceTiming::l2_per_clock},
    {"link_per_clock", &DeviceTiming::link_per_clock},
    {"load_clocks", &DeviceTiming::load_clocks},
    {"box_clocks", &DeviceTiming::box_clocks},
    {"store_per_clock", &DeviceTiming::store_per_clock},
    {"scatter_per_clock", &DeviceTiming::scatter_per_clock},
    {"store_clocks", &DeviceTiming::store_clocks},
    {"issue_clocks", &DeviceTiming::issue_clocks},
    {"wake_clocks", &DeviceTiming::wake_clocks},
    {"far_clocks", &DeviceTiming::far_clocks},
    {"product_clocks", &DeviceTiming::product_clocks},
    {"product_rate", &DeviceTiming::product_rate},
    {"shared_per_clock", &DeviceTiming::shared_per_clock},
    {"written_per_clock", &DeviceTiming::written_per_clock},
    {"tensor_move_per_clock", &DeviceTiming::tensor_move_per_clock},
    {"tensor_move_clocks", &DeviceTiming::tensor_move_clocks},
    {"copy_stops", &DeviceTiming::copy_stops},
    {"launch_seconds", &DeviceTiming::launch_seconds},
    {"step_seconds", &DeviceTiming::step_seconds},
};

double DeviceTiming::*rate_named(const std::string& name) {
  for (const auto& [known, rate] : kRates) {
    if (name == known) return rate;
  }
  throw std::runtime_error("there is no rate " + name);
}

struct Sample {
  Measured measured;
  std::vector<Recording> recordings;
};

struct Estimated {
  double microseconds = 0;
  double tensor_share = 0;  ///< of the last kernel's clocks, those in which tensor cores multiply
};

Estimated estimate_of(const Sample& sample, const DeviceTiming& device) {
  Estimated result;
  double seconds = device.launch_seconds +
                   static_cast<double>(sample.recordings.size() - 1) * device.step_seconds;
  for (const Recording& recording : sample.recordings) {
    const emulator::TimeEstimate estimate = emulator::estimate(recording, device);
    seconds += estimate.seconds;
    result.tensor_share = estimate.tensor_clocks / estimate.clocks;
  }
  result.microseconds = seconds * 1e6;
  return result;
}

std::vector<Sample> samples_of(const std::string& path, Target target, const DeviceTiming& device) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  std::vector<Sample> samples;
  for (Measured& measured : read_measured(file)) {
    std::vector<Recording> recordings = record(measured, target, device.multiprocessors);
    samples.push_back({std::move(measured), std::move(recordings)});
  }
  return samples;
}

/// Mean of squares of logarithms of estimated over measured.
double misfit(const std::vector<Sample>& samples, const DeviceTiming& device) {
  double sum = 0;
  for (const Sample& sample : samples) {
    const double off =
        std::log(estimate_of(sample, device).microseconds / sample.measured.microseconds);
    sum += off * off;
  }
  return sum / static_cast<double>(samples.size());
}

struct Range {
  std::string name;
  double least;
  double most;
};

Range range_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::size_t colon = text.find(':', equals);
  if (colon == std::string::npos) throw std::runtime_error(text + ": expected NAME=LEAST:MOST");
  return {text.substr(0, equals), std::stod(text.substr(equals + 1)),
          std::stod(text.substr(colon + 1))};
}

/// One rate after the other, in steps that become smaller.
void fit(const std::vector<Sample>& samples, DeviceTiming& device,
         const std::vector<Range>& ranges) {
  constexpr int kRounds = 5;
  double best = misfit(samples, device);
  double step = 0.25;
  for (int round = 0; round < kRounds; ++round, step /= 1.7) {
    for (const Range& range : ranges) {
      double& rate = device.*rate_named(range.name);
      for (const double way : {1 + step, 1 / (1 + step)}) {
        for (int i = 0; i < 4; ++i) {
          const double before = rate;
          rate = std::clamp(rate * way, range.least, range.most);
          const double now = misfit(samples, device);
          if (now < best - 1e-9) {
            best = now;
            continue;
          }
          rate = before;
          break;
        }
      }
    }
    fmt::print(stderr, "{:.4f}\n", std::sqrt(best));
  }
  for (const Range& range : ranges)
    fmt::print("{}\t{:.6g}\n", range.name, device.*rate_named(range.name));
}

int run(const std::vector<std::string>& words) {
  if (words.size() < 3) throw std::runtime_error("estimate|fit TARGET FILE [NAME=...]...");
  const Target target = Target::parse(words[1]).value();
  const DeviceTiming* const known = emulator::find_device_timing(target.cc());
  if (known == nullptr) throw std::runtime_error(words[1] + ": its rates are not known");
  DeviceTiming device = *known;
  std::vector<Range> ranges;
  for (std::size_t i = 3; i < words.size(); ++i) {
    if (words[i].find(':') != std::string::npos) {
      ranges.push_back(range_of(words[i]));
      continue;
    }
    const std::size_t equals = words[i].find('=');
    device.*rate_named(words[i].substr(0, equals)) = std::stod(words[i].substr(equals + 1));
  }
  const std::vector<Sample> samples = samples_of(words[2], target, device);
  if (words[0] == "fit") fit(samples, device, ranges);
  for (const Sample& sample : samples) {
    const Estimated estimated = estimate_of(sample, device);
    fmt::print("{:.2f}\t{:.2f}\t{:.3f}\t{}\t{}\n", sample.measured.microseconds,
               estimated.microseconds, estimated.tensor_share, sample.measured.kernel,
               sample.measured.problem);
  }
  return 0;
}

}  // namespace
}  // namespace estoc::clock

int main(int argc, char** argv) {
  try {
    return estoc::clock::run({argv + 1, argv + argc});
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "estoc_clock: %s\n", problem.what());
    return 1;
  }
}
