// Whole numbers that Python gives.
#pragma once

#include <cstdint>

#include "binding.h"

namespace estoc::python {

/// The number that an int, or an object that stands for one (NumPy's integers), is. Throws
/// Error{type} for other objects, floats and text among them, Error{value} for one of more than
/// 64 bits; both name `what`.
std::int64_t whole_number(nb::handle object, const char* what);

}  // namespace estoc::python
