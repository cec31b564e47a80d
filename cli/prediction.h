// What predicted times are made of, in tables and in JSON.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "estoc/kernel.hpp"
#include "json.h"
#include "output.h"

namespace estoc::cli {

/// A kernel's place in a list, and the parts of its prediction.
struct PredictedKernel {
  const Kernel* kernel = nullptr;
  std::size_t rank = 0;
  std::vector<PredictionPart> parts;
};

/// The parts, with a warning and none of them where the class fails to say.
std::vector<PredictionPart> parts_of(const Kernel& kernel, const RuntimeArguments& arguments,
                                     Target target);

/// The part of unit seconds that takes longest; null where there is none.
const PredictionPart* limiting_part(std::span<const PredictionPart> parts);

Json to_json(const PredictionPart& part);
Json to_json(std::span<const PredictionPart> parts);

/// "tuned, 12.3 us" of a kernel that was measured, else the predicted time; "-" where it is not
/// known.
std::string predicted_cell(const Kernel& kernel);

/// A table for each class: a line for each kernel, a column for each part.
void print_parts(Output& output, std::span<const PredictedKernel> kernels);

}  // namespace estoc::cli
