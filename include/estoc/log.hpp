// Messages of the library for people, through one callback; without it the library is silent.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace estoc {

/// How much a message matters, most important first.
enum class LogLevel : std::uint8_t {
  error,    ///< something failed that no exception reports
  warning,  ///< something is likely not as the user wants it (a corrupt cache entry)
  info,     ///< what took time or was decided (a kernel was compiled)
  debug,    ///< details for those who look for a fault
};

/// Sends every later message of the library to `callback`; an empty one ends that.
///
/// The callback gets one line without a line end, valid during the call only. It may be called by
/// several threads at once, may call the library (this function too), and may still be running in
/// another thread when this function has replaced it. What it throws is dropped.
void set_log_callback(std::function<void(LogLevel, std::string_view)> callback);

}  // namespace estoc
