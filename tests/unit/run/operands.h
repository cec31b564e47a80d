// Matrices of small whole numbers, of which products are exact, for tests of plans.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "estoc/plan.hpp"

namespace estoc::run_test {

inline constexpr std::int64_t kM = 6;
inline constexpr std::int64_t kN = 5;
inline constexpr std::int64_t kK = 7;

/// Operands of out = A @ B in f32 and of an epilogue with a bias, in row-major order.
struct Operands {
  explicit Operands(int seed, std::int64_t rows = kM)
      : m(rows), a(filled(rows * kK, seed)), b(filled(kK * kN, seed + 1)), bias(filled(kN, seed)) {
    out.assign(static_cast<std::size_t>(rows * kN), 77.0F);
  }

  static std::vector<float> filled(std::int64_t size, int seed) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < size; ++i)
      values.push_back(static_cast<float>((i * 5 + seed * 3) % 7 - 3));
    return values;
  }

  TensorView a_view() { return TensorView::row_major(a.data(), Dtype::f32, {m, kK}); }
  TensorView b_view() { return TensorView::row_major(b.data(), Dtype::f32, {kK, kN}); }
  TensorView out_view() { return TensorView::row_major(out.data(), Dtype::f32, {m, kN}); }
  TensorView bias_view() { return TensorView::row_major(bias.data(), Dtype::f32, {kN}); }
  GemmArguments arguments(EpilogueArguments epilogue = {}) {
    return {a_view(), b_view(), out_view(), Dtype::f32, {}, std::move(epilogue)};
  }

  /// out = alpha * A @ B + bias.
  void expect(float alpha = 1, bool with_bias = false) const {
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::int64_t column = 0; column < kN; ++column) {
        float wanted = 0;
        for (std::int64_t k = 0; k < kK; ++k)
          wanted += at(a, row * kK + k) * at(b, k * kN + column);
        wanted = alpha * wanted + (with_bias ? at(bias, column) : 0);
        ASSERT_EQ(at(out, row * kN + column), wanted) << row << ", " << column;
      }
    }
  }

  static float at(const std::vector<float>& values, std::int64_t index) {
    return values[static_cast<std::size_t>(index)];
  }

  std::int64_t m;
  std::vector<float> a;
  std::vector<float> b;
  std::vector<float> bias;
  std::vector<float> out;
};

/// What the action says as it fails; empty when it does not.
template <typename Action>
std::string message_of(ErrorKind kind, const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return {};
}

}  // namespace estoc::run_test
