// Loads, stores and limits of single elements of every Dtype.
#include "estoc/numeric.hpp"

#include <array>
#include <cstddef>

#include "core/dtype_table.h"

namespace estoc {

double load_element(Dtype dtype, const void* data, std::int64_t index) {
  return core::row_of(dtype).load(data, index);
}

void store_element(Dtype dtype, void* data, std::int64_t index, double value) {
  core::row_of(dtype).store(data, index, value);
}

double round_to(Dtype dtype, double value) {
  std::array<std::byte, sizeof(double)> element{};
  store_element(dtype, element.data(), 0, value);
  return load_element(dtype, element.data(), 0);
}

double max_finite(Dtype dtype) {
  return core::row_of(dtype).max_finite;
}

double epsilon(Dtype dtype) {
  return core::row_of(dtype).epsilon;
}

}  // namespace estoc
