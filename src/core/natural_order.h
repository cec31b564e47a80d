// The order of names with numbers in them: "cuda-12.9" before "cuda-12.10".
#pragma once

#include <string_view>

namespace estoc::core {

/// True when `a` comes before `b`, digits being compared as the numbers they make.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace estoc::core
