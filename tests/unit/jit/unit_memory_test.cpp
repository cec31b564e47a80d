// What a process remembers of compiled units: bounded, shared by threads, whole after a fork.
#include "jit/unit_memory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <stdexcept>
#include <string>
#include <thread>

#include "jit/compile.h"

namespace estoc::jit {
namespace {

UnitMemory::Handle unit_of(const std::string& name, std::size_t bytes) {
  Unit unit{.name = name, .target = Target::sm(80), .code = {}};
  unit.code.bytes = std::string(bytes, 'x');
  return std::make_shared<const Unit>(std::move(unit));
}

class UnitMemoryTest : public testing::Test {
 protected:
  UnitMemory::Handle get(const std::string& name, std::size_t bytes = 1000) {
    return memory_.get_or_make(
        core::hash(name), [&] { return unit_of(name, bytes); }, made_);
  }

  // Never destroyed, as its locks belong to every fork from now on.
  UnitMemory& memory_ = *new UnitMemory(16 * 10'000);
  bool made_ = false;
};

TEST_F(UnitMemoryTest, RemembersWhatWasMade) {
  const UnitMemory::Handle first = get("a");
  EXPECT_TRUE(made_);
  EXPECT_EQ(get("a"), first);
  EXPECT_FALSE(made_);
  memory_.clear();
  EXPECT_EQ(get("a")->name, "a");
}

TEST_F(UnitMemoryTest, ForgetsWhatNobodyUsesBeyondItsSize) {
  for (int i = 0; i < 2000; ++i)
    EXPECT_EQ(get(std::to_string(i))->name, std::to_string(i));
  EXPECT_LE(memory_.kept_bytes(), 16U * 10'000U);
  EXPECT_GE(memory_.kept_bytes(), 16U * 5'000U);
  get("0");
  EXPECT_TRUE(made_);
}

TEST_F(UnitMemoryTest, FindsWhatIsUsedWhateverItsSize) {
  const UnitMemory::Handle used = get("used", 1'000'000);
  for (int i = 0; i < 2000; ++i)
    get(std::to_string(i));
  EXPECT_EQ(get("used", 1'000'000), used);
  EXPECT_FALSE(made_);
}

TEST_F(UnitMemoryTest, AFailureIsNotRemembered) {
  const auto fail = []() -> UnitMemory::Handle { throw std::runtime_error("no"); };
  EXPECT_THROW((void)memory_.get_or_make(core::hash("a"), fail, made_), std::runtime_error);
  EXPECT_EQ(get("a")->name, "a");
}

TEST_F(UnitMemoryTest, AChildDoesNotWaitForThreadsOfItsParent) {
  std::promise<void> go_on;
  std::promise<void> begun;
  std::thread maker([&] {
    bool made = false;
    (void)memory_.get_or_make(
        core::hash("a"),
        [&] {
          begun.set_value();
          go_on.get_future().wait();
          return unit_of("a", 10);
        },
        made);
  });
  begun.get_future().wait();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    const bool right = get("a")->name == "a" && made_;
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  go_on.set_value();
  maker.join();
}

#ifndef __SANITIZE_ADDRESS__  // whose allocator has locks that a fork leaves taken
TEST_F(UnitMemoryTest, ForksWhileThreadsWorkLeaveNoLockTaken) {
  std::atomic<bool> over = false;
  std::thread worker([&] {
    bool made = false;
    for (int i = 0; !over; ++i) {
      const std::string name = std::to_string(i % 300);
      (void)memory_.get_or_make(
          core::hash(name), [&] { return unit_of(name, 1000); }, made);
    }
  });
  for (int i = 0; i < 50; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      for (int unit = 0; unit < 300; ++unit)
        get(std::to_string(unit));
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << status;
  }
  over = true;
  worker.join();
}
#endif

}  // namespace
}  // namespace estoc::jit
