// Names of the element types.
#include "estoc/dtype.hpp"

#include <array>
#include <cstddef>

namespace estoc {
namespace {

struct NamedDtype {
  Dtype dtype;
  std::string_view name;
};

constexpr std::array<NamedDtype, kDtypeCount> kNames{{
    {Dtype::f64, "f64"},
    {Dtype::f32, "f32"},
    {Dtype::tf32, "tf32"},
    {Dtype::f16, "f16"},
    {Dtype::bf16, "bf16"},
    {Dtype::e4m3, "e4m3"},
    {Dtype::e5m2, "e5m2"},
    {Dtype::e8m0, "e8m0"},
    {Dtype::e2m1, "e2m1"},
    {Dtype::i32, "i32"},
    {Dtype::i8, "i8"},
    {Dtype::u8, "u8"},
    {Dtype::i4, "i4"},
    {Dtype::u4, "u4"},
    {Dtype::boolean, "bool"},
}};

constexpr std::array<Dtype, kDtypeCount> list_dtypes() {
  std::array<Dtype, kDtypeCount> dtypes{};
  for (std::size_t i = 0; i < dtypes.size(); ++i)
    dtypes[i] = kNames[i].dtype;
  return dtypes;
}

constexpr std::array<Dtype, kDtypeCount> kDtypes = list_dtypes();

constexpr bool in_order() {
  for (std::size_t i = 0; i < kDtypes.size(); ++i) {
    if (static_cast<std::size_t>(kDtypes[i]) != i) return false;
  }
  return true;
}
static_assert(in_order(), "names are looked up by the value of the enumerator");

}  // namespace

std::string_view dtype_name(Dtype dtype) {
  return kNames[static_cast<std::size_t>(dtype)].name;
}

std::optional<Dtype> parse_dtype(std::string_view name) {
  for (const NamedDtype& entry : kNames) {
    if (entry.name == name) return entry.dtype;
  }
  return std::nullopt;
}

std::span<const Dtype> all_dtypes() {
  return kDtypes;
}

}  // namespace estoc
