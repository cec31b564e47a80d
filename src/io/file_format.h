// What the two file formats share: how a file is refused, and the size of a tensor in it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace estoc::io {

/// Throws Error{value}: "cannot read '<file>': <why>".
[[noreturn]] void refuse(std::string_view file, std::string_view why);

/// `text` from a file, in single quotes, fit for a message: control characters are replaced and
/// what is too long is cut.
std::string in_quotes(std::string_view text);

/// Product of the extents, an extent of 0 counting as 1; nullopt where that many elements of
/// `bits` would pass 2^63 - 1 bits. So every stride of an accepted shape fits, empty or not.
std::optional<std::int64_t> padded_elements(std::span<const std::int64_t> shape, int bits);

/// Product of the extents of a shape that padded_elements accepts.
std::int64_t count_elements(std::span<const std::int64_t> shape);

}  // namespace estoc::io
