// A least-recently-used cache whose readers share its lock. What it drops is destroyed after the
// lock is released, because kernels may hold the last reference to their class.
#include "discovery/ranked_list_cache.h"

#include <algorithm>
#include <mutex>
#include <string_view>

namespace estoc::discovery {

std::size_t RankedListCache::KeyHash::operator()(const Key& key) const {
  return std::hash<std::string_view>()(
      {reinterpret_cast<const char*>(key.data()), key.size() * sizeof(key[0])});
}

/// The one used last is not noted again, so that threads that query one problem alone do not
/// write to shared memory.
void RankedListCache::note_use(const Entry& entry) const {
  const std::uint64_t last = uses_.load(std::memory_order_relaxed);
  if (entry.used.load(std::memory_order_relaxed) == last) return;
  entry.used.store(uses_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

RankedListCache::List RankedListCache::find(const Key& key) const {
  const std::shared_lock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  note_use(found->second);
  return found->second.list;
}

void RankedListCache::insert(Key key, const List& list, std::uint64_t generation,
                             std::shared_ptr<const EpilogueGraph> epilogue) {
  const std::size_t kernels = list->size();
  if (kernels > kMaxKernels) return;
  std::vector<Entries::node_type> dropped;
  const std::lock_guard lock(mutex_);
  if (generation != generation_.load(std::memory_order_relaxed)) return;
  const auto [entry, is_new] = entries_.try_emplace(std::move(key), list, std::move(epilogue));
  note_use(entry->second);
  if (!is_new) return;
  kernels_ += kernels;
  dropped = evict();
}

std::vector<RankedListCache::Entries::node_type> RankedListCache::evict() {
  std::vector<Entries::node_type> dropped;
  while (entries_.size() > kMaxLists || kernels_ > kMaxKernels) {
    const auto oldest = std::ranges::min_element(entries_, {}, [](const auto& entry) {
      return entry.second.used.load(std::memory_order_relaxed);
    });
    kernels_ -= oldest->second.list->size();
    dropped.push_back(entries_.extract(oldest));
  }
  return dropped;
}

void RankedListCache::clear() {
  Entries dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(entries_);
  kernels_ = 0;
  generation_.fetch_add(1, std::memory_order_release);
}

}  // namespace estoc::discovery
