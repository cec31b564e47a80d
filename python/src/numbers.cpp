// Whole numbers that Python gives.
#include "numbers.h"

#include <string>

#include "errors.h"

namespace estoc::python {

std::int64_t whole_number(nb::handle object, const char* what) {
  if (!PyIndex_Check(object.ptr())) {
    fail_type(std::string(what) + ": expected a whole number, got " + shown_repr(object));
  }
  const nb::object number = nb::steal(PyNumber_Index(object.ptr()));
  if (!number.is_valid()) throw nb::python_error();
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow == 0) return value;
  fail_value(std::string(what) + ": expected a number of 64 bits, got " + shown_repr(object));
}

}  // namespace estoc::python
