// Takes workspace from torch's or CuPy's allocator, so that it counts, and is used again, there.
#include "workspaces.h"

#include "addresses.h"
#include "errors.h"

namespace estoc::python {
namespace {

/// Functions of torch's allocator that need no tensor.
struct TorchAllocator {
  nb::object allocate;  ///< (bytes, stream) -> address, on the current device
  nb::object free;      ///< (address)
  nb::object device;    ///< () -> the current device
};

/// Null where this torch does not have them.
const TorchAllocator* torch_allocator() {
  static const TorchAllocator* const known = []() -> const TorchAllocator* {
    const nb::object c = nb::module_::import_("torch._C");
    const char* const allocate = "_cuda_cudaCachingAllocator_raw_alloc";
    const char* const free = "_cuda_cudaCachingAllocator_raw_delete";
    for (const char* name : {allocate, free, "_cuda_getDevice"}) {
      if (!nb::hasattr(c, name)) return nullptr;
    }
    return new TorchAllocator{c.attr(allocate), c.attr(free), c.attr("_cuda_getDevice")};
  }();
  return known;
}

/// Memory that goes back to torch with the holder: what is queued on `stream` by then comes before
/// whatever uses it next. Nothing where torch has another device in use, or takes no such call.
HeldWorkspace take_from_torch(int device, std::size_t bytes, void* stream) {
  const TorchAllocator* const torch = torch_allocator();
  std::uintptr_t address = 0;
  try {
    if (torch == nullptr || nb::cast<int>(torch->device()) != device) return {};
    address = nb::cast<std::uintptr_t>(torch->allocate(bytes, address_of(stream)));
  } catch (nb::python_error&) {
    return {};  // allocate() below meets the same trouble, and says so
  } catch (nb::cast_error&) {
    return {};
  }
  auto* const data = reinterpret_cast<void*>(address);
  nb::capsule holder(data, [](void* memory) noexcept {
    try {
      torch_allocator()->free(reinterpret_cast<std::uintptr_t>(memory));
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("estoc: workspace");
    }
  });
  return {{data, bytes}, std::move(holder)};
}

/// A tensor of the framework that owns `out`, for work on `stream`.
nb::object allocate(const Tensor& out, std::size_t bytes, void* stream) {
  static const auto* const torch =
      new nb::object(nb::module_::import_("estoc._workspace").attr("torch_workspace"));
  static const auto* const cupy =
      new nb::object(nb::module_::import_("estoc._workspace").attr("cupy_workspace"));
  const nb::object& function = out.framework == Framework::torch ? *torch : *cupy;
  return function(out.source, bytes, address_of(stream));
}

/// Whether memory is brought, or comes from the framework of `out`.
bool takes_workspace(nb::handle workspace, const Tensor& out) {
  if (!workspace.is_none()) return true;
  const bool theirs = out.framework == Framework::torch || out.framework == Framework::cupy;
  return theirs && out.view.device().is_cuda() && !out.view.described() && !out.source.is_none();
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

HeldWorkspace provide_workspace(nb::handle workspace, std::size_t bytes, const Tensor& out,
                                void* stream) {
  const Device device = out.view.device();
  if (!workspace.is_none()) return {workspace_of(workspace, device), nb::borrow(workspace)};
  if (bytes == 0 || !takes_workspace(workspace, out)) return {};
  if (out.framework == Framework::torch) {
    HeldWorkspace taken = take_from_torch(device.index, bytes, stream);
    if (taken.native.data != nullptr) return taken;
  }
  nb::object holder = allocate(out, bytes, stream);
  const Workspace native = workspace_of(holder, device);
  return {native, std::move(holder)};
}

HeldWorkspace provide_workspace(nb::handle workspace, const Kernel& kernel,
                                const RuntimeArguments& arguments, const Tensor& out,
                                void* stream) {
  if (!takes_workspace(workspace, out)) return {};
  const std::size_t bytes = workspace.is_none() ? kernel.workspace_size(arguments) : 0;
  return provide_workspace(workspace, bytes, out, stream);
}

}  // namespace estoc::python
