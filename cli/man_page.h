// The manual page of the command, made from the commands themselves.
#pragma once

#include <string>

#include "options.h"

namespace estoc::cli {

/// Text for man, in the macros of section 1: every command with its options and examples.
std::string man_page(const CLI::App& app);

}  // namespace estoc::cli
