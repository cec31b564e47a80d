// What a program calls when it is interrupted, so that the library leaves no half-written files.
#pragma once

namespace estoc {

/// Removes the temporaries of every file the library is writing at this moment (save_tensor, the
/// kernel cache). Async-signal-safe: for the handler of a signal that then ends the process.
void discard_partial_files() noexcept;

}  // namespace estoc
