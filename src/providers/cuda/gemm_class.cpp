// What the GEMM classes of Estoc's own device sources share: how their time is predicted, and what
// they promise of the order of summation.
#include "providers/cuda/gemm_class.h"

#include "epilogue/emit.h"
#include "estoc/arguments.hpp"

namespace estoc::cuda {

std::string GemmClass::summation(const DesignPoint& point, const EpilogueGraph* epilogue) const {
  const bool transposed = is_transposed(point);
  if (epilogue != nullptr) {
    // Neighbours that share a reciprocal are of different rows there.
    if (transposed && shares_reciprocals(*epilogue)) return {};
    // The compiler makes one instruction of a product and a sum in one kernel and not in another.
    return std::string(name()) + point.space().suffix(point);
  }
  if (point.dtype(Role::accumulator_type) == Dtype::i32) return "whole numbers";
  return sums_of(point) + (transposed ? ", B^T A^T" : "");
}

std::optional<Prediction> GemmClass::predict(const DesignPoint& point,
                                             const RuntimeArguments& arguments,
                                             Target target) const {
  const cost::DeviceModel& device = cost::device_model(target, arguments.device());
  const cost::Plan plan = cost_plan(point, static_cast<const GemmArguments&>(arguments), device);
  return cost::predict(plan, device);
}

std::vector<PredictionPart> GemmClass::predict_parts(const DesignPoint& point,
                                                     const RuntimeArguments& arguments,
                                                     Target target) const {
  const cost::DeviceModel& device = cost::device_model(target, arguments.device());
  return cost::prediction_parts(
      cost_plan(point, static_cast<const GemmArguments&>(arguments), device), device);
}

}  // namespace estoc::cuda
