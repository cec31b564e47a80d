// What get_kernels answered for arguments that were asked about before.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "estoc/discovery.hpp"

namespace estoc::python {

/// Everything that the answer depends on, as bytes; nullopt for arguments that are not remembered
/// (with an epilogue or scales), for queries with a filter, and while there are classes from
/// outside.
std::optional<std::string> list_key(const RuntimeArguments& arguments, const KernelQuery& query);

/// The answer to that key; null where there is none. These are used with the GIL held.
std::shared_ptr<const KernelList> remembered_list(const std::string& key);
void remember_list(std::string key, std::shared_ptr<const KernelList> list);

void forget_lists();

/// A number that changes when kernel classes come or go. With the GIL held.
std::uint64_t registry_state();

/// Tells of kernel classes from outside that were registered, +1, or taken away, -1. While there
/// are any, no list is remembered: such classes may look at anything.
void count_classes(int change);

}  // namespace estoc::python
