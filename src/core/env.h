// The environment: the only place of the library that reads it.
#pragma once

#include <optional>
#include <string>

namespace estoc::core {

/// The value of a variable of environment_variables(); nullopt when it is not set or empty. Not to
/// be called on the run path, nor while another thread changes the environment.
std::optional<std::string> env(const char* name);

}  // namespace estoc::core
