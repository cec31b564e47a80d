// A list that grows at its head: an entry is complete before readers can see it.
#include "epilogue/graph_cache.h"

#include <cstring>

namespace estoc::epilogue {

bool GraphKey::operator==(const GraphKey& other) const {
  return size == other.size && std::memcmp(bytes.data(), other.bytes.data(), size) == 0;
}

GraphCache::~GraphCache() {
  for (Entry* entry = first_.load(); entry != nullptr;) {
    Entry* const next = entry->next;
    delete entry;
    entry = next;
  }
}

const TypedProgram* GraphCache::find(const GraphKey& key) const {
  for (const Entry* entry = first_.load(std::memory_order_acquire); entry != nullptr;
       entry = entry->next) {
    if (entry->key == key) return &entry->typed;
  }
  return nullptr;
}

const TypedProgram* GraphCache::insert(const GraphKey& key, const TypedProgram& typed) {
  const std::lock_guard lock(mutex_);
  if (const TypedProgram* known = find(key)) return known;
  if (count_ == kMaxEntries) return nullptr;
  auto entry = std::make_unique<Entry>(Entry{key, typed, first_.load()});
  first_.store(entry.get(), std::memory_order_release);
  ++count_;
  return &entry.release()->typed;
}

}  // namespace estoc::epilogue
