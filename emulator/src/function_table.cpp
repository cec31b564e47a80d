// The functions that kernels which are built on demand call.
#include "emulator/functions.h"

namespace estoc::emulator {

const FunctionTable& function_table() {
  static constexpr FunctionTable kTable{
#define ESTOC_FUNCTION(result, name, parameters, names) .name = (name),
#include "emulator/functions.def"
#undef ESTOC_FUNCTION
  };
  return kTable;
}

}  // namespace estoc::emulator
