// What host and device agree on for simt_elementwise: configuration, parameters, sizes.
#pragma once

#include <estoc/abi/types.cuh>

namespace estoc::abi {

/// Operations of simt_elementwise, with the values of estoc::ElementwiseOp.
enum class Op : unsigned char {
  add,
  sub,
  mul,
  div,
  maximum,
  minimum,
  identity,
  neg,
  abs,
  sqrt,
  rsqrt,
  exp,
  log,
  reciprocal,
  relu,
  gelu,
  silu,
  sigmoid,
  tanh,
};

/// Configuration of simt_elementwise.
struct SimtElementwiseConfig {
  Op op;
  Type a;
  Type b;
  Type out;
  Type compute;  ///< f64, f32 or i32
  /// Elements that a thread takes at a time along the innermost mode: 1 (2 where out is stored two
  /// to a byte), or as many as make 16 bytes of the widest operand, at most 16, addresses and
  /// strides being aligned to that many elements.
  int vector;
  /// Everything is one contiguous run: there is one mode.
  bool flat;
  /// A and B have any strides along the innermost mode, whatever `vector` is.
  bool strided = false;

  /// Calls field(name, value) for each field, in order; one with its default value may be left out.
  template <typename Field>
  ESTOC_CONSTEXPR void visit(const Field& field) const {
    field("op", op);
    field("a", a);
    field("b", b);
    field("out", out);
    field("compute", compute);
    field("vector", vector);
    field("flat", flat);
    field("strided", strided);
  }

  ESTOC_CONSTEXPR int threads() const { return 256; }
  /// Vectors that a thread has in flight.
  ESTOC_CONSTEXPR int unroll() const { return 4; }
};

inline constexpr int kElementwiseRank = 6;

/// Modes are ordered from the innermost; absent ones have extent 1. Strides count elements.
struct SimtElementwiseParameters {
  unsigned long long a;
  unsigned long long b;
  unsigned long long out;
  long long extent[kElementwiseRank];
  long long a_stride[kElementwiseRank];
  long long b_stride[kElementwiseRank];
  long long out_stride[kElementwiseRank];
  long long row_vectors;  ///< vectors in one innermost row, the last possibly partial
  long long vectors;      ///< row_vectors times the other extents
};
static_assert(sizeof(SimtElementwiseParameters) == 24 + 4 * 48 + 16);

}  // namespace estoc::abi
