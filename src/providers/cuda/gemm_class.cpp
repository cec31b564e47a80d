// What the GEMM classes of Estoc's own device sources share: how their time is predicted.
#include "providers/cuda/gemm_class.h"

#include "estoc/arguments.hpp"

namespace estoc::cuda {

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
