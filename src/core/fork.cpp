// Implements the locks that are held at a fork, and counts forks.
#include "core/fork.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace estoc::core {
namespace {

constinit std::atomic<unsigned> forks{0};

struct HeldLocks {
  std::mutex mutex;
  std::vector<std::span<std::mutex>> groups;

  void lock() {
    mutex.lock();
    for (const std::span<std::mutex> group : groups)
      std::ranges::for_each(group, [](std::mutex& each) { each.lock(); });
  }
  void unlock() {
    for (const std::span<std::mutex> group : groups)
      std::ranges::for_each(group, [](std::mutex& each) { each.unlock(); });
    mutex.unlock();
  }
};

HeldLocks& held_locks() {
  static auto* instance = [] {
    auto* made = new HeldLocks;
    // The library stays loaded once it has been used, so the handlers do.
    pthread_atfork([] { held_locks().lock(); }, [] { held_locks().unlock(); },
                   [] {
                     forks.fetch_add(1, std::memory_order_relaxed);
                     held_locks().unlock();
                   });
    return made;
  }();
  return *instance;
}

}  // namespace

void hold_at_fork(std::span<std::mutex> locks) {
  HeldLocks& held = held_locks();
  const std::lock_guard lock(held.mutex);
  held.groups.push_back(locks);
}

unsigned fork_count() noexcept {
  return forks.load(std::memory_order_relaxed);
}

}  // namespace estoc::core
