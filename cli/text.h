// Small text helpers: printable text, times and rates with units, shapes, the nearest name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace estoc::cli {

/// `text` on one line: control characters as \xNN, the middle left out where it is very long.
std::string printable(std::string_view text);

/// "1.23 us", "45.6 ms", "2.00 s": three significant digits.
std::string format_seconds(double seconds);

/// A number with three significant digits and no exponent where that is readable: "48.1", "0.02".
std::string format_number(double value);

/// "16 GiB", one decimal where there is one.
std::string format_bytes(std::int64_t bytes);

/// "1 kernel", "5 kernels".
std::string counted(std::size_t count, std::string_view what);

/// "(360, 64)", "(5,)".
std::string format_shape(std::span<const std::int64_t> shape);

/// "a, b, c".
std::string join(std::span<const std::string> parts, std::string_view separator = ", ");

/// The candidate most like `name`; empty when none is near.
std::string nearest(std::string_view name, std::span<const std::string> candidates);

/// The part of a path after the last '/'.
std::string_view file_name(std::string_view path);

}  // namespace estoc::cli
