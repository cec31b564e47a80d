// Configurations as generated units spell them.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

#include "estoc/abi/simt_gemm.cuh"
#include "estoc/abi/sm90_gemm.cuh"
#include "jit/abi_type.h"

namespace estoc::cuda {

/// "Type::bf16", "Schedule::single".
std::string value_text(abi::Type type);
std::string value_text(abi::Vectors vectors);
std::string value_text(abi::Schedule schedule);
std::string value_text(abi::GroupedMode mode);
std::string value_text(std::same_as<bool> auto value) {
  return value ? "true" : "false";
}
std::string value_text(std::same_as<int> auto value) {
  return std::to_string(value);
}

/// "{.columns = 64, .rolled = true}".
template <typename Shape>
requires std::is_class_v<Shape> std::string value_text(const Shape& shape) {
  std::string text;
  shape.visit([&](std::string_view name, const auto& value) {
    text += fmt::format("{}.{} = {}", text.empty() ? "" : ", ", name, value_text(value));
  });
  return '{' + text + '}';
}

/// The definition of a constant kConfig, one field a line; `type` is the name of Config.
template <typename Config>
std::string config_text(std::string_view type, const Config& config) {
  std::string text = fmt::format("constexpr {} kConfig{{\n", type);
  config.visit([&](std::string_view name, const auto& value) {
    text += fmt::format("    .{} = {},\n", name, value_text(value));
  });
  return text + "};\n";
}

}  // namespace estoc::cuda
