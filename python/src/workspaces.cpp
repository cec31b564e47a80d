// Takes workspace from torch's or CuPy's allocator, so that it counts, and is used again, there.
#include "workspaces.h"

#include "addresses.h"
#include "errors.h"

namespace estoc::python {
namespace {

/// A tensor of the framework that owns `out`, for work on `stream`.
nb::object allocate(const Tensor& out, std::size_t bytes, void* stream) {
  static const auto* const torch =
      new nb::object(nb::module_::import_("estoc._workspace").attr("torch_workspace"));
  static const auto* const cupy =
      new nb::object(nb::module_::import_("estoc._workspace").attr("cupy_workspace"));
  const nb::object& function = out.framework == Framework::torch ? *torch : *cupy;
  return function(out.source, bytes, address_of(stream));
}

}  // namespace

Workspace workspace_of(nb::handle workspace, Device device) {
  if (workspace.is_none()) return {};
  const Tensor tensor = import_tensor(workspace, "workspace");
  if (tensor.view.span_bytes() == 0) return {};
  if (tensor.view.device() != device) {
    fail_value("workspace.device: expected " + device.name() + ", got " +
               tensor.view.device().name());
  }
  return {tensor.view.data(), static_cast<std::size_t>(tensor.view.span_bytes())};
}

HeldWorkspace provide_workspace(nb::handle workspace, const Kernel& kernel,
                                const RuntimeArguments& arguments, const Tensor& out,
                                void* stream) {
  const Device device = out.view.device();
  if (!workspace.is_none()) return {workspace_of(workspace, device), nb::borrow(workspace)};
  const bool theirs = out.framework == Framework::torch || out.framework == Framework::cupy;
  if (!theirs || device.is_cpu() || out.view.described() || out.source.is_none()) return {};
  const std::size_t bytes = kernel.workspace_size(arguments);
  if (bytes == 0) return {};
  nb::object holder = allocate(out, bytes, stream);
  const Workspace native = workspace_of(holder, device);
  return {native, std::move(holder)};
}

}  // namespace estoc::python
