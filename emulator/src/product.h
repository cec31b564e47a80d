// The inner loops of matrix products.
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::emulator {

/// sums (rows x columns, row by row) += a (rows x depth) times b (depth x columns): each element
/// adds its products one after the other, K ascending. `rows` is a multiple of 4.
void multiply(float* sums, const float* a, const float* b, int rows, int columns, int depth);
/// The same of whole numbers, whatever wraps.
void multiply(u32* sums, const u32* a, const u32* b, int rows, int columns, int depth);

}  // namespace estoc::emulator
