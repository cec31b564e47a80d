// The .safetensors format: a JSON header that names tensors, then their data without gaps.
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

/// One tensor of a .safetensors file; row-major.
struct SafetensorsEntry {
  std::string name;
  /// As the file writes it ("BF16"), known to Estoc or not.
  std::string dtype;
  std::vector<std::int64_t> shape;
  /// Its data, in bytes from the start of the file.
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// The tensors of `bytes`, a whole .safetensors file, in the order of its header.
///
/// Throws Error{value} that names `file`, unless every tensor has a name of its own, a size that
/// fits its dtype (where that is known) and shape, and the tensors together fill the file without
/// gap or overlap.
std::vector<SafetensorsEntry> parse_safetensors(std::span<const std::byte> bytes,
                                                std::string_view file);

/// Length prefix and header of a file that holds one tensor, row-major; the data follow directly.
/// Its length is a multiple of 8. Throws Error{value} when `name` is not UTF-8 or is reserved.
std::string safetensors_header(std::string_view name, Dtype dtype,
                               std::span<const std::int64_t> shape);

/// Throws what safetensors_header would throw for the name.
void check_safetensors_name(std::string_view name);

/// The type as .safetensors writes it ("BF16"); nullopt for those that Estoc does not write there.
/// tf32 is written as f32.
std::optional<std::string_view> safetensors_dtype(Dtype dtype);

/// The type of that name; nullopt when Estoc has none.
std::optional<Dtype> parse_safetensors_dtype(std::string_view name);

}  // namespace estoc::io
