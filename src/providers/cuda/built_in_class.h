// What the kernel classes of Estoc's own device sources share.
#pragma once

#include <string>

#include "estoc/cuda_kernel_class.hpp"

namespace estoc::cuda {

/// A class whose code is made of the sources in device/: one entry with one parameter struct of
/// abi.cuh, which waits for the kernel ahead of it where the target can.
class BuiltInClass : public CudaKernelClass {
 public:
  CudaCode code(const DesignPoint& point, Target target) const final;
  CudaCode fused_code(const DesignPoint& point, Target target,
                      const EpilogueGraph& epilogue) const final;
  std::string abi() const final;
  bool waits_for_dependencies() const final { return true; }

 protected:
  /// The text of a unit, its entry being named "estoc_kernel"; without an epilogue where it is
  /// null. Entries of reductions are added to it.
  virtual std::string source(const DesignPoint& point, const EpilogueGraph* epilogue) const = 0;
};

}  // namespace estoc::cuda
