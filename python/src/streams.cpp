// Finds the CUstream of a framework's stream object, and the stream that a framework works on.
#include "streams.h"

#include "addresses.h"
#include "errors.h"
#include "estoc/device.hpp"
#include "numbers.h"

namespace estoc::python {
namespace {

void* as_stream(nb::handle number) {
  const nb::object whole = PyIndex_Check(number.ptr()) || !nb::hasattr(number, "__int__")
                               ? nb::borrow(number)
                               : number.attr("__int__")();
  const std::int64_t value = whole_number(whole, "stream");
  if (value < 0) fail_value("stream: expected an address, got " + std::to_string(value));
  return pointer_at(static_cast<std::uintptr_t>(value));
}

/// A module that the program has imported itself; None otherwise.
nb::object loaded(const char* name) {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* module = PyDict_GetItemString(modules, name);
  return module == nullptr ? nb::none() : nb::borrow(module);
}

/// The function torch._C.NAME, kept once found.
nb::object torch_function(const char* name, nb::object*& cached) {
  if (cached == nullptr) {
    const nb::object torch = loaded("torch._C");
    nb::object function = nb::getattr(torch, name, nb::none());
    if (function.is_none()) return function;
    cached = new nb::object(std::move(function));
  }
  return *cached;
}

/// False also where torch refuses to say, as it does of tf32 after a mix of old and new settings.
bool torch_switch(const char* name, nb::object*& cached) {
  if (cached == nullptr && torch_function(name, cached).is_none()) return false;
  const nb::object is_on = nb::steal(PyObject_CallNoArgs(cached->ptr()));
  if (!is_on.is_valid()) PyErr_Clear();
  return is_on.is(Py_True);
}

void* torch_stream(int device) {
  void* stream = nullptr;
  if (exchange_stream(device, &stream)) return stream;
  static nb::object* cached = nullptr;
  const nb::object current = torch_function("_cuda_getCurrentRawStream", cached);
  return current.is_none() ? nullptr : as_stream(current(device));
}

void* cupy_stream() {
  const nb::object cupy = loaded("cupy");
  if (cupy.is_none()) return nullptr;
  return as_stream(cupy.attr("cuda").attr("get_current_stream")().attr("ptr"));
}

/// The address that a stream of torch has as a number, which is quicker to get than the
/// protocol that all streams have in common; null for streams of others.
nb::object torch_address(nb::handle stream) {
  static PyObject* const name = PyUnicode_InternFromString("cuda_stream");
  PyObject* const number = PyObject_GetAttr(stream.ptr(), name);
  if (number != nullptr) return nb::steal(number);
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw nb::python_error();
  PyErr_Clear();
  return {};
}

/// Whether it is the legacy default stream, which has two names.
bool is_legacy(const void* stream) {
  return address_of(stream) <= 1;
}

void* current_stream(const Tensor& out) {
  if (out.view.device().is_cpu()) return nullptr;
  switch (out.framework) {
    case Framework::torch:
      return torch_stream(out.view.device().index);
    case Framework::cupy:
      return cupy_stream();
    default:
      return out.stream.value_or(nullptr);
  }
}

}  // namespace

void* to_stream(nb::handle stream) {
  if (stream.is_none()) return nullptr;
  if (nb::isinstance<nb::int_>(stream)) return as_stream(stream);
  const nb::object number = torch_address(stream);
  if (number.is_valid() && PyLong_Check(number.ptr())) return as_stream(number);
  if (nb::hasattr(stream, "__cuda_stream__")) {
    nb::object pair = stream.attr("__cuda_stream__");
    if (PyCallable_Check(pair.ptr())) pair = pair();
    if (!nb::isinstance<nb::sequence>(pair) || nb::len(pair) != 2) {
      fail_type("stream: expected __cuda_stream__ to give a version and an address, got " +
                shown_repr(pair));
    }
    return as_stream(pair[1]);
  }
  const nb::object pointer = nb::getattr(stream, "ptr", nb::none());
  if (nb::isinstance<nb::int_>(pointer)) return as_stream(pointer);
  if (nb::hasattr(stream, "__int__") && !nb::isinstance<nb::float_>(stream)) {
    return as_stream(stream);
  }
  fail_type(
      "stream: expected a stream of torch, CuPy or CUDA Python, something with __cuda_stream__, or "
      "a number, got " +
      class_name(stream));
}

void* stream_for(const Tensor& out, nb::handle stream, std::span<void* const> awaited) {
  void* const chosen = stream.is_none() ? current_stream(out) : to_stream(stream);
  const Device device = out.view.device();
  if (device.is_cpu()) return nullptr;  // one that is given is checked all the same
  for (void* const other : awaited) {
    if (other == chosen || (is_legacy(other) && is_legacy(chosen))) continue;
    const nb::gil_scoped_release unlocked;
    await_stream(chosen, other, device);
  }
  return chosen;
}

void* stream_for(const PyArguments& arguments, nb::handle stream) {
  return stream_for(arguments.out(), stream, arguments.awaited());
}

PerformanceControls torch_controls(bool multiplies_f32) {
  static nb::object* tf32 = nullptr;
  static nb::object* deterministic = nullptr;
  PerformanceControls controls;
  controls.allow_tf32 = multiplies_f32 && torch_switch("_get_cublas_allow_tf32", tf32);
  controls.deterministic = torch_switch("_get_deterministic_algorithms", deterministic);
  return controls;
}

}  // namespace estoc::python
