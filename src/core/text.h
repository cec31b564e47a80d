// Small text helpers: strict number parsing, sizes in words, the nearest of several names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace estoc::core {

/// The decimal integer that `text` is as a whole, with an optional '-'; nullopt when it is
/// anything else (empty, a '+', spaces, digits left over) or does not fit.
std::optional<std::int64_t> parse_int64(std::string_view text);

/// The number that `text` is as a whole, as std::from_chars reads it ("1e-3", "inf", "nan");
/// nullopt when it is anything else or is out of range.
std::optional<double> parse_double(std::string_view text);

/// A size in bytes with the largest fitting unit, rounded to one decimal: "0 B", "1.5 KiB",
/// "64 MiB".
std::string format_bytes(std::int64_t bytes);

/// A size as users write it: digits, then nothing or one of B K M G T (powers of 1024), which KiB,
/// KB and so on also stand for; case does not matter. nullopt for anything else, 0 and above 2^63.
std::optional<std::int64_t> parse_bytes(std::string_view text);

/// The candidate that `name` was probably meant to be, for "did you mean"; the first of equally
/// near ones, nullopt when none is near. Upper and lower case count as the same.
std::optional<std::string_view> nearest_name(std::string_view name,
                                             std::span<const std::string_view> candidates);
std::optional<std::string_view> nearest_name(std::string_view name,
                                             std::span<const std::string> candidates);

}  // namespace estoc::core
