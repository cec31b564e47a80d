// Adds kernels and fills to a launch, with parameters as Python objects.
#include "cuda_launch.h"

#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "errors.h"
#include "estoc/device.hpp"
#include "estoc/element_epilogue.hpp"
#include "numbers.h"
#include "tensors.h"

namespace estoc::python {
namespace {

constexpr std::size_t kMaxAlignment = 128;

LaunchPlan& plan_of(const PyLaunch& launch) {
  if (launch.plan == nullptr) fail_value("launch: expected to be used within plan(), got it after");
  return *launch.plan;
}

std::array<unsigned, 3> sizes_of(nb::handle value, const char* what) {
  std::vector<unsigned> numbers;
  if (nb::isinstance<nb::int_>(value)) {
    numbers.push_back(nb::cast<unsigned>(value));
  } else if (!nb::try_cast(value, numbers)) {
    numbers.clear();
  }
  if (numbers.empty() || numbers.size() > 3) {
    fail_type(std::string(what) + ": expected one to three whole numbers, got " +
              shown_repr(value));
  }
  numbers.resize(3, 1);
  return {numbers[0], numbers[1], numbers[2]};
}

unsigned count_of(nb::handle value, const char* what) {
  const std::int64_t count = whole_number(value, what);
  if (std::in_range<unsigned>(count)) return static_cast<unsigned>(count);
  fail_value(std::string(what) + ": expected a number of 0 or more, got " + std::to_string(count));
}

template <typename T>
void add_value(LaunchPlan& plan, const T& value) {
  std::memcpy(plan.add_parameter_bytes(sizeof value, alignof(T)), &value, sizeof value);
}

void add_integer(LaunchPlan& plan, nb::handle value) {
  std::int64_t number = 0;
  if (nb::try_cast(value, number)) {
    add_value(plan, number);
  } else {
    add_value(plan, nb::cast<std::uint64_t>(value));
  }
}

/// What ctypes says of its own objects; else the largest power of two, at most 16, that divides
/// the size.
std::size_t alignment_of(nb::handle value, std::size_t size) {
  const nb::handle meta = value.type().type();
  if (nb::cast<std::string>(nb::getattr(meta, "__module__", nb::str(""))) == "_ctypes") {
    const nb::object known = nb::module_::import_("ctypes").attr("alignment")(value);
    return std::min(nb::cast<std::size_t>(known), kMaxAlignment);
  }
  return std::min<std::size_t>(std::size_t{1} << std::countr_zero(size | 16), 16);
}

void add_buffer(LaunchPlan& plan, nb::handle value, std::size_t position) {
  Py_buffer view{};
  if (PyObject_GetBuffer(value.ptr(), &view, PyBUF_SIMPLE) != 0) {
    PyErr_Clear();
    fail_type(
        "launch: expected a tensor, a number, bytes or an object of ctypes or NumPy as "
        "parameter " +
        std::to_string(position) + ", got " + class_name(value));
  }
  const auto size = static_cast<std::size_t>(view.len);
  try {
    if (size == 0) fail_value("launch: expected bytes as parameter, got none");
    std::memcpy(plan.add_parameter_bytes(size, alignment_of(value, size)), view.buf, size);
  } catch (...) {
    PyBuffer_Release(&view);
    throw;
  }
  PyBuffer_Release(&view);
}

void add_parameter(const PyLaunch& launch, nb::handle value, std::size_t position) {
  LaunchPlan& plan = *launch.plan;
  Tensor* tensor = nullptr;
  if (value.is_none()) {
    add_value(plan, static_cast<void*>(nullptr));
  } else if (nb::try_cast(value, tensor, false) && tensor != nullptr) {
    add_value(plan, tensor->view.data());
  } else if (nb::isinstance<nb::bool_>(value)) {
    fail_type("launch: expected ctypes.c_bool or c_int for a truth value as parameter " +
              std::to_string(position) + ", got bool");
  } else if (nb::isinstance<nb::int_>(value)) {
    add_integer(plan, value);
  } else if (nb::isinstance<nb::float_>(value)) {
    add_value(plan, nb::cast<double>(value));
  } else if (nb::isinstance<PyEpilogueParameters>(value)) {
    add_element_epilogue(*launch.arguments, plan);
  } else {
    add_buffer(plan, value, position);
  }
}

void add_kernel(const PyLaunch& self, nb::handle grid, nb::handle block, const nb::args& parameters,
                nb::handle shared_bytes, nb::handle cluster, nb::handle entry) {
  LaunchPlan& plan = plan_of(self);
  CudaGeometry geometry{sizes_of(grid, "grid"), sizes_of(block, "block"),
                        count_of(shared_bytes, "shared_bytes")};
  if (!cluster.is_none()) geometry.cluster = sizes_of(cluster, "cluster");
  plan.kernel(count_of(entry, "entry"), geometry);
  std::size_t position = 0;
  for (const nb::handle parameter : parameters)
    add_parameter(self, parameter, position++);
}

void add_fill(const PyLaunch& self, nb::handle object, nb::handle byte) {
  const Tensor tensor = import_tensor(object, "tensor");
  const std::int64_t value = whole_number(byte, "value");
  if (value < 0 || value > 255) {
    fail_value("value: expected a byte, got " + std::to_string(value));
  }
  const auto bytes = static_cast<std::size_t>(tensor.view.span_bytes());
  if (bytes != 0) plan_of(self).fill(tensor.view.data(), static_cast<std::uint8_t>(value), bytes);
}

std::string target_of(const PyLaunch& self) {
  (void)plan_of(self);
  const Device wanted = self.arguments->device();
  for (const DeviceInfo& device : cuda_devices()) {
    if (device.index == wanted.index) return device.target.name();
  }
  fail_value("launch: expected a CUDA device, got " + wanted.name() + ", which is not there");
}

}  // namespace

void bind_cuda_launch(nb::module_& module) {
  nb::class_<PyEpilogueParameters>(module, "_EpilogueParameters")
      .def("__repr__", [](const PyEpilogueParameters&) { return "<parameters of an epilogue>"; });
  nb::class_<PyLaunch>(module, "CudaLaunch",
                       "What a launch consists of: up to six kernels and fills, started in order "
                       "on one stream.\n\nGiven to CudaKernelClass.plan, and of no use after it.")
      .def("kernel", &add_kernel, nb::arg("grid").none(), nb::arg("block").none(),
           nb::arg("parameters"), nb::arg("shared_bytes").none() = 0,
           nb::arg("cluster") = nb::none(), nb::arg("entry").none() = 0,
           "Starts a kernel of the class's code.\n\n"
           "Parameters\n----------\n"
           "grid, block : int or up to three ints\n"
           "*parameters : passed by value, as the kernel declares them\n"
           "    An estoc.Tensor is the address of its data, None a null pointer, an int a 64-bit\n"
           "    integer, a float a double; objects of ctypes and NumPy scalars are what they say,\n"
           "    ctypes.c_int(3), bytes are copied, and launch.epilogue is Epilogue::Parameters.\n"
           "shared_bytes : int\n    Dynamic shared memory of a CTA.\n"
           "cluster : up to three ints, optional\n"
           "entry : int\n    Position among the entries of the code.")
      .def("fill", &add_fill, nb::arg("tensor").none(), nb::arg("value").none() = 0,
           "Sets every byte of the tensor's memory.")
      .def_prop_ro(
          "epilogue",
          [](const PyLaunch& self) {
            (void)plan_of(self);
            return PyEpilogueParameters();
          },
          "A parameter of a kernel with an epilogue: its Epilogue::Parameters.")
      .def_prop_ro(
          "multiprocessors",
          [](const PyLaunch& self) { return plan_of(self).device().multiprocessors; },
          "Of the device.")
      .def_prop_ro("target", &target_of, "What the device's kernels are compiled for: \"sm_90a\".")
      .def("__repr__", [](const PyLaunch& self) {
        return self.plan == nullptr
                   ? std::string("<CudaLaunch, over>")
                   : "<CudaLaunch of " + std::to_string(self.plan->size()) + " steps>";
      });
}

}  // namespace estoc::python
