// What the product file offers to the provider; it is compiled once for each instruction set.
//
// Only plain structs cross this border: the two sides are compiled with different flags, so neither
// may hand the other a type with inline functions.
#pragma once

#include <cstdint>

#include "estoc/dtype.hpp"
#include "estoc/epilogue_graph.hpp"

namespace estoc::cpu {

/// C (m, n) = A (m, k) @ B (k, n), or C += A @ B. C is column-major: element (i, j) at
/// c[i + j * c_stride]. A and B are column- or row-major, their other stride (any, 0 too) given.
template <class T>
struct Product {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  const T* a = nullptr;
  std::int64_t a_stride = 0;
  bool a_row_major = false;
  const T* b = nullptr;
  std::int64_t b_stride = 0;
  bool b_row_major = false;
  T* c = nullptr;
  std::int64_t c_stride = 0;
  bool accumulate = false;
  /// Each element adds up its products one after the other, so that its bits depend on nothing
  /// else; takes longer.
  bool in_order = false;
  void* packing = nullptr;  ///< at least kOrderedBytes, aligned to 64 bytes
};

/// A strided block of stored elements: (i, o) at data + (i * inner_stride + o * outer_stride)
/// elements. Its counterpart, the buffer, holds (i, o) at buffer[i + o * buffer_stride].
struct Block {
  void* data = nullptr;
  Dtype dtype = Dtype::f32;
  std::int64_t inner = 0;
  std::int64_t outer = 0;
  std::int64_t inner_stride = 1;
  std::int64_t outer_stride = 0;
};

/// True for the types that load and store know: not e8m0, e2m1, i4 and u4.
constexpr bool is_block_dtype(Dtype dtype) {
  return dtype != Dtype::e8m0 && dtype_bits(dtype) >= 8;
}

/// One operation on strips of values. Registers hold booleans and whole numbers as i32.
struct EpilogueStep {
  EpilogueOp op = EpilogueOp::accumulator;
  EpilogueType from = EpilogueType::f32;  ///< of the inputs (select: of those after the first)
  EpilogueType to = EpilogueType::f32;
  Dtype dtype = Dtype::f32;  ///< goal of a cast
  std::uint16_t inputs[4] = {};
  std::uint16_t output = 0;
};

struct ProductTable;

/// A run of operations on `count` elements.
struct EpilogueStrip {
  const EpilogueStep* steps = nullptr;
  std::int64_t step_count = 0;
  void* const* registers = nullptr;
  std::int64_t count = 0;
  void* scratch = nullptr;  ///< eight bytes for each element
  const ProductTable* table = nullptr;
  std::uint64_t first_element = 0;  ///< number of the first in the product, for dropout
  std::uint64_t element_step = 1;
};

/// A reduction of the elements of a strip into `partials`: one for each, or one for all. They are
/// doubles, for sums of whole numbers 64-bit integers.
struct EpilogueFold {
  EpilogueReduction reduction = EpilogueReduction::sum;
  EpilogueType type = EpilogueType::f32;
  const void* values = nullptr;
  std::int64_t count = 0;
  void* partials = nullptr;
  bool elementwise = false;
};

/// Bytes of packing memory that the products of f32 or f64 numbers need.
inline constexpr std::int64_t kPackingBytes = std::int64_t{3} << 20;
/// Of those, what products in order need: a strip of A.
inline constexpr std::int64_t kOrderedBytes = std::int64_t{32} << 10;

/// The functions of one variant. load_* reads a block into a buffer, rounding where the buffer's
/// type is too narrow; elements of tf32 are rounded to tf32; load_i32 takes integers and booleans.
/// store_* writes a block, rounded and saturated as store_element says; store_i32 writes integers,
/// booleans, f32 and f64.
struct ProductTable {
  const char* name = nullptr;
  void (*multiply_f32)(const Product<float>& product) = nullptr;
  void (*multiply_f64)(const Product<double>& product) = nullptr;
  void (*load_f32)(const Block& source, float* buffer, std::int64_t buffer_stride) = nullptr;
  void (*load_f64)(const Block& source, double* buffer, std::int64_t buffer_stride) = nullptr;
  void (*load_i32)(const Block& source, std::int32_t* buffer, std::int64_t buffer_stride) = nullptr;
  void (*store_f32)(const Block& target, const float* buffer, std::int64_t buffer_stride) = nullptr;
  void (*store_f64)(const Block& target, const double* buffer,
                    std::int64_t buffer_stride) = nullptr;
  void (*store_i32)(const Block& target, const std::int32_t* buffer,
                    std::int64_t buffer_stride) = nullptr;
  /// sums[i] += products[i], wrapping around; products are whole numbers below 2^31.
  void (*add_whole)(std::int32_t* sums, const float* products, std::int64_t count) = nullptr;
  void (*run_strip)(const EpilogueStrip& strip) = nullptr;
  void (*fold_strip)(const EpilogueFold& fold) = nullptr;
};

}  // namespace estoc::cpu
