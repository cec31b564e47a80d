// What the GEMM classes of Estoc's own device sources share: how their time is predicted, and what
// they promise of the order of summation.
#pragma once

#include <optional>
#include <string>
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

  std::string summation(const DesignPoint& point, const EpilogueGraph* epilogue) const final;

  std::optional<Prediction> predict(const DesignPoint& point, const RuntimeArguments& arguments,
                                    Target target) const final;
  std::vector<PredictionPart> predict_parts(const DesignPoint& point,
                                            const RuntimeArguments& arguments,
                                            Target target) const final;

 protected:
  using BuiltInClass::BuiltInClass;

  /// How the kernel adds up products that are no whole numbers.
  virtual std::string sums_of(const DesignPoint& point) const = 0;
  /// Whether the code computes out^T = B^T A^T.
  virtual bool is_transposed(const DesignPoint& /*point*/) const { return false; }
};

}  // namespace estoc::cuda
