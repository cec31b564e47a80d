// Reads the file of headers and days, and looks for the headers in kernels' text.
#include "support/turns.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace estoc::testing_support {
namespace {

std::map<std::string, std::uint64_t> read_turns(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument(path + ": cannot be read");
  std::map<std::string, std::uint64_t> days;
  std::string header;
  for (std::uint64_t every = 1; file >> header >> every;)
    days.emplace('<' + header + '>', std::max<std::uint64_t>(every, 1));
  if (!file.eof()) throw std::invalid_argument(path + ": expected lines of a header and days");
  return days;
}

}  // namespace

void Turns::add_options(Program& program) {
  program
      .each(
          "--turns", [this](const std::string& path) { days_ = read_turns(path); },
          "leave out kernels whose turn it is not: a file of headers, each with every how many "
          "days "
          "a kernel is due that includes it")
      .number("--rest", rest_, "every how many days other kernels are (default: 1)")
      .number("--day", day_, "the day", 0);
}

bool Turns::is_due(const Kernel& kernel, Target target, std::uint64_t number) const {
  std::uint64_t every = rest_;
  const std::string text = kernel.emit(Emission::source, target);
  for (const auto& [header, days] : days_) {
    if (days < every && text.find(header) != std::string::npos) every = days;
  }
  // Neighbours have the same turn, as numbers also choose what is tried; changed.py has this too.
  return (number / 3 + day_) % every == 0;
}

}  // namespace estoc::testing_support
