// The host's processor.
#pragma once

#include <string>

namespace estoc::cli {

/// The model's name as the system gives it.
std::string processor_name();

}  // namespace estoc::cli
