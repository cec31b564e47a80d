// Knobs as JSON, in files of kernels and of records alike.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "estoc/kernel_class.hpp"

namespace estoc::records {

/// A whole number, if it is one and fits. Unlike nlohmann's own, takes no other type for a number
/// and loses none of its digits.
template <class Number>
std::optional<Number> as_integer(const nlohmann::ordered_json& value) {
  const bool fits =
      value.is_number_unsigned()
          ? std::in_range<Number>(value.get<std::uint64_t>())
          : value.is_number_integer() && std::in_range<Number>(value.get<std::int64_t>());
  return fits ? std::optional(value.get<Number>()) : std::nullopt;
}

/// Text of a record or a part of one. Throws Error{value} where it nests more deeply than these do,
/// and nlohmann's errors.
nlohmann::ordered_json parse_json(std::string_view text);

nlohmann::ordered_json to_json(const Knobs& knobs);
/// Throws Error{value}, which says what was expected, and nlohmann's errors.
Knobs knobs_of(const nlohmann::ordered_json& json);

/// What is wrong with the values of knobs; empty: nothing.
std::string problem_of(const Knobs& knobs);

}  // namespace estoc::records
