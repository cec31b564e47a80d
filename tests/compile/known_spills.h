// Spills that are known, from the file known_spills.txt.
#pragma once

#include <string>
#include <vector>

#include "estoc/kernel_class.hpp"

namespace estoc::compile_test {

struct KnownSpill {
  std::string kernel_class;
  std::string part;  ///< of the kernel's name
  int most_bytes = 0;
};

/// Throws std::runtime_error when the file is missing or malformed.
std::vector<KnownSpill> read_known_spills(const std::string& path);

/// Whether a kernel of that name may spill as much as it does.
bool is_known(const std::vector<KnownSpill>& known, const std::string& name,
              const KernelResources& taken);

}  // namespace estoc::compile_test
