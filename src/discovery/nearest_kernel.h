// "Did you mean": the kernel whose name is nearest to one that does not exist.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "discovery/registry.h"

namespace estoc::discovery {

/// A kernel name splits into its class, up to the first '-', and the suffix from there on.
std::string_view class_part(std::string_view kernel_name);
std::string_view suffix_part(std::string_view kernel_name);

/// The name of a kernel that exists: of the class meant, or the nearest, and there the kernel that
/// agrees in most fields. nullopt when no class has a name like it. Passes on what a class throws.
std::optional<std::string> nearest_kernel_name(const Snapshot& snapshot, std::string_view name);

}  // namespace estoc::discovery
