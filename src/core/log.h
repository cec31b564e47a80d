// Sends a message to the callback of the library's user, formatted only if there is one.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "estoc/log.hpp"

namespace estoc::core {

/// True when a callback is set; one atomic load.
bool log_enabled() noexcept;

/// Hands `message` to the callback, if there is one; never throws.
void log_message(LogLevel level, std::string_view message) noexcept;

/// Formats a message as fmt does and hands it to the callback; does nothing without one.
template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled()) log_message(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace estoc::core
