// What host and device agree on for simt_elementwise: configuration, parameters, sizes.
#pragma once

#include <estoc/abi/epilogue.cuh>
#include <estoc/abi/types.cuh>

namespace estoc::abi {

/// Configuration of simt_elementwise.
struct SimtElementwiseConfig {
  Type a;
  Type out;
  Type compute;  ///< of the accumulator, which is A: f64, f32 or i32
  int tensors;   ///< inputs beside A
  /// Elements that a thread takes at a time along the innermost mode: 1 (2 where out is stored two
  /// to a byte), or as many as make 16 bytes of the widest operand, at most 16, addresses and
  /// strides being aligned to that many elements.
  int vector;
  /// Everything is one contiguous run: there is one mode.
  bool flat;
  /// Inputs have any strides along the innermost mode, whatever `vector` is.
  bool strided = false;

  /// Calls field(name, value) for each field, in order; one with its default value may be left out.
  template <typename Field>
  ESTOC_CONSTEXPR void visit(const Field& field) const {
    field("a", a);
    field("out", out);
    field("compute", compute);
    field("tensors", tensors);
    field("vector", vector);
    field("flat", flat);
    field("strided", strided);
  }

  ESTOC_CONSTEXPR int threads() const { return 256; }
  /// Vectors of each operand that a thread has in flight.
  ESTOC_CONSTEXPR int unroll() const { return tensors <= 1 ? 4 : tensors <= 3 ? 2 : 1; }
};

inline constexpr int kElementwiseRank = 6;

/// Modes are ordered from the innermost; absent ones have extent 1. Strides count elements.
struct SimtElementwiseParameters {
  unsigned long long a;
  unsigned long long out;
  long long extent[kElementwiseRank];
  long long a_stride[kElementwiseRank];
  long long out_stride[kElementwiseRank];
  long long row_vectors;  ///< vectors in one innermost row, the last possibly partial
  long long vectors;      ///< row_vectors times the other extents
};
static_assert(sizeof(SimtElementwiseParameters) == 16 + 3 * 48 + 16);

/// An input beside A; modes as above.
struct ElementwiseTensor {
  unsigned long long address;
  long long stride[kElementwiseRank];
};

/// What the program of an operation reads beside A.
template <unsigned tensors, unsigned scalars>
struct ElementwiseInputs {
  ElementwiseTensor tensor[tensors > 0 ? tensors : 1];
  EpilogueScalar scalar[scalars > 0 ? scalars : 1];
};

}  // namespace estoc::abi
