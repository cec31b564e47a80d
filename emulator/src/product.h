// The inner loops of matrix products.
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::emulator {

/// sums (rows x columns, row by row) += a (rows x depth) times b (depth x columns): each element
/// adds its products one after the other, K ascending. `rows` is a multiple of 4.
void multiply(float* sums, const float* a, const float* b, int rows, int columns, int depth);
/// The same with sums of 14 bits: the products of all of K and the sum before, exact, are aligned
/// to the largest of them, what lies below its 14 upper bits is cut off each, and what lies below
/// the sum's 14 upper bits is cut off that.
void multiply_narrow(float* sums, const float* a, const float* b, int rows, int columns, int depth);
void multiply(double* sums, const double* a, const double* b, int rows, int columns, int depth);
void multiply(u32* sums, const u32* a, const u32* b, int rows, int columns, int depth);

}  // namespace estoc::emulator
