// Runs a program and keeps what it says.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace estoc::emulator {

/// How a program ended, with its standard output and error together.
struct Ended {
  bool started = false;
  bool succeeded = false;
  std::string output;
};

/// Runs the program words[0], looked for on PATH unless it is a path, in `folder`.
Ended run_program(std::vector<std::string> words, const std::filesystem::path& folder = ".");

}  // namespace estoc::emulator
