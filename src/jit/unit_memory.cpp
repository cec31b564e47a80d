// Implements the memory of compiled units.
#include "jit/unit_memory.h"

#include <algorithm>

#include "core/fork.h"
#include "jit/compile.h"

namespace estoc::jit {
namespace {

std::size_t bytes_of(const Unit& unit) {
  return sizeof(Unit) + unit.code.bytes.size() + unit.code.log.size();
}

}  // namespace

UnitMemory::UnitMemory(std::size_t bytes) : bytes_per_shard_(bytes / kShards) {
  core::hold_at_fork(mutexes_);
}

UnitMemory::Handle UnitMemory::get_or_make(const core::Hash128& content,
                                           const std::function<Handle()>& make, bool& made) {
  std::mutex& mutex = mutexes_[content.high % kShards];
  Shard& shard = shards_[content.high % kShards];
  std::promise<Handle> promise;
  Future others;
  made = false;
  {
    const std::lock_guard lock(mutex);
    Known& known = shard.known[content];
    if (Handle unit = known.unit.lock()) {
      keep(shard, content, unit);
      return unit;
    }
    if (known.making.valid() && known.forks == core::fork_count()) {
      others = known.making;
    } else {
      known.making = promise.get_future().share();
      known.forks = core::fork_count();
    }
  }
  if (others.valid()) return others.get();
  made = true;
  try {
    Handle unit = make();
    {
      const std::lock_guard lock(mutex);
      shard.known[content] = {unit, {}, 0};
      keep(shard, content, unit);
      if (shard.known.size() >= shard.sweep_at) sweep(shard);
    }
    promise.set_value(unit);
    return unit;
  } catch (...) {
    {
      const std::lock_guard lock(mutex);
      shard.known.erase(content);
    }
    promise.set_exception(std::current_exception());
    throw;
  }
}

void UnitMemory::keep(Shard& shard, const core::Hash128& content, const Handle& unit) const {
  const auto found = std::find_if(shard.kept.begin(), shard.kept.end(),
                                  [&](const Kept& each) { return each.content == content; });
  if (found != shard.kept.end()) {
    shard.kept.splice(shard.kept.begin(), shard.kept, found);
    return;
  }
  shard.kept.push_front({content, unit});
  shard.kept_bytes += bytes_of(*unit);
  while (shard.kept_bytes > bytes_per_shard_) {
    shard.kept_bytes -= bytes_of(*shard.kept.back().unit);
    shard.kept.pop_back();
  }
}

void UnitMemory::sweep(Shard& shard) {
  std::erase_if(shard.known, [](const auto& each) {
    return each.second.unit.expired() && !each.second.making.valid();
  });
  shard.sweep_at = std::max<std::size_t>(64, 2 * shard.known.size());
}

void UnitMemory::clear() {
  for (std::size_t i = 0; i < kShards; ++i) {
    const std::lock_guard lock(mutexes_[i]);
    Shard& shard = shards_[i];
    std::erase_if(shard.known, [](const auto& each) { return !each.second.making.valid(); });
    shard.kept.clear();
    shard.kept_bytes = 0;
  }
}

std::size_t UnitMemory::kept_bytes() {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < kShards; ++i) {
    const std::lock_guard lock(mutexes_[i]);
    bytes += shards_[i].kept_bytes;
  }
  return bytes;
}

}  // namespace estoc::jit
