// The functions that kernels which are built on demand call.
#include "emulator/functions.h"

namespace estoc::emulator {

const FunctionTable& function_table() {
#define ESTOC_EMULATOR_ENTRY(slot, result, function, parameters, names) \
  .slot = static_cast<result(*) parameters>(function),
  static constexpr FunctionTable kTable{ESTOC_EMULATOR_FUNCTIONS(ESTOC_EMULATOR_ENTRY)};
#undef ESTOC_EMULATOR_ENTRY
  return kTable;
}

}  // namespace estoc::emulator
