// The log callback: what reaches it, and that threads may log and replace it at once.
#include "core/log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace estoc::core {
namespace {

class Log : public testing::Test {
 public:
  ~Log() override { set_log_callback({}); }
};

struct CountsFormats {
  int* count;
};

}  // namespace
}  // namespace estoc::core

template <>
struct fmt::formatter<estoc::core::CountsFormats> : fmt::formatter<int> {
  template <class Context>
  auto format(const estoc::core::CountsFormats& value, Context& context) const {
    ++*value.count;
    return fmt::formatter<int>::format(*value.count, context);
  }
};

namespace estoc::core {
namespace {

TEST_F(Log, MessagesReachTheCallbackWithTheirLevel) {
  std::vector<std::pair<LogLevel, std::string>> messages;
  set_log_callback([&](LogLevel level, std::string_view text) {
    messages.emplace_back(level, std::string(text));
  });
  log(LogLevel::warning, "cache entry '{}' is corrupt ({} bytes)", "abc", 12);
  log(LogLevel::debug, "done");
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0],
            std::pair(LogLevel::warning, std::string("cache entry 'abc' is corrupt (12 bytes)")));
  EXPECT_EQ(messages[1].first, LogLevel::debug);
}

TEST_F(Log, NothingIsFormattedWithoutACallback) {
  int formats = 0;
  EXPECT_FALSE(log_enabled());
  log(LogLevel::info, "{}", CountsFormats{&formats});
  EXPECT_EQ(formats, 0);
  set_log_callback([](LogLevel, std::string_view) {});
  EXPECT_TRUE(log_enabled());
  log(LogLevel::info, "{}", CountsFormats{&formats});
  EXPECT_EQ(formats, 1);
}

TEST_F(Log, AnExceptionOfTheCallbackIsDropped) {
  set_log_callback([](LogLevel, std::string_view) { throw std::runtime_error("no"); });
  EXPECT_NO_THROW(log(LogLevel::error, "message"));
}

TEST_F(Log, TheCallbackMayLogAndReplaceItself) {
  int calls = 0;
  set_log_callback([&](LogLevel, std::string_view text) {
    ++calls;
    set_log_callback([&](LogLevel, std::string_view) { ++calls; });
    if (text == "outer") log(LogLevel::info, "inner");
  });
  log(LogLevel::info, "outer");
  EXPECT_EQ(calls, 2);
}

TEST_F(Log, ACallbackThatIsReplacedIsReleased) {
  auto held = std::make_shared<int>(0);
  set_log_callback([held](LogLevel, std::string_view) {});
  EXPECT_EQ(held.use_count(), 2);
  set_log_callback({});
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(Log, ThreadsMayLogWhileAnotherReplacesTheCallback) {
  constexpr int kThreads = 4;
  constexpr int kMessages = 5000;
  std::atomic<int> received{0};
  const auto install = [&] {
    auto state = std::make_shared<std::string>("alive");
    set_log_callback([state, &received](LogLevel, std::string_view text) {
      if (*state == "alive" && text.starts_with("message")) ++received;
    });
  };
  install();
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([thread] {
      for (int i = 0; i < kMessages; ++i)
        log(LogLevel::info, "message {} of {}", i, thread);
    });
  }
  for (int i = 0; i < 1000; ++i)
    install();
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(received, kThreads * kMessages);
}

}  // namespace
}  // namespace estoc::core
