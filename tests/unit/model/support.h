// Helpers of the model tests: errors by kind and text, pointers that are never followed.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "estoc/status.hpp"
#include "estoc/tensor.hpp"

namespace estoc::test {

using Extents = std::vector<std::int64_t>;

/// Runs `action` and gives the Error it throws; nullopt when it throws nothing.
template <typename Action>
std::optional<Error> error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

/// Expects an Error of that kind with exactly that message.
template <typename Action>
void expect_error(const Action& action, const std::string& message,
                  ErrorKind kind = ErrorKind::value) {
  const auto error = error_of(action);
  ASSERT_TRUE(error) << "nothing thrown; expected: " << message;
  EXPECT_EQ(error->what(), message);
  EXPECT_EQ(error->kind(), kind) << message;
}

/// Memory at an address that is not mapped; the model looks at addresses only.
inline void* at_address(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT: the point
}

/// Addresses that the stand-in for the driver takes for memory of cuda:0.
inline constexpr std::uintptr_t kDeviceMemory = std::uintptr_t{1} << 40;

/// A number of low <= x < high, all as likely, whatever the size rapidcheck has come to.
template <typename Number>
Number uniform(Number low, Number high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<Number>(low, high));
}

inline bool flip() {
  return uniform(0, 2) == 1;
}

/// The values in random order.
template <typename Value>
std::vector<Value> shuffled(std::vector<Value> values) {
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[uniform<std::size_t>(0, i)]);
  }
  return values;
}

}  // namespace estoc::test
