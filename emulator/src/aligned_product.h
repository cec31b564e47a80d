// Products as published models of tensor cores sum them: terms are aligned to the largest exponent
// and cut off.
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc::emulator {

/// A factor of a product: finite numbers, infinities or NaN.
struct Factors {
  const float* values;
  int least;  ///< exponent of the type's subnormal numbers
  const int* exponents =
      nullptr;  ///< of each row (of B: column), whose values are times 2^exponent
};

/// Instead of the exponent of a scale that is NaN.
inline constexpr int kNanScale = 1 << 24;

/// What is left of the terms of a sum, and of the sum.
struct Alignment {
  int kept;             ///< bits of a term after that of the largest exponent
  int result;           ///< bits of a sum after its first; the rest is cut off
  bool sticky = false;  ///< its last bit is set where something was cut off
  int before = 0;       ///< the sum before counts times 2^before
};

/// sums (rows x columns, row by row) += a (rows x depth) times b (depth x columns): for each
/// element the sum before and the products of all of K, exact, are aligned to the largest exponent,
/// which for a product is the sum of those of its factors. `kept` bits after it are left of each,
/// toward zero, and what is left is summed exactly. Where a sum is NaN it is 0x7fffffff; it is
/// never -0. `rows` is a multiple of 4, `columns` of 8, `depth` at most 32.
void multiply_aligned(float* sums, const Factors& a, const Factors& b, int rows, int columns,
                      int depth, const Alignment& alignment);

inline constexpr int kGroupDepth = 16;

/// Scales of one factor, of each of its groups: for A row by row, for B group by group.
/// Significands are not normalised: below 1 where a scale is subnormal.
struct GroupScales {
  const float* significands;
  const int* exponents;
};

/// The same with 35 bits for groups of 16 products of e2m1, whose sum is exact: that, times the
/// significands of the group's two scales, is a term whose exponent is the sum of theirs. Groups of
/// a (rows x 16) lie one after the other, as those of b (16 x columns, up to 256) do.
void multiply_groups(float* sums, const float* a, const GroupScales& a_scales, const float* b,
                     const GroupScales& b_scales, int rows, int columns, int groups);

}  // namespace estoc::emulator
