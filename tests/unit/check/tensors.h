// Helpers of the check tests: tensors that own memory, and a GEMM by one plain loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "estoc/arguments.hpp"
#include "estoc/check.hpp"
#include "estoc/numeric.hpp"
#include "estoc/status.hpp"

namespace estoc::test {

/// A dense tensor with its memory; zero at first.
class Tensor {
 public:
  /// Row-major, or with the last two modes exchanged.
  Tensor(Dtype dtype, std::vector<std::int64_t> shape, bool column_major = false);

  Tensor(Tensor&&) = default;  // a copy's view would be of the original's memory

  const TensorView& view() const { return view_; }
  double get(std::int64_t row, std::int64_t column) const;
  void set(std::int64_t row, std::int64_t column, double value);
  Tensor& randomise(std::uint64_t seed);
  Tensor& fill(double value);

  std::vector<std::byte> memory;

 private:
  TensorView view_;
};

/// How an accumulator adds a product; plain_sum rounds to the accumulator's type each time.
using Step = std::function<double(double sum, double a, double b)>;

/// sum + a * b in the precision of the accumulator.
Step plain_step(Dtype accumulator);

/// out = A @ B for matrices without a batch mode or with one in all three: one loop over k from
/// `first_k` to `last_k` (exclusive; -1 is K), then one conversion.
struct PlainGemm {
  Step step;
  std::int64_t first_k = 0;
  std::int64_t last_k = -1;
  std::function<void(Dtype, void*, std::int64_t, double)> store = store_element;

  void run(const GemmArguments& arguments) const;
};

/// A GEMM problem with random operands, and its output.
struct Problem2d {
  Problem2d(std::int64_t m, std::int64_t n, std::int64_t k, Dtype a_dtype, Dtype b_dtype,
            Dtype out_dtype, Dtype accumulator, PerformanceControls controls = {});

  GemmArguments arguments() const;
  CheckResult check(const CheckOptions& options = {}) const;
  /// Computes the output by the plain loop.
  void compute();

  Tensor a;
  Tensor b;
  Tensor out;
  Dtype accumulator;
  PerformanceControls controls;
};

/// "error 1e-3, bound 2e-4, out[1, 2]: ..." for messages.
std::string to_string(const CheckResult& result);

}  // namespace estoc::test
