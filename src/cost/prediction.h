// The predicted time of a kernel: the physical model, and what tables of measurements add to it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cost/execution.h"
#include "estoc/kernel_class.hpp"

namespace estoc::cost {

/// Kernels that share the coefficients of a residual.
enum class Family : std::uint8_t { sm90, sm80, simt, library, f32, f64 };
inline constexpr int kFamilies =
    4;  ///< that tables have; for others the physical model stands alone

/// How a kernel carries out a problem.
struct Plan {
  Family family = Family::sm90;
  Work work;
  Design design;
  Knobs knobs;
  double seconds_before = 0;  ///< of what is launched ahead of the kernel: copies of operands
  std::optional<Execution> execution{};  ///< of the design, where the choice of knobs had it
};

/// Gives the plan and its design other knobs.
void set_knobs(Plan& plan, const Knobs& knobs);

/// What a prediction is multiplied by because it is uncertain. A library knows its own kernels:
/// those that it offers later have to be predicted faster by as much before they are believed; so
/// have kernels that are outdone, and small tiles of long products, which take more power.
double caution(const Plan& plan);

/// What a prediction is made of beside its caution and its knobs.
struct Estimate {
  Execution execution;
  double factor = 1;  ///< what the seconds of the execution are multiplied by
};
Estimate estimate(const Plan& plan, const DeviceModel& device);
/// The same, closer and at more expense: by the trees too.
Estimate estimate_closely(const Plan& plan, const DeviceModel& device);

/// Seconds, joules and knobs.
Prediction prediction_of(const Plan& plan, const Estimate& estimate);

/// What a prediction is made of beside the factor: the same, bit for bit, for many plans whose
/// factors come later.
struct Outline {
  double before = 0, seconds = 0;  ///< ahead of the kernel; of its execution
  double caution = 1;
  double joules = 0;  ///< beside those at rest
  Knobs knobs;
};
Outline outline_of(const Plan& plan, const Execution& execution);
Prediction prediction_of(const Outline& outline, double factor);

/// Seconds of one launch.
double predicted_seconds(const Plan& plan, const DeviceModel& device);

/// The prediction of estimate(), and of estimate_closely().
Prediction predict(const Plan& plan, const DeviceModel& device);
Prediction predict_closely(const Plan& plan, const DeviceModel& device);

/// Joules of one launch that takes so many seconds: multiply-adds, bytes moved, and what the GPU
/// takes at rest. Orders of magnitude, to tell kernels of equal time apart.
double predicted_joules(const Plan& plan, const Execution& execution, double seconds);

/// The plan's execution, or that of its design.
Execution execution_of(const Plan& plan, const DeviceModel& device);

/// What they are made of: the seconds of each resource, counts, and the factor of the residual.
std::vector<PredictionPart> prediction_parts(const Plan& plan, const DeviceModel& device);

}  // namespace estoc::cost
