// A matrix operand, as host and device agree on it.
#pragma once

namespace estoc::abi {

/// A matrix operand: address of element (0, 0, 0) and strides in elements.
struct Matrix {
  unsigned long long address;
  long long row_stride;
  long long column_stride;
  long long batch_stride;
};

}  // namespace estoc::abi
