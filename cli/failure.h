// How the command fails: exit statuses, a failure with a hint, and their report on stderr.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include "estoc/status.hpp"

namespace estoc::cli {

/// Exit statuses, all below 128; docs/cli.md lists them for users.
enum class Exit : int {
  ok = 0,
  wrong = 1,      ///< an output failed its check
  usage = 2,      ///< the command line, a problem text or operands that contradict each other
  not_found = 3,  ///< no kernel, no such name, or not supported
  file = 4,       ///< a file could not be read or written, or does not hold what it should
  execution = 5,  ///< compiling or launching a kernel failed
  memory = 6,     ///< out of memory
  cancelled = 7,  ///< a library call was stopped; a signal ends the process itself
};

/// One sentence that says what is wrong, and one that says what to do about it (may be empty).
class Failure : public std::runtime_error {
 public:
  Failure(Exit exit, const std::string& message, std::string hint = {})
      : std::runtime_error(message), hint_(std::move(hint)), exit_(exit) {}

  Exit exit() const { return exit_; }
  const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
  Exit exit_;
};

/// The status that stands for a kind of error of the library.
Exit exit_for(ErrorKind kind);

/// Calls `action` and gives the library's errors that come out of it a hint.
template <class Action>
decltype(auto) with_hint(const std::string& hint, Action&& action) {
  try {
    return action();
  } catch (const Error& error) {
    throw Failure(exit_for(error.kind()), error.what(), hint);
  }
}

/// Calls `action`, which reads or writes a file: what is not there, or not as it should be, is then
/// a failure of the file.
template <class Action>
decltype(auto) about_file(const std::string& hint, Action&& action) {
  try {
    return action();
  } catch (const Error& error) {
    const bool memory = error.kind() == ErrorKind::memory;
    throw Failure(memory ? Exit::memory : Exit::file, error.what(), hint);
  }
}

/// Prints "error: ..." and "hint: ..." for the exception and returns its exit status.
int report(const std::exception& exception);

/// Prints "warning: ..." on stderr.
void warn(const std::string& message);

/// Prints "LEVEL: ..." on stderr, of the library's log. Any thread may call it.
void log_line(std::string_view level, std::string_view message);

/// Prints "note: ..." on stderr: nothing is wrong, but it should not go unnoticed.
void note(const std::string& message);

}  // namespace estoc::cli
