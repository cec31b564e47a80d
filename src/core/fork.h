// What a process that forks while its threads work leaves to the child.
#pragma once

#include <mutex>
#include <span>

namespace estoc::core {

/// Takes `locks`, which must never be destroyed, before every fork of the process and frees them
/// after it in both processes: what they guard is whole in the child. No thread may wait for one of
/// them while it holds another.
void hold_at_fork(std::span<std::mutex> locks);

/// The forks that lie between this process and its first ancestor that called this. What another
/// thread began at a smaller count will never be done here: threads do not survive a fork.
unsigned fork_count() noexcept;

}  // namespace estoc::core
