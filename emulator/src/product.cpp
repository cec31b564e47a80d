// The inner loops of matrix products, for the vector units that the machine has.
#include "product.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ESTOC_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ESTOC_CLONES
#endif

namespace estoc::emulator {

namespace {

// Four rows and 16 columns at a time, whose sums stay in registers.
constexpr int kLanes = 16;
constexpr int kRowsAtOnce = 4;

template <typename Value>
[[gnu::always_inline]] inline void multiply_block(Value* sums, const Value* a, const Value* b,
                                                  int columns, int depth) {
  typedef Value Vector __attribute__((vector_size(kLanes * sizeof(Value))));
  Vector sum[kRowsAtOnce];
  for (int r = 0; r < kRowsAtOnce; ++r)
    std::memcpy(&sum[r], sums + r * columns, sizeof(Vector));
  for (int k = 0; k < depth; ++k) {
    Vector other;
    std::memcpy(&other, b + k * columns, sizeof(Vector));
    for (int r = 0; r < kRowsAtOnce; ++r)
      sum[r] += a[r * depth + k] * other;
  }
  for (int r = 0; r < kRowsAtOnce; ++r)
    std::memcpy(sums + r * columns, &sum[r], sizeof(Vector));
}

template <typename Value>
[[gnu::always_inline]] inline void multiply_matrices(Value* sums, const Value* a, const Value* b,
                                                     int rows, int columns, int depth) {
  const int whole = columns / kLanes * kLanes;
  for (int i = 0; i < rows; i += kRowsAtOnce) {
    for (int j = 0; j < whole; j += kLanes)
      multiply_block(sums + i * columns + j, a + i * depth, b + j, columns, depth);
  }
  for (int i = 0; i < rows && whole < columns; ++i) {
    for (int k = 0; k < depth; ++k) {
      for (int j = whole; j < columns; ++j)
        sums[i * columns + j] += a[i * depth + k] * b[k * columns + j];
    }
  }
}

constexpr int kNarrowBits = 14;

// The upper bits of a number, where the uppermost one counts 2^exponent.
double cut(double value, int exponent) {
  const int unit = exponent - kNarrowBits + 1;
  return std::ldexp(std::trunc(std::ldexp(value, -unit)), unit);
}

double narrow_sum(const double* terms, int count) {
  int largest = std::numeric_limits<int>::min();
  for (int i = 0; i < count; ++i) {
    if (!std::isfinite(terms[i])) return std::accumulate(terms, terms + count, 0.0);
    if (terms[i] != 0) largest = std::max(largest, std::ilogb(terms[i]));
  }
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    if (terms[i] != 0) sum += cut(terms[i], largest);
  }
  return sum == 0 ? sum : cut(sum, std::ilogb(sum));
}

}  // namespace

void multiply_narrow(float* sums, const float* a, const float* b, int rows, int columns,
                     int depth) {
  std::vector<double> terms(static_cast<std::size_t>(depth) + 1);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      float& sum = sums[i * columns + j];
      for (int k = 0; k < depth; ++k) {
        terms[static_cast<std::size_t>(k)] =
            static_cast<double>(a[i * depth + k]) * static_cast<double>(b[k * columns + j]);
      }
      terms.back() = static_cast<double>(sum);
      sum = static_cast<float>(narrow_sum(terms.data(), depth + 1));
    }
  }
}

ESTOC_CLONES void multiply(float* sums, const float* a, const float* b, int rows, int columns,
                           int depth) {
  multiply_matrices(sums, a, b, rows, columns, depth);
}

ESTOC_CLONES void multiply(u32* sums, const u32* a, const u32* b, int rows, int columns,
                           int depth) {
  multiply_matrices(sums, a, b, rows, columns, depth);
}

}  // namespace estoc::emulator
