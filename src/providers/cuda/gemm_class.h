// What the GEMM classes of Estoc's own device sources share: how their time is predicted.
#pragma once

#include <optional>
#include <vector>

#include "cost/prediction.h"
#include "providers/cuda/built_in_class.h"

namespace estoc::cuda {

/// A GEMM class that says how its kernels carry out a product; predictions follow from that.
class GemmClass : public BuiltInClass {
 public:
  /// What a kernel does on the arguments, and the knobs it holds for.
  virtual cost::Plan cost_plan(const DesignPoint& point, const GemmArguments& gemm,
                               const cost::DeviceModel& device) const = 0;

  std::optional<Prediction> predict(const DesignPoint& point, const RuntimeArguments& arguments,
                                    Target target) const final;
  std::vector<PredictionPart> predict_parts(const DesignPoint& point,
                                            const RuntimeArguments& arguments,
                                            Target target) const final;
};

}  // namespace estoc::cuda
