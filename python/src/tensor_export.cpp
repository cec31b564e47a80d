// Tensors of the library as DLPack capsules, for whatever takes those.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "dlpack.h"
#include "errors.h"
#include "tensors.h"

namespace estoc::python {
namespace {

/// A managed tensor with the memory for its shape, which keeps the estoc.Tensor alive.
template <typename Managed>
struct Exported {
  Managed managed{};
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> strides{};
  PyObject* tensor = nullptr;
};

template <typename Managed>
void destroy(Managed* managed) noexcept {
  const std::unique_ptr<Exported<Managed>> owned(static_cast<Exported<Managed>*>(managed->context));
  if (Py_IsInitialized() == 0) return;
  const nb::gil_scoped_acquire gil;
  Py_DECREF(owned->tensor);
}

/// Releases what no consumer took.
template <typename Managed>
void destroy_capsule(PyObject* capsule, const char* fresh) noexcept {
  if (PyCapsule_IsValid(capsule, fresh) == 0) return;
  destroy(static_cast<Managed*>(PyCapsule_GetPointer(capsule, fresh)));
}

[[noreturn]] void fail_buffer(const std::string& message) {
  throw nb::buffer_error(message.c_str());
}

dlpack::Device dlpack_device(const Tensor& tensor) {
  if (tensor.view.described()) fail_buffer("the tensor has no memory: it was only described");
  const Device device = tensor.view.device();
  if (device.is_cpu()) return {dlpack::kCpu, 0};
  return {dlpack::kCuda, device.index};
}

template <typename Managed>
std::unique_ptr<Exported<Managed>> exported(nb::handle self) {
  const auto& tensor = nb::cast<const Tensor&>(self);
  auto result = std::make_unique<Exported<Managed>>();
  std::ranges::copy(tensor.view.shape(), result->shape.begin());
  std::ranges::copy(tensor.view.strides(), result->strides.begin());
  result->managed.tensor = {const_cast<void*>(tensor.view.data()),
                            dlpack_device(tensor),
                            static_cast<std::int32_t>(tensor.view.rank()),
                            dlpack::type_of(tensor.view.dtype()),
                            result->shape.data(),
                            result->strides.data(),
                            0};
  result->managed.context = result.get();
  result->managed.deleter = destroy<Managed>;
  return result;
}

/// The capsule that owns it.
template <typename Managed>
nb::object capsule_with(std::unique_ptr<Exported<Managed>> made, nb::handle self, const char* name,
                        PyCapsule_Destructor destructor) {
  nb::object capsule = nb::steal(PyCapsule_New(&made->managed, name, destructor));
  if (!capsule.is_valid()) throw nb::python_error();
  made.release()->tensor = self.inc_ref().ptr();
  return capsule;
}

nb::object versioned_capsule(nb::handle self, bool read_only) {
  auto made = exported<dlpack::ManagedTensorVersioned>(self);
  made->managed.version = {1, 0};
  made->managed.flags = read_only ? dlpack::kReadOnly : 0;
  return capsule_with(std::move(made), self, "dltensor_versioned", [](PyObject* capsule) {
    destroy_capsule<dlpack::ManagedTensorVersioned>(capsule, "dltensor_versioned");
  });
}

nb::object plain_capsule(nb::handle self) {
  return capsule_with(
      exported<dlpack::ManagedTensor>(self), self, "dltensor",
      [](PyObject* capsule) { destroy_capsule<dlpack::ManagedTensor>(capsule, "dltensor"); });
}

using Pair = std::pair<std::int32_t, std::int32_t>;

nb::object to_dlpack(nb::handle self, nb::handle /*stream*/, std::optional<Pair> max_version,
                     std::optional<Pair> dl_device, std::optional<bool> copy) {
  const auto& tensor = nb::cast<const Tensor&>(self);
  const dlpack::Device device = dlpack_device(tensor);
  if (dl_device && *dl_device != Pair{device.type, device.id}) {
    fail_buffer("dl_device: expected that of the tensor, " + tensor.view.device().name() +
                ", got another");
  }
  if (copy.value_or(false)) fail_buffer("copy: expected False or None, as none is made, got True");
  if (max_version && max_version->first >= 1) return versioned_capsule(self, tensor.read_only);
  if (tensor.read_only) fail_buffer("max_version: expected (1, 0) for read-only memory, got less");
  return plain_capsule(self);
}

}  // namespace

void bind_tensor_export(nb::class_<Tensor>& type) {
  type.def("__dlpack__", &to_dlpack, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
           nb::arg("copy") = nb::none(),
           "The memory as a DLPack capsule. Nothing is awaited, whatever the stream: the caller\n"
           "orders the work on it. BufferError for a description, another device, and a copy.")
      .def("__dlpack_device__", [](const Tensor& self) {
        const dlpack::Device device = dlpack_device(self);
        return Pair{device.type, device.id};
      });
}

}  // namespace estoc::python
