// The extension module estoc._estoc: the classes and functions that the package `estoc` is made of.
#include <string>

#include "binding.h"

// NOLINTNEXTLINE: what the macro makes is named by Python
NB_MODULE(_estoc, module) {
  namespace py = estoc::python;
  // What static registries hold is still there when the interpreter ends.
  nanobind::set_leak_warnings(false);
  module.attr("__version__") = ESTOC_VERSION;
  py::bind_errors(module);
  py::bind_dtypes(module);
  py::bind_tensors(module);
  py::bind_epilogues(module);
  py::bind_arguments(module);
  py::bind_metadata(module);
  py::bind_kernels(module);
  py::bind_discovery(module);
  py::bind_devices(module);
  py::bind_problems(module);
  py::bind_checks(module);
  py::bind_tensor_files(module);
  py::bind_command(module);
  py::bind_plans(module);
  py::bind_groups(module);
  py::bind_matmul(module);
  py::bind_moe(module);
  py::bind_jax_calls(module);
  py::bind_compile_all(module);
  py::bind_tuning(module);
  py::bind_measuring(module);
  py::bind_cuda_classes(module);
  py::bind_kernel_classes(module);
  py::bind_pickling(module);
  // What the package passes on.
  nanobind::list names;
  for (const nanobind::handle name : module.attr("__dict__"))
    if (!nanobind::cast<std::string>(name).starts_with('_')) names.append(name);
  module.attr("__all__") = names;
}
