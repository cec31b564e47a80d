// What becomes of an accumulator before it is stored: functors called once for each element.
#pragma once

#include <estoc/numeric.cuh>

namespace estoc::epilogue {

/// Where an element of the output stands.
struct Position {
  i64 l;
  i64 m;
  i64 n;
};

/// out = accumulator.
struct Identity {
  template <typename Value>
  __device__ __forceinline__ Value operator()(Value accumulator, const Position&) const {
    return accumulator;
  }
};

/// out = alpha * accumulator + beta * C, with C read in `type`, from the place of the output.
template <Type compute, Type type>
struct LinearCombination {
  Compute<compute> alpha;
  Compute<compute> beta;
  abi::Matrix c;

  __device__ __forceinline__ Compute<compute> operator()(Compute<compute> accumulator,
                                                         const Position& at) const {
    Compute<compute> value = alpha * accumulator;
    if (beta != 0) {
      const i64 offset = at.l * c.batch_stride + at.m * c.row_stride + at.n * c.column_stride;
      const u64 address = c.address + static_cast<u64>(offset * abi::type_bytes(type));
      value += beta * load_element<compute, type>(address);
    }
    return value;
  }
};

}  // namespace estoc::epilogue
