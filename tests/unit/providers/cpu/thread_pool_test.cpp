// The thread pool, and cpu kernels on several threads: same results, from any number of callers.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>

#include "providers/cpu/thread_pool.h"
#include "support.h"

namespace estoc::cpu::testing {
namespace {

TEST(ThreadPool, EachTaskRunsOnce) {
  for (const int threads : {1, 2, 5, 16}) {
    for (const std::int64_t tasks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
      ThreadPool::shared().run(threads, tasks, [&](std::int64_t task, int slot) {
        EXPECT_GE(slot, 0);
        EXPECT_LT(slot, threads);
        ++runs[static_cast<std::size_t>(task)];
      });
      for (const std::atomic<int>& count : runs)
        EXPECT_EQ(count, 1);
    }
  }
}

TEST(ThreadPool, ASlotBelongsToOneThreadAtATime) {
  constexpr int kThreads = 6;
  std::array<std::atomic<bool>, kThreads> busy{};
  ThreadPool::shared().run(kThreads, 2000, [&](std::int64_t, int slot) {
    std::atomic<bool>& mine = busy[static_cast<std::size_t>(slot)];
    EXPECT_FALSE(mine.exchange(true));
    std::this_thread::yield();
    mine = false;
  });
}

TEST(ThreadPool, OneThreadIsTheCaller) {
  const std::thread::id caller = std::this_thread::get_id();
  ThreadPool::shared().run(1, 10, [&](std::int64_t, int slot) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(slot, 0);
  });
}

TEST(ThreadPool, AnExceptionReachesTheCaller) {
  // So many that the other threads are not through before the one that throws has said so.
  constexpr std::int64_t kTasks = 2'000'000'000;
  std::atomic<std::int64_t> runs = 0;
  const auto fail_at_3 = [&](std::int64_t task, int) {
    ++runs;
    if (task == 3) throw std::runtime_error("task 3");
  };
  EXPECT_THROW(ThreadPool::shared().run(4, kTasks, fail_at_3), std::runtime_error);
  EXPECT_LT(runs, kTasks);
  EXPECT_THROW(ThreadPool::shared().run(1, 10, fail_at_3), std::runtime_error);
  std::atomic<int> later = 0;
  ThreadPool::shared().run(4, 10, [&](std::int64_t, int) { ++later; });
  EXPECT_EQ(later, 10);
}

TEST(ThreadPool, TasksMayRunTasks) {
  std::atomic<int> runs = 0;
  ThreadPool::shared().run(3, 6, [&](std::int64_t, int) {
    ThreadPool::shared().run(3, 6, [&](std::int64_t, int) { ++runs; });
  });
  EXPECT_EQ(runs, 36);
}

TEST(ThreadPool, ManyCallersAtOnce) {
  std::atomic<int> runs = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        ThreadPool::shared().run(3, 10, [&](std::int64_t, int) { ++runs; });
      }
    });
  }
  for (std::thread& caller : callers)
    caller.join();
  EXPECT_EQ(runs, 8 * 50 * 10);
}

TEST(ThreadPool, CountsTheCoresOfTheProcess) {
  EXPECT_GE(available_threads(), 1);
}

#if !defined(__SANITIZE_THREAD__)
TEST(ThreadPool, AForkedChildHasAPoolOfItsOwn) {
  std::atomic<int> runs = 0;
  const auto count = [&](std::int64_t, int) { ++runs; };
  ThreadPool::shared().run(3, 30, count);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    ThreadPool::shared().run(3, 30, count);
    _exit(runs == 60 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
#endif

/// A GEMM with its operands, on a number of threads.
struct Case {
  Case(Dtype dtype, std::int64_t m, std::int64_t n, std::int64_t k, std::uint64_t seed)
      : a(matrix(dtype, m, k).fill(seed)),
        b(matrix(dtype, k, n).fill(seed + 1)),
        out(matrix(accumulator_of(dtype), m, n)),
        arguments(a.view(), b.view(), out.view(), accumulator_of(dtype)) {}

  Tensor a, b, out;
  GemmArguments arguments;
};

TEST(CpuThreads, ResultsDependOnTheThreadCountAlone) {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    for (const int threads : {1, 2, 3, 4}) {
      Case first(dtype, 300, 210, 450, 5);
      Case second(dtype, 300, 210, 450, 5);
      run(first.arguments, threads);
      expect_right(first.arguments);
      for (int round = 0; round < 5; ++round) {
        second.out.fill(99);
        run(second.arguments, threads);
        EXPECT_EQ(first.out.values(), second.out.values());
      }
    }
  }
}

TEST(CpuThreads, EightUsersAtOnce) {
  constexpr int kUsers = 8;
  std::vector<std::unique_ptr<Case>> cases;
  std::vector<std::thread> users;
  for (int user = 0; user < kUsers; ++user) {
    const Dtype dtype = user % 3 == 0 ? Dtype::f32 : user % 3 == 1 ? Dtype::bf16 : Dtype::i8;
    cases.push_back(std::make_unique<Case>(dtype, 150 + user, 140, 130, user));
  }
  for (int user = 0; user < kUsers; ++user) {
    users.emplace_back([&, user] {
      for (int round = 0; round < 5; ++round) {
        run(cases[static_cast<std::size_t>(user)]->arguments, 1 + user % 4);
      }
    });
  }
  for (std::thread& user : users)
    user.join();
  for (const auto& each : cases)
    expect_right(each->arguments);
}

TEST(CpuThreads, ABoundKernelRunsAgainOnNewData) {
  Case gemm(Dtype::bf16, 60, 70, 80, 1);
  const Kernel kernel = get_kernels(gemm.arguments).front();
  BoundKernel bound = kernel.bind(gemm.arguments, kernel.compile(gemm.arguments));
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    gemm.a.fill(seed);
    bound.launch();
    expect_right(gemm.arguments);
  }
}

TEST(CpuThreads, ABoundKernelMovesToOtherOperands) {
  for (const bool columns : {false, true}) {
    const char* const layouts = columns ? "column-major out" : "row-major out";
    SCOPED_TRACE(layouts);
    Case first(Dtype::f32, 60, 70, 80, 1);
    Case second(Dtype::f32, 60, 70, 80, 2);
    const auto arguments = [&](const Case& of) {
      if (!columns) return of.arguments;
      const GemmArguments& given = of.arguments;
      return GemmArguments(given.b().tensor().transposed(), given.a().tensor().transposed(),
                           given.out().transposed(), Dtype::f32);
    };
    const GemmArguments here = arguments(first);
    const Kernel kernel = get_kernels(here).front();
    BoundKernel bound = kernel.bind(here, kernel.compile(here));
    bound.launch();
    expect_right(first.arguments);
    ASSERT_TRUE(bound.move_to(arguments(second)));
    first.a.fill(3);  // a launch on the first ones would be seen by their output
    bound.launch();
    expect_right(second.arguments);
  }
}

TEST(CpuThreads, MoreThreadsThanCoresOrWork) {
  for (const int threads : {7, 64}) {
    Case wide(Dtype::f32, 1, 5000, 400, 3);
    run(wide.arguments, threads);
    expect_right(wide.arguments);
    Case square(Dtype::f16, 333, 334, 335, 3);
    run(square.arguments, threads);
    expect_right(square.arguments);
    Case tiny(Dtype::f32, 2, 2, 2, 3);
    run(tiny.arguments, threads);
    expect_right(tiny.arguments);
  }
}

}  // namespace
}  // namespace estoc::cpu::testing
