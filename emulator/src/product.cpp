// The inner loops of matrix products, for the vector units that the machine has.
#include "product.h"

#include "vector_targets.h"

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

}  // namespace

void multiply(float* sums, const float* a, const float* b, int rows, int columns, int depth) {
  multiply_here(sums, a, b, rows, columns, depth);
}

void multiply(u32* sums, const u32* a, const u32* b, int rows, int columns, int depth) {
  multiply_here(sums, a, b, rows, columns, depth);
}

}  // namespace estoc::emulator
