// Signals that a kernel raises, or that say that its time is over, end its launch and not the
// process.
#pragma once

#include "emulator/launch.h"

namespace estoc::emulator {

/// While it lives, such signals on this host thread go to the machine that runs there. Signals that
/// others raise go where they went before.
class SignalGuard {
 public:
  /// After `seconds` of this thread's processor time, if not 0, the code around `entry` is stopped
  /// where it is. Code that the emulator shares a library with is not: it might be the emulator's.
  SignalGuard(Entry entry, double seconds);
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  void* timer_ = nullptr;
  bool times_ = false;
  void* own_stack_ = nullptr;  ///< that signals are handled on
};

/// What to say of a signal that a thread of a kernel got at `address`.
std::string signal_text(int signal, std::uint64_t address, bool stack_is_full, double seconds);

}  // namespace estoc::emulator
