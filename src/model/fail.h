// How the model reports invalid arguments: one place that throws, kept out of the way of callers.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "estoc/status.hpp"

namespace estoc::model {

/// Throws Error{kind} with a message made by fmt. Never inlined, so that the checks around it stay
/// short.
template <typename... Args>
[[noreturn, gnu::cold, gnu::noinline]] void fail(ErrorKind kind, std::string_view format,
                                                 const Args&... args) {
  throw Error(kind, fmt::vformat(format, fmt::make_format_args(args...)));
}

template <typename... Args>
[[noreturn, gnu::cold, gnu::noinline]] void fail_value(std::string_view format,
                                                       const Args&... args) {
  throw Error(ErrorKind::value, fmt::vformat(format, fmt::make_format_args(args...)));
}

}  // namespace estoc::model
