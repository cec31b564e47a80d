// Names of the element types.
#include "estoc/dtype.hpp"

#include <array>
#include <cstddef>

#include "core/dtype_table.h"

namespace estoc {
namespace {

constexpr std::array<Dtype, kDtypeCount> list_dtypes() {
  std::array<Dtype, kDtypeCount> dtypes{};
  for (std::size_t i = 0; i < dtypes.size(); ++i)
    dtypes[i] = static_cast<Dtype>(i);
  return dtypes;
}

constexpr std::array<Dtype, kDtypeCount> kDtypes = list_dtypes();

}  // namespace

std::string_view dtype_name(Dtype dtype) {
  return core::row_of(dtype).name;
}

std::optional<Dtype> parse_dtype(std::string_view name) {
  for (const core::DtypeRow& row : core::dtype_rows()) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

std::span<const Dtype> all_dtypes() {
  return kDtypes;
}

}  // namespace estoc
