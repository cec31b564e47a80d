// Arguments on a device and the same on the host: inputs copied once, outputs on request.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "estoc/arguments.hpp"

namespace estoc::tuning {

class HostCopy {
 public:
  /// Copies the inputs.
  explicit HostCopy(const RuntimeArguments& on_device);

  const RuntimeArguments& on_device() const { return *on_device_; }
  const RuntimeArguments& on_host() const { return *on_host_; }

  /// Copies the outputs as they are now.
  void fetch_outputs();

 private:
  struct Pair {
    TensorView device;
    TensorView host;
  };
  TensorView add(const TensorView& view, bool is_output);

  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<Pair> outputs_;
  std::unique_ptr<RuntimeArguments> on_device_;
  std::unique_ptr<RuntimeArguments> on_host_;
};

}  // namespace estoc::tuning
