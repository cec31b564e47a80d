// Which kernels `estoc compile` compiles, and the rules of their use.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "estoc/bundle.hpp"
#include "estoc/target.hpp"

namespace estoc::cli {

/// What the command line requests.
struct CompileChoice {
  std::vector<std::string> what;  ///< problem texts, "@FILE" of such, and kernel names
  std::size_t top = 1;            ///< kernels for each problem; 0: all
  std::string m_range;            ///< "LOW:HIGH"; empty: the M of the text
  std::string filter;
  bool skip = false;  ///< pass over problems of a file that no kernel carries out
};

/// Distinct kernels, and rules that name them by index.
struct Chosen {
  std::vector<Kernel> kernels;
  std::vector<DispatchRule> rules;
  std::vector<std::string> skipped{};  ///< problems
};

/// Looks the kernels up. Throws Failure: a malformed range or text, a name that does not exist, a
/// problem that no kernel carries out, a kernel that is not for `target`.
Chosen choose_to_compile(const CompileChoice& choice, Target target);

}  // namespace estoc::cli
