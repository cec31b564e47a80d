// Numbers, truth values and text that Python gives.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "binding.h"

namespace estoc::python {

/// The number that an int, or an object that stands for one (NumPy's integers), is. Throws
/// Error{type} for other objects, floats and text among them, Error{value} for one of more than
/// 64 bits; both name `what`.
std::int64_t whole_number(nb::handle object, const char* what);

/// The same for a number that fits into an int.
int whole_int(nb::handle object, const char* what);

/// What is in an iterable. Throws Error{type} for other objects.
std::vector<nb::object> items_of(nb::handle object, const char* what);

/// True or False. Throws Error{type} for other objects.
bool truth(nb::handle object, const char* what);

/// What a str says. Throws Error{type} for other objects.
std::string text(nb::handle object, const char* what);

}  // namespace estoc::python
