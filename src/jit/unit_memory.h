// The compiled units that a process remembers: those in use, and the latest ones up to a size.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "core/hash.h"

namespace estoc::jit {

struct Unit;

/// Units by the hash of their content. Of several threads that request one, one makes it and the
/// others wait. A child of a fork forgets what threads of its parent were making. Never destroyed.
class UnitMemory {
 public:
  using Handle = std::shared_ptr<const Unit>;

  /// Keeps up to `bytes` of units that are no longer in use.
  explicit UnitMemory(std::size_t bytes);
  ~UnitMemory() = delete;
  UnitMemory(const UnitMemory&) = delete;
  UnitMemory& operator=(const UnitMemory&) = delete;

  /// The unit of that content, which `make` makes when it is not known: `made` tells. What it
  /// throws goes to all who wait for it and is not remembered.
  Handle get_or_make(const core::Hash128& content, const std::function<Handle()>& make, bool& made);

  /// Forgets everything; units in use stay alive.
  void clear();

  /// Bytes of the units that are kept, used or not, for tests.
  std::size_t kept_bytes();

 private:
  using Future = std::shared_future<Handle>;

  struct Known {
    std::weak_ptr<const Unit> unit;
    Future making;  ///< valid while a thread makes it
    unsigned forks = 0;
  };
  struct Kept {
    core::Hash128 content;
    Handle unit;
  };
  struct HashOfHash {
    std::size_t operator()(const core::Hash128& hash) const { return hash.low; }
  };
  // One of several, so that threads with different units seldom meet.
  struct Shard {
    std::unordered_map<core::Hash128, Known, HashOfHash> known;
    std::list<Kept> kept;  ///< the latest first
    std::size_t kept_bytes = 0;
    std::size_t sweep_at = 64;
  };
  static constexpr std::size_t kShards = 16;

  void keep(Shard& shard, const core::Hash128& content, const Handle& unit) const;
  static void sweep(Shard& shard);

  std::size_t bytes_per_shard_;
  std::array<std::mutex, kShards> mutexes_;
  std::array<Shard, kShards> shards_;
};

}  // namespace estoc::jit
