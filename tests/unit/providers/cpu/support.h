// Tensors that notice writes outside their elements, and short ways to run a kernel.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "estoc/estoc.hpp"
#include "providers/cpu/isa.h"

namespace estoc::cpu::testing {

/// Calls visit(offset) with the offset in elements of each element of `view`.
inline void for_each_element(const TensorView& view,
                             const std::function<void(std::int64_t)>& visit) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(view.rank()), 0);
  for (std::int64_t left = view.elements(); left > 0; --left) {
    std::int64_t offset = 0;
    for (int mode = 0; mode < view.rank(); ++mode) {
      offset += index[static_cast<std::size_t>(mode)] * view.stride(mode);
    }
    visit(offset);
    for (int mode = view.rank() - 1; mode >= 0; --mode) {
      std::int64_t& position = index[static_cast<std::size_t>(mode)];
      if (++position < view.shape(mode)) break;
      position = 0;
    }
  }
}

/// A tensor in memory of its own, filled with poison, with more poison before and behind.
class Tensor {
 public:
  Tensor(Dtype dtype, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
    const TensorView layout = TensorView::describe(dtype, shape, strides);
    memory_.resize(static_cast<std::size_t>(layout.span_bytes()) + 2 * kGuard, kPoison);
    view_ = TensorView(memory_.data() + kGuard, dtype, shape, strides);
  }

  Tensor(Tensor&&) = default;
  Tensor& operator=(Tensor&&) = default;

  const TensorView& view() const { return view_; }

  /// Fills with random data, with value_of_number(0, 1, ...) in row-major order, or one element.
  Tensor& fill(std::uint64_t seed) & {
    fill_random(view_, seed);
    return *this;
  }
  Tensor& fill(const std::function<double(std::int64_t)>& value_of_number) & {
    std::int64_t number = 0;
    for_each_element(view_, [&](std::int64_t offset) { set(offset, value_of_number(number++)); });
    return *this;
  }
  Tensor& set(std::int64_t offset, double value) & {
    store_element(view_.dtype(), view_.data(), offset, value);
    return *this;
  }
  Tensor fill(std::uint64_t seed) && { return std::move(fill(seed)); }
  Tensor fill(const std::function<double(std::int64_t)>& value_of_number) && {
    return std::move(fill(value_of_number));
  }
  Tensor set(std::int64_t offset, double value) && { return std::move(set(offset, value)); }
  double at(std::int64_t offset) const { return load_element(view_.dtype(), view_.data(), offset); }
  std::vector<double> values() const {
    std::vector<double> values;
    for_each_element(view_, [&](std::int64_t offset) { values.push_back(at(offset)); });
    return values;
  }
  const std::vector<std::uint8_t>& bytes() const { return memory_; }

  /// True when every byte that belongs to no element still is poison.
  bool gaps_are_untouched() const {
    std::vector<bool> owned(memory_.size(), false);
    const auto bits = static_cast<std::size_t>(dtype_bits(view_.dtype()));
    for_each_element(view_, [&](std::int64_t offset) {
      const std::size_t first = static_cast<std::size_t>(offset) * bits / 8;
      for (std::size_t byte = 0; byte < (bits + 7) / 8; ++byte) {
        owned[kGuard + first + byte] = true;
      }
    });
    for (std::size_t byte = 0; byte < memory_.size(); ++byte) {
      if (!owned[byte] && memory_[byte] != kPoison) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 256;
  static constexpr std::uint8_t kPoison = 0xA5;

  std::vector<std::uint8_t> memory_;
  TensorView view_;
};

/// A matrix, or a batch of them when `batches` is not 0, of layout t or n.
inline Tensor matrix(Dtype dtype, std::int64_t rows, std::int64_t columns, char layout = 't',
                     std::int64_t batches = 0) {
  const std::int64_t row_stride = layout == 't' ? columns : 1;
  const std::int64_t column_stride = layout == 't' ? 1 : rows;
  if (batches == 0) return {dtype, {rows, columns}, {row_stride, column_stride}};
  return {dtype, {batches, rows, columns}, {rows * columns, row_stride, column_stride}};
}

/// Runs the kernel of the cpu provider on `threads` threads.
inline void run(const RuntimeArguments& arguments, int threads = 2) {
  KernelQuery query;
  query.providers = {"cpu"};
  const KernelList kernels = get_kernels(arguments, query);
  ASSERT_EQ(kernels.size(), 1U) << Problem::of(arguments).to_string();
  RunOptions options;
  options.threads = threads;
  kernels.front().run(arguments, options);
}

/// Expects what check_output calls right.
inline void expect_right(const RuntimeArguments& arguments) {
  CheckOptions options;
  options.threads = 1;
  const CheckResult result = check_output(arguments, options);
  EXPECT_TRUE(result.passed) << Problem::of(arguments).to_string() << "\n  " << result.worst
                             << "\n  error " << result.error << ", bound " << result.bound;
}

/// Runs out = a @ b and expects it to be right, and nothing but out to be written.
inline void expect_gemm(const Tensor& a, const Tensor& b, Tensor& out, Dtype accumulator,
                        int threads = 2) {
  const GemmArguments arguments(a.view(), b.view(), out.view(), accumulator);
  run(arguments, threads);
  expect_right(arguments);
  EXPECT_TRUE(out.gaps_are_untouched()) << Problem::of(arguments).to_string();
}

/// The accumulator that products of a dtype are summed in.
inline Dtype accumulator_of(Dtype dtype) {
  if (dtype == Dtype::f64) return Dtype::f64;
  return is_integer(dtype) ? Dtype::i32 : Dtype::f32;
}

/// A combination of dtypes that cpu_gemm has.
struct Combination {
  Dtype a, b, out;
  bool half_sums = false;  ///< accumulators are f16
  Dtype accumulator() const { return half_sums ? Dtype::f16 : accumulator_of(a); }
};

/// All 180 combinations, written out apart from the provider's own rules.
inline std::vector<Combination> all_combinations() {
  const std::vector<Dtype> narrow = {Dtype::f16, Dtype::bf16, Dtype::e4m3, Dtype::e5m2};
  const std::vector<Dtype> outputs = {Dtype::f64,  Dtype::f32,  Dtype::f16,
                                      Dtype::bf16, Dtype::e4m3, Dtype::e5m2};
  const std::vector<Dtype> bytes = {Dtype::i8, Dtype::u8};
  std::vector<Combination> combinations;
  for (const Dtype a : narrow) {
    for (const Dtype b : narrow) {
      for (const Dtype out : outputs) {
        combinations.push_back({a, b, out});
        if (a != Dtype::bf16 && b != Dtype::bf16) combinations.push_back({a, b, out, true});
      }
    }
  }
  for (const Dtype out : outputs) {
    combinations.push_back({Dtype::f32, Dtype::f32, out});
    combinations.push_back({Dtype::tf32, Dtype::tf32, out});
  }
  combinations.push_back({Dtype::f64, Dtype::f64, Dtype::f64});
  combinations.push_back({Dtype::f64, Dtype::f64, Dtype::f32});
  for (const Dtype a : bytes) {
    for (const Dtype b : bytes) {
      for (const Dtype out : {Dtype::i32, Dtype::f32, Dtype::i8, Dtype::u8, Dtype::f16, Dtype::bf16,
                              Dtype::e4m3, Dtype::e5m2}) {
        combinations.push_back({a, b, out});
      }
    }
  }
  return combinations;
}

/// Makes the provider use one variant of the product file while it lives.
class ForcedVariant {
 public:
  explicit ForcedVariant(const char* name) { EXPECT_TRUE(set_variant_for_testing(name)) << name; }
  ~ForcedVariant() { set_variant_for_testing(""); }
  ForcedVariant(const ForcedVariant&) = delete;
  ForcedVariant& operator=(const ForcedVariant&) = delete;
};

}  // namespace estoc::cpu::testing
