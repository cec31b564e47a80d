// NumPy's .npy format: a short header that describes one array, then the array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estoc/dtype.hpp"

namespace estoc::io {

/// What the header of a .npy file says.
struct NpyHeader {
  Dtype dtype = Dtype::f32;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  /// Where the array begins, in bytes from the start of the file.
  std::size_t data_offset = 0;
};

/// Reads the header of `bytes`, a whole .npy file, and checks that the array it describes is what
/// follows, no less and no more. Throws Error{value} that names `file`.
NpyHeader parse_npy(std::span<const std::byte> bytes, std::string_view file);

/// The header, version 1.0, of a row-major array; the array follows it directly. Its length is a
/// multiple of 64.
std::string npy_header(Dtype dtype, std::span<const std::int64_t> shape);

/// The type as .npy writes it ("<f4"); nullopt for those it does not know. tf32 is written as f32.
std::optional<std::string_view> npy_descr(Dtype dtype);

}  // namespace estoc::io
