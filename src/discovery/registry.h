// The providers and kernel classes there are, as snapshots that readers take without waiting.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "discovery/candidate_cache.h"
#include "discovery/class_info.h"
#include "discovery/ranked_list_cache.h"

namespace estoc::discovery {

/// Whether a class is part of the library, so that all that it reads is known, or user code.
enum class Origin : std::uint8_t { library, outside };

/// A registered kernel class; lives as long as a snapshot or a query refers to it.
class ClassEntry {
 public:
  /// Reads the name of the class; throws Error{value} for an illegal one.
  ClassEntry(std::string provider, std::shared_ptr<const KernelClass> kernel_class, Origin origin);

  const std::string& provider() const { return provider_; }
  const std::string& name() const { return name_; }
  const KernelClass& kernel_class() const { return *kernel_class_; }
  Origin origin() const { return origin_; }

  /// Reads the class at the first call that succeeds; passes on what it throws.
  std::shared_ptr<const ClassInfo> info() const;
  CandidateCache& cache() const { return cache_; }

 private:
  std::string provider_;
  std::string name_;
  std::shared_ptr<const KernelClass> kernel_class_;
  Origin origin_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const ClassInfo> info_;
  mutable CandidateCache cache_;
};

using ClassEntries = std::vector<std::shared_ptr<const ClassEntry>>;

/// A provider with its classes. `implicit` when it was made for classes registered one by one.
struct ProviderEntry {
  std::string name;
  ClassEntries classes;
  std::shared_ptr<const Provider> provider;
  bool implicit = false;
};

/// Everything registered at one moment. Immutable but for its caches, which are destroyed with it.
struct Snapshot {
  std::vector<ProviderEntry> providers;
  std::map<std::string, std::shared_ptr<const ClassEntry>, std::less<>> by_class_name;
  std::shared_ptr<RankedListCache> lists = std::make_shared<RankedListCache>();

  /// The classes of the providers of these names, of all when there are none, in order. Throws
  /// Error{not_found} for a name that no provider has.
  ClassEntries classes(const std::vector<std::string>& provider_names) const;
  std::vector<std::string> provider_names() const;
};

/// Holds the current snapshot. A change makes a new one; the lock is held while it is put together
/// and swapped, never while code of a provider or class runs.
class Registry {
 public:
  /// The one registry; begins with builtin_providers().
  static Registry& instance();

  std::shared_ptr<const Snapshot> snapshot() const;
  /// Changes when earlier results of searches may be out of date. Takes no lock.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  /// Begins a new generation.
  void forget_lists();
  /// Adds what clears a cache of a higher folder at the same time; it is called without a lock.
  void at_forget(void (*forget)());

  void add(std::shared_ptr<const Provider> provider, Origin origin = Origin::outside);
  void add(std::string_view provider, std::shared_ptr<const KernelClass> kernel_class,
           Origin origin = Origin::outside);
  bool remove_provider(std::string_view name);
  bool remove_class(std::string_view name);

 private:
  Registry();
  template <typename Change>
  bool change(const Change& edit);

  mutable std::mutex mutex_;
  std::atomic<std::uint64_t> generation_ = 0;
  static constexpr std::size_t kMaxForgetters = 4;
  std::array<std::atomic<void (*)()>, kMaxForgetters> forget_{};
  std::shared_ptr<const Snapshot> snapshot_ = std::make_shared<const Snapshot>();
};

}  // namespace estoc::discovery
