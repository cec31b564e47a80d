// The kernels that compiled code has.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estoc/kernel_class.hpp"

namespace estoc::jit {

/// Names of the kernels in a cubin; nothing where the code is something else, or
/// has no sections.
std::optional<std::vector<std::string>> entries_of_cubin(std::string_view code);

/// Throws Error{not_found} where `code` is a cubin and lacks one of `entries`.
void require_entries(const std::string& kernel, const CompiledCode& code,
                     const std::vector<std::string>& entries);

}  // namespace estoc::jit
