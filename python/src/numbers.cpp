// Numbers, truth values and text that Python gives.
#include "numbers.h"

#include <string>
#include <utility>

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

int whole_int(nb::handle object, const char* what) {
  const std::int64_t value = whole_number(object, what);
  if (std::in_range<int>(value)) return static_cast<int>(value);
  fail_value(std::string(what) + ": expected a number of 32 bits, got " + std::to_string(value));
}

std::vector<nb::object> items_of(nb::handle object, const char* what) {
  const nb::object iterator = nb::steal(PyObject_GetIter(object.ptr()));
  if (!iterator.is_valid()) {
    PyErr_Clear();
    fail_type(std::string(what) + ": expected a sequence, got " + shown_repr(object));
  }
  std::vector<nb::object> items;
  for (const nb::handle item : iterator)
    items.push_back(nb::borrow(item));
  return items;
}

bool truth(nb::handle object, const char* what) {
  if (object.is(Py_True) || object.is(Py_False)) return object.is(Py_True);
  fail_type(std::string(what) + ": expected True or False, got " + class_name(object));
}

std::string text(nb::handle object, const char* what) {
  std::string value;
  if (nb::try_cast(object, value, false)) return value;
  fail_type(std::string(what) + ": expected text, got " + class_name(object));
}

}  // namespace estoc::python
