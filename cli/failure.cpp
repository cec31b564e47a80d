// Maps exceptions to exit statuses and prints them.
#include "failure.h"

#include <cstdio>
#include <new>
#include <string_view>

#include "estoc/error_kinds.hpp"
#include "text.h"

namespace estoc::cli {
namespace {

/// What to do about an error of the library that nothing more specific was said about.
std::string_view default_hint(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::not_found:
      return "'estoc list' prints the kernels there are";
    case ErrorKind::unsupported:
      return "'estoc explain' says which kernels apply, and why others do not";
    case ErrorKind::memory:
      return "the operands and the output must fit in memory together";
    case ErrorKind::cancelled:
    case ErrorKind::compile:
    case ErrorKind::driver:
    case ErrorKind::io:
      return "";
    default:
      return "'estoc COMMAND --help' shows what a command takes, with examples";
  }
}

int report(Exit exit, std::string_view message, std::string_view hint) {
  std::string text = "error: " + printable(message) + '\n';
  if (!hint.empty()) text += "hint: " + printable(hint) + '\n';
  std::fwrite(text.data(), 1, text.size(), stderr);
  return static_cast<int>(exit);
}

void print_line(const std::string& label, std::string_view message) {
  const std::string text = label + printable(message) + '\n';
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

Exit exit_for(ErrorKind kind) {
  return static_cast<Exit>(row_of(kind).exit_status);
}

int report(const std::exception& exception) {
  if (const auto* failure = dynamic_cast<const Failure*>(&exception)) {
    return report(failure->exit(), failure->what(), failure->hint());
  }
  if (const auto* error = dynamic_cast<const Error*>(&exception)) {
    return report(exit_for(error->kind()), error->what(), default_hint(error->kind()));
  }
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) {
    return report(Exit::memory, "out of memory", default_hint(ErrorKind::memory));
  }
  return report(Exit::execution, exception.what(), "this is a defect of estoc; please report it");
}

void warn(const std::string& message) {
  print_line("warning: ", message);
}

void note(const std::string& message) {
  print_line("note: ", message);
}

void log_line(std::string_view level, std::string_view message) {
  print_line(std::string(level) + ": ", message);
}

}  // namespace estoc::cli
