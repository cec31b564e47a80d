// The expert layers that moe remembers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <vector>

#include "estoc/moe.hpp"

namespace estoc::experts {

/// What a layer depends on, as a key of integers: the operands but for their addresses, and the
/// options.
class Key {
 public:
  Key(const MoeOperands& operands, const MoeOptions& options);
  bool operator==(const Key&) const = default;

 private:
  static constexpr std::size_t kWords = 40;

  void add(std::uint64_t word) { words_[count_++] = word; }
  void add(const TensorView& view);

  std::array<std::uint64_t, kWords> words_{};
  std::size_t count_ = 0;
};

/// The layers of a key, one for each thread that uses it.
class Remembered {
 public:
  Remembered(const Key& key, std::uint64_t generation, Moe layer);

  const Key& key() const { return key_; }
  std::uint64_t generation() const { return generation_; }

  /// Runs a layer that no other thread uses, which is made where there is none; `operands` are
  /// those of the key.
  void run(const MoeOperands& operands, const MoeCallOptions& options);

 private:
  static constexpr std::size_t kLayers = 8;
  struct Slot {
    std::atomic<bool> is_taken = false;
    std::unique_ptr<Moe> layer;  ///< made when it is first taken
  };

  Key key_;
  std::uint64_t generation_;
  std::array<Slot, kLayers> slots_;
};

/// Keeps those that were made last. Any number of threads search at once.
class PlanCache {
 public:
  /// The one cache, which is cleared when kernel classes come or go. Never destroyed: those of a
  /// plug-in may be gone by then.
  static PlanCache& instance();

  /// Null where there is none, or it is of another generation.
  std::shared_ptr<Remembered> find(const Key& key, std::uint64_t generation) const;
  void insert(std::shared_ptr<Remembered> remembered);
  void clear();

 private:
  static constexpr std::size_t kMaxEntries = 64;

  mutable std::shared_mutex mutex_;
  std::vector<std::shared_ptr<Remembered>> entries_;  ///< the latest last
};

}  // namespace estoc::experts
