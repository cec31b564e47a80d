// The command `estoc` as a function, for programs that add custom kernels to it.
#pragma once

namespace estoc {

/// Runs the command line of `estoc` and returns its exit status. A program that registers kernel
/// classes and then calls this from main is an `estoc` that has them: find, explain, run, check,
/// bench and compile treat them as they treat the built-in ones. Link with estoc::command.
/// Installs handlers for SIGINT, SIGTERM and SIGHUP, which remove unfinished files and then let the
/// signal end the process, and a log callback that prints warnings (--log LEVEL: more) on stderr.
int run_command(int argc, char** argv);

}  // namespace estoc
