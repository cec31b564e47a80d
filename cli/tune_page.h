// Searches for the fastest kernel as an HTML page.
#pragma once

#include <span>
#include <string>

#include "estoc/tune.hpp"

namespace estoc::cli {

/// For each search the kernel chosen, the speeds of the fastest candidates as a picture, and a
/// table of all candidates.
std::string tune_page(std::span<const TuneResult> results);

}  // namespace estoc::cli
