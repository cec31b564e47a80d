// estoc.Kernel, which holds a kernel of the library or is the base of one written in Python.
#pragma once

#include <mutex>
#include <optional>

#include "arguments.h"
#include "estoc/kernel.hpp"
#include "metadata.h"

namespace estoc::python {

struct PyKernel {
  std::optional<Kernel> native;  ///< absent in kernels written in Python
  nb::object metadata;           ///< null: to be made from `native`
};

struct PyArtifact {
  std::optional<Artifact> native;
  nb::object compiled_obj;
  nb::object kernel;
};

/// estoc.BoundKernel.
struct PyBound {
  std::optional<BoundKernel> native;
  nb::object kernel;
  nb::object arguments;
  nb::object artifact;
  nb::object workspace;
  /// The only stream to launch on, where there is workspace: what is queued on it uses that.
  std::optional<void*> stream{};
  std::mutex one_at_a_time{};
};

/// A kernel of the library as an object of its class's Python type; the author's object where the
/// class derives from estoc.Kernel.
nb::object wrap_kernel(const Kernel& kernel);
/// That object; invalid for kernels of other classes.
nb::object kernel_of_python(const Kernel& kernel);

/// The kernel of that name with the epilogue of that canonical text, which may be empty.
Kernel kernel_again(const std::string& name, const std::string& epilogue);

/// What an estoc.CompiledArtifact holds. Throws Error{type} for other objects, Error{value} for
/// that of a kernel written in Python.
const Artifact& native_artifact(nb::handle artifact);

/// What an estoc.Kernel holds. Throws Error{type} where its __init__ has not been called.
PyKernel& kernel_behind(nb::handle object);

/// Its metadata; that of a kernel written in Python is what its author gave.
nb::object metadata_of(PyKernel& kernel);

/// The target that `target` ("sm_90a", "cpu") or `cc` (90) names; nullopt where both are None.
std::optional<Target> to_target(nb::handle cc, nb::handle target);

/// Whether operands fit what a kernel written in Python states about them.
Status check_operands(const PyKernelMetadata& metadata, const PyArguments& arguments);

/// Whether a kernel supports arguments. Throws what a kernel written in Python raises.
Status check_supports(nb::handle kernel, const PyArguments& arguments,
                      std::optional<Target> target);
/// The same; what is raised is a failure, too.
Status supports(nb::handle kernel, const PyArguments& arguments, std::optional<Target> target);

}  // namespace estoc::python
