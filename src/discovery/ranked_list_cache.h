// Remembers ranked lists of kernels by the problems they are for.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "estoc/kernel.hpp"

namespace estoc::discovery {

/// Keeps the lists used last, bounded in their number and in the kernels they hold together. Any
/// number of threads search at once; only an insertion or clear() makes others wait.
class RankedListCache {
 public:
  using Key = std::vector<std::uint64_t>;
  using List = std::shared_ptr<const std::vector<Kernel>>;
  static constexpr std::size_t kMaxLists = 256;
  static constexpr std::size_t kMaxKernels = std::size_t{1} << 17;

  /// Null when the problem is not remembered.
  List find(const Key& key) const;

  /// Changes with every clear().
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  /// Stores a list whose search began at `generation`, unless the cache was cleared since, the list
  /// is too long, or the problem is stored already. The graph, part of the
  /// key by its address, is kept alive.
  void insert(Key key, const List& list, std::uint64_t generation,
              std::shared_ptr<const EpilogueGraph> epilogue = nullptr);

  void clear();

 private:
  struct Entry {
    Entry(List kernels, std::shared_ptr<const EpilogueGraph> graph)
        : list(std::move(kernels)), epilogue(std::move(graph)) {}
    List list;
    std::shared_ptr<const EpilogueGraph> epilogue;
    mutable std::atomic<std::uint64_t> used = 0;  ///< the larger, the later
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  using Entries = std::unordered_map<Key, Entry, KeyHash>;

  void note_use(const Entry& entry) const;
  std::vector<Entries::node_type> evict();

  mutable std::shared_mutex mutex_;
  Entries entries_;
  std::size_t kernels_ = 0;
  std::atomic<std::uint64_t> generation_ = 0;
  mutable std::atomic<std::uint64_t> uses_ = 1;  ///< more than that of a new entry
};

}  // namespace estoc::discovery
