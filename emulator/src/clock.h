// Vector clocks: what an agent knows of the others' progress.
#pragma once

#include <algorithm>
#include <vector>

#include <estoc/ptx/types.cuh>

namespace estoc::emulator {

/// For each agent of a cluster, up to which of its times everything it did is known.
class VectorClock {
 public:
  u32 operator[](u32 agent) const { return agent < time_.size() ? time_[agent] : 0; }

  void raise(u32 agent, u32 time) {
    if (agent >= time_.size()) time_.resize(agent + 1, 0);
    time_[agent] = std::max(time_[agent], time);
  }

  void join(const VectorClock& other) {
    if (other.time_.size() > time_.size()) time_.resize(other.time_.size(), 0);
    u32* mine = time_.data();
    const u32* theirs = other.time_.data();
    const std::size_t count = other.time_.size();
    for (std::size_t i = 0; i < count; ++i)
      mine[i] = mine[i] < theirs[i] ? theirs[i] : mine[i];
  }

  void clear() { time_.clear(); }

 private:
  std::vector<u32> time_;
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
