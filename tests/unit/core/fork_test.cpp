// Locks at a fork: free in the child whatever other threads hold, and forks are counted there.
#include "core/fork.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>
#include <thread>

namespace estoc::core {
namespace {

TEST(Fork, LocksAreFreeInTheChildAndForksAreCounted) {
  static auto& locks = *new std::array<std::mutex, 2>;
  hold_at_fork(locks);
  const unsigned before = fork_count();
  std::atomic<bool> stop = false;
  // Another thread takes and frees one of the locks all the time.
  std::jthread other([&] {
    while (!stop) {
      const std::lock_guard lock(locks[1]);
    }
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const bool free = locks[0].try_lock() && locks[1].try_lock();
      ::_exit(free && fork_count() == before + 1 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << i;
  }
  stop = true;
  other.join();
  EXPECT_EQ(fork_count(), before);
  EXPECT_TRUE(locks[0].try_lock());
  locks[0].unlock();
}

}  // namespace
}  // namespace estoc::core
