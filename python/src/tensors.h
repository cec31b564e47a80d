// Tensors of any framework as views, with what keeps their memory alive.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "binding.h"
#include "estoc/arguments.hpp"
#include "estoc/tensor.hpp"

namespace estoc::python {

/// Whose tensor it is; decides which stream is the current one.
enum class Framework : std::uint8_t { other, numpy, torch, cupy };

/// estoc.Tensor: a view, the object it is a view of, and what holds the memory besides it.
struct Tensor {
  TensorView view;
  nb::object source;
  nb::object owner;
  Framework framework = Framework::other;
  bool read_only = false;
  /// A tensor that has a device only by name (torch's "meta").
  bool placeless = false;
  /// The stream that has the work on the memory, where the object tells: null for the legacy
  /// default stream. What torch and CuPy have queued is on the stream that they work on.
  std::optional<void*> stream{};
};

/// The mode that text or a ScaleMode names. Throws Error{value} for another.
ScaleMode to_scale_mode(nb::handle mode);

/// Adds __dlpack__ and __dlpack_device__ (tensor_export.cpp).
void bind_tensor_export(nb::class_<Tensor>& type);

/// Adds the stream that a launch has to await for this tensor, if there is one.
void add_awaited(std::vector<void*>& streams, const Tensor& tensor);

/// estoc.ScaledTensor.
struct PyScaledTensor {
  Tensor base;
  Tensor scale;
  ScaleMode mode = ScaleMode::tensorwise;
  ScaleSwizzle swizzle = ScaleSwizzle::none;

  std::optional<Tensor> tensor_scale{};
  bool powers_of_two = false;

  ScaledTensor native() const {
    ScaledTensor scaled{base.view, scale.view, mode, swizzle};
    if (tensor_scale) scaled.tensor_scale = tensor_scale->view;
    scaled.powers_of_two = powers_of_two;
    return scaled;
  }
};

/// The tensor that an object is. Throws Error naming `what` where it is none: neither an
/// estoc.Tensor, a tensor of torch, nor anything with __dlpack__, __cuda_array_interface__ or the
/// buffer protocol. Runs with the GIL held and waits for nothing.
Tensor import_tensor(nb::handle object, const char* what);

namespace dlpack {
struct Tensor;
}
/// Shows a tensor of torch by its exchange API; shape and strides belong to the tensor. False where
/// the object is no plain tensor of torch with data (a subclass, one without data, one that may be
/// negated, another framework's), and where that cannot be told in little time.
bool see_torch(nb::handle object, dlpack::Tensor& seen);

/// Whether it is of torch's own type, or a parameter; costs little for one after another.
bool is_plain_torch(nb::handle object);

/// The stream that torch works on, as its exchange API tells; false where that is not known.
bool exchange_stream(int device, void** stream);

/// The view of `tensor` moved to another device; only for tensors without data.
TensorView placed(const TensorView& view, Device device);

/// The CUDA device of that index. Throws Error{value} for one that no machine has.
Device cuda_device(std::int64_t index, const char* what);

/// The device that "cpu", "cuda" or "cuda:1" names. Throws Error{value} for other text.
Device parse_device(const std::string& text);

/// Strides of a compact row-major tensor. Throws Error{value} where they pass 2^63 - 1.
void set_compact_strides(std::span<const std::int64_t> shape, std::span<std::int64_t> strides,
                         const char* what);

// The imports, each for one kind of object (tensor_*.cpp).
Tensor import_torch(nb::handle object, const char* what, bool fake);
/// Throws Error{type} for a tensor of torch whose elements are the negatives of what is in memory.
void require_not_negated(nb::handle object, const char* what);
Tensor import_buffer(nb::handle object, const char* what, bool numpy);
Tensor import_array_attributes(nb::handle object, const char* what);
Tensor import_cuda_array(nb::handle object, const char* what, Framework framework);
/// Has the legacy default stream await the work of an object on a GPU.
Tensor import_dlpack(nb::handle object, const char* what);
Tensor import_capsule(nb::handle capsule, nb::handle source, const char* what);

/// Where each element is two that lie side by side, as in float4_e2m1fn_x2: counts the halves, in
/// the last mode of stride 1. Throws Error{value} where there is none.
void count_elements_of_pairs(std::span<std::int64_t> shape, std::span<std::int64_t> strides,
                             const char* what);

/// A view of what a DLPack structure describes.
TensorView view_of_dlpack(const dlpack::Tensor& tensor, const char* what);
/// Whether it is seen as `view` is, wherever it lies: dtype, shape, strides and device are equal.
/// False for packed types.
bool is_like(const dlpack::Tensor& tensor, const TensorView& view);

}  // namespace estoc::python
