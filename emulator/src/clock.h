// Vector clocks: what an agent knows of the others' progress.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <estoc/ptx/types.cuh>

namespace estoc::emulator {

/// The times of 32 agents, which clocks that agree on them share. Of one host thread.
struct ClockChunk {
  static constexpr u32 kAgents = 32;
  alignas(64) i32 time[kAgents];
  u32 uses;
  ClockChunk* next_free;
};

/// The chunks of a clock, which clocks that agree share. Of one host thread, and never changed
/// while several use it.
struct ClockNode {
  std::vector<ClockChunk*> chunks;
  u32 uses;
  ClockNode* next_free;
};

/// Makes and keeps the nodes and chunks of this host thread.
class ClockPool {
 public:
  /// In use once; its times are not set.
  static ClockChunk* make_chunk() { return instance().chunks_.take(); }
  /// In use once; of no chunks.
  static ClockNode* make_node() { return instance().nodes_.take(); }

  template <typename Kind>
  static Kind* share(Kind* shared) {
    ++shared->uses;
    return shared;
  }
  static void drop(ClockChunk* chunk) {
    if (chunk == nullptr || --chunk->uses > 0) return;
    instance().chunks_.give(chunk);
  }
  static void drop(ClockNode* node) {
    if (node == nullptr || --node->uses > 0) return;
    for (ClockChunk* chunk : node->chunks)
      drop(chunk);
    node->chunks.clear();
    instance().nodes_.give(node);
  }

  /// A join that has been made before. It holds all three, so they cannot change.
  template <typename Kind>
  struct Joined {
    Kind* mine = nullptr;
    Kind* theirs = nullptr;
    Kind* both = nullptr;

    bool is_of(const Kind* a, const Kind* b) const { return mine == a && theirs == b; }
    void keep(Kind* a, Kind* b, Kind* result) {
      drop(std::exchange(mine, share(a)));
      drop(std::exchange(theirs, share(b)));
      drop(std::exchange(both, share(result)));
    }
  };
  static Joined<ClockChunk>& joined(const ClockChunk* a, const ClockChunk* b) {
    return instance().joined_chunks_[place(a, b)];
  }
  static Joined<ClockNode>& joined(const ClockNode* a, const ClockNode* b) {
    return instance().joined_nodes_[place(a, b)];
  }

 private:
  static constexpr std::size_t kJoined = 256;

  template <typename Kind>
  class Store {
   public:
    Kind* take() {
      if (free_ == nullptr) grow();
      Kind* taken = free_;
      free_ = taken->next_free;
      taken->uses = 1;
      return taken;
    }
    void give(Kind* given) {
      given->next_free = free_;
      free_ = given;
    }

   private:
    static constexpr std::size_t kBlock = 256;
    std::vector<std::unique_ptr<Kind[]>> blocks_;
    Kind* free_ = nullptr;

    void grow() {
      blocks_.push_back(std::make_unique<Kind[]>(kBlock));
      for (std::size_t i = 0; i < kBlock; ++i)
        give(&blocks_.back()[i]);
    }
  };

  template <typename Kind>
  static std::size_t place(const Kind* a, const Kind* b) {
    const auto key = reinterpret_cast<std::uintptr_t>(a) / alignof(Kind) * 31 +
                     reinterpret_cast<std::uintptr_t>(b) / alignof(Kind);
    return (key ^ key >> 8) % kJoined;
  }
  static ClockPool& instance() {
    thread_local ClockPool pool;
    return pool;
  }

  Store<ClockChunk> chunks_;
  Store<ClockNode> nodes_;
  std::array<Joined<ClockChunk>, kJoined> joined_chunks_;
  std::array<Joined<ClockNode>, kJoined> joined_nodes_;
};

/// For each agent of a cluster, up to which of its times everything it did is known.
class VectorClock {
 public:
  VectorClock() = default;
  VectorClock(const VectorClock& other)
      : node_(other.node_ == nullptr ? nullptr : ClockPool::share(other.node_)) {}
  VectorClock(VectorClock&& other) noexcept
      : node_(std::exchange(other.node_, nullptr)),
        absorbed_(std::exchange(other.absorbed_, nullptr)) {}
  VectorClock& operator=(VectorClock other) noexcept {
    std::swap(node_, other.node_);
    std::swap(absorbed_, other.absorbed_);
    return *this;
  }
  ~VectorClock() {
    ClockPool::drop(node_);
    ClockPool::drop(absorbed_);
  }

  u32 operator[](u32 agent) const {
    const u32 index = agent / ClockChunk::kAgents;
    if (node_ == nullptr || index >= node_->chunks.size()) return 0;
    const ClockChunk* chunk = node_->chunks[index];
    return chunk == nullptr ? 0 : static_cast<u32>(chunk->time[agent % ClockChunk::kAgents]);
  }

  /// Whether both are the same for a reason that is quick to see.
  bool shares(const VectorClock& other) const { return node_ == other.node_; }

  void raise(u32 agent, u32 time) {
    if ((*this)[agent] >= time) return;
    const u32 index = agent / ClockChunk::kAgents;
    std::vector<ClockChunk*>& chunks = own(index + 1);
    own(chunks[index])->time[agent % ClockChunk::kAgents] = static_cast<i32>(time);
  }

  /// The latest of several raises of the same time, whose outcome the next clock may share.
  struct Raised {
    ClockNode* from = nullptr;
    ClockNode* to = nullptr;

    Raised() = default;
    Raised(const Raised&) = delete;
    Raised& operator=(const Raised&) = delete;
    ~Raised() {
      ClockPool::drop(from);
      ClockPool::drop(to);
    }
  };
  void raise(u32 agent, u32 time, Raised& latest) {
    if (node_ != nullptr && node_ == latest.from) {
      ClockPool::drop(std::exchange(node_, ClockPool::share(latest.to)));
      return;
    }
    ClockNode* from = node_ == nullptr ? nullptr : ClockPool::share(node_);
    raise(agent, time);
    ClockPool::drop(std::exchange(latest.from, from));
    ClockPool::drop(std::exchange(latest.to, node_ == nullptr ? nullptr : ClockPool::share(node_)));
  }

  void join(const VectorClock& other) {
    ClockNode* theirs = other.node_;
    if (theirs == node_ || theirs == nullptr || theirs == absorbed_) return;
    if (node_ == nullptr) {
      node_ = ClockPool::share(theirs);
    } else if (node_->uses == 1) {
      combine(theirs);
      ClockPool::drop(std::exchange(absorbed_, ClockPool::share(theirs)));
    } else {
      join_shared(theirs);
    }
  }

 private:
  // What both know of 32 agents: bits 0 and 1, the first or the second knows more of some.
  static u32 compare(const ClockChunk* mine, const ClockChunk* theirs) {
    i32 older = 0;
    i32 newer = 0;
    for (u32 i = 0; i < ClockChunk::kAgents; ++i) {
      older |= theirs->time[i] - mine->time[i];
      newer |= mine->time[i] - theirs->time[i];
    }
    return (older < 0 ? 1u : 0u) | (newer < 0 ? 2u : 0u);
  }
  static u32 compare(const ClockNode& mine, const ClockNode& theirs) {
    const std::size_t both = std::min(mine.chunks.size(), theirs.chunks.size());
    u32 more = (mine.chunks.size() > both ? 1u : 0u) | (theirs.chunks.size() > both ? 2u : 0u);
    for (std::size_t i = 0; i < both && more != 3; ++i) {
      const ClockChunk* a = mine.chunks[i];
      const ClockChunk* b = theirs.chunks[i];
      if (a == b) continue;
      more |= a == nullptr ? 2u : b == nullptr ? 1u : compare(a, b);
    }
    return more;
  }

  void join_shared(ClockNode* theirs) {
    ClockPool::Joined<ClockNode>& known = ClockPool::joined(node_, theirs);
    if (known.is_of(node_, theirs)) {
      ClockPool::drop(std::exchange(node_, ClockPool::share(known.both)));
      return;
    }
    ClockNode* mine = ClockPool::share(node_);
    combine(theirs);
    known.keep(mine, theirs, node_);
    ClockPool::drop(mine);
  }

  void combine(ClockNode* theirs) {
    const u32 more = compare(*node_, *theirs);
    if ((more & 2) == 0) return;
    if (more == 2) {
      ClockPool::drop(std::exchange(node_, ClockPool::share(theirs)));
      return;
    }
    std::vector<ClockChunk*>& chunks = own(theirs->chunks.size());
    for (std::size_t i = 0; i < theirs->chunks.size(); ++i) {
      ClockChunk* other = theirs->chunks[i];
      if (other != nullptr && other != chunks[i]) join(chunks[i], other);
    }
  }

  // The chunks for this clock alone, at least so many.
  std::vector<ClockChunk*>& own(std::size_t count) {
    if (node_ == nullptr || node_->uses > 1) {
      ClockNode* copy = ClockPool::make_node();
      if (node_ != nullptr) {
        copy->chunks = node_->chunks;
        for (ClockChunk* chunk : copy->chunks)
          if (chunk != nullptr) ++chunk->uses;
        ClockPool::drop(node_);
      }
      node_ = copy;
    }
    if (node_->chunks.size() < count) node_->chunks.resize(count, nullptr);
    return node_->chunks;
  }

  static ClockChunk* own(ClockChunk*& mine) {
    if (mine != nullptr && mine->uses == 1) return mine;
    ClockChunk* copy = ClockPool::make_chunk();
    if (mine == nullptr) {
      std::fill_n(copy->time, ClockChunk::kAgents, 0);
    } else {
      std::copy_n(mine->time, ClockChunk::kAgents, copy->time);
      ClockPool::drop(mine);
    }
    return mine = copy;
  }

  static void join(ClockChunk*& mine, ClockChunk* theirs) {
    if (mine == nullptr) {
      mine = ClockPool::share(theirs);
      return;
    }
    if (mine->uses == 1) return combine(mine, theirs);
    ClockPool::Joined<ClockChunk>& known = ClockPool::joined(mine, theirs);
    if (known.is_of(mine, theirs)) {
      ClockPool::drop(std::exchange(mine, ClockPool::share(known.both)));
      return;
    }
    ClockChunk* before = ClockPool::share(mine);
    combine(mine, theirs);
    known.keep(before, theirs, mine);
    ClockPool::drop(before);
  }

  static void combine(ClockChunk*& mine, ClockChunk* theirs) {
    const u32 more = compare(mine, theirs);
    if (more == 2) {
      ClockPool::drop(std::exchange(mine, ClockPool::share(theirs)));
    } else if (more == 3) {
      i32* to = own(mine)->time;
      for (u32 i = 0; i < ClockChunk::kAgents; ++i)
        to[i] = std::max(to[i], theirs->time[i]);
    }
  }

  ClockNode* node_ = nullptr;
  ClockNode* absorbed_ = nullptr;  ///< joined before, so it need not be again
};

/// What is known, and of it, what a proxy fence has made known to asynchronous operations.
struct Knowledge {
  VectorClock seen;
  VectorClock fenced;

  void join(const Knowledge& other) {
    seen.join(other.seen);
    fenced.join(other.fenced);
  }
  bool shares(const Knowledge& other) const {
    return seen.shares(other.seen) && fenced.shares(other.fenced);
  }
};

}  // namespace estoc::emulator
