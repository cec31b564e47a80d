// What the host gives the epilogue of a kernel.
#pragma once

#include <estoc/abi/matrix.cuh>

namespace estoc::abi {

/// How TMA moves the tiles of a tensor: not, along L too, or without a mode L.
enum class TmaMode : int { none, batched, plain };

/// A tensor of the output's shape that an epilogue reads or writes; strides are 0 along the modes
/// that it repeats.
struct EpilogueOperand {
  Matrix at;
  int vectors;  ///< four neighbours of a row may be moved by one instruction
  TmaMode tma;
};

/// A number given at run time: where it is on the device, or, the address being 0, the bits of its
/// value in the type that it is computed in.
struct EpilogueScalar {
  unsigned long long address;
  unsigned long long bits;
};

enum class Reduction : unsigned char { sum, max, min, absmax, sum_of_squares };

/// Where tiles leave their parts of a reduction: part p of result r, in the type that it is
/// computed in, is element p * results + r. Of results that are one for all batches, each batch has
/// `parts`.
struct EpiloguePartials {
  unsigned long long address;
  long long results;
  long long parts;
};

/// What a generated epilogue is given.
template <unsigned tensors, unsigned scalars, unsigned stores, unsigned reductions>
struct EpilogueParameters {
  EpilogueOperand tensor[tensors > 0 ? tensors : 1];
  EpilogueScalar scalar[scalars > 0 ? scalars : 1];
  EpilogueOperand store[stores];  ///< the first is the output
  EpiloguePartials partial[reductions > 0 ? reductions : 1];
};

/// The second stage of a reduction: `parts` of each result, put together and stored at
/// to.address + result / inner * to.batch_stride + result % inner * to.row_stride.
struct EpilogueResult {
  EpiloguePartials from;
  Matrix to;
  long long inner;
  int lanes;  ///< threads that share a result: 1, 8 or 256
  int pad;
};
template <unsigned reductions>
struct EpilogueResults {
  EpilogueResult result[reductions];
};

}  // namespace estoc::abi
