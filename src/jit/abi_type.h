// The dtype of an operand as device code knows it.
#pragma once

#include "estoc/abi/types.cuh"
#include "estoc/dtype.hpp"

namespace estoc {

/// Dtype and abi::Type list the same types in the same order.
constexpr abi::Type abi_type(Dtype dtype) {
  return static_cast<abi::Type>(dtype);
}
static_assert(
    [] {
      for (int i = 0; i < kDtypeCount; ++i) {
        const auto dtype = static_cast<Dtype>(i);
        if (abi::type_bits(abi_type(dtype)) != dtype_bits(dtype)) return false;
      }
      return static_cast<int>(abi::Type::boolean) == kDtypeCount - 1;
    }(),
    "estoc/dtype.hpp and estoc/abi/types.cuh differ");

}  // namespace estoc
