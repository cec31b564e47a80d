// What the programs of the tests have in common: options, a parallel loop, exit statuses.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace estoc::testing_support {

constexpr int kPassed = 0;
constexpr int kFailed = 1;
constexpr int kBadUsage = 2;
constexpr int kNoDevice = 3;
constexpr int kSkippedTest = 77;

/// One for each core.
inline int all_threads() {
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

/// A program: its options, each of which keeps the value it has when it is not given, and what it
/// does. An option that is given twice has its last value.
class Program {
 public:
  /// `footer` follows the options in the help; it says the exit statuses.
  Program(const std::string& name, const std::string& purpose, const std::string& footer);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Program& flag(const std::string& name, bool& value, const std::string& help);
  Program& text(const std::string& name, std::string& value, const std::string& help);
  /// May be given several times; `take` throws std::exception when it does not like a value.
  Program& each(const std::string& name, const std::function<void(const std::string&)>& take,
                const std::string& help);
  /// A whole number of at least `least`.
  template <class Number>
  Program& number(const std::string& name, Number& value, const std::string& help,
                  std::uint64_t least = 1) {
    return number(
        name, [&value](std::uint64_t n) { value = static_cast<Number>(n); }, help, least);
  }
  Program& threads(int& value) {
    return number("--threads", value, "host threads (default: one for each core)");
  }

  /// Reads the options and returns what `body` does. Bad usage, such as a std::invalid_argument
  /// from `body`, is kBadUsage, any other exception kFailed; both are printed.
  int run(int argc, char** argv, const std::function<int()>& body);

 private:
  struct Parser;

  Program& number(const std::string& name, const std::function<void(std::uint64_t)>& take,
                  const std::string& help, std::uint64_t least);

  std::unique_ptr<Parser> app_;
};

/// Calls action(0) to action(count - 1) on as many threads, each once.
template <class Action>
void in_parallel(std::size_t count, int threads, const Action& action) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      for (std::size_t at = next++; at < count; at = next++)
        action(at);
    });
  }
}

/// `limit` of the elements, evenly spread, the first and the last among them; all where the limit
/// is 0.
template <class Element>
std::vector<Element> thinned(std::vector<Element> all, std::size_t limit) {
  if (limit == 0 || limit >= all.size()) return all;
  std::vector<Element> some;
  for (std::size_t i = 0; i < limit; ++i)
    some.push_back(std::move(all[limit == 1 ? 0 : i * (all.size() - 1) / (limit - 1)]));
  return some;
}

}  // namespace estoc::testing_support
