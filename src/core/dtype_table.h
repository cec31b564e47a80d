// What the host knows of each element type, one row a type.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "estoc/dtype.hpp"

namespace estoc::core {

struct DtypeRow {
  Dtype dtype{};
  std::string_view name{};  ///< in problem text, kernel names and messages
  double max_finite;
  double epsilon;  ///< the step from 1 to the next number; 0 for integers
  /// As load_element and store_element in estoc/numeric.hpp.
  double (*load)(const void* data, std::int64_t index);
  void (*store)(void* data, std::int64_t index, double value);
};

/// A row for each Dtype, in the order of the enumeration.
std::span<const DtypeRow> dtype_rows();

inline const DtypeRow& row_of(Dtype dtype) {
  return dtype_rows()[static_cast<std::size_t>(dtype)];
}

}  // namespace estoc::core
