// Draws the progress line.
#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace estoc::cli {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);

}  // namespace

Progress::Progress() : terminal_(::isatty(STDERR_FILENO) == 1) {}

void Progress::stage(std::string_view name) {
  stage_ = prefix_ + std::string(name);
  if (terminal_) draw(fmt::format("{} ...", stage_));
}

void Progress::update(double fraction) {
  if (!terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < kInterval) return;
  last_ = now;
  draw(fmt::format("{} {:3.0f}%", stage_, fraction * 100));
}

void Progress::clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

void Progress::draw(std::string_view text) {
  const std::string line = fmt::format("\r\x1b[K{}", text);
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace estoc::cli
