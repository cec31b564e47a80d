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

/// The bits of an element of a byte or more, or of half a byte.
template <int bits>
std::uint32_t read_code(const void* data, std::int64_t index) {
  if constexpr (bits == 32) return read<std::uint32_t>(data, index);
  if constexpr (bits == 16) return read<std::uint16_t>(data, index);
  if constexpr (bits == 8) return read<std::uint8_t>(data, index);
  if constexpr (bits == 4) return load_nibble(static_cast<const std::uint8_t*>(data), index);
}

template <int bits>
void write_code(void* data, std::int64_t index, std::uint32_t code) {
  if constexpr (bits == 32) write(data, index, code);
  if constexpr (bits == 16) write(data, index, static_cast<std::uint16_t>(code));
  if constexpr (bits == 8) write(data, index, static_cast<std::uint8_t>(code));
  if constexpr (bits == 4) {
    store_nibble(static_cast<std::uint8_t*>(data), index, static_cast<std::uint8_t>(code));
  }
}

constexpr double step_at_one(FloatFormat format) {
  return __builtin_bit_cast(double, power_of_two_bits<double>(-format.mantissa_bits));
}

/// An integer between two bounds; 0 for NaN.
std::int32_t to_integer(double value, double lowest, double highest) {
  if (std::isnan(value)) return 0;
  return static_cast<std::int32_t>(std::clamp(std::nearbyint(value), lowest, highest));
}

/// A type of ESTOC_FLOAT_FORMAT.
template <Dtype dtype>
constexpr DtypeRow float_row() {
  constexpr int kBits = dtype_bits(dtype);
  return {
      .max_finite = decode<kFormat<dtype>>(max_finite_code(kFormat<dtype>)),
      .epsilon = step_at_one(kFormat<dtype>),
      .load = [](const void* data, std::int64_t index) -> double {
        return decode<kFormat<dtype>>(read_code<kBits>(data, index));
      },
      .store = [](void* data, std::int64_t index,
                  double value) { write_code<kBits>(data, index, encode<kFormat<dtype>>(value)); },
  };
}

template <Dtype dtype>
constexpr DtypeRow integer_row() {
  constexpr int kBits = dtype_bits(dtype);
  constexpr bool kSigned = dtype_kind(dtype) == DtypeKind::signed_integer;
  constexpr auto kHighest =
      static_cast<double>((std::int64_t{1} << (kBits - (kSigned ? 1 : 0))) - 1);
  return {
      .max_finite = kHighest,
      .epsilon = 0,
      .load = [](const void* data, std::int64_t index) -> double {
        const std::uint32_t code = read_code<kBits>(data, index);
        if (!kSigned) return code;
        return static_cast<std::int32_t>(code << (32 - kBits)) >> (32 - kBits);
      },
      .store =
          [](void* data, std::int64_t index, double value) {
            const std::int32_t integer = to_integer(value, kSigned ? -kHighest - 1 : 0, kHighest);
            write_code<kBits>(data, index, static_cast<std::uint32_t>(integer));
          },
  };
}

template <Dtype dtype>
constexpr DtypeRow row() {
  if constexpr (is_integer(dtype)) return integer_row<dtype>();
  if constexpr (is_float(dtype)) return float_row<dtype>();
}

template <>
constexpr DtypeRow row<Dtype::f64>() {
  using Limits = std::numeric_limits<double>;
  return {.max_finite = Limits::max(),
          .epsilon = Limits::epsilon(),
          .load = &read<double>,
          .store = &write<double>};
}

template <>
constexpr DtypeRow row<Dtype::f32>() {
  DtypeRow row = float_row<Dtype::f32>();
  row.load = [](const void* data, std::int64_t index) -> double {
    return read<float>(data, index);
  };
  return row;
}

/// Stored as f32.
template <>
constexpr DtypeRow row<Dtype::tf32>() {
  DtypeRow row = float_row<Dtype::tf32>();
  row.load = core::row<Dtype::f32>().load;
  row.store = [](void* data, std::int64_t index, double value) {
    write(data, index, tf32_code_to_f32(encode<kFormat<Dtype::tf32>>(value)));
  };
  return row;
}

template <>
constexpr DtypeRow row<Dtype::e8m0>() {
  return {
      .max_finite = e8m0_to_f64(254),
      .epsilon = 1,
      .load = [](const void* data,
                 std::int64_t index) { return e8m0_to_f64(read<std::uint8_t>(data, index)); },
      .store = [](void* data, std::int64_t index,
                  double value) { write(data, index, f64_to_e8m0(value)); },
  };
}

template <>
constexpr DtypeRow row<Dtype::boolean>() {
  return {
      .max_finite = 1,
      .epsilon = 0,
      .load = [](const void* data, std::int64_t index) -> double {
        return read<std::uint8_t>(data, index) != 0 ? 1 : 0;
      },
      .store = [](void* data, std::int64_t index,
                  double value) { write(data, index, static_cast<std::uint8_t>(value != 0)); },
  };
}

constexpr DtypeRow named(DtypeRow row, Dtype dtype, std::string_view name) {
  row.dtype = dtype;
  row.name = name;
  return row;
}

constexpr std::array<DtypeRow, kDtypeCount> kRows{
#define ESTOC_DTYPE(name, text, bits, kind) named(row<Dtype::name>(), Dtype::name, text),
#include "estoc/dtypes.def"
};

}  // namespace

std::span<const DtypeRow> dtype_rows() {
  return kRows;
}

}  // namespace estoc::core
