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

  /// A chunk in use once, its times not set.
  static ClockChunk* make() {
    Pool& pool = instance();
    if (pool.free == nullptr) pool.grow();
    ClockChunk* chunk = pool.free;
    pool.free = chunk->next_free;
    chunk->uses = 1;
    return chunk;
  }
  static void drop(ClockChunk* chunk) {
    if (chunk == nullptr || --chunk->uses > 0) return;
    Pool& pool = instance();
    chunk->next_free = pool.free;
    pool.free = chunk;
  }

  /// A join of chunks that several clocks share, which has been made before. It holds all three,
  /// so nobody changes them.
  struct Joined {
    ClockChunk* mine = nullptr;
    ClockChunk* theirs = nullptr;
    ClockChunk* both = nullptr;
  };
  static Joined& joined(const ClockChunk* mine, const ClockChunk* theirs) {
    const auto key = reinterpret_cast<std::uintptr_t>(mine) / sizeof(ClockChunk) * 31 +
                     reinterpret_cast<std::uintptr_t>(theirs) / sizeof(ClockChunk);
    return instance().joined[key % kJoined];
  }
  static ClockChunk* share(ClockChunk* chunk) {
    ++chunk->uses;
    return chunk;
  }

 private:
  static constexpr std::size_t kJoined = 251;
  struct Pool {
    static constexpr std::size_t kBlock = 256;
    std::vector<std::unique_ptr<ClockChunk[]>> blocks;
    ClockChunk* free = nullptr;
    std::array<Joined, kJoined> joined;

    void grow();
  };
  static Pool& instance() {
    thread_local Pool pool;
    return pool;
  }
};

inline void ClockChunk::Pool::grow() {
  blocks.push_back(std::make_unique<ClockChunk[]>(kBlock));
  for (std::size_t i = 0; i < kBlock; ++i) {
    ClockChunk& chunk = blocks.back()[i];
    chunk.next_free = free;
    free = &chunk;
  }
}

/// For each agent of a cluster, up to which of its times everything it did is known.
class VectorClock {
 public:
  VectorClock() = default;
  VectorClock(const VectorClock& other) : chunks_(other.chunks_) {
    for (ClockChunk* chunk : chunks_)
      if (chunk != nullptr) ++chunk->uses;
  }
  VectorClock(VectorClock&& other) noexcept : chunks_(std::exchange(other.chunks_, {})) {}
  VectorClock& operator=(VectorClock other) noexcept {
    chunks_.swap(other.chunks_);
    return *this;
  }
  ~VectorClock() {
    for (ClockChunk* chunk : chunks_)
      ClockChunk::drop(chunk);
  }

  u32 operator[](u32 agent) const {
    const u32 index = agent / ClockChunk::kAgents;
    if (index >= chunks_.size() || chunks_[index] == nullptr) return 0;
    return static_cast<u32>(chunks_[index]->time[agent % ClockChunk::kAgents]);
  }

  void raise(u32 agent, u32 time) {
    const u32 index = agent / ClockChunk::kAgents;
    if (index >= chunks_.size()) chunks_.resize(index + 1, nullptr);
    if ((*this)[agent] >= time) return;
    own(chunks_[index])->time[agent % ClockChunk::kAgents] = static_cast<i32>(time);
  }

  /// The latest of several raises of the same time, whose outcome the next clock may share.
  struct Raised {
    ClockChunk* from = nullptr;
    ClockChunk* to = nullptr;

    Raised() = default;
    Raised(const Raised&) = delete;
    Raised& operator=(const Raised&) = delete;
    ~Raised() {
      ClockChunk::drop(from);
      ClockChunk::drop(to);
    }
  };
  void raise(u32 agent, u32 time, Raised& latest) {
    const u32 index = agent / ClockChunk::kAgents;
    if (index >= chunks_.size()) chunks_.resize(index + 1, nullptr);
    if ((*this)[agent] >= time) return;
    ClockChunk*& mine = chunks_[index];
    if (mine == nullptr || mine != latest.from) {
      ClockChunk* from = mine == nullptr ? nullptr : ClockChunk::share(mine);
      own(mine)->time[agent % ClockChunk::kAgents] = static_cast<i32>(time);
      ClockChunk::drop(std::exchange(latest.from, from));
      ClockChunk::drop(std::exchange(latest.to, ClockChunk::share(mine)));
      return;
    }
    ClockChunk::drop(std::exchange(mine, ClockChunk::share(latest.to)));
  }

  void join(const VectorClock& other) {
    if (other.chunks_.size() > chunks_.size()) chunks_.resize(other.chunks_.size(), nullptr);
    std::size_t i = 0;
    for (; i + 4 <= other.chunks_.size(); i += 4) {
      // Most are one and the same.
      if (!std::equal(&chunks_[i], &chunks_[i] + 4, &other.chunks_[i])) join_some(other, i, i + 4);
    }
    join_some(other, i, other.chunks_.size());
  }

 private:
  void join_some(const VectorClock& other, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (other.chunks_[i] != nullptr && other.chunks_[i] != chunks_[i]) {
        join(chunks_[i], other.chunks_[i]);
      }
    }
  }

  // The chunk for this clock alone.
  static ClockChunk* own(ClockChunk*& mine) {
    if (mine != nullptr && mine->uses == 1) return mine;
    ClockChunk* copy = ClockChunk::make();
    if (mine == nullptr) {
      std::fill_n(copy->time, ClockChunk::kAgents, 0);
    } else {
      std::copy_n(mine->time, ClockChunk::kAgents, copy->time);
      ClockChunk::drop(mine);
    }
    return mine = copy;
  }

  static void join(ClockChunk*& mine, ClockChunk* theirs) {
    if (mine == nullptr) {
      mine = ClockChunk::share(theirs);
      return;
    }
    if (mine->uses == 1) return combine(mine, theirs);
    ClockChunk::Joined& known = ClockChunk::joined(mine, theirs);
    if (known.mine != mine || known.theirs != theirs) {
      ClockChunk::drop(std::exchange(known.mine, ClockChunk::share(mine)));
      ClockChunk::drop(std::exchange(known.theirs, ClockChunk::share(theirs)));
      combine(mine, theirs);
      ClockChunk::drop(std::exchange(known.both, ClockChunk::share(mine)));
      return;
    }
    ClockChunk::drop(std::exchange(mine, ClockChunk::share(known.both)));
  }

  static void combine(ClockChunk*& mine, ClockChunk* theirs) {
    i32 older = 0;
    i32 newer = 0;
    const i32* a = mine->time;
    const i32* b = theirs->time;
    for (u32 i = 0; i < ClockChunk::kAgents; ++i) {
      older |= b[i] - a[i];
      newer |= a[i] - b[i];
    }
    // Negative where some time of the other is less, or some of ours is.
    if (older >= 0) {
      ClockChunk::drop(std::exchange(mine, ClockChunk::share(theirs)));
    } else if (newer < 0) {
      i32* to = own(mine)->time;
      for (u32 i = 0; i < ClockChunk::kAgents; ++i)
        to[i] = std::max(to[i], theirs->time[i]);
    }
  }

  std::vector<ClockChunk*> chunks_;
};

/// What is known, and of it, what a proxy fence has made known to asynchronous operations.
struct Knowledge {
  VectorClock seen;
  VectorClock fenced;

  void join(const Knowledge& other) {
    seen.join(other.seen);
    fenced.join(other.fenced);
  }
};

}  // namespace estoc::emulator
