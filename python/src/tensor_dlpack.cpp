// Tensors by DLPack: capsules, versioned or not.
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "dlpack.h"
#include "errors.h"
#include "tensors.h"

namespace estoc::python {
namespace {

/// "complex64", as most frameworks call it.
std::string dtype_text(const dlpack::DataType& type) {
  std::string text = "DLPack's type " + std::to_string(type.code) + " of ";
  if (type.code == dlpack::kBool) {
    text = "bool";
  } else if (type.code == dlpack::kInt) {
    text = "int";
  } else if (type.code == dlpack::kUint) {
    text = "uint";
  } else if (type.code == dlpack::kFloat) {
    text = "float";
  } else if (type.code == dlpack::kBfloat) {
    text = "bfloat";
  } else if (type.code == dlpack::kComplex) {
    text = "complex";
  }
  text += std::to_string(type.bits);
  return type.lanes == 1 ? text : text + " in vectors of " + std::to_string(type.lanes);
}

Dtype dtype_of(const dlpack::DataType& type, const char* what) {
  // e2m1 comes as single elements or as the pairs that it is stored in.
  const bool pair = type.lanes == 2 && type.code == dlpack::type_of(Dtype::e2m1).code;
  if (type.lanes == 1 || pair) {
    for (const Dtype dtype : all_dtypes()) {
      const dlpack::DataType own = dlpack::type_of(dtype);
      if (own.code == type.code && own.bits == type.bits) return dtype;
    }
  }
  fail_type(std::string(what) + ".dtype: expected one that Estoc has, got " + dtype_text(type));
}

Device device_of(const dlpack::Device& device, const char* what) {
  switch (device.type) {
    case dlpack::kCpu:
    case dlpack::kCudaHost:
      return Device::cpu();
    case dlpack::kCuda:
    case dlpack::kCudaManaged:
      return cuda_device(device.id, what);
    default:
      fail_value(std::string(what) + ".device: expected CPU or CUDA, got DLPack's device type " +
                 std::to_string(device.type));
  }
}

/// The names of a capsule before and after its contents are taken.
template <typename Managed>
struct Names;
template <>
struct Names<dlpack::ManagedTensor> {
  static constexpr const char* kFresh = "dltensor";
  static constexpr const char* kUsed = "used_dltensor";
};
template <>
struct Names<dlpack::ManagedTensorVersioned> {
  static constexpr const char* kFresh = "dltensor_versioned";
  static constexpr const char* kUsed = "used_dltensor_versioned";
};

template <typename Managed>
void release(void* pointer) noexcept {
  auto* managed = static_cast<Managed*>(pointer);
  if (managed->deleter != nullptr) managed->deleter(managed);
}

/// Takes the contents of the capsule; the owner releases them when they are no longer used.
template <typename Managed>
Managed* take(nb::handle capsule, nb::object& owner) {
  void* pointer = PyCapsule_GetPointer(capsule.ptr(), Names<Managed>::kFresh);
  if (pointer == nullptr) throw nb::python_error();
  owner = nb::capsule(pointer, release<Managed>);
  if (PyCapsule_SetName(capsule.ptr(), Names<Managed>::kUsed) != 0) throw nb::python_error();
  return static_cast<Managed*>(pointer);
}

nb::object capsule_of(nb::handle object, bool cuda) {
  nb::dict options;
  // The stream of the launch is not known yet; it awaits the legacy default stream.
  if (cuda) options["stream"] = 1;
  const nb::object give = object.attr("__dlpack__");
  try {
    nb::dict versioned = nb::borrow<nb::dict>(options.attr("copy")());
    versioned["max_version"] = nb::make_tuple(1, 3);
    return give(**versioned);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return give(**options);
}

Device device_of(nb::handle object, const char* what) {
  const nb::object device = object.attr("__dlpack_device__")();
  return device_of(
      {nb::cast<std::int32_t>(nb::int_(device[0])), nb::cast<std::int32_t>(nb::int_(device[1]))},
      what);
}

[[noreturn]] void fail_no_capsule(nb::handle capsule, const char* what) {
  if (!PyCapsule_CheckExact(capsule.ptr())) {
    fail_type(std::string(what) + ": expected __dlpack__ to give a capsule, got " +
              class_name(capsule));
  }
  const char* name = PyCapsule_GetName(capsule.ptr());
  if (name == nullptr) PyErr_Clear();
  fail_value(std::string(what) + ": expected an unused DLPack capsule, got one named " +
             (name == nullptr ? "nothing" : name));
}

}  // namespace

void count_elements_of_pairs(std::span<std::int64_t> shape, std::span<std::int64_t> strides,
                             const char* what) {
  const auto found = std::find(strides.rbegin(), strides.rend(), 1);
  if (found == strides.rend()) {
    fail_value(std::string(what) +
               ".strides: expected a mode of stride 1, whose elements are pairs, got none");
  }
  const auto pairs = static_cast<std::size_t>(strides.rend() - found) - 1;
  bool overflow = false;
  for (std::size_t mode = 0; mode < shape.size(); ++mode) {
    std::int64_t& doubled = mode == pairs ? shape[mode] : strides[mode];
    overflow |= __builtin_mul_overflow(doubled, 2, &doubled);
  }
  if (!overflow) return;
  fail_value(std::string(what) + ".shape: expected at most 2^63 - 1 elements, got more");
}

TensorView view_of_dlpack(const dlpack::Tensor& tensor, const char* what) {
  if (tensor.rank < 0 || tensor.rank > kMaxRank) {
    fail_value(std::string(what) + ": expected at most " + std::to_string(kMaxRank) +
               " modes, got " + std::to_string(tensor.rank));
  }
  if (tensor.rank > 0 && tensor.shape == nullptr) {
    fail_value(std::string(what) + ": expected a shape, got a null pointer");
  }
  const Dtype dtype = dtype_of(tensor.dtype, what);
  const Device device = device_of(tensor.device, what);
  const auto rank = static_cast<std::size_t>(tensor.rank);
  void* const data = tensor.data == nullptr ? nullptr : dlpack::data_of(tensor);
  if (tensor.strides != nullptr && tensor.dtype.lanes == 1) {
    return {data, dtype, {tensor.shape, rank}, {tensor.strides, rank}, device, what};
  }
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> strides{};
  std::copy_n(tensor.shape, rank, shape.begin());
  const std::span extents(shape.data(), rank);
  const std::span steps(strides.data(), rank);
  if (tensor.strides == nullptr) {
    set_compact_strides(extents, steps, what);
  } else {
    std::copy_n(tensor.strides, rank, steps.begin());
  }
  if (tensor.dtype.lanes == 2) count_elements_of_pairs(extents, steps, what);
  return {data, dtype, extents, steps, device, what};
}

bool is_like(const dlpack::Tensor& tensor, const TensorView& view) {
  const auto rank = static_cast<std::size_t>(view.rank());
  return tensor.rank == view.rank() && tensor.dtype.lanes == 1 && tensor.strides != nullptr &&
         std::equal(tensor.shape, tensor.shape + rank, view.shape().begin()) &&
         std::equal(tensor.strides, tensor.strides + rank, view.strides().begin()) &&
         dtype_of(tensor.dtype, "tensor") == view.dtype() &&
         device_of(tensor.device, "tensor") == view.device();
}

Tensor import_capsule(nb::handle capsule, nb::handle source, const char* what) {
  Tensor result;
  result.source = nb::borrow(source);
  const dlpack::Tensor* seen = nullptr;
  if (PyCapsule_IsValid(capsule.ptr(), Names<dlpack::ManagedTensorVersioned>::kFresh)) {
    const auto* managed = take<dlpack::ManagedTensorVersioned>(capsule, result.owner);
    if (managed->version.major != 1) {
      fail_value(std::string(what) + ": expected DLPack 1, got version " +
                 std::to_string(managed->version.major));
    }
    result.read_only = (managed->flags & dlpack::kReadOnly) != 0;
    seen = &managed->tensor;
  } else if (PyCapsule_IsValid(capsule.ptr(), Names<dlpack::ManagedTensor>::kFresh)) {
    seen = &take<dlpack::ManagedTensor>(capsule, result.owner)->tensor;
  } else {
    fail_no_capsule(capsule, what);
  }
  result.view = view_of_dlpack(*seen, what);
  if (result.view.device().is_cuda()) result.stream = nullptr;
  return result;
}

Tensor import_dlpack(nb::handle object, const char* what) {
  return import_capsule(capsule_of(object, device_of(object, what).is_cuda()), object, what);
}

}  // namespace estoc::python
