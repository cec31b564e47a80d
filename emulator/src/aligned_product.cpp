// The model of sums of aligned terms: once as it is stated, for numbers of any size, and once for
// vectors of numbers whose products floats can hold.
#include "aligned_product.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "product.h"
#include "vector_targets.h"

namespace estoc::emulator {
namespace {

constexpr int kLeast = -126;         // exponent of f32's subnormal numbers, and of sums of 0
constexpr int kZero = -(1 << 20);    // instead of the exponent of 0
constexpr int kNotFinite = 1 << 20;  // instead of that of an infinity or NaN
constexpr float kNanSum = std::bit_cast<float>(0x7fffffffu);

int exponent_of(float value, int least) {
  const u32 magnitude = std::bit_cast<u32>(value) & 0x7fffffff;
  if (magnitude == 0) return kZero;
  if (magnitude >= 0x7f800000) return kNotFinite;
  return std::max(static_cast<int>(magnitude >> 23) - 127, least);
}

// What is left of a sum as f32.
float rounded_down(double sum, const Alignment& alignment) {
  if (sum == 0) return 0;
  if (std::fabs(sum) >= 0x1p128)
    return std::copysign(INFINITY, static_cast<float>(sum > 0 ? 1 : -1));
  auto result = static_cast<float>(sum);
  if (std::fabs(static_cast<double>(result)) > std::fabs(sum))
    result = std::nextafter(result, 0.0F);
  u32 bits = std::bit_cast<u32>(result);
  if (alignment.sticky && static_cast<double>(result) != sum) bits |= 1;
  bits &= ~((1u << (23 - alignment.result)) - 1);
  return (bits & 0x7fffffff) == 0 ? 0 : std::bit_cast<float>(bits);
}

// The terms of one sum: exact, each with its exponent, of which those of 0 do not count.
class Terms {
 public:
  void add(double value, int exponent) {
    if (value == 0) return;
    values_[count_] = value;
    exponents_[count_++] = exponent;
    largest_ = std::max(largest_, exponent);
  }

  float sum(const Alignment& alignment) const {
    const int unit = largest_ - alignment.kept;
    double sum = 0;
    for (int i = 0; i < count_; ++i)
      sum += std::trunc(std::ldexp(values_[i], -unit));
    return rounded_down(std::ldexp(sum, unit), alignment);
  }

 private:
  double values_[33];
  int exponents_[33];
  int count_ = 0;
  int largest_ = kLeast;
};

// What a product of matrices is made from.
struct Matrices {
  Factors a;
  Factors b;
  int rows;
  int columns;
  int depth;
  Alignment alignment;
};

// Element (i, j) as the model says it, for numbers of any size.
float aligned_sum(float before, const Matrices& m, int i, int j) {
  const Factors& a = m.a;
  const Factors& b = m.b;
  const int scale =
      (a.exponents != nullptr ? a.exponents[i] : 0) + (b.exponents != nullptr ? b.exponents[j] : 0);
  if (scale > kNanScale / 2) return kNanSum;
  Terms terms;
  auto plain = std::ldexp(static_cast<double>(before), m.alignment.before);
  terms.add(plain, exponent_of(before, kLeast) + m.alignment.before);
  for (int k = 0; k < m.depth; ++k) {
    const float own = a.values[i * m.depth + k];
    const float other = b.values[k * m.columns + j];
    const double product = std::ldexp(static_cast<double>(own) * static_cast<double>(other), scale);
    plain += product;
    terms.add(product, exponent_of(own, a.least) + exponent_of(other, b.least) + scale);
  }
  if (std::isnan(plain)) return kNanSum;
  return std::isinf(plain) ? static_cast<float>(plain) : terms.sum(m.alignment);
}

// Exponents of all elements, and what they say of them.
struct Exponents {
  std::vector<int> of;
  int least = kNotFinite;
  int largest = kZero;
};

void find_exponents(const float* values, std::size_t count, int least, Exponents& to) {
  to.of.resize(count);
  to.least = kNotFinite;
  to.largest = kZero;
  for (std::size_t i = 0; i < count; ++i) {
    const int e = exponent_of(values[i], least);
    to.of[i] = e;
    to.largest = std::max(to.largest, e);
    to.least = std::min(to.least, e == kZero ? kNotFinite : e);
  }
}

// Products whose exponents lie between are floats, and so are the units that they are counted in.
constexpr int kLowest = -96;
constexpr int kHighest = 125;

bool are_floats(const Exponents& a, const Exponents& b) {
  if (a.largest == kNotFinite || b.largest == kNotFinite) return false;
  return a.least + b.least >= kLowest && a.largest + b.largest <= kHighest;
}

constexpr int kRowsTogether = 4;
// So many terms of at most 28 bits and a sign fill 32 bits.
constexpr int kTermsAtOnce = 8;

// Four rows of a, and b from some columns on.
struct Block {
  const float* a;
  const int* a_exponents;
  const float* b;
  const int* b_exponents;
  const int* row_scales;     // or null
  const int* column_scales;  // or null
  int columns;
  int depth;
};

template <int lanes, typename Value>
struct VectorOf {
  using Type __attribute__((vector_size(lanes * sizeof(Value)))) = Value;
};
template <int lanes, typename Value>
using Vector = typename VectorOf<lanes, Value>::Type;

// Vectors are not returned, as functions without the vector unit would do that otherwise.
template <typename To, typename Element>
[[gnu::always_inline]] inline void load(To& to, const Element* from) {
  std::memcpy(&to, from, sizeof(to));
}

// Adds the numbers of a vector to two of half as many.
template <typename Halves, typename Doubles, typename Ints>
[[gnu::always_inline]] inline void add_to(Doubles (&sums)[2], const Ints& numbers) {
  Halves halves[2];
  std::memcpy(&halves, &numbers, sizeof(numbers));
  sums[0] += __builtin_convertvector(halves[0], Doubles);
  sums[1] += __builtin_convertvector(halves[1], Doubles);
}

// 2^exponents, of those that floats have.
template <typename Floats, typename Ints>
[[gnu::always_inline]] inline void powers(Floats& to, const Ints& exponents) {
  Ints field = exponents + 127;
  field = field > 0 ? field : Ints{};
  field = field < 254 ? field : Ints{} + 254;
  to = reinterpret_cast<Floats>(field << 23);
}

// Sums of four rows and `lanes` columns, and for which of them this is not the way. Returns whether
// there are any.
template <int lanes>
[[gnu::always_inline]] inline bool align_block(const float* sums, const Block& block,
                                               const Alignment& alignment, float* results,
                                               int* others) {
  using Floats = Vector<lanes, float>;
  using Ints = Vector<lanes, int>;
  using HalfFloats = Vector<lanes / 2, float>;
  using HalfInts = Vector<lanes / 2, int>;
  using Doubles = Vector<lanes / 2, double>;
  using Longs = Vector<lanes / 2, u64>;
  const int columns = block.columns;
  const int depth = block.depth;
  Ints largest[kRowsTogether];
  for (Ints& row : largest)
    row = Ints{} + kZero;
  for (int k = 0; k < depth; ++k) {
    Ints other;
    load(other, block.b_exponents + k * columns);
    for (int r = 0; r < kRowsTogether; ++r) {
      const Ints both = other + block.a_exponents[r * depth + k];
      largest[r] = both > largest[r] ? both : largest[r];
    }
  }
  Ints products[kRowsTogether];  // the largest exponents of them
  Ints unit[kRowsTogether];
  Floats factor[kRowsTogether];
  Doubles sum[kRowsTogether][2] = {};
  for (int r = 0; r < kRowsTogether; ++r) {
    Ints scale{};
    if (block.row_scales != nullptr) scale += block.row_scales[r];
    if (block.column_scales != nullptr) {
      Ints more;
      load(more, block.column_scales);
      scale += more;
    }
    Floats before;
    load(before, sums + r * columns);
    const Ints field = (reinterpret_cast<Ints>(before) >> 23) & 255;
    const Ints own = (field > 1 ? field : Ints{} + 1) - 127 + alignment.before;
    products[r] = largest[r] + scale;
    unit[r] = (products[r] > own ? products[r] : own) - alignment.kept;
    powers(factor[r], scale - unit[r]);
    Floats counted;
    powers(counted, alignment.before - unit[r]);
    counted *= before;
    add_to<HalfInts>(sum[r], __builtin_convertvector(counted, Ints));
  }
  for (int from = 0; from < depth; from += kTermsAtOnce) {
    Ints part[kRowsTogether] = {};
    for (int k = from; k < from + kTermsAtOnce; ++k) {
      Floats other;
      load(other, block.b + k * columns);
      for (int r = 0; r < kRowsTogether; ++r) {
        const Floats term = other * block.a[r * depth + k] * factor[r];
        part[r] += __builtin_convertvector(term, Ints);
      }
    }
    for (int r = 0; r < kRowsTogether; ++r)
      add_to<HalfInts>(sum[r], part[r]);
  }
  const Longs mask = Longs{} + ~((u64{1} << (52 - alignment.result)) - 1);
  Ints any{};
  for (int r = 0; r < kRowsTogether; ++r) {
    HalfFloats halves[2];
    for (int h = 0; h < 2; ++h) {
      const auto bits = reinterpret_cast<Longs>(sum[r][h]);
      Longs left = bits & mask;
      if (alignment.sticky) left |= left != bits ? Longs{} + (u64{1} << 29) : Longs{};
      halves[h] = __builtin_convertvector(reinterpret_cast<Doubles>(left), HalfFloats);
    }
    Floats result;
    Floats before;
    Floats power;
    load(result, halves);
    load(before, sums + r * columns);
    powers(power, unit[r]);
    const Ints none = alignment.before == 0 ? products[r] < kZero / 2 : Ints{};
    result = none ? before + Floats{} : result * power;
    std::memcpy(results + r * lanes, &result, sizeof(result));
    const Ints finite = ((reinterpret_cast<Ints>(before) >> 23) & 255) < 255;
    const Ints fits = (unit[r] > kLowest - alignment.kept) & (unit[r] < 127);
    const Ints other = ~(finite & (none | fits));
    std::memcpy(others + r * lanes, &other, sizeof(other));
    any |= other;
  }
  int found = 0;
  for (int lane = 0; lane < lanes; ++lane)
    found |= any[lane];
  return found != 0;
}

template <int lanes>
[[gnu::always_inline]] inline void align_columns(float* sums, const Matrices& m,
                                                 const Exponents& a_exponents,
                                                 const Exponents& b_exponents, int i, int j) {
  const Block block{m.a.values + i * m.depth,
                    a_exponents.of.data() + i * m.depth,
                    m.b.values + j,
                    b_exponents.of.data() + j,
                    m.a.exponents == nullptr ? nullptr : m.a.exponents + i,
                    m.b.exponents == nullptr ? nullptr : m.b.exponents + j,
                    m.columns,
                    m.depth};
  float results[static_cast<unsigned>(kRowsTogether * lanes)];
  int others[static_cast<unsigned>(kRowsTogether * lanes)];
  float* const to = sums + i * m.columns + j;
  if (align_block<lanes>(to, block, m.alignment, results, others)) {
    for (int r = 0; r < kRowsTogether; ++r) {
      for (int lane = 0; lane < lanes; ++lane) {
        if (others[r * lanes + lane] == 0) continue;
        results[r * lanes + lane] = aligned_sum(to[r * m.columns + lane], m, i + r, j + lane);
      }
    }
  }
  for (int r = 0; r < kRowsTogether; ++r)
    std::memcpy(to + r * m.columns, results + r * lanes, lanes * sizeof(float));
}

template <int lanes>
[[gnu::always_inline]] inline void align_rows(float* sums, const Matrices& m,
                                              const Exponents& a_exponents,
                                              const Exponents& b_exponents, int i) {
  const int whole = m.columns / lanes * lanes;
  for (int j = 0; j < whole; j += lanes)
    align_columns<lanes>(sums, m, a_exponents, b_exponents, i, j);
  for (int j = whole; j < m.columns; j += 8)
    align_columns<8>(sums, m, a_exponents, b_exponents, i, j);
}

#ifdef ESTOC_TARGETS

[[gnu::target("avx2,fma")]] void align_rows_avx2(float* sums, const Matrices& m, const Exponents& a,
                                                 const Exponents& b, int i) {
  align_rows<8>(sums, m, a, b, i);
}

[[gnu::target("avx512f,avx512dq")]] void align_rows_avx512(float* sums, const Matrices& m,
                                                           const Exponents& a, const Exponents& b,
                                                           int i) {
  align_rows<16>(sums, m, a, b, i);
}

#endif

void align_rows_here(float* sums, const Matrices& m, const Exponents& a, const Exponents& b,
                     int i) {
#ifdef ESTOC_TARGETS
  static const bool kWide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
  static const bool kMiddle = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (kWide) return align_rows_avx512(sums, m, a, b, i);
  if (kMiddle) return align_rows_avx2(sums, m, a, b, i);
#endif
  align_rows<8>(sums, m, a, b, i);
}

constexpr int kGroupBits = 35;
constexpr int kMostColumns = 256;

// 2^exponent of a double.
double power(int exponent) {
  return std::bit_cast<double>(static_cast<u64>(exponent + 1023) << 52);
}

// A row of sums, and of the sums of its groups.
struct GroupRow {
  float* sums;
  const float* groups;     ///< of the first group
  std::size_t next_group;  ///< numbers on
  const float* a_significands;
  const int* a_exponents;
  const float* b_significands;  ///< of the first group; `columns` on those of the next
  const int* b_exponents;
  int count;
  int columns;
};

[[gnu::always_inline]] inline void align_groups(const GroupRow& row) {
  int largest[kMostColumns];
  double sums[kMostColumns];
  double plain[kMostColumns];
  for (int j = 0; j < row.columns; ++j) {
    const int field = static_cast<int>(std::bit_cast<u32>(row.sums[j]) >> 23 & 255);
    largest[j] = std::max(field, 1) - 127;
  }
  for (int g = 0; g < row.count; ++g) {
    const float* const group = row.groups + static_cast<std::size_t>(g) * row.next_group;
    const float* const significands = row.b_significands + g * row.columns;
    const int* const exponents = row.b_exponents + g * row.columns;
    for (int j = 0; j < row.columns; ++j) {
      const float term = group[j] * (row.a_significands[g] * significands[j]);
      const int own = term == 0 ? kLeast : row.a_exponents[g] + exponents[j];
      largest[j] = std::max(largest[j], own);
    }
  }
  for (int j = 0; j < row.columns; ++j) {
    plain[j] = static_cast<double>(row.sums[j]);
    sums[j] = std::trunc(plain[j] * power(kGroupBits - largest[j]));
  }
  for (int g = 0; g < row.count; ++g) {
    const float* const group = row.groups + static_cast<std::size_t>(g) * row.next_group;
    const float* const significands = row.b_significands + g * row.columns;
    const int* const exponents = row.b_exponents + g * row.columns;
    for (int j = 0; j < row.columns; ++j) {
      const auto term = static_cast<double>(group[j] * (row.a_significands[g] * significands[j]));
      const double value = term * power(row.a_exponents[g] + exponents[j]);
      plain[j] += value;
      sums[j] += std::trunc(value * power(kGroupBits - largest[j]));
    }
  }
  constexpr Alignment kAll{kGroupBits, 23};
  for (int j = 0; j < row.columns; ++j) {
    if (std::isnan(plain[j])) {
      row.sums[j] = kNanSum;
    } else if (std::isinf(plain[j])) {
      row.sums[j] = static_cast<float>(plain[j]);
    } else {
      row.sums[j] = rounded_down(sums[j] * power(largest[j] - kGroupBits), kAll);
    }
  }
}

#ifdef ESTOC_TARGETS

[[gnu::target("avx2,fma")]] void align_groups_avx2(const GroupRow& row) {
  align_groups(row);
}

#endif

void align_groups_here(const GroupRow& row) {
#ifdef ESTOC_TARGETS
  static const bool kMiddle = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (kMiddle) return align_groups_avx2(row);
#endif
  align_groups(row);
}

}  // namespace

void multiply_aligned(float* sums, const Factors& a, const Factors& b, int rows, int columns,
                      int depth, const Alignment& alignment) {
  thread_local Exponents of_a;
  thread_local Exponents of_b;
  const Matrices m{a, b, rows, columns, depth, alignment};
  find_exponents(a.values, static_cast<std::size_t>(rows) * static_cast<std::size_t>(depth),
                 a.least, of_a);
  find_exponents(b.values, static_cast<std::size_t>(depth) * static_cast<std::size_t>(columns),
                 b.least, of_b);
  if (are_floats(of_a, of_b)) {
    for (int i = 0; i < rows; i += kRowsTogether)
      align_rows_here(sums, m, of_a, of_b, i);
    return;
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j)
      sums[i * columns + j] = aligned_sum(sums[i * columns + j], m, i, j);
  }
}

void multiply_groups(float* sums, const float* a, const GroupScales& a_scales, const float* b,
                     const GroupScales& b_scales, int rows, int columns, int groups) {
  thread_local std::vector<float> of_groups;
  const auto size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  of_groups.assign(size * static_cast<std::size_t>(groups), 0.0F);
  for (int g = 0; g < groups; ++g) {
    multiply(of_groups.data() + static_cast<std::size_t>(g) * size, a + g * rows * kGroupDepth,
             b + g * columns * kGroupDepth, rows, columns, kGroupDepth);
  }
  for (int i = 0; i < rows; ++i) {
    align_groups_here({sums + i * columns, of_groups.data() + i * columns, size,
                       a_scales.significands + i * groups, a_scales.exponents + i * groups,
                       b_scales.significands, b_scales.exponents, groups, columns});
  }
}

}  // namespace estoc::emulator
