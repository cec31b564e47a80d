// Signals: an interrupted command leaves no partial files; a broken pipe is no accident.
#pragma once

namespace estoc::cli {

/// Ctrl-C, a hang-up or a request to end removes partial files and ends the process by that signal;
/// those that are ignored when the command starts (nohup) stay so. SIGPIPE is ignored, so that a
/// failed write shows it.
void install_signal_handlers();

}  // namespace estoc::cli
