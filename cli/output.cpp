// Writes to standard output and notices when that fails.
#include "output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "failure.h"

namespace estoc::cli {
namespace {

[[noreturn]] void fail_to_write(int error) {
  if (error == EPIPE) throw BrokenPipe();
  throw Failure(Exit::file, fmt::format("standard output: cannot write: {}",
                                        std::generic_category().message(error)));
}

}  // namespace

Output::Output(bool no_color)
    : terminal_(::isatty(STDOUT_FILENO) == 1), color_(terminal_ && !no_color) {}

void Output::print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail_to_write(errno);
}

void Output::finish() {
  if (std::fflush(stdout) != 0) fail_to_write(errno);
}

std::string Output::styled(std::string_view text, Style style) const {
  static constexpr std::array<const char*, 5> kCodes{"0", "1", "32", "31", "2"};
  if (!color_ || style == Style::plain) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<std::size_t>(style)], text);
}

}  // namespace estoc::cli
