// Which records make sense.
#pragma once

#include <string>

#include "estoc/tuned.hpp"

namespace estoc::records {

/// What is wrong with a record, such as "seconds: expected more than 0, got -1"; empty for nothing.
std::string problem_of(const TunedKernel& record);

}  // namespace estoc::records
