// What the kernel classes of Estoc's own device sources share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "estoc/cuda_kernel_class.hpp"

namespace estoc::cuda {

/// A class whose code is made of the sources in device/: entries that wait for the kernel ahead of
/// them where the target can.
class BuiltInClass : public CudaKernelClass {
 public:
  CudaCode code(const DesignPoint& point, Target target) const final;
  CudaCode fused_code(const DesignPoint& point, Target target,
                      const EpilogueGraph& epilogue) const final;
  /// Hash of the headers that the class shares with its device code, and of what they include.
  std::string abi() const final;
  bool waits_for_dependencies() const final { return true; }

 protected:
  /// The device code is estoc/kernels/NAME.cuh, what it shares with the host estoc/abi/NAME.cuh.
  explicit BuiltInClass(std::string_view device_name) : device_name_(device_name) {}

  const std::string& device_name() const { return device_name_; }

  /// The headers of estoc/abi/ that host and device share, without their ends.
  virtual std::vector<std::string> shared_headers() const { return {device_name_}; }

  /// Adds what a unit of this kernel has besides, behind the entries of reductions.
  virtual void add_entries(const DesignPoint& /*point*/, const EpilogueGraph* /*epilogue*/,
                           CudaCode& /*code*/) const {}

  /// The text of a unit, its entry being named "estoc_kernel"; without an epilogue where it is
  /// null. Entries of reductions are added to it.
  virtual std::string source(const DesignPoint& point, const EpilogueGraph* epilogue) const = 0;

 private:
  std::string device_name_;
};

}  // namespace estoc::cuda
