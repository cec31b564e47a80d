// Values of a configuration as the device sources spell them.
#pragma once

#include <string>
#include <string_view>

#include "estoc/abi/types.cuh"
#include "estoc/dtype.hpp"

namespace estoc::cuda {

constexpr abi::Type abi_type(Dtype dtype) {
  return static_cast<abi::Type>(dtype);
}
static_assert(abi_type(Dtype::boolean) == abi::Type::boolean);
static_assert(abi_type(Dtype::e4m3) == abi::Type::e4m3);

/// "Type::bf16".
inline std::string type_text(Dtype dtype) {
  const std::string_view name = dtype == Dtype::boolean ? "boolean" : dtype_name(dtype);
  return "Type::" + std::string(name);
}

}  // namespace estoc::cuda
