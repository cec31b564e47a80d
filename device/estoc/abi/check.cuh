// What the check of outputs on a device is given (docs/checking.md).
#pragma once

#include <estoc/abi/matrix.cuh>
#include <estoc/abi/types.cuh>

namespace estoc::abi {

/// How many rows and columns of a product a CTA of the check computes, from so many k at a time;
/// after each of these the partial sums are looked at.
inline constexpr int kCheckTile = 64;
inline constexpr int kCheckDepth = 32;
inline constexpr int kCheckThreads = 256;

/// An element of the reference product, as the host's check::ReferenceElement.
struct CheckElement {
  double value;
  double magnitude;
  double partials;
};

/// Rows from number `first` of the list on that multiply the same matrix B.
struct CheckTile {
  long long first;
  long long count;
};

/// A @ B for some rows, each numbered batch * m + row; element (i, column) of the result is
/// number i * n + column.
struct CheckProduct {
  Matrix a;
  Matrix b;
  long long m;
  long long n;
  long long k;
  unsigned long long rows;    ///< long long each
  unsigned long long tiles;   ///< CheckTile each
  unsigned long long result;  ///< CheckElement each
  unsigned column_tiles;
  Type a_type;
  Type b_type;
};
static_assert(sizeof(CheckProduct) == 120);

/// Rows of A or columns of B: vector v begins at (list[v / inner] / divisor) * batch_stride +
/// (list[v / inner] % divisor) * stride + (v % inner) * inner_stride.
struct CheckVectors {
  unsigned long long address;
  unsigned long long list;    ///< long long each
  unsigned long long result;  ///< int each
  long long count;
  long long inner;
  long long divisor;
  long long batch_stride;
  long long stride;
  long long inner_stride;
  long long k;
  long long k_stride;
  Type type;
};
static_assert(sizeof(CheckVectors) == 96);

/// What the facts of a vector say beside the exponent of its lowest bit.
inline constexpr int kCheckAllZero = 2147483647;
inline constexpr int kCheckNotFinite = -2147483647;

/// Some rows of an output beside what passes: from `low` to `high`, of the output's type; NaN alone
/// where both are.
struct CheckOutput {
  Matrix out;
  long long m;
  long long n;
  unsigned long long rows;  ///< long long each
  long long count;          ///< of rows
  unsigned long long low;
  unsigned long long high;
  unsigned long long references;  ///< double each; NaN where no error is to be counted
  unsigned long long tallies;     ///< CheckTally each, one for each CTA
  double scale;                   ///< of errors before they are squared
  Type type;
};
static_assert(sizeof(CheckOutput) == 112);

struct CheckTally {
  double error;               ///< sum of squares
  unsigned long long failed;  ///< elements that do not pass
};

}  // namespace estoc::abi
