// Remembers which kernels of a class fit the signatures met lately.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "discovery/kernel_state.h"

namespace estoc::discovery {

/// The kernels of one class that fit arguments of one signature, in the order of the space.
using Candidates = std::shared_ptr<const KernelStates>;

/// Keeps the lists used last, bounded in their number and in the kernels they hold together.
class CandidateCache {
 public:
  static constexpr std::size_t kMaxSignatures = 256;
  static constexpr std::size_t kMaxKernels = std::size_t{1} << 16;

  /// Null when the signature is not remembered.
  Candidates find(std::uint64_t key);

  /// Remembers `candidates`, and gives back what is remembered then: another thread's list where
  /// that came first. A list too long for the cache is given back and not remembered.
  Candidates insert(std::uint64_t key, Candidates candidates);

  void clear();

 private:
  struct Entry {
    std::uint64_t key;
    Candidates candidates;
  };
  using Entries = std::list<Entry>;

  Candidates use(Entries::iterator entry);
  Entries evict();

  std::mutex mutex_;
  Entries entries_;  // the one used last is in front
  std::unordered_map<std::uint64_t, Entries::iterator> by_key_;
  std::size_t kernels_ = 0;
};

}  // namespace estoc::discovery
