// The library's errors as Python's own kinds of exceptions.
#pragma once

#include <string>

#include "binding.h"
#include "estoc/status.hpp"

namespace estoc::python {

/// Throws Error{value} or Error{type}.
[[noreturn]] void fail_value(const std::string& message);
[[noreturn]] void fail_type(const std::string& message);

/// Sets the Python exception that stands for an error, as the translator does; for functions that
/// Python calls directly.
void set_python_error(const Error& error);

/// "float" for 1.5: the name of an object's type, for messages.
std::string class_name(nb::handle object);

}  // namespace estoc::python
