// Spills that are known, from the file known_spills.txt.
#include "known_spills.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace estoc::compile_test {

std::vector<KnownSpill> read_known_spills(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  std::vector<KnownSpill> known;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    KnownSpill spill;
    if (!(words >> spill.kernel_class >> spill.part >> spill.most_bytes)) {
      throw std::runtime_error(
          fmt::format("{}: expected a class, a part of a name and bytes, got {}", path, line));
    }
    words >> spill.targets;
    known.push_back(std::move(spill));
  }
  return known;
}

bool is_known(const std::vector<KnownSpill>& known, const std::string& name,
              const std::string& target, const KernelResources& taken) {
  const int bytes = std::max(taken.spill_store_bytes, taken.spill_load_bytes);
  return std::any_of(known.begin(), known.end(), [&](const KnownSpill& spill) {
    return name.starts_with(spill.kernel_class + "-") &&
           name.find("-" + spill.part) != std::string::npos && bytes <= spill.most_bytes &&
           target.starts_with(spill.targets);
  });
}

}  // namespace estoc::compile_test
