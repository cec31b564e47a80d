// The table of element types: names, limits, and how an element is read and written.
#include "core/dtype_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "core/float_formats.h"

namespace estoc::core {
namespace {

template <class T>
T read(const void* data, std::int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * std::int64_t{sizeof(T)}, sizeof(T));
  return value;
}

template <class T>
void write(void* data, std::int64_t index, T value) {
  std::memcpy(static_cast<char*>(data) + index * std::int64_t{sizeof(T)}, &value, sizeof(T));
}

std::uint8_t read_nibble(const void* data, std::int64_t index) {
  return load_nibble(static_cast<const std::uint8_t*>(data), index);
}

void write_nibble(void* data, std::int64_t index, std::uint32_t nibble) {
  store_nibble(static_cast<std::uint8_t*>(data), index, static_cast<std::uint8_t>(nibble));
}

constexpr double step_at_one(FloatFormat format) {
  return __builtin_bit_cast(double, power_of_two_bits<double>(-format.mantissa_bits));
}

/// An integer between two bounds; 0 for NaN.
std::int32_t to_integer(double value, double lowest, double highest) {
  if (std::isnan(value)) return 0;
  return static_cast<std::int32_t>(std::clamp(std::nearbyint(value), lowest, highest));
}

/// A format of whole bytes, the codes of which are unsigned integers.
template <FloatFormat format, class Code>
constexpr DtypeRow float_row(Dtype dtype, std::string_view name) {
  return {dtype,
          name,
          decode<format>(max_finite_code(format)),
          step_at_one(format),
          [](const void* data, std::int64_t index) -> double {
            return decode<format>(read<Code>(data, index));
          },
          [](void* data, std::int64_t index, double value) {
            write(data, index, static_cast<Code>(encode<format>(value)));
          }};
}

template <class T>
constexpr DtypeRow integer_row(Dtype dtype, std::string_view name) {
  using Limits = std::numeric_limits<T>;
  return {dtype,
          name,
          Limits::max(),
          0,
          [](const void* data, std::int64_t index) -> double { return read<T>(data, index); },
          [](void* data, std::int64_t index, double value) {
            write(data, index, static_cast<T>(to_integer(value, Limits::min(), Limits::max())));
          }};
}

constexpr DtypeRow f64_row() {
  using Limits = std::numeric_limits<double>;
  return {Dtype::f64, "f64", Limits::max(), Limits::epsilon(), &read<double>, &write<double>};
}

constexpr DtypeRow f32_row() {
  DtypeRow row = float_row<kF32Format, std::uint32_t>(Dtype::f32, "f32");
  row.load = [](const void* data, std::int64_t index) -> double {
    return read<float>(data, index);
  };
  return row;
}

/// A format that is stored as f32.
constexpr DtypeRow tf32_row() {
  DtypeRow row = f32_row();
  row.dtype = Dtype::tf32;
  row.name = "tf32";
  row.max_finite = decode<kTf32Format>(max_finite_code(kTf32Format));
  row.epsilon = step_at_one(kTf32Format);
  row.store = [](void* data, std::int64_t index, double value) {
    write(data, index, tf32_code_to_f32(encode<kTf32Format>(value)));
  };
  return row;
}

constexpr DtypeRow e8m0_row() {
  return {
      Dtype::e8m0,
      "e8m0",
      e8m0_to_f64(254),
      1,
      [](const void* data, std::int64_t index) {
        return e8m0_to_f64(read<std::uint8_t>(data, index));
      },
      [](void* data, std::int64_t index, double value) { write(data, index, f64_to_e8m0(value)); }};
}

constexpr DtypeRow e2m1_row() {
  return {Dtype::e2m1,
          "e2m1",
          decode<kE2m1Format>(max_finite_code(kE2m1Format)),
          step_at_one(kE2m1Format),
          [](const void* data, std::int64_t index) -> double {
            return decode<kE2m1Format>(read_nibble(data, index));
          },
          [](void* data, std::int64_t index, double value) {
            write_nibble(data, index, encode<kE2m1Format>(value));
          }};
}

constexpr DtypeRow i4_row() {
  return {Dtype::i4,
          "i4",
          7,
          0,
          [](const void* data, std::int64_t index) -> double {
            return nibble_to_i4(read_nibble(data, index));
          },
          [](void* data, std::int64_t index, double value) {
            write_nibble(data, index, static_cast<std::uint32_t>(to_integer(value, -8, 7)));
          }};
}

constexpr DtypeRow u4_row() {
  return {Dtype::u4,
          "u4",
          15,
          0,
          [](const void* data, std::int64_t index) -> double { return read_nibble(data, index); },
          [](void* data, std::int64_t index, double value) {
            write_nibble(data, index, static_cast<std::uint32_t>(to_integer(value, 0, 15)));
          }};
}

constexpr DtypeRow boolean_row() {
  return {Dtype::boolean,
          "bool",
          1,
          0,
          [](const void* data, std::int64_t index) -> double {
            return read<std::uint8_t>(data, index) != 0 ? 1 : 0;
          },
          [](void* data, std::int64_t index, double value) {
            write(data, index, static_cast<std::uint8_t>(value != 0));
          }};
}

constexpr std::array<DtypeRow, kDtypeCount> kRows{
    f64_row(),
    f32_row(),
    tf32_row(),
    float_row<kF16Format, std::uint16_t>(Dtype::f16, "f16"),
    float_row<kBf16Format, std::uint16_t>(Dtype::bf16, "bf16"),
    float_row<kE4m3Format, std::uint8_t>(Dtype::e4m3, "e4m3"),
    float_row<kE5m2Format, std::uint8_t>(Dtype::e5m2, "e5m2"),
    e8m0_row(),
    e2m1_row(),
    integer_row<std::int32_t>(Dtype::i32, "i32"),
    integer_row<std::int8_t>(Dtype::i8, "i8"),
    integer_row<std::uint8_t>(Dtype::u8, "u8"),
    i4_row(),
    u4_row(),
    boolean_row(),
};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].dtype) != i) return false;
  }
  return true;
}
static_assert(is_in_order(), "rows are looked up by the value of the enumerator");

}  // namespace

std::span<const DtypeRow> dtype_rows() {
  return kRows;
}

}  // namespace estoc::core
