// Implements refusal of files and the sizes of tensors in them.
#include "io/file_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "estoc/status.hpp"

namespace estoc::io {
namespace {

constexpr std::size_t kLongestQuote = 80;

}  // namespace

void refuse(std::string_view file, std::string_view why) {
  throw Error(ErrorKind::value, fmt::format("cannot read '{}': {}", file, why));
}

std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text.substr(0, kLongestQuote)) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    result += control ? '?' : c;
  }
  return result + (text.size() > kLongestQuote ? "...'" : "'");
}

std::optional<std::int64_t> padded_elements(std::span<const std::int64_t> shape, int bits) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) {
    const std::int64_t factor = std::max<std::int64_t>(extent, 1);
    if (__builtin_mul_overflow(elements, factor, &elements)) return std::nullopt;
  }
  if (elements > std::numeric_limits<std::int64_t>::max() / bits) return std::nullopt;
  return elements;
}

std::int64_t count_elements(std::span<const std::int64_t> shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape)
    elements *= extent;
  return elements;
}

}  // namespace estoc::io
