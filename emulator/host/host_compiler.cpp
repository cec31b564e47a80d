// Finds the host's C++ compiler and its version.
#include "host_compiler.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "core/env.h"
#include "core/hash.h"
#include "estoc/status.hpp"
#include "process.h"

namespace estoc::emulator {
namespace {

// "12.2.0" of "c++ (Debian 12.2.0-14) 12.2.0".
std::string_view version_in(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  for (std::size_t at = 0; (at = text.find_first_of("0123456789", at)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789.", at), text.size());
    const std::string_view number = text.substr(at, end - at);
    if (number.find('.') != std::string_view::npos) return number;
    at = end;
  }
  return "unknown";
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+';
}

// It becomes part of a file's name.
std::string plain_name(const std::string& program) {
  std::string name = std::filesystem::path(program).filename().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !is_plain(c); }, '_');
  return name;
}

/// The compiler of that name, if it can be started and says a version.
bool ask(std::string program, HostCompiler& found) {
  if (program.find('/') != std::string::npos) program = std::filesystem::absolute(program);
  const Ended ended = run_program({program, "--version"});
  if (!ended.succeeded) return false;
  found.identity = fmt::format("{}-{}-{}", plain_name(program), version_in(ended.output),
                               core::hash(ended.output).hex().substr(0, 8));
  found.program = std::move(program);
  return true;
}

}  // namespace

HostCompiler host_compiler() {
  HostCompiler compiler;
  if (const auto named = core::env("ESTOC_HOST_COMPILER")) {
    if (ask(*named, compiler)) return compiler;
    throw Error(ErrorKind::not_found,
                fmt::format("ESTOC_HOST_COMPILER: expected a C++ compiler, but '{} --version' does "
                            "not succeed",
                            *named));
  }
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (ask(name, compiler)) return compiler;
  }
  throw Error(ErrorKind::not_found,
              "the emulator builds kernels with the host's C++ compiler: none of c++, g++ and "
              "clang++ is on PATH, and ESTOC_HOST_COMPILER is not set");
}

}  // namespace estoc::emulator
