// The environment: the only place of the library that reads it, and the list of what it reads.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace estoc::core {

/// An environment variable that Estoc reads.
struct EnvVariable {
  const char* name;
  const char* meaning;
};

/// Every variable that Estoc reads, its command line included.
std::span<const EnvVariable> env_variables();

/// The value of a variable of that list; nullopt when it is not set or empty. Not to be called
/// on the run path, nor while another thread changes the environment.
std::optional<std::string> env(const char* name);

}  // namespace estoc::core
