// What the files that draw problems share.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "estoc/kernel.hpp"
#include "problem.h"

namespace estoc::cover {

/// Numbers that problems are drawn by. Without data, operands are not filled; what is drawn after
/// them is the same.
struct Random : std::mt19937_64 {
  Random(const std::mt19937_64& from, bool with_data) : std::mt19937_64(from), data(with_data) {}
  const std::mt19937_64& engine() const { return *this; }
  bool data;
};

std::int64_t draw_number(Random& random, std::int64_t low, std::int64_t high);
bool one_in(Random& random, int n);

/// Memory for a tensor, all of it 0xa5.
HostTensor host_tensor(Dtype dtype, const std::vector<std::int64_t>& shape,
                       const std::vector<std::int64_t>& strides);

/// Where a matrix operand is and what it holds.
struct Plane {
  std::int64_t rows;
  std::int64_t columns;
  Dtype dtype;
  char letter;  ///< of its layout: t, n, or x for any
  int alignment;
  bool input = false;
};

/// Memory for an operand, with strides that fit its alignment; an input may serve all batches.
HostTensor draw_operand(const Plane& plane, std::int64_t batches, Random& random);

/// Stores one element.
void put(const TensorView& view, std::int64_t l, std::int64_t i, std::int64_t j, double value);

/// Values of an operand, drawn and written to its memory; none without data. Those of fp8 make,
/// where `positive`, sums that need more bits than a tensor core keeps.
std::vector<double> fill(const HostTensor& tensor, std::int64_t batches, std::int64_t rows,
                         std::int64_t columns, bool positive, Random& random);

/// Whether with_fused_scale() can give the kernel's operands scales that it takes as an epilogue.
bool takes_fused_scales(const Kernel& kernel);

/// An operand with scales that become an epilogue, powers of two so that sums stay exact: of rows,
/// or one of all elements; behind scales of 16 elements a second level. `values`, of the operand's
/// elements in row-major order, are multiplied by them. Throws Error where it takes none.
Operand with_fused_scale(const Operand& operand, bool is_b, std::mt19937_64& random,
                         std::vector<HostTensor>& tensors, std::vector<double>& values);

}  // namespace estoc::cover
