// Predicted times of the cpu kernels.
#pragma once

#include <cstdint>

#include "estoc/dtype.hpp"

namespace estoc::cpu {

/// Seconds that all cores need for `products` multiplications of numbers of `operand`, with `bytes`
/// of memory to move.
double predict_product_seconds(Dtype operand, double products, double bytes);

/// Seconds that all cores need for an elementwise operation on `elements`, each of which takes
/// `calls` functions of the mathematics library.
double predict_elementwise_seconds(double elements, double bytes, int calls);

}  // namespace estoc::cpu
