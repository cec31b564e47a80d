// New tensors for results, made the shortest way that their framework has.
#include "results.h"

#include <array>
#include <cstdint>

#include "estoc/device.hpp"

namespace estoc::python {
namespace {

nb::object fields_of(std::span<const std::int64_t> values) {
  nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  if (!tuple.is_valid()) throw nb::python_error();
  for (std::size_t i = 0; i < values.size(); ++i) {
    PyTuple_SetItem(tuple.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(values[i]));
  }
  return tuple;
}

nb::object compact_strides(std::span<const std::int64_t> shape) {
  std::array<std::int64_t, kMaxRank> strides{};
  const std::span steps(strides.data(), shape.size());
  set_compact_strides(shape, steps, "out");
  return fields_of(steps);
}

/// What `module`, which the program has imported, calls PATH; null where there is no such thing.
nb::object find(const char* module, std::initializer_list<const char*> path) {
  nb::object found = nb::borrow(PyDict_GetItemString(PyImport_GetModuleDict(), module));
  for (const char* name : path) {
    if (!found.is_valid()) return found;
    found = nb::getattr(found, name, nb::object());
  }
  return found;
}

}  // namespace

Results::Results(const Tensor& like)
    : dtype_(like.source.attr("dtype")), device_(like.view.device().index) {
  if (like.framework == Framework::numpy) {
    function_ = find("numpy", {"empty"});
    return;
  }
  if (like.framework == Framework::cupy) {
    function_ = find("cupy", {"empty"});
    return;
  }
  // What torch's own compiler makes tensors with: on the current device, which is not looked up.
  const bool on_gpu = like.view.device().is_cuda();
  function_ = find("torch._C",
                   {"_dynamo", "guards", on_gpu ? "_empty_strided_cuda" : "_empty_strided_cpu"});
  takes_strides_ = true;
  if (!on_gpu || cuda_devices().size() == 1) return;
  current_device_ = find("torch._C", {"_cuda_getDevice"});
  if (!current_device_.is_valid()) function_.reset();
}

bool Results::on_current_device() const {
  if (!current_device_.is_valid()) return true;
  const nb::object index = nb::steal(PyObject_CallNoArgs(current_device_.ptr()));
  if (index.is_valid()) return PyLong_AsLong(index.ptr()) == device_;
  PyErr_Clear();
  return false;
}

nb::object Results::make(std::span<const std::int64_t> shape) const {
  if (!function_.is_valid() || !on_current_device()) return {};
  const nb::object extents = fields_of(shape);
  std::array<PyObject*, 3> arguments{extents.ptr(), dtype_.ptr(), nullptr};
  std::size_t count = 2;
  nb::object strides;
  if (takes_strides_) {
    strides = compact_strides(shape);
    arguments = {extents.ptr(), strides.ptr(), dtype_.ptr()};
    count = 3;
  }
  nb::object made =
      nb::steal(PyObject_Vectorcall(function_.ptr(), arguments.data(), count, nullptr));
  if (!made.is_valid()) PyErr_Clear();
  return made;
}

}  // namespace estoc::python
