// The library's errors as Python's own kinds of exceptions.
#pragma once

#include <new>
#include <string>

#include "binding.h"
#include "estoc/status.hpp"

namespace estoc::python {

/// Throws Error{value} or Error{type}.
[[noreturn]] void fail_value(const std::string& message);
[[noreturn]] void fail_type(const std::string& message);

/// Throws estoc.NoKernelError or estoc.MissingMethodError.
[[noreturn]] void fail_no_kernel(const std::string& message);
[[noreturn]] void fail_missing_method(const std::string& message);

/// Sets the Python exception that stands for an error, as the translator does; for functions that
/// Python calls directly.
void set_python_error(const Error& error);

/// Runs what may throw where Python calls directly; false with a Python exception set.
template <typename Function>
bool guarded(Function&& function) noexcept {
  try {
    function();
    return true;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const Error& error) {
    set_python_error(error);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return false;
}

/// str(object) and repr(object) for messages: what UTF-8 cannot hold is escaped, and an object that
/// raises is named by its type. Throws no exception of Python's.
std::string shown_text(nb::handle object);
std::string shown_repr(nb::handle object);

/// "float" for 1.5: the name of an object's type, for messages.
std::string class_name(nb::handle object);

}  // namespace estoc::python
