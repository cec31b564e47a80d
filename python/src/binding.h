// What every file of the extension module includes, and the functions that fill the module.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace estoc::python {

namespace nb = nanobind;

void bind_errors(nb::module_& module);
void bind_dtypes(nb::module_& module);
void bind_tensors(nb::module_& module);
void bind_epilogues(nb::module_& module);
void bind_arguments(nb::module_& module);
void bind_metadata(nb::module_& module);
void bind_kernels(nb::module_& module);
void bind_discovery(nb::module_& module);
void bind_devices(nb::module_& module);
void bind_problems(nb::module_& module);
void bind_checks(nb::module_& module);
void bind_tensor_files(nb::module_& module);
void bind_command(nb::module_& module);
void bind_plans(nb::module_& module);
void bind_pickling(nb::module_& module);
void bind_cuda_launch(nb::module_& module);
void bind_cuda_classes(nb::module_& module);
void bind_tuning(nb::module_& module);
void bind_measuring(nb::module_& module);
void bind_compile_all(nb::module_& module);
void bind_groups(nb::module_& module);
void bind_matmul(nb::module_& module);
void bind_moe(nb::module_& module);
void bind_kernel_classes(nb::module_& module);
void bind_jax_calls(nb::module_& module);

}  // namespace estoc::python
