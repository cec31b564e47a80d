// kernel_by_name: class and suffix of the name lead to the kernel without enumeration.
#include <fmt/format.h>

#include "discovery/nearest_kernel.h"
#include "discovery/registry.h"
#include "estoc/discovery.hpp"

namespace estoc {
namespace {

using discovery::Snapshot;

/// As much of a name as fits into a message.
std::string shown(std::string_view name) {
  constexpr std::size_t kLongest = 200;
  if (name.size() <= kLongest) return std::string(name);
  return std::string(name.substr(0, kLongest)) + "...";
}

/// A hint must not replace the error that it belongs to.
std::optional<std::string> nearest_or_none(const Snapshot& snapshot, std::string_view name) {
  try {
    return discovery::nearest_kernel_name(snapshot, name);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

[[noreturn]] void not_found(const Snapshot& snapshot, std::string_view name) {
  const auto nearest = nearest_or_none(snapshot, name);
  throw Error(ErrorKind::not_found,
              fmt::format("kernel \"{}\": there is none of that name; {}", shown(name),
                          nearest ? fmt::format("nearest is \"{}\"", *nearest)
                                  : "no kernel class has a name like it"));
}

}  // namespace

Kernel kernel_by_name(std::string_view name) {
  const auto snapshot = discovery::Registry::instance().snapshot();
  const auto entry = snapshot->by_class_name.find(discovery::class_part(name));
  if (entry == snapshot->by_class_name.end()) not_found(*snapshot, name);
  auto info = entry->second->info();
  const auto point = info->space->parse(discovery::suffix_part(name));
  if (!point) not_found(*snapshot, name);
  return KernelAccess::make(discovery::single_state(std::move(info), *point));
}

}  // namespace estoc
