// Installs the signal handlers.
#include "interrupt.h"

#include <unistd.h>

#include <array>
#include <csignal>
#include <string_view>

#include "estoc/interrupt.hpp"

namespace estoc::cli {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kSignals)
    sigaddset(&set, signal);
  return set;
}

/// Ends the process by the signal itself, as if it had not been handled: a shell then stops the
/// loop or the script that the command is part of.
[[noreturn]] void end_by(int signal) {
  std::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  ::raise(signal);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::_exit(128 + signal);
}

/// Calls nothing but async-signal-safe functions.
void end_cancelled(int signal) {
  discard_partial_files();
  constexpr std::string_view kMessage = "error: cancelled\n";
  constexpr std::string_view kClearLine = "\r\x1b[K";
  [[maybe_unused]] ssize_t ignored = 0;
  if (::isatty(STDERR_FILENO) == 1) {
    ignored = ::write(STDERR_FILENO, kClearLine.data(), kClearLine.size());
  }
  ignored = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  end_by(signal);
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = end_cancelled;
  action.sa_mask = handled_signals();
  for (const int signal : kSignals) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN)
      ::sigaction(signal, &action, nullptr);  // nohup stays in force
  }
  std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace estoc::cli
