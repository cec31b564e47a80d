// The environment variables that Estoc reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace estoc {

/// A variable, what it does, and its value in this process: nullopt when it is not set or empty.
struct EnvironmentVariable {
  std::string name;
  std::string meaning;
  std::optional<std::string> value;
};

/// Every variable that Estoc reads, its command line included. Not to be called while another
/// thread changes the environment.
std::vector<EnvironmentVariable> environment_variables();

}  // namespace estoc
