// Reads the file of headers and days, and looks for the headers in kernels' text.
#include "support/turns.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace estoc::testing_support {

Turns::Turns(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument(path + ": cannot be read");
  file >> rest_ >> day_;
  std::string header;
  for (std::uint64_t every = 1; file >> header >> every;)
    days_.emplace(header, std::max<std::uint64_t>(every, 1));
  if (!file.eof() || rest_ == 0)
    throw std::invalid_argument(path +
                                ": expected numbers of days, then lines of a header and days");
}

Turns Turns::of_environment() {
  const char* path = std::getenv("ESTOC_TEST_TURNS");
  return path != nullptr ? Turns(path) : Turns();
}

void Turns::add_option(Program& program) {
  program.each(
      "--turns", [this](const std::string& path) { *this = Turns(path); },
      "leave out kernels whose turn it is not: a file of how often kernels are due and the day, "
      "then of headers, each with every how many days a kernel is due that includes it, and of "
      "files "
      "of tests that changed");
}

bool Turns::is_due(const Kernel& kernel, Target target, std::uint64_t number) const {
  if (rest_ == 1) return true;
  std::uint64_t every = rest_;
  const std::string text = kernel.emit(Emission::source, target);
  for (const auto& [header, days] : days_) {
    if (days < every && text.find('<' + header + '>') != std::string::npos) every = days;
  }
  // Neighbours have the same turn, as numbers also choose what is tried; changed.py has this too.
  return (number / 3 + day_) % every == 0;
}

bool Turns::has_changed(std::string_view file) const {
  return std::any_of(days_.begin(), days_.end(),
                     [&](const auto& entry) { return file.ends_with('/' + entry.first); });
}

}  // namespace estoc::testing_support
