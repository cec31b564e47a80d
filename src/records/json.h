// Tuned kernels as JSON, the form in which they go from machine to machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "estoc/tuned.hpp"

namespace estoc::records {

std::string to_json(const std::vector<TunedKernel>& records);

/// Throws Error{value} that says which record is wrong, and how.
std::vector<TunedKernel> from_json(std::string_view text);

}  // namespace estoc::records
