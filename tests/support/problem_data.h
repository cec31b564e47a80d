// A problem's operands in host memory or on a device, and its outputs as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "estoc/arguments.hpp"
#include "estoc/device.hpp"
#include "estoc/problem.hpp"

namespace estoc::testing_support {

/// What inputs hold: -3 to 3, or numbers of both signs from 2^-6 to 2 that the type can hold.
enum class Values { integers, reals };

/// The arguments of a problem on host memory, offsets filled from its sizes, in which what no
/// element covers is 0xa5.
class ProblemData {
 public:
  ProblemData(const Problem& problem, std::uint64_t seed, Values values);

  const RuntimeArguments& arguments() const { return *arguments_; }
  /// All outputs, one after the other, hold 0xa5.
  void poison();
  /// Their bytes, from the first element to the last, gaps included.
  std::vector<std::byte> outputs() const;
  /// Of each element of out, in row-major order, the sum of the magnitudes of its products.
  std::vector<double> magnitudes() const;

 private:
  struct Tensor {
    std::vector<std::byte> storage;
    TensorView view;
    std::vector<double> values;  ///< in row-major order; none of an output
  };
  TensorView add(const TensorView& described, bool input, std::uint64_t seed, Values values);
  void fill_index(const Problem& problem, const char* operand);
  void make_positive(const ScaledTensor& scaled);

  friend class OnDevice;
  std::unique_ptr<RuntimeArguments> arguments_;
  std::vector<std::unique_ptr<Tensor>>
      tensors_;  ///< A, B, out, each with its scales, the epilogue's
};

/// A copy on a device.
class OnDevice {
 public:
  OnDevice(const ProblemData& data, Device device);
  const RuntimeArguments& arguments() const { return *arguments_; }
  /// Brings all outputs to the host's tensors.
  void read_back(ProblemData& data) const;

 private:
  std::unique_ptr<RuntimeArguments> arguments_;
  std::vector<DeviceTensor> tensors_;
};

}  // namespace estoc::testing_support
