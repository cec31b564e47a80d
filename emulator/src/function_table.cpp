// The functions that kernels which are built on demand call.
#include "emulator/functions.h"

namespace estoc::emulator {

const FunctionTable& function_table() {
  // NOLINTBEGIN(bugprone-macro-parentheses): types and lists of parameters
#define ESTOC_EMULATOR_ENTRY(slot, result, function, parameters, names) \
  .slot = static_cast<result(*) parameters>(function),
  // NOLINTEND(bugprone-macro-parentheses)
  static constexpr FunctionTable kTable{ESTOC_EMULATOR_FUNCTIONS(ESTOC_EMULATOR_ENTRY)};
#undef ESTOC_EMULATOR_ENTRY
  return kTable;
}

}  // namespace estoc::emulator
