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
#define ESTOC_TARGETS
#endif

namespace estoc::emulator {

namespace {

constexpr int kRowsAtOnce = 4;

// Four rows and some vectors of columns at a time, whose sums stay in registers.
template <int lanes, int vectors, typename Value>
[[gnu::always_inline]] inline void multiply_block(Value* sums, const Value* a, const Value* b,
                                                  int columns, int depth) {
  using Vector __attribute__((vector_size(lanes * sizeof(Value)))) = Value;
  using Unaligned __attribute__((aligned(alignof(Value)), may_alias)) = Vector;
  Vector sum[kRowsAtOnce][static_cast<unsigned>(vectors)];
  for (int r = 0; r < kRowsAtOnce; ++r) {
    for (int v = 0; v < vectors; ++v)
      sum[r][v] = *reinterpret_cast<Unaligned*>(sums + r * columns + v * lanes);
  }
  for (int k = 0; k < depth; ++k) {
    for (int v = 0; v < vectors; ++v) {
      const Vector other = *reinterpret_cast<const Unaligned*>(b + k * columns + v * lanes);
      for (int r = 0; r < kRowsAtOnce; ++r)
        sum[r][v] += a[r * depth + k] * other;
    }
  }
  for (int r = 0; r < kRowsAtOnce; ++r) {
    for (int v = 0; v < vectors; ++v)
      *reinterpret_cast<Unaligned*>(sums + r * columns + v * lanes) = sum[r][v];
  }
}

// `lanes` fill a register of the processor.
template <int lanes, typename Value>
[[gnu::always_inline]] inline void multiply_matrices(Value* sums, const Value* a, const Value* b,
                                                     int rows, int columns, int depth) {
  constexpr int kBoth = 2 * lanes;
  constexpr int kFew = lanes < 8 ? lanes : 8;
  const int many = columns / kBoth * kBoth;
  const int whole = columns / kFew * kFew;
  for (int i = 0; i < rows; i += kRowsAtOnce) {
    for (int j = 0; j < many; j += kBoth)
      multiply_block<lanes, 2>(sums + i * columns + j, a + i * depth, b + j, columns, depth);
    for (int j = many; j < whole; j += kFew)
      multiply_block<kFew, 1>(sums + i * columns + j, a + i * depth, b + j, columns, depth);
  }
  for (int i = 0; i < rows && whole < columns; ++i) {
    for (int k = 0; k < depth; ++k) {
      for (int j = whole; j < columns; ++j)
        sums[i * columns + j] += a[i * depth + k] * b[k * columns + j];
    }
  }
}

#ifdef ESTOC_TARGETS

template <typename Value>
[[gnu::target("avx2,fma")]] void multiply_avx2(Value* sums, const Value* a, const Value* b,
                                               int rows, int columns, int depth) {
  multiply_matrices<8>(sums, a, b, rows, columns, depth);
}

template <typename Value>
[[gnu::target("avx512f")]] void multiply_avx512(Value* sums, const Value* a, const Value* b,
                                                int rows, int columns, int depth) {
  multiply_matrices<16>(sums, a, b, rows, columns, depth);
}

#endif

template <typename Value>
void multiply_here(Value* sums, const Value* a, const Value* b, int rows, int columns, int depth) {
#ifdef ESTOC_TARGETS
  if (__builtin_cpu_supports("avx512f")) {
    return multiply_avx512(sums, a, b, rows, columns, depth);
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return multiply_avx2(sums, a, b, rows, columns, depth);
  }
#endif
  multiply_matrices<4>(sums, a, b, rows, columns, depth);
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
      for (int k = 0; k < depth; ++k) {
        terms[static_cast<std::size_t>(k)] =
            static_cast<double>(a[i * depth + k]) * static_cast<double>(b[k * columns + j]);
      }
      terms.back() = static_cast<double>(sums[i * columns + j]);
      sums[i * columns + j] = static_cast<float>(narrow_sum(terms.data(), depth + 1));
    }
  }
}

void multiply(float* sums, const float* a, const float* b, int rows, int columns, int depth) {
  multiply_here(sums, a, b, rows, columns, depth);
}

void multiply(double* sums, const double* a, const double* b, int rows, int columns, int depth) {
  multiply_here(sums, a, b, rows, columns, depth);
}

void multiply(u32* sums, const u32* a, const u32* b, int rows, int columns, int depth) {
  multiply_here(sums, a, b, rows, columns, depth);
}

}  // namespace estoc::emulator
