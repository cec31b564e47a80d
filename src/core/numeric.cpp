// Loads, stores and limits of single elements of every Dtype.
#include "estoc/numeric.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "core/float_formats.h"

namespace estoc {
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
  return core::load_nibble(static_cast<const std::uint8_t*>(data), index);
}

void write_nibble(void* data, std::int64_t index, std::uint32_t nibble) {
  core::store_nibble(static_cast<std::uint8_t*>(data), index, static_cast<std::uint8_t>(nibble));
}

template <core::FloatFormat format, class Code>
void write_float(void* data, std::int64_t index, double value) {
  write(data, index, static_cast<Code>(core::encode<format>(value)));
}

std::int32_t round_to_integer(double value, double lowest, double highest) {
  if (std::isnan(value)) return 0;
  return static_cast<std::int32_t>(std::clamp(std::nearbyint(value), lowest, highest));
}

template <class T>
T saturate(double value) {
  using Limits = std::numeric_limits<T>;
  return static_cast<T>(round_to_integer(value, Limits::min(), Limits::max()));
}

template <core::FloatFormat format>
constexpr double kLargest = core::decode<format>(core::max_finite_code(format));

constexpr double step_at_one(core::FloatFormat format) {
  return __builtin_bit_cast(double, core::power_of_two_bits<double>(-format.mantissa_bits));
}

}  // namespace

double load_element(Dtype dtype, const void* data, std::int64_t index) {
  switch (dtype) {
    case Dtype::f64:
      return read<double>(data, index);
    case Dtype::f32:
    case Dtype::tf32:
      return read<float>(data, index);
    case Dtype::f16:
      return core::decode<core::kF16Format>(read<std::uint16_t>(data, index));
    case Dtype::bf16:
      return core::decode<core::kBf16Format>(read<std::uint16_t>(data, index));
    case Dtype::e4m3:
      return core::decode<core::kE4m3Format>(read<std::uint8_t>(data, index));
    case Dtype::e5m2:
      return core::decode<core::kE5m2Format>(read<std::uint8_t>(data, index));
    case Dtype::e8m0:
      return core::e8m0_to_f64(read<std::uint8_t>(data, index));
    case Dtype::e2m1:
      return core::decode<core::kE2m1Format>(read_nibble(data, index));
    case Dtype::i32:
      return read<std::int32_t>(data, index);
    case Dtype::i8:
      return read<std::int8_t>(data, index);
    case Dtype::u8:
      return read<std::uint8_t>(data, index);
    case Dtype::i4:
      return core::nibble_to_i4(read_nibble(data, index));
    case Dtype::u4:
      return read_nibble(data, index);
    case Dtype::boolean:
      return read<std::uint8_t>(data, index) != 0 ? 1 : 0;
  }
  return 0;
}

void store_element(Dtype dtype, void* data, std::int64_t index, double value) {
  switch (dtype) {
    case Dtype::f64:
      return write(data, index, value);
    case Dtype::f32:
      return write_float<core::kF32Format, std::uint32_t>(data, index, value);
    case Dtype::tf32:
      return write(data, index, core::tf32_code_to_f32(core::encode<core::kTf32Format>(value)));
    case Dtype::f16:
      return write_float<core::kF16Format, std::uint16_t>(data, index, value);
    case Dtype::bf16:
      return write_float<core::kBf16Format, std::uint16_t>(data, index, value);
    case Dtype::e4m3:
      return write_float<core::kE4m3Format, std::uint8_t>(data, index, value);
    case Dtype::e5m2:
      return write_float<core::kE5m2Format, std::uint8_t>(data, index, value);
    case Dtype::e8m0:
      return write(data, index, core::f64_to_e8m0(value));
    case Dtype::e2m1:
      return write_nibble(data, index, core::encode<core::kE2m1Format>(value));
    case Dtype::i32:
      return write(data, index, saturate<std::int32_t>(value));
    case Dtype::i8:
      return write(data, index, saturate<std::int8_t>(value));
    case Dtype::u8:
      return write(data, index, saturate<std::uint8_t>(value));
    case Dtype::i4:
      return write_nibble(data, index, static_cast<std::uint32_t>(round_to_integer(value, -8, 7)));
    case Dtype::u4:
      return write_nibble(data, index, static_cast<std::uint32_t>(round_to_integer(value, 0, 15)));
    case Dtype::boolean:
      return write(data, index, static_cast<std::uint8_t>(value != 0));
  }
}

double round_to(Dtype dtype, double value) {
  std::array<std::byte, sizeof(double)> element{};
  store_element(dtype, element.data(), 0, value);
  return load_element(dtype, element.data(), 0);
}

double max_finite(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return std::numeric_limits<double>::max();
    case Dtype::f32:
      return std::numeric_limits<float>::max();
    case Dtype::tf32:
      return kLargest<core::kTf32Format>;
    case Dtype::f16:
      return kLargest<core::kF16Format>;
    case Dtype::bf16:
      return kLargest<core::kBf16Format>;
    case Dtype::e4m3:
      return kLargest<core::kE4m3Format>;
    case Dtype::e5m2:
      return kLargest<core::kE5m2Format>;
    case Dtype::e8m0:
      return core::e8m0_to_f64(254);
    case Dtype::e2m1:
      return kLargest<core::kE2m1Format>;
    case Dtype::i32:
      return std::numeric_limits<std::int32_t>::max();
    case Dtype::i8:
      return 127;
    case Dtype::u8:
      return 255;
    case Dtype::i4:
      return 7;
    case Dtype::u4:
      return 15;
    case Dtype::boolean:
      return 1;
  }
  return 0;
}

double epsilon(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return std::numeric_limits<double>::epsilon();
    case Dtype::f32:
      return std::numeric_limits<float>::epsilon();
    case Dtype::tf32:
      return step_at_one(core::kTf32Format);
    case Dtype::f16:
      return step_at_one(core::kF16Format);
    case Dtype::bf16:
      return step_at_one(core::kBf16Format);
    case Dtype::e4m3:
      return step_at_one(core::kE4m3Format);
    case Dtype::e5m2:
      return step_at_one(core::kE5m2Format);
    case Dtype::e8m0:
      return 1;
    case Dtype::e2m1:
      return step_at_one(core::kE2m1Format);
    default:
      return 0;
  }
}

}  // namespace estoc
