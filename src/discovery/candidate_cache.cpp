// A least-recently-used cache; what it drops is destroyed after its lock is released, because
// kernels may hold the last reference to a caller's class.
#include "discovery/candidate_cache.h"

namespace estoc::discovery {

Candidates CandidateCache::use(Entries::iterator entry) {
  entries_.splice(entries_.begin(), entries_, entry);
  return entry->candidates;
}

Candidates CandidateCache::find(const CandidateKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : use(found->second);
}

Candidates CandidateCache::insert(const CandidateKey& key, Candidates candidates,
                                  std::shared_ptr<const EpilogueGraph> epilogue) {
  if (candidates->states.size() > kMaxKernels) return candidates;
  Entries dropped;
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) return use(found->second);
  entries_.push_front({key, candidates, std::move(epilogue)});
  by_key_.emplace(key, entries_.begin());
  kernels_ += candidates->states.size();
  dropped = evict();
  return candidates;
}

CandidateCache::Entries CandidateCache::evict() {
  Entries dropped;
  while (entries_.size() > kMaxSignatures || kernels_ > kMaxKernels) {
    const auto last = std::prev(entries_.end());
    kernels_ -= last->candidates->states.size();
    by_key_.erase(last->key);
    dropped.splice(dropped.end(), entries_, last);
  }
  return dropped;
}

void CandidateCache::clear() {
  Entries dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(entries_);
  by_key_.clear();
  kernels_ = 0;
}

}  // namespace estoc::discovery
