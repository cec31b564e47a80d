// A kernel class of a test's own that tells what its plans were given.
#pragma once

#include <memory>
#include <vector>

#include "estoc/arguments.hpp"
#include "estoc/cuda_kernel_class.hpp"
#include "estoc/device.hpp"
#include "estoc/kernel.hpp"

namespace estoc::gpu_test {

/// Copies four f32 by a kernel, by way of its workspace where it has one, which it clears first.
class Probe final : public CudaKernelClass {
 public:
  explicit Probe(std::size_t workspace_bytes) : workspace_bytes_(workspace_bytes) {}

  std::string_view name() const override { return "probe"; }
  Operation operation() const override { return Operation::elementwise; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  CudaCode code(const DesignPoint& point, Target target) const override;
  std::size_t workspace_size(const DesignPoint& point, const Knobs& knobs,
                             const RuntimeArguments& arguments) const override;
  void plan(const DesignPoint& point, const Knobs& knobs, const RuntimeArguments& arguments,
            const Workspace& workspace, LaunchPlan& plan) const override;

  /// The workspace of the last plan.
  void* last_workspace() const { return last_workspace_; }

 private:
  static constexpr ElementwiseOp kOp = ElementwiseOp::identity;
  std::shared_ptr<const DesignSpace> space_ =
      DesignSpace::Builder().ops({&kOp, 1}).dtypes(Role::a_dtype, {Dtype::f32}).build();
  std::size_t workspace_bytes_;
  mutable void* last_workspace_ = nullptr;
};

/// Operands for a Probe on a device, and the kernel.
class ProbeCase {
 public:
  ProbeCase(Device device, std::size_t workspace_bytes);

  const Kernel& kernel() const { return kernel_; }
  const ElementwiseArguments& arguments() const { return arguments_; }

  /// Runs it on `stream`; gives the workspace that it had.
  void* run(void* stream) const;

  /// Throws unless the output is what the input is; clears it.
  void verify();

 private:
  DeviceMemory in_;
  DeviceMemory out_;
  ElementwiseArguments arguments_;
  std::shared_ptr<const Probe> probe_;
  Kernel kernel_;
};

}  // namespace estoc::gpu_test
