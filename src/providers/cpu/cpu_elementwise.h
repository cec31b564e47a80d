// The kernel class cpu_elementwise: elementwise operations on the host processor.
#pragma once

#include "estoc/kernel_class.hpp"

namespace estoc::cpu {

/// One kernel for each operation and combination of dtypes; any strides, any shape.
class CpuElementwise final : public KernelClass {
 public:
  CpuElementwise();

  std::string_view name() const override { return "cpu_elementwise"; }
  Operation operation() const override { return Operation::elementwise; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override;
  Status supports(const DesignPoint& point, const RuntimeArguments& arguments,
                  Target target) const override;
  std::optional<Prediction> predict(const DesignPoint& point, const RuntimeArguments& arguments,
                                    Target target) const override;
  Status supports_epilogue(const DesignPoint& point, const EpilogueGraph& epilogue,
                           Target target) const override;
  /// The program's graph.
  std::shared_ptr<const void> decode(
      const DesignPoint& point,
      const std::shared_ptr<const EpilogueGraph>& epilogue) const override;
  std::unique_ptr<Launch> bind(const DesignPoint& point, const Knobs& knobs,
                               const RuntimeArguments& arguments,
                               std::shared_ptr<const CompiledObject> object,
                               const BindOptions& options) const override;

 private:
  std::shared_ptr<const DesignSpace> space_;
};

}  // namespace estoc::cpu
