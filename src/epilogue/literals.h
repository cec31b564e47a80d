// Numbers in the text of programs and graphs.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace estoc::epilogue {

/// Shortest digits that read back as the same number; whole numbers of a floating type end in ".0".
inline std::string print_literal(double value, bool is_integer) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text =
      is_integer ? fmt::format("{}", static_cast<long long>(value)) : fmt::format("{}", value);
  const bool bare = text.find_first_of(".e") == std::string::npos;
  if (!is_integer && bare) text += ".0";
  return text;
}

}  // namespace estoc::epilogue
