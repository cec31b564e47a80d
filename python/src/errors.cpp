// Exception classes and Status: every error of the library is an estoc.Error and one of Python's.
#include "errors.h"

#include <array>

#include "estoc/error_kinds.hpp"
#include "numbers.h"

namespace estoc::python {
namespace {

// Borrowed: the module holds the classes.
std::array<PyObject*, kErrorKinds.size()> classes{};

// Borrowed, too.
PyObject* no_kernel_class = nullptr;
PyObject* missing_method_class = nullptr;

/// Makes the class of an exception a part of the module.
PyObject* add_class(nb::module_& module, const char* name, const char* doc,
                    const nb::tuple& bases) {
  const std::string full = std::string("estoc.") + name;
  const nb::object made =
      nb::steal(PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), nullptr));
  if (!made.is_valid()) throw nb::python_error();
  module.attr(name) = made;
  return made.ptr();
}

[[noreturn]] void raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw nb::python_error();
}

PyObject* class_of(ErrorKind kind) {
  return classes[static_cast<std::size_t>(kind)];
}

void set_compile_error(const CompileError& error) {
  nb::object exception = nb::borrow(class_of(error.kind()))(error.what());
  exception.attr("log") = error.log();
  exception.attr("source") = error.source();
  PyErr_SetObject(class_of(error.kind()), exception.ptr());
}

void translate(const std::exception_ptr& pointer, void* /*payload*/) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    set_python_error(error);
  } catch (const nb::cast_error&) {
    PyErr_SetString(class_of(ErrorKind::type), "expected an object of another type");
  }
}

/// Of `text`, which is null where a Python error is set: that is cleared.
std::string in_utf8(const nb::object& text, nb::handle object) {
  if (text.is_valid()) {
    const auto bytes =
        nb::steal<nb::bytes>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
    if (bytes.is_valid()) return {bytes.c_str(), bytes.size()};
  }
  PyErr_Clear();
  return "an object of " + class_name(object);
}

void bind_status(nb::module_& module) {
  nb::class_<Status>(module, "Status",
                     "Whether a kernel supports arguments and, if not, why. True means supported.")
      .def_static("success", &Status::success, "Supported.")
      .def_static(
          "fail", [](nb::handle error) { return Status::fail(text(error, "error")); },
          nb::arg("error").none(), "Not supported; `error` names operand, expected and got.")
      .def_prop_ro(
          "error",
          [](const Status& status) -> nb::object {
            return status.ok() ? nb::none() : nb::object(nb::cast(status.error()));
          },
          "Why the arguments are not supported; None on success.")
      .def("__bool__", &Status::ok)
      .def("__getstate__",
           [](const Status& self) {
             return std::pair(static_cast<int>(self.reason()), self.error());
           })
      .def("__setstate__",
           [](Status& self, const std::pair<int, std::string>& state) {
             new (&self) Status(Status::fail(static_cast<Reason>(state.first), state.second));
           })
      .def("__repr__", [](const Status& status) {
        return status.ok() ? std::string("Status.success()")
                           : "Status.fail(" + shown_repr(nb::cast(status.error())) + ")";
      });
}

}  // namespace

void fail_value(const std::string& message) {
  throw Error(ErrorKind::value, message);
}

void fail_type(const std::string& message) {
  throw Error(ErrorKind::type, message);
}

void fail_no_kernel(const std::string& message) {
  raise(no_kernel_class, message);
}

void fail_missing_method(const std::string& message) {
  raise(missing_method_class, message);
}

void set_python_error(const Error& error) {
  if (const auto* compile = dynamic_cast<const CompileError*>(&error)) {
    set_compile_error(*compile);
  } else {
    PyErr_SetString(class_of(error.kind()), error.what());
  }
}

std::string shown_text(nb::handle object) {
  return in_utf8(nb::steal(PyObject_Str(object.ptr())), object);
}

std::string shown_repr(nb::handle object) {
  return in_utf8(nb::steal(PyObject_Repr(object.ptr())), object);
}

std::string class_name(nb::handle object) {
  return shown_text(nb::getattr(object.type(), "__name__", nb::none()));
}

void bind_errors(nb::module_& module) {
  nb::object base = nb::steal(PyErr_NewExceptionWithDoc(
      "estoc.Error", "Base of all errors of the library.", PyExc_Exception, nullptr));
  module.attr("Error") = base;
  const nb::module_ builtins = nb::module_::import_("builtins");
  for (const ErrorKindRow& row : kErrorKinds) {
    const nb::object built_in = builtins.attr(std::string(row.python_base).c_str());
    classes[static_cast<std::size_t>(row.kind)] =
        add_class(module, std::string(row.python_class).c_str(), std::string(row.meaning).c_str(),
                  nb::make_tuple(base, built_in));
  }
  const nb::object unsupported = nb::borrow(class_of(ErrorKind::unsupported));
  no_kernel_class = add_class(module, "NoKernelError",
                              "There is no kernel at that place of a list; an empty list says why.",
                              nb::make_tuple(unsupported, nb::borrow(PyExc_IndexError)));
  missing_method_class =
      add_class(module, "MissingMethodError",
                "A kernel class written in Python lacks a method that it needs.",
                nb::make_tuple(unsupported, nb::borrow(PyExc_NotImplementedError)));
  nb::register_exception_translator(translate);
  bind_status(module);
}

}  // namespace estoc::python
