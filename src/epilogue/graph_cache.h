// Caches the typed graphs of one program, so that equal arguments are constructed quickly.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "estoc/epilogue_graph.hpp"

namespace estoc::epilogue {

/// A typed graph, and which operands of the arguments its slots are.
struct TypedProgram {
  std::shared_ptr<const EpilogueGraph> graph;
  std::vector<std::uint16_t> tensors;  ///< number of the program's input for each slot
  std::vector<std::uint16_t> scalars;
  std::vector<std::uint16_t> stores;  ///< number of the program's assignment
  std::vector<std::uint16_t> reduced;
};

/// All that the graph of a program depends on except the program: a few bytes for each name.
struct GraphKey {
  static constexpr std::size_t kBytes = 3 * 64 + 8;
  std::array<std::uint8_t, kBytes> bytes{};
  std::size_t size = 0;

  void add(std::uint8_t byte) { bytes[size++] = byte; }
  bool operator==(const GraphKey& other) const;
};

/// Readers take no lock; what is found stays valid as long as the cache.
class GraphCache {
 public:
  GraphCache() = default;
  ~GraphCache();
  GraphCache(const GraphCache& /*other*/) {}
  GraphCache& operator=(const GraphCache&) = delete;

  /// Null when the key has no entry.
  const TypedProgram* find(const GraphKey& key) const;

  /// Stores `typed` unless the key has an entry, and returns the entry; null when the cache is
  /// full.
  const TypedProgram* insert(const GraphKey& key, const TypedProgram& typed);

 private:
  static constexpr int kMaxEntries = 64;
  struct Entry {
    GraphKey key;
    TypedProgram typed;
    Entry* next = nullptr;
  };

  std::atomic<Entry*> first_ = nullptr;
  std::mutex mutex_;
  int count_ = 0;
};

}  // namespace estoc::epilogue
