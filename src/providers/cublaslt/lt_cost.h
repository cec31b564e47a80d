// Predicts the time of what cuBLASLt offers for a product.
#pragma once

#include <vector>

#include "estoc/arguments.hpp"
#include "estoc/kernel_class.hpp"
#include "providers/cublaslt/lt_facts.h"

namespace estoc::cublaslt {

/// Rates of a device; by default those of an H200.
struct LtDevice {
  int multiprocessors = 132;
  double clock_hz = 1.6e9;  ///< under load
  double memory_bytes_per_s = 4e12;
  double launch_seconds = 4e-6;
};

/// The time of the answer of that number to the product. `multiplied` is the dtype that A is
/// multiplied in, tf32 for f32 where that is allowed.
Prediction predict_lt(const LtFacts& facts, Dtype multiplied, Formulation formulation, int answer,
                      const GemmArguments& gemm, const LtDevice& device);

/// The facts as parts of a prediction.
std::vector<PredictionPart> parts_of_facts(const LtFacts& facts, Formulation formulation,
                                           int answer);

}  // namespace estoc::cublaslt
