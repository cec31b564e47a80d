// Implements strict number parsing, sizes in words, and edit distance for "did you mean".
#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <vector>

namespace estoc::core {
namespace {

template <class Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc{} || result.ptr != end) return std::nullopt;
  return number;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Fewest insertions, deletions, replacements and exchanges of neighbours that make a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0U : 1U)});
      const bool exchanged = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                             lower(a[i - 2]) == lower(b[j - 1]);
      if (exchanged) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

template <class Name>
std::optional<std::string_view> nearest(std::string_view name, std::span<const Name> candidates) {
  std::optional<std::string_view> best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    const bool alike = distance < std::max(name.size(), candidate.size());
    if (alike && distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace

std::optional<std::int64_t> parse_int64(std::string_view text) {
  return parse_whole<std::int64_t>(text);
}

std::optional<double> parse_double(std::string_view text) {
  return parse_whole<double>(text);
}

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  // 1023.95 is the first size that one decimal would show as 1024.0.
  while (std::abs(size) >= (unit == 0 ? 1024.0 : 1023.95) && unit + 1 < kUnits.size()) {
    size /= 1024;
    ++unit;
  }
  std::string number = fmt::format("{:.1f}", size);
  if (number.ends_with(".0")) number.resize(number.size() - 2);
  return fmt::format("{} {}", number, kUnits[unit]);
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  std::string suffix;
  while (!text.empty() && (text.back() < '0' || text.back() > '9')) {
    suffix.insert(suffix.begin(), static_cast<char>(std::toupper(text.back())));
    text.remove_suffix(1);
  }
  const auto number = parse_int64(text);
  if (!number || *number <= 0) return std::nullopt;
  constexpr std::string_view kUnits = "BKMGT";
  const std::size_t unit = suffix.empty() ? 0 : kUnits.find(suffix.front());
  const std::string_view rest =
      suffix.empty() ? std::string_view{} : std::string_view(suffix).substr(1);
  const bool known = unit != std::string_view::npos &&
                     (rest.empty() || (unit > 0 && (rest == "B" || rest == "IB")));
  const std::int64_t factor = known ? std::int64_t{1} << (10 * unit) : 0;
  if (!known || *number > std::numeric_limits<std::int64_t>::max() / factor) return std::nullopt;
  return *number * factor;
}

std::optional<std::string_view> nearest_name(std::string_view name,
                                             std::span<const std::string_view> candidates) {
  return nearest(name, candidates);
}

std::optional<std::string_view> nearest_name(std::string_view name,
                                             std::span<const std::string> candidates) {
  return nearest(name, candidates);
}

}  // namespace estoc::core
