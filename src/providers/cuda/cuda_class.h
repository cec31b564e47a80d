// What the kernel classes of the cuda provider have in common: a generated unit, compiled by the
// JIT, launched through the driver.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "estoc/abi.cuh"
#include "estoc/kernel_class.hpp"
#include "jit/compile.h"
#include "jit/launch.h"

namespace estoc::cuda {

/// A compiled unit; handed to the driver when it is first bound.
class CudaObject final : public CompiledObject {
 public:
  explicit CudaObject(std::shared_ptr<const jit::Unit> unit) : unit_(std::move(unit)) {}

  const jit::Unit& unit() const { return *unit_; }
  std::shared_ptr<jit::LoadedKernel> loaded() const;

 private:
  std::shared_ptr<const jit::Unit> unit_;
  mutable std::once_flag once_;
  mutable std::shared_ptr<jit::LoadedKernel> loaded_;
};

/// Base of the classes: a derived class writes the text of a unit and the nodes of a launch.
class CudaKernelClass : public KernelClass {
 public:
  std::span<const Target> targets() const override;

  std::shared_ptr<const CompiledObject> compile(const DesignPoint& point,
                                                const RuntimeArguments& arguments,
                                                Target target) const final;
  std::unique_ptr<Launch> bind(const DesignPoint& point, const Knobs& knobs,
                               const RuntimeArguments& arguments,
                               std::shared_ptr<const CompiledObject> object,
                               const BindOptions& options) const final;

  /// The text that the JIT compiles for a kernel.
  virtual std::string source(const DesignPoint& point) const = 0;

 protected:
  /// The nodes of a launch on arguments that have data, in order.
  virtual std::vector<jit::LaunchNode> nodes(const DesignPoint& point, const Knobs& knobs,
                                             const RuntimeArguments& arguments,
                                             std::shared_ptr<jit::LoadedKernel> kernel,
                                             const BindOptions& options) const = 0;
};

/// Rates that the cost models reckon with.
struct DeviceModel {
  int multiprocessors = 132;
  double clock_hz = 1.6e9;  ///< under load
  double memory_bytes_per_s = 4e12;
  double launch_seconds = 3e-6;
};

/// The model of the machine's first device of that target, or of a typical one.
DeviceModel device_model(Target target);

/// "Type::bf16", for generated text.
std::string type_text(Dtype dtype);

constexpr abi::Type abi_type(Dtype dtype) {
  return static_cast<abi::Type>(dtype);
}

}  // namespace estoc::cuda
