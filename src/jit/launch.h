// What a launch consists of: driver nodes, started in order on a stream and nothing else.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "estoc/kernel_class.hpp"
#include "jit/loaded_kernel.h"

namespace estoc::jit {

/// Sizes of a launch.
struct Geometry {
  std::array<unsigned, 3> grid{1, 1, 1};
  unsigned threads = 32;
  unsigned shared_bytes = 0;
  std::array<unsigned, 3> cluster{1, 1, 1};
  /// May start before the kernel ahead of it on the stream has ended (griddepcontrol.wait).
  bool programmatic = false;
};

/// The one parameter of a kernel, by value, aligned to 64 bytes as tensor maps ask for.
class ParameterBlock {
 public:
  ParameterBlock() = default;
  template <typename Parameters>
  explicit ParameterBlock(const Parameters& parameters)
      : ParameterBlock(std::as_bytes(std::span(&parameters, 1))) {}
  explicit ParameterBlock(std::span<const std::byte> bytes);

  void* data() const { return storage_.get(); }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> storage_;
};

/// Starts a kernel.
struct KernelNode {
  std::shared_ptr<LoadedKernel> kernel;
  Geometry geometry;
  ParameterBlock parameters;
};

/// Sets bytes of device memory.
struct FillNode {
  CUdeviceptr address = 0;
  unsigned char value = 0;
  std::size_t bytes = 0;
};

using LaunchNode = std::variant<KernelNode, FillNode>;

/// A short list of nodes bound to one device context.
class DeviceLaunch final : public Launch {
 public:
  /// Prepares every kernel for `device`, whose context (the current one if it is the device's,
  /// else the primary one) becomes the launch's.
  DeviceLaunch(int device, std::vector<LaunchNode> nodes);

  void launch(void* stream) override;

 private:
  void start(CUstream stream) const;

  const DriverTable& table_;
  CUcontext context_ = nullptr;
  std::vector<LaunchNode> nodes_;
};

}  // namespace estoc::jit
