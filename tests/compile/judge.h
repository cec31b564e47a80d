// What is wrong with a compiled unit: spills, slow code, more registers than there are.
#pragma once

#include <string>
#include <vector>

#include "jit/compile.h"
#include "known_spills.h"

namespace estoc::compile_test {

/// What came of looking at a unit.
struct Verdict {
  std::vector<std::string> defects;  ///< one sentence each
  bool known_spill = false;          ///< it spills, and is known to
};

/// The unit's source went through with_bounds(); a unit without launch bounds is a defect.
Verdict judge(const jit::Unit& unit, const std::vector<KnownSpill>& known);

}  // namespace estoc::compile_test
