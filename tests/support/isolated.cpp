// Child processes that take jobs until one breaks them, and the pipe for their results.
#include "isolated.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace estoc::testing_support {
namespace {

enum class Kind : std::uint8_t { opened, refused_to_open, answered, spent, broken };

struct Header {
  Kind kind;
  std::uint64_t job;
  std::uint64_t bytes;
};

/// One end of a pipe.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

void send(int to, Kind kind, std::size_t job, const std::string& text) {
  const Header header{kind, job, text.size()};
  std::string message(sizeof(header), '\0');
  std::memcpy(message.data(), &header, sizeof(header));
  message += text;
  for (std::size_t sent = 0; sent < message.size();) {
    const ssize_t bytes = ::write(to, message.data() + sent, message.size() - sent);
    if (bytes <= 0) std::_Exit(1);
    sent += static_cast<std::size_t>(bytes);
  }
}

[[noreturn]] void be_child(std::size_t first, std::size_t count, const Isolation& isolation,
                           int to) {
  Job job;
  std::string name;
  try {
    job = isolation.open(name);
  } catch (const std::exception& error) {
    send(to, Kind::refused_to_open, first, error.what());
    std::_Exit(0);
  }
  send(to, Kind::opened, first, name);
  for (std::size_t i = first; i < count; ++i) {
    try {
      send(to, Kind::answered, i, job(i));
    } catch (const std::invalid_argument& refusal) {
      send(to, Kind::answered, i, refusal.what());
    } catch (const Spent& spent) {
      send(to, Kind::spent, i, spent.problem);
      break;
    } catch (const std::exception& error) {
      send(to, Kind::broken, i, error.what());
      break;
    }
  }
  std::fflush(nullptr);
  std::_Exit(0);  // a device that is broken could keep destructors waiting
}

/// False at the end of the stream and when the time is over.
bool receive(int from, void* to, std::size_t bytes, int seconds, bool& late) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    pollfd wait{from, POLLIN, 0};
    const int ready = ::poll(&wait, 1, seconds * 1000);
    if (ready < 0 && errno == EINTR) continue;
    late = ready == 0;
    if (ready <= 0) return false;
    const ssize_t got = ::read(from, at, bytes);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

class Parent {
 public:
  Parent(std::size_t count, const Isolation& isolation) : count_(count), isolation_(isolation) {}

  IsolatedRun run() {
    do {
      take_from_child();
      if (run_.device.empty() || !run_.problem.empty()) break;
      if (run_.broken > static_cast<std::size_t>(isolation_.most_broken)) {
        run_.problem = fmt::format("{} processes were lost; the rest was left out", run_.broken);
      }
    } while (next_ < count_ && run_.problem.empty());
    return std::move(run_);
  }

 private:
  void take_from_child() {
    int ends[2];
    if (::pipe(ends) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      be_child(next_, count_, isolation_, ends[1]);
    }
    ::close(ends[1]);
    const Descriptor from(ends[0]);
    if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
    bool late = false;
    const bool whole = listen(from.number(), late);
    if (late) ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (whole) return;
    const std::string what =
        late                  ? fmt::format("no end after {} s", isolation_.seconds)
        : WIFSIGNALED(status) ? fmt::format("the process was ended by signal {}", WTERMSIG(status))
                              : std::string("the process ended");
    if (!opened_) {
      run_.device.clear();
      run_.problem = "the device could not be opened: " + what;
      return;
    }
    lose(what);
  }

  /// True when the child has said all that it had to say.
  bool listen(int from, bool& late) {
    opened_ = false;
    for (;;) {
      if (opened_ && next_ == count_) return true;
      Header header{};
      if (!receive(from, &header, sizeof(header), isolation_.seconds, late)) return false;
      std::string text(header.bytes, '\0');
      if (!receive(from, text.data(), text.size(), isolation_.seconds, late)) return false;
      switch (header.kind) {
        case Kind::opened:
          opened_ = true;
          run_.device = text;
          break;
        case Kind::refused_to_open:
          run_.device.clear();
          run_.problem = text;
          return true;
        case Kind::answered:
          answer(std::move(text));
          break;
        case Kind::spent:
          answer(std::move(text));
          return true;
        case Kind::broken:
          lose(text);
          return true;
      }
    }
  }

  void answer(std::string text) {
    ++run_.done;
    isolation_.answered(next_++, std::move(text));
  }

  void lose(const std::string& what) {
    ++run_.broken;
    answer(what + "; the next one ran in a fresh process");
  }

  std::size_t count_;
  const Isolation& isolation_;
  IsolatedRun run_;
  std::size_t next_ = 0;
  bool opened_ = false;
};

}  // namespace

IsolatedRun run_isolated(std::size_t count, const Isolation& isolation) {
  return Parent(count, isolation).run();
}

}  // namespace estoc::testing_support
