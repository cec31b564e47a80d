// Signals: an interrupted command leaves no partial files; a broken pipe is no accident.
#pragma once

namespace estoc::cli {

/// Ctrl-C, a hang-up or a request to end removes partial files and ends the process with
/// Exit::cancelled; SIGPIPE is ignored, so that a failed write shows it.
void install_signal_handlers();

}  // namespace estoc::cli
