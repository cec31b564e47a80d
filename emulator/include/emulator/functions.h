// The functions of functions.def as a table, through which a kernel that is built on demand calls
// them.
#pragma once

#include <emulator/runtime.h>

namespace estoc::emulator {

struct FunctionTable {
// NOLINTBEGIN(bugprone-macro-parentheses): types and lists of parameters
#define ESTOC_FUNCTION(result, name, parameters, names) result(*name) parameters;
// NOLINTEND(bugprone-macro-parentheses)
#include <emulator/functions.def>
#undef ESTOC_FUNCTION
};

/// The functions of this process.
const FunctionTable& function_table();

/// The same, which note what is executed in the launch's Recording.
const FunctionTable& recording_table();

}  // namespace estoc::emulator
