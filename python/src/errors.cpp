// Exception classes and Status: every error of the library is an estoc.Error and one of Python's.
#include "errors.h"

#include <array>

#include "numbers.h"

namespace estoc::python {
namespace {

struct Kind {
  ErrorKind kind;
  const char* name;
  PyObject** base;
  const char* doc;
};

// Borrowed: the module holds the classes.
std::array<PyObject*, 10> classes{};

const std::array<Kind, 10>& kinds() {
  static const std::array<Kind, 10> table{{
      {ErrorKind::value, "InvalidValueError", &PyExc_ValueError,
       "An argument has the wrong value: a shape, a stride, text that does not parse."},
      {ErrorKind::type, "InvalidTypeError", &PyExc_TypeError,
       "An argument has the wrong type: its dtype, or the kind of object."},
      {ErrorKind::not_found, "NotFoundError", &PyExc_LookupError,
       "A kernel, provider, tensor or file does not exist."},
      {ErrorKind::exists, "ExistsError", &PyExc_ValueError, "A name is already taken."},
      {ErrorKind::unsupported, "UnsupportedError", &PyExc_RuntimeError,
       "The kernel does not support the arguments, or a feature is not there."},
      {ErrorKind::io, "IoError", &PyExc_OSError, "Reading or writing a file failed."},
      {ErrorKind::memory, "OutOfMemoryError", &PyExc_MemoryError, "Out of host or device memory."},
      {ErrorKind::compile, "CompileError", &PyExc_RuntimeError,
       "A kernel did not compile. `log` is what the compiler said, `source` what it compiled."},
      {ErrorKind::driver, "DriverError", &PyExc_RuntimeError, "The CUDA driver reported an error."},
      {ErrorKind::cancelled, "CancelledError", &PyExc_RuntimeError, "The user asked to stop."},
  }};
  return table;
}

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
  for (std::size_t i = 0; i < kinds().size(); ++i) {
    if (kinds()[i].kind == kind) return classes[i];
  }
  return PyExc_RuntimeError;
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
  for (std::size_t i = 0; i < kinds().size(); ++i) {
    const Kind& kind = kinds()[i];
    classes[i] =
        add_class(module, kind.name, kind.doc, nb::make_tuple(base, nb::borrow(*kind.base)));
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
