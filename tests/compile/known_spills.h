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
  std::string targets;  ///< how the targets it is known for begin; empty: all
};

/// Throws std::runtime_error when the file is missing or malformed.
std::vector<KnownSpill> read_known_spills(const std::string& path);

/// Whether a kernel of that name may spill as much as it does for that target.
bool is_known(const std::vector<KnownSpill>& known, const std::string& name,
              const std::string& target, const KernelResources& taken);

}  // namespace estoc::compile_test
