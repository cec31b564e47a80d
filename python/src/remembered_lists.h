// What get_kernels answered for arguments that were asked about before.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "estoc/discovery.hpp"

namespace estoc::python {

/// Everything that the answer depends on, as bytes; nullopt for arguments that are not remembered
/// (with an epilogue or scales) and for queries with a filter.
std::optional<std::string> list_key(const RuntimeArguments& arguments, const KernelQuery& query);

/// The answer to that key; null where there is none. These are used with the GIL held.
std::shared_ptr<const KernelList> remembered_list(const std::string& key);
void remember_list(std::string key, std::shared_ptr<const KernelList> list);

/// Forgets all: kernel classes came or went.
void forget_lists();

}  // namespace estoc::python
