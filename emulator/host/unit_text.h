// The text that makes kernels functions which the emulator calls.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "kernel_build.h"

namespace estoc::emulator {

/// The file, beside the unit, that holds the source of a job: of a single one NAME.cu.
std::string source_name(std::span<const BuildJob> jobs, std::size_t index);

/// The unit of one job, or of several that can share it: each stands in a namespace of its own.
std::string unit_text(std::span<const BuildJob> jobs);

/// Whether a unit can hold both: their target and options are the same, and of the preprocessor
/// their sources have nothing but includes of the library's headers.
bool can_share_unit(const BuildJob& one, const BuildJob& other);

/// A kernel as C++ names it: `scale<4>` for "_Z5scaleILi4EEv6Vector".
std::string cpp_name(const std::string& entry);

}  // namespace estoc::emulator
