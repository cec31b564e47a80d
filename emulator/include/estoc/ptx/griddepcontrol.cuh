// Host twin: order between a grid and the one launched after it (PTX ISA 9.7.13.14,
// griddepcontrol).
#pragma once

#include <emulator/runtime.h>

namespace estoc::ptx {

inline void griddepcontrol_wait(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  emulator::grid_dependency("griddepcontrol.wait", {file, line});
}

inline void griddepcontrol_launch_dependents(int line = __builtin_LINE(),
                                             const char* file = __builtin_FILE()) {
  emulator::grid_dependency("griddepcontrol.launch_dependents", {file, line});
}

}  // namespace estoc::ptx
