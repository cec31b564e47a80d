// Predicts the time of what cuBLASLt offers for a product.
#pragma once

#include <vector>

#include "cost/prediction.h"
#include "estoc/arguments.hpp"
#include "estoc/kernel_class.hpp"
#include "providers/cublaslt/lt_facts.h"

namespace estoc::cublaslt {

/// How algorithm number `heuristic` of the heuristics carries out the product. `multiplied` is the
/// dtype that A is multiplied in, tf32 for f32 where that is allowed.
cost::Plan lt_plan(const LtFacts& facts, Dtype multiplied, OutOrder out_order, int heuristic,
                   const GemmArguments& gemm, const cost::DeviceModel& device);

/// The facts as parts of a prediction.
std::vector<PredictionPart> parts_of_facts(const LtFacts& facts, OutOrder out_order, int heuristic);

}  // namespace estoc::cublaslt
