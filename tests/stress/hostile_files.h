// Files of kernels that no program of ours would write, for cache_stress.py.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace estoc::stress {

/// Kinds of hostile files that there are.
std::vector<std::string> hostile_kinds();

/// A file of that kind and about as many bytes, with a hash that is right: it is the contents that
/// must be refused.
std::string hostile_file(std::string_view kind, std::size_t bytes);

}  // namespace estoc::stress
