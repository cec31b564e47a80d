// A GEMM with its operands on host and device, for checks that are not about the product.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "estoc/arguments.hpp"
#include "estoc/device.hpp"
#include "estoc/kernel.hpp"

namespace estoc::gpu_test {

/// Throws std::runtime_error when `holds` is false.
void require(bool holds, const std::string& what);

/// Calls `action`, which must throw an Error of that kind with all the words in its message.
void refuses(ErrorKind kind, const std::vector<std::string>& words,
             const std::function<void()>& action);

/// A check cannot be made on this machine.
class Skipped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The first kernel of each class that carries out the arguments.
std::vector<Kernel> one_of_each_class(const RuntimeArguments& arguments);

/// The first kernel for the arguments that needs no workspace, and so can be captured without one.
Kernel first_without_workspace(const RuntimeArguments& arguments);

/// bf16 (m, k) times bf16 (k, n), column-major, gives f32 (m, n).
class Gemm {
 public:
  Gemm(std::int64_t m, std::int64_t n, std::int64_t k, std::uint64_t seed, Device device);

  GemmArguments arguments() const;
  const DeviceTensor& a() const { return device_a_; }
  const DeviceTensor& b() const { return device_b_; }
  const DeviceTensor& out() const { return device_out_; }
  void* host_data() { return a_.data(); }

  /// Fills the output with NaN. Allocates nothing.
  void poison();

  /// Throws when the output is not what float64 says.
  void verify();

 private:
  TensorView host_a() { return TensorView::row_major(a_.data(), Dtype::bf16, {m_, k_}); }
  TensorView host_b() { return TensorView::column_major(b_.data(), Dtype::bf16, {k_, n_}); }
  TensorView host_out() { return TensorView::row_major(out_.data(), Dtype::f32, {m_, n_}); }

  std::int64_t m_, n_, k_;
  std::vector<std::uint16_t> a_, b_;
  std::vector<float> out_;
  DeviceTensor device_a_, device_b_, device_out_;
};

}  // namespace estoc::gpu_test
