// Registration of providers and kernel classes.
#include "discovery/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/text.h"
#include "discovery/builtin.h"
#include "discovery/kernel_packs.h"

namespace estoc::discovery {
namespace {

std::string legal_name(const char* what, std::string_view name) {
  const bool legal = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!legal) {
    throw Error(ErrorKind::value,
                fmt::format("{} name: expected lower-case letters, digits and '_', got \"{}\"",
                            what, name));
  }
  return std::string(name);
}

[[noreturn]] void class_exists(const ClassEntry& there, const ClassEntry& added) {
  throw Error(ErrorKind::exists,
              fmt::format("kernel class \"{}\" of provider \"{}\": provider \"{}\" already has a "
                          "kernel class \"{}\"",
                          added.name(), added.provider(), there.provider(), there.name()));
}

void index_class(Snapshot& snapshot, const std::shared_ptr<const ClassEntry>& added) {
  const auto [there, inserted] = snapshot.by_class_name.emplace(added->name(), added);
  if (!inserted) class_exists(*there->second, *added);
}

std::vector<ProviderEntry>::iterator find_provider(Snapshot& snapshot, std::string_view name) {
  return std::find_if(snapshot.providers.begin(), snapshot.providers.end(),
                      [name](const ProviderEntry& each) { return each.name == name; });
}

std::string class_list(const ProviderEntry& provider) {
  std::vector<std::string_view> names;
  for (const auto& each : provider.classes)
    names.push_back(each->name());
  return names.empty() ? "no classes" : fmt::format("classes {}", fmt::join(names, ", "));
}

void add_provider(Snapshot& snapshot, const ProviderEntry& added) {
  const auto there = find_provider(snapshot, added.name);
  if (there != snapshot.providers.end()) {
    throw Error(ErrorKind::exists,
                fmt::format("provider \"{}\" with {}: there is a provider \"{}\" with {} already",
                            added.name, class_list(added), there->name, class_list(*there)));
  }
  for (const auto& each : added.classes)
    index_class(snapshot, each);
  snapshot.providers.push_back(added);
}

void add_class(Snapshot& snapshot, const std::shared_ptr<const ClassEntry>& added) {
  index_class(snapshot, added);
  auto provider = find_provider(snapshot, added->provider());
  if (provider == snapshot.providers.end()) {
    provider = snapshot.providers.insert(provider, {added->provider(), {}, nullptr, true});
  }
  provider->classes.push_back(added);
}

bool drop_provider(Snapshot& snapshot, std::string_view name) {
  const auto provider = find_provider(snapshot, name);
  if (provider == snapshot.providers.end()) return false;
  for (const auto& each : provider->classes)
    snapshot.by_class_name.erase(each->name());
  snapshot.providers.erase(provider);
  return true;
}

bool drop_class(Snapshot& snapshot, std::string_view name) {
  const auto found = snapshot.by_class_name.find(name);
  if (found == snapshot.by_class_name.end()) return false;
  const auto provider = find_provider(snapshot, found->second->provider());
  std::erase(provider->classes, found->second);
  if (provider->implicit && provider->classes.empty()) snapshot.providers.erase(provider);
  snapshot.by_class_name.erase(found);
  return true;
}

[[noreturn]] void listing_failed(const std::string& provider, ErrorKind kind, const char* message) {
  throw Error(
      kind, fmt::format("provider \"{}\": its classes could not be listed: {}", provider, message));
}

std::vector<std::shared_ptr<const KernelClass>> list_classes(const Provider& provider,
                                                             const std::string& name) {
  try {
    return provider.classes();
  } catch (const Error& error) {
    listing_failed(name, error.kind(), error.what());
  } catch (const std::exception& error) {
    listing_failed(name, ErrorKind::value, error.what());
  }
}

/// Reads the provider's name and classes.
ProviderEntry read_provider(std::shared_ptr<const Provider> provider, Origin origin) {
  if (provider == nullptr) throw Error(ErrorKind::value, "provider: expected one, got null");
  ProviderEntry entry;
  entry.name = legal_name("provider", provider->name());
  for (auto& each : list_classes(*provider, entry.name)) {
    entry.classes.push_back(
        std::make_shared<const ClassEntry>(entry.name, std::move(each), origin));
  }
  entry.provider = std::move(provider);
  return entry;
}

}  // namespace

ClassEntry::ClassEntry(std::string provider, std::shared_ptr<const KernelClass> kernel_class,
                       Origin origin)
    : provider_(std::move(provider)), kernel_class_(std::move(kernel_class)), origin_(origin) {
  if (kernel_class_ == nullptr) {
    throw Error(ErrorKind::value,
                fmt::format("provider \"{}\": expected a kernel class, got null", provider_));
  }
  name_ = legal_name("kernel class", kernel_class_->name());
}

std::shared_ptr<const ClassInfo> ClassEntry::info() const {
  {
    const std::lock_guard lock(mutex_);
    if (info_ != nullptr) return info_;
  }
  auto info = describe_class(kernel_class_, provider_);
  const std::lock_guard lock(mutex_);
  if (info_ == nullptr) info_.swap(info);
  return info_;
}

ClassEntries Snapshot::classes(const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    const std::vector<std::string> known = provider_names();
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto nearest = core::nearest_name(name, known);
    throw Error(ErrorKind::not_found,
                fmt::format("provider: expected one of {}, got \"{}\"{}", fmt::join(known, ", "),
                            name, nearest ? fmt::format("; nearest is \"{}\"", *nearest) : ""));
  }
  ClassEntries entries;
  for (const ProviderEntry& provider : providers) {
    const bool wanted =
        names.empty() || std::find(names.begin(), names.end(), provider.name) != names.end();
    if (wanted) entries.insert(entries.end(), provider.classes.begin(), provider.classes.end());
  }
  return entries;
}

std::vector<std::string> Snapshot::provider_names() const {
  std::vector<std::string> names;
  for (const ProviderEntry& provider : providers)
    names.push_back(provider.name);
  return names;
}

Registry::Registry() {
  for (auto& provider : builtin_providers())
    add(std::move(provider), Origin::library);
}

Registry& Registry::instance() {
  // Never destroyed: classes may come from plug-ins that are gone when static objects are.
  static Registry& registry = *new Registry;
  return registry;
}

std::shared_ptr<const Snapshot> Registry::snapshot() const {
  const std::lock_guard lock(mutex_);
  return snapshot_;
}

/// Replaces the snapshot by an edited copy, whose caches are empty, unless `edit` returns false or
/// throws. The old one is released after the lock, because that may destroy classes of the caller.
template <typename Change>
bool Registry::change(const Change& edit) {
  std::shared_ptr<const Snapshot> old;
  std::shared_ptr<Snapshot> edited;
  {
    const std::lock_guard lock(mutex_);
    edited = std::make_shared<Snapshot>(*snapshot_);
    if (!edit(*edited)) return false;
    edited->lists = std::make_shared<RankedListCache>();
    old = std::move(snapshot_);
    snapshot_ = std::move(edited);
  }
  forget_lists();
  return true;
}

void Registry::at_forget(void (*forget)()) {
  for (auto& each : forget_) {
    void (*none)() = nullptr;
    if (each.compare_exchange_strong(none, forget, std::memory_order_acq_rel)) return;
  }
  throw Error(ErrorKind::value, "at_forget: expected four caches at most");
}

void Registry::forget_lists() {
  generation_.fetch_add(1, std::memory_order_acq_rel);
  for (const auto& each : forget_) {
    if (const auto forget = each.load(std::memory_order_acquire)) forget();
  }
}

void Registry::add(std::shared_ptr<const Provider> provider, Origin origin) {
  const ProviderEntry entry = read_provider(std::move(provider), origin);
  change([&](Snapshot& snapshot) {
    add_provider(snapshot, entry);
    return true;
  });
}

void Registry::add(std::string_view provider, std::shared_ptr<const KernelClass> kernel_class,
                   Origin origin) {
  const auto entry = std::make_shared<const ClassEntry>(legal_name("provider", provider),
                                                        std::move(kernel_class), origin);
  change([&](Snapshot& snapshot) {
    add_class(snapshot, entry);
    return true;
  });
}

bool Registry::remove_provider(std::string_view name) {
  return change([&](Snapshot& snapshot) { return drop_provider(snapshot, name); });
}

bool Registry::remove_class(std::string_view name) {
  return change([&](Snapshot& snapshot) { return drop_class(snapshot, name); });
}

}  // namespace estoc::discovery

namespace estoc {

using discovery::Registry;

void register_provider(std::shared_ptr<const Provider> provider) {
  Registry::instance().add(std::move(provider));
}

void register_kernel_class(std::string_view provider,
                           std::shared_ptr<const KernelClass> kernel_class) {
  Registry::instance().add(provider, std::move(kernel_class));
}

bool unregister_provider(std::string_view name) {
  return Registry::instance().remove_provider(name);
}

bool unregister_kernel_class(std::string_view name) {
  return Registry::instance().remove_class(name);
}

std::vector<std::string> available_providers() {
  return Registry::instance().snapshot()->provider_names();
}

void clear_discovery_cache() {
  const auto snapshot = Registry::instance().snapshot();
  for (const auto& entry : snapshot->classes({}))
    entry->cache().clear();
  snapshot->lists->clear();
  Registry::instance().forget_lists();
  discovery::forget_packs();
}

}  // namespace estoc
