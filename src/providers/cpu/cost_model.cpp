// Predicted times of the cpu kernels, from estimated rates (docs/cpu_provider.md).
#include "providers/cpu/cost_model.h"

#include <algorithm>
#include <string_view>

#include "providers/cpu/isa.h"
#include "providers/cpu/thread_pool.h"

namespace estoc::cpu {
namespace {

/// Multiplications of f32 numbers that a core does in a second.
double f32_rate(std::string_view variant) {
  if (variant == "v4") return 55e9;
  if (variant == "v3") return 30e9;
  return 11e9;
}

/// How much longer a multiplication takes than one of f32 numbers.
double relative_cost(Dtype operand) {
  switch (operand) {
    case Dtype::f32:
      return 1;
    case Dtype::f64:
      return 2;
    case Dtype::i8:
    case Dtype::u8:
      return 1.3;
    default:
      return 1.15;
  }
}

constexpr double kLaunchSeconds = 1e-6;
constexpr double kCoreBandwidth = 12e9;     // bytes a second
constexpr double kMachineBandwidth = 60e9;  // all cores together
constexpr double kElementSeconds = 0.4e-9;
constexpr double kCallSeconds = 6e-9;

double cores() {
  static const int count = available_threads();
  return count;
}

double memory_seconds(double bytes) {
  return bytes / std::min(kMachineBandwidth, kCoreBandwidth * cores());
}

}  // namespace

double predict_product_seconds(Dtype operand, double products, double bytes) {
  const ProductTable* const variant = active_products();
  const double rate = f32_rate(variant != nullptr ? variant->name : "") * cores();
  return kLaunchSeconds + std::max(products * relative_cost(operand) / rate, memory_seconds(bytes));
}

double predict_elementwise_seconds(double elements, double bytes, int calls) {
  const double each = calls > 0 ? calls * kCallSeconds : kElementSeconds;
  return kLaunchSeconds + std::max(elements * each / cores(), memory_seconds(bytes));
}

}  // namespace estoc::cpu
