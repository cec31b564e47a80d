// The inner loops of matrix products, for the vector units that the machine has.
#include "product.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ESTOC_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define ESTOC_CLONES
#endif

namespace estoc::emulator {

ESTOC_CLONES void multiply(float* sums, const float* a, const float* b, int rows, int columns,
                           int depth) {
  for (int i = 0; i < rows; ++i) {
    float* __restrict__ row = sums + i * columns;
    for (int k = 0; k < depth; ++k) {
      const float factor = a[i * depth + k];
      const float* __restrict__ other = b + k * columns;
      for (int j = 0; j < columns; ++j)
        row[j] += factor * other[j];
    }
  }
}

ESTOC_CLONES void multiply(u32* sums, const u32* a, const u32* b, int rows, int columns,
                           int depth) {
  for (int i = 0; i < rows; ++i) {
    u32* __restrict__ row = sums + i * columns;
    for (int k = 0; k < depth; ++k) {
      const u32 factor = a[i * depth + k];
      const u32* __restrict__ other = b + k * columns;
      for (int j = 0; j < columns; ++j)
        row[j] += factor * other[j];
    }
  }
}

}  // namespace estoc::emulator
