// Reads paths.
#include "paths.h"

#include "errors.h"
#include "numbers.h"

namespace estoc::python {

std::string path_text(nb::handle path) {
  const nb::object given = nb::steal(PyOS_FSPath(path.ptr()));
  if (!given.is_valid()) {
    PyErr_Clear();
    fail_type("path: expected a str or a path, got " + class_name(path));
  }
  return text(given, "path");
}

}  // namespace estoc::python
