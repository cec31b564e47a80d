// Formats numbers, shapes and untrusted text for people.
#include "text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace estoc::cli {
namespace {

constexpr std::size_t kLongest = 1000;

/// Edits (insert, remove, replace a character) that turn one text into the other.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n' || c == '\t') {
      result += ' ';
    } else if (code < 0x20 || code == 0x7F) {
      result += fmt::format("\\x{:02x}", code);
    } else {
      result += c;
    }
  }
  if (result.size() <= kLongest) return result;
  const std::size_t half = kLongest / 2;
  return result.substr(0, half) + " ... " + result.substr(result.size() - half);
}

std::string format_seconds(double seconds) {
  static constexpr std::array<std::pair<double, const char*>, 3> kUnits{
      {{1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
  if (!std::isfinite(seconds)) return "-";
  if (seconds >= 1 || seconds <= 0) return format_number(seconds) + " s";
  for (const auto& [scale, unit] : kUnits) {
    if (seconds >= scale) return format_number(seconds / scale) + ' ' + unit;
  }
  return format_number(seconds / 1e-9) + " ns";
}

std::string format_number(double value) {
  const double magnitude = std::abs(value);
  if (magnitude == 0) return "0";
  if (!std::isfinite(value) || magnitude >= 1e7 || magnitude < 1e-3)
    return fmt::format("{:.2e}", value);
  if (magnitude >= 99.95) return fmt::format("{:.0f}", value);
  if (magnitude >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

std::string format_bytes(std::int64_t bytes) {
  static constexpr std::array<const char*, 6> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  const bool is_integer = value == std::floor(value);
  return is_integer ? fmt::format("{:.0f} {}", value, kUnits[unit])
                    : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string format_shape(std::span<const std::int64_t> shape) {
  if (shape.size() == 1) return fmt::format("({},)", shape[0]);
  return fmt::format("({})", fmt::join(shape, ", "));
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string nearest(std::string_view name, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance = name.size() / 2 + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string_view file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace estoc::cli
