// One compilation of a kernel for all threads, also across failures, recursion and forks.
#include "discovery/compile_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

#include "fake_class.h"

namespace estoc::discovery {
namespace {

using Object = CompileCache::Object;
constexpr Target kTarget = Target::cpu();

Object made() {
  return std::make_shared<const CompiledObject>();
}

TEST(CompileCache, CompilesOncePerTarget) {
  CompileCache cache;
  const Object first = cache.get_or_compile(kTarget, made);
  EXPECT_EQ(cache.get_or_compile(kTarget, made), first);
  const Object other = cache.get_or_compile(Target::sm(80), made);
  EXPECT_NE(other, first);
  EXPECT_EQ(cache.get_or_compile(kTarget, made), first);
  EXPECT_EQ(cache.get_or_compile(Target::sm(80), made), other);
}

TEST(CompileCache, RemembersAnObjectThatIsNone) {
  CompileCache cache;
  std::atomic<int> calls = 0;
  const auto none = [&] {
    ++calls;
    return Object();
  };
  EXPECT_EQ(cache.get_or_compile(kTarget, none), nullptr);
  EXPECT_EQ(cache.get_or_compile(kTarget, none), nullptr);
  EXPECT_EQ(calls, 1);
}

TEST(CompileCache, AThreadThatWaitedForAFailureTriesItself) {
  CompileCache cache;
  std::atomic<int> calls = 0;
  const auto compile = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (++calls < 4) throw std::runtime_error("no");
    return made();
  };
  std::atomic<int> failed = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        try {
          (void)cache.get_or_compile(kTarget, compile);
        } catch (const std::runtime_error&) {
          ++failed;
        }
      });
    }
  }
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(failed, 3);
}

TEST(CompileCache, AClassThatAsksForWhatItCompilesIsToldSo) {
  auto fake = testing::make_class("circular", testing::plain_space());
  const Kernel kernel(fake, "fake", fake->design_space->at(0));
  fake->on_compile = [&] { (void)kernel.compile(Target::cpu()); };
  const Error error = testing::error_of([&] { (void)kernel.compile(Target::cpu()); });
  EXPECT_EQ(error.kind(), ErrorKind::compile);
  EXPECT_NE(std::string(error.what()).find("asks for the kernel"), std::string::npos);
  fake->on_compile = nullptr;
  EXPECT_NO_THROW((void)kernel.compile(Target::cpu()));
}

TEST(CompileCache, AChildDoesNotWaitForThreadsOfItsParent) {
  CompileCache cache;
  std::promise<void> begun;
  std::promise<void> go_on;
  std::thread compiling([&] {
    (void)cache.get_or_compile(kTarget, [&] {
      begun.set_value();
      go_on.get_future().wait();
      return made();
    });
  });
  begun.get_future().wait();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::_exit(cache.get_or_compile(kTarget, made) != nullptr ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  go_on.set_value();
  compiling.join();
}

}  // namespace
}  // namespace estoc::discovery
