// Which way in a type of tensor takes, remembered by type; estoc.Tensor and estoc.ScaledTensor.
#include "tensors.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "addresses.h"
#include "dlpack.h"
#include "dtypes.h"
#include "errors.h"
#include "numbers.h"

namespace estoc::python {
namespace {

enum class Way : std::uint8_t { none, exchange, torch, fake, numpy, masked, cupy, cuda, dlpack };

struct TypeInfo {
  Way way = Way::none;
  const dlpack::ExchangeApi* exchange = nullptr;
  bool immutable = false;
  bool plain = false;  ///< torch's own, with an exchange API
  nb::object keep;     // the type, whose address is the key
};

bool is_class(nb::handle type, std::string_view package, std::string_view name) {
  const nb::object module = nb::getattr(type, "__module__", nb::none());
  if (!nb::isinstance<nb::str>(module)) return false;
  const auto text = nb::cast<std::string>(module);
  return (text == package || text.starts_with(std::string(package) + ".")) &&
         nb::cast<std::string>(type.attr("__name__")) == name;
}

const dlpack::ExchangeApi* exchange_of(nb::handle type) {
  const nb::object capsule = nb::getattr(type, "__dlpack_c_exchange_api__", nb::none());
  if (!PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) return nullptr;
  const auto* api = static_cast<const dlpack::ExchangeApi*>(
      PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  return api->header.version.major == 1 ? api : nullptr;
}

const dlpack::ExchangeApi* torch_exchange = nullptr;  // lives as long as torch

TypeInfo describe_type(nb::handle type) {
  TypeInfo info{.keep = nb::borrow(type)};
  if (nb::hasattr(type, "__mro__")) {
    for (const nb::handle base : type.attr("__mro__")) {
      if (is_class(base, "torch._subclasses.fake_tensor", "FakeTensor")) info.way = Way::fake;
      if (info.way == Way::none && is_class(base, "torch", "Tensor")) info.way = Way::torch;
      if (info.way == Way::none && is_class(base, "numpy", "MaskedArray")) info.way = Way::masked;
      if (info.way == Way::none && is_class(base, "numpy", "ndarray")) info.way = Way::numpy;
      if (info.way == Way::none && is_class(base, "cupy", "ndarray")) info.way = Way::cupy;
      // JAX gives its arrays by DLPack without saying that they must not be written.
      info.immutable = info.immutable || is_class(base, "jaxlib", "ArrayImpl");
    }
  }
  if (info.way == Way::none || info.way == Way::torch) {
    info.exchange = exchange_of(type);
    if (info.way == Way::torch && info.exchange != nullptr) torch_exchange = info.exchange;
    info.plain = info.way == Way::torch && info.exchange != nullptr &&
                 info.exchange->tensor_from_object != nullptr &&
                 (is_class(type, "torch", "Tensor") || is_class(type, "torch", "Parameter"));
    if (info.way == Way::none && info.exchange != nullptr) info.way = Way::exchange;
  }
  if (info.way != Way::none) return info;
  if (nb::hasattr(type, "__dlpack__")) {
    info.way = Way::dlpack;
  } else if (nb::hasattr(type, "__cuda_array_interface__")) {
    info.way = Way::cuda;
  }
  return info;
}

const TypeInfo& info_of(nb::handle object) {
  static auto* const known = new std::unordered_map<PyObject*, TypeInfo>;
  const nb::handle type = object.type();
  const auto found = known->find(type.ptr());
  if (found != known->end()) return found->second;
  return known->emplace(type.ptr(), describe_type(type)).first->second;
}

/// Of a plain tensor of torch; null for others. The type of the last one is not looked up.
const TypeInfo* info_of_plain(nb::handle object) {
  static const TypeInfo* last = nullptr;  // info_of forgets nothing
  if (last != nullptr && last->keep.is(object.type())) return last;
  const TypeInfo& info = info_of(object);
  if (!info.plain) return nullptr;
  last = &info;
  return last;
}

/// By the exchange API; false where the tensor cannot be given so, with no Python error left.
bool import_exchange(nb::handle object, const TypeInfo& info, const char* what, Tensor& out) {
  if (info.exchange == nullptr || info.exchange->tensor_from_object == nullptr) return false;
  dlpack::Tensor tensor{};
  if (info.exchange->tensor_from_object(object.ptr(), &tensor) != 0) {
    PyErr_Clear();
    return false;
  }
  const auto device = static_cast<dlpack::DeviceType>(tensor.device.type);
  if (device != dlpack::kCpu && device != dlpack::kCuda) return false;
  if (tensor.data == nullptr) return false;  // fake and meta tensors; these have their own way
  out.view = view_of_dlpack(tensor, what);
  out.source = nb::borrow(object);
  return true;
}

/// The stream that the exchange API names for a tensor on a GPU; false where it names none.
bool import_exchange_stream(const TypeInfo& info, Tensor& tensor) {
  const Device device = tensor.view.device();
  if (device.is_cpu()) return true;
  void* stream = nullptr;
  const bool known = info.exchange->current_stream != nullptr &&
                     info.exchange->current_stream(dlpack::kCuda, device.index, &stream) == 0;
  if (known) {
    tensor.stream = stream;
  } else {
    PyErr_Clear();
  }
  return known;
}

/// Negated views are the imaginary parts of conjugated tensors, of which every other element in
/// memory is one. The exchange API does not tell, and a call of torch takes time.
bool may_be_negated(const TensorView& view) {
  return std::ranges::find(view.strides(), 1) == view.strides().end();
}

[[noreturn]] void fail_no_tensor(nb::handle object, const char* what) {
  fail_type(std::string(what) +
            ": expected a tensor (torch, NumPy, JAX, CuPy, DLPack, __cuda_array_interface__ or the "
            "buffer protocol), got " +
            class_name(object));
}

/// What an instance offers that its type does not show, and capsules.
Tensor import_other(nb::handle object, const char* what) {
  if (PyType_Check(object.ptr())) fail_no_tensor(object, what);
  if (PyCapsule_CheckExact(object.ptr())) return import_capsule(object, nb::none(), what);
  if (PyObject_CheckBuffer(object.ptr())) return import_buffer(object, what, false);
  if (is_class(object.type(), "cutlass.cute", "_Tensor")) {
    return nb::cast<Tensor>(nb::module_::import_("estoc._cute").attr("operand")(object));
  }
  if (nb::hasattr(object, "__dlpack__")) return import_dlpack(object, what);
  if (nb::hasattr(object, "__cuda_array_interface__")) {
    return import_cuda_array(object, what, Framework::other);
  }
  fail_no_tensor(object, what);
}

[[noreturn]] void fail_unreadable(nb::handle object, const char* what, const std::string& why) {
  fail_type(std::string(what) + ": expected a tensor, got " + class_name(object) +
            ", which cannot be read: " + why);
}

Tensor import_as(nb::handle object, const TypeInfo& info, const char* what) {
  Tensor tensor;
  switch (info.way) {
    case Way::torch:
      tensor.framework = Framework::torch;
      if (import_exchange(object, info, what, tensor)) {
        if (may_be_negated(tensor.view)) require_not_negated(object, what);
        return tensor;
      }
      return import_torch(object, what, false);
    case Way::fake:
      return import_torch(object, what, true);
    case Way::exchange:
      if (import_exchange(object, info, what, tensor) && import_exchange_stream(info, tensor)) {
        return tensor;
      }
      return import_dlpack(object, what);
    case Way::numpy:
      return import_buffer(object, what, true);
    case Way::masked:
      fail_type(std::string(what) + ": expected a tensor without a mask, got " +
                class_name(object) + ": give its data, or filled()");
    case Way::cupy:
      return import_cuda_array(object, what, Framework::cupy);
    case Way::cuda:
      return import_cuda_array(object, what, Framework::other);
    case Way::dlpack:
      tensor = import_dlpack(object, what);
      tensor.read_only = tensor.read_only || info.immutable;
      return tensor;
    default:
      return import_other(object, what);
  }
}

nb::tuple extents_tuple(std::span<const std::int64_t> values) {
  nb::list list;
  for (const std::int64_t value : values)
    list.append(value);
  return nb::tuple(list);
}

using Extents = std::vector<std::int64_t>;

Extents extents_of(nb::handle sequence, const char* what) {
  const nb::object iterator = nb::steal(PyObject_GetIter(sequence.ptr()));
  if (!iterator.is_valid()) {
    PyErr_Clear();
    fail_type(std::string(what) + ": expected a sequence of whole numbers, got " +
              shown_repr(sequence));
  }
  Extents result;
  for (const nb::handle item : iterator) {
    result.push_back(whole_number(item, what));
    if (result.size() > kMaxRank)
      break;  // one more than a tensor can have, for which it is refused
  }
  return result;
}

/// The strides given, or those of a compact row-major tensor.
Extents strides_or_compact(nb::handle strides, const Extents& shape) {
  if (!strides.is_none()) return extents_of(strides, "strides");
  Extents steps(shape.size(), 1);
  set_compact_strides(shape, steps, "tensor");
  return steps;
}

/// The same memory seen with another dtype, shape and strides, which must lie within it.
Tensor reinterpret(const Tensor& tensor, Dtype dtype, nb::handle shape, nb::handle strides) {
  Tensor result = tensor;
  if (shape.is_none()) {
    if (!strides.is_none()) fail_value("strides: expected together with shape, got strides alone");
    result.view = tensor.view.with_dtype(dtype);
    return result;
  }
  const Extents extents = extents_of(shape, "shape");
  const Extents steps = strides_or_compact(strides, extents);
  const Device device = tensor.view.device();
  if (tensor.view.described()) {
    result.view = TensorView::describe(dtype, extents, steps, device);
    return result;
  }
  result.view = TensorView(tensor.view.data(), dtype, extents, steps, device);
  if (result.view.span_bytes() > tensor.view.span_bytes()) {
    fail_value("shape: expected at most " + std::to_string(tensor.view.span_bytes()) +
               " bytes, as many as the tensor has, got " +
               std::to_string(result.view.span_bytes()));
  }
  return result;
}

Tensor make_tensor(nb::handle object, nb::handle dtype, nb::handle shape, nb::handle strides) {
  Tensor tensor = import_tensor(object, "tensor");
  if (dtype.is_none() && shape.is_none() && strides.is_none()) return tensor;
  const Dtype wanted = dtype.is_none() ? tensor.view.dtype() : to_dtype(dtype, "dtype");
  return reinterpret(tensor, wanted, shape, strides);
}

Tensor describe_tensor(nb::handle dtype, nb::handle shape, nb::handle strides, nb::handle device,
                       nb::handle alignment) {
  const Extents extents = extents_of(shape, "shape");
  Tensor tensor;
  tensor.source = nb::none();
  tensor.view = TensorView::describe(
      to_dtype(dtype, "dtype"), extents, strides_or_compact(strides, extents),
      parse_device(text(device, "device")), whole_number(alignment, "alignment"));
  return tensor;
}

std::string typestr(const TensorView& view) {
  switch (view.dtype()) {
    case Dtype::f64:
      return "<f8";
    case Dtype::f32:
    case Dtype::tf32:
      return "<f4";
    case Dtype::f16:
      return "<f2";
    case Dtype::i32:
      return "<i4";
    case Dtype::i8:
      return "|i1";
    case Dtype::u8:
      return "|u1";
    case Dtype::boolean:
      return "|b1";
    default:
      break;
  }
  throw nb::attribute_error("NumPy itself has no such dtype: use .tensor");
}

nb::dict array_interface(const Tensor& tensor, Device::Kind kind) {
  if (tensor.view.device().kind != kind || tensor.view.described()) {
    throw nb::attribute_error("the tensor has no memory there");
  }
  nb::list strides;
  const std::int64_t size = dtype_bits(tensor.view.dtype()) / 8;
  for (const std::int64_t stride : tensor.view.strides())
    strides.append(stride * size);
  nb::dict result;
  result["typestr"] = typestr(tensor.view);
  result["shape"] = extents_tuple(tensor.view.shape());
  result["strides"] = nb::tuple(strides);
  result["data"] = nb::make_tuple(address_of(tensor.view.data()), tensor.read_only);
  result["version"] = 3;
  return result;
}

template <typename Enum>
Enum parse_named(nb::handle value, const char* what, std::initializer_list<Enum> all,
                 std::string_view (*name)(Enum)) {
  nb::object text = nb::getattr(value, "name", nb::borrow(value));
  const std::string given = nb::isinstance<nb::str>(text) ? nb::cast<std::string>(text) : "";
  std::string known;
  for (const Enum one : all) {
    if (name(one) == given) return one;
    known += (known.empty() ? "" : ", ") + std::string(name(one));
  }
  fail_value(std::string(what) + ": expected one of " + known + ", got " + shown_repr(value));
}

PyScaledTensor make_scaled(nb::handle base, nb::handle scale, nb::handle mode, nb::handle swizzle,
                           nb::handle tensor_scale, bool powers_of_two) {
  PyScaledTensor result{import_tensor(base, "base"), import_tensor(scale, "scale")};
  result.mode = to_scale_mode(mode);
  if (!swizzle.is_none()) {
    result.swizzle = parse_named(
        swizzle, "swizzle", {ScaleSwizzle::none, ScaleSwizzle::swizzle_32x4x4}, scale_swizzle_name);
  }
  if (!tensor_scale.is_none()) result.tensor_scale = import_tensor(tensor_scale, "tensor_scale");
  result.powers_of_two = powers_of_two;
  return result;
}

void bind_scaled(nb::module_& module) {
  nb::class_<PyScaledTensor>(
      module, "ScaledTensor",
      "Quantised data with its scale factors: value = base * scale.\n\n"
      "Parameters\n----------\n"
      "base : tensor\n    The quantised data.\n"
      "scale : tensor\n    Shape of `base` with K (and the other mode, where the mode says so)\n"
      "    divided by the block and rounded up; one element for tensorwise.\n"
      "mode : ScaleMode or str\n    Which elements share a scale.\n"
      "swizzle : ScaleSwizzleMode or str, optional\n    How the scales lie in memory.\n"
      "tensor_scale : tensor, optional\n"
      "    One f32 that every value is multiplied by beside its block's scale.\n"
      "powers_of_two : bool\n"
      "    Of an output with f32 scales: they are rounded up to powers of two.")
      .def(nb::new_(&make_scaled), nb::arg("base").none(), nb::arg("scale").none(),
           nb::arg("mode").none(), nb::arg("swizzle") = nb::none(),
           nb::arg("tensor_scale") = nb::none(), nb::arg("powers_of_two") = false)
      .def_prop_ro("base", [](const PyScaledTensor& self) { return self.base; })
      .def_prop_ro("scale", [](const PyScaledTensor& self) { return self.scale; })
      .def_prop_ro("tensor_scale", [](const PyScaledTensor& self) { return self.tensor_scale; })
      .def_prop_ro("powers_of_two", [](const PyScaledTensor& self) { return self.powers_of_two; })
      .def_prop_ro("mode", [](const PyScaledTensor& self) { return scale_mode_name(self.mode); })
      .def_prop_ro("swizzle",
                   [](const PyScaledTensor& self) { return scale_swizzle_name(self.swizzle); })
      .def_prop_ro(
          "shape", [](const PyScaledTensor& self) { return extents_tuple(self.base.view.shape()); },
          "Of the data.")
      .def_prop_ro(
          "dtype", [](const PyScaledTensor& self) { return dtype_object(self.base.view.dtype()); },
          "Of the data.")
      .def("__repr__", [](const PyScaledTensor& self) {
        return "ScaledTensor(" + self.base.view.to_string() + ", scale " +
               self.scale.view.to_string() + ", " + std::string(scale_mode_name(self.mode)) + ")";
      });
}

}  // namespace

ScaleMode to_scale_mode(nb::handle mode) {
  return parse_named(
      mode, "mode",
      {ScaleMode::tensorwise, ScaleMode::rowwise, ScaleMode::blockwise_1x16,
       ScaleMode::blockwise_1x32, ScaleMode::blockwise_1x128, ScaleMode::blockwise_128x128},
      scale_mode_name);
}

bool is_plain_torch(nb::handle object) {
  return info_of_plain(object) != nullptr;
}

Tensor import_tensor(nb::handle object, const char* what) {
  if (const TypeInfo* const info = info_of_plain(object)) {
    Tensor tensor;
    tensor.framework = Framework::torch;
    if (import_exchange(object, *info, what, tensor) && !may_be_negated(tensor.view)) return tensor;
  }
  Tensor* own = nullptr;
  if (nb::try_cast(object, own, false) && own != nullptr) return *own;
  try {
    return import_as(object, info_of(object), what);
  } catch (const nb::cast_error&) {
    fail_unreadable(object, what, "something that is no number, text or address");
  } catch (nb::python_error& error) {
    const bool unreadable = error.matches(PyExc_TypeError) || error.matches(PyExc_LookupError) ||
                            error.matches(PyExc_AttributeError);
    if (!unreadable) throw;
    fail_unreadable(object, what, class_name(error.value()) + ": " + shown_text(error.value()));
  }
}

bool see_torch(nb::handle object, dlpack::Tensor& seen) {
  const TypeInfo* const info = info_of_plain(object);
  if (info == nullptr) return false;
  if (info->exchange->tensor_from_object(object.ptr(), &seen) != 0) {
    PyErr_Clear();
    return false;
  }
  const std::int64_t* const end = seen.strides + seen.rank;
  return seen.data != nullptr && seen.strides != nullptr &&
         (seen.device.type == dlpack::kCpu || seen.device.type == dlpack::kCuda) &&
         std::find(const_cast<const std::int64_t*>(seen.strides), end, 1) != end;
}

bool exchange_stream(int device, void** stream) {
  if (torch_exchange == nullptr || torch_exchange->current_stream == nullptr) return false;
  if (torch_exchange->current_stream(dlpack::kCuda, device, stream) == 0) return true;
  PyErr_Clear();
  return false;
}

void add_awaited(std::vector<void*>& streams, const Tensor& tensor) {
  if (!tensor.stream) return;
  if (std::ranges::find(streams, *tensor.stream) == streams.end()) {
    streams.push_back(*tensor.stream);
  }
}

Device parse_device(const std::string& text) {
  if (text == "cpu") return Device::cpu();
  if (text == "cuda") return Device::cuda();
  if (text.starts_with("cuda:") && text.size() > 5 && text.size() < 9 &&
      text.find_first_not_of("0123456789", 5) == std::string::npos) {
    return Device::cuda(std::stoi(text.substr(5)));
  }
  fail_value("device: expected \"cpu\", \"cuda\" or \"cuda:N\", got \"" + text + "\"");
}

Device cuda_device(std::int64_t index, const char* what) {
  constexpr std::int64_t kMax = 999;
  if (index >= 0 && index <= kMax) return Device::cuda(static_cast<int>(index));
  fail_value(std::string(what) + ".device: expected the index of a CUDA device, got " +
             std::to_string(index));
}

void set_compact_strides(std::span<const std::int64_t> shape, std::span<std::int64_t> strides,
                         const char* what) {
  std::int64_t stride = 1;
  for (std::size_t mode = shape.size(); mode-- > 0;) {
    strides[mode] = stride;
    if (mode > 0 && __builtin_mul_overflow(stride, shape[mode], &stride)) {
      fail_value(std::string(what) + ".shape: expected at most 2^63 - 1 elements, got more");
    }
  }
}

TensorView placed(const TensorView& view, Device device) {
  return TensorView::describe(view.dtype(), view.shape(), view.strides(), device, view.alignment());
}

void bind_tensors(nb::module_& module) {
  nb::class_<Tensor> type(
      module, "Tensor",
      "A view of a framework's tensor, which it keeps alive.\n\n"
      "Parameters\n----------\n"
      "tensor : tensor\n    Of torch, NumPy, JAX, CuPy, or anything with DLPack,\n"
      "    __cuda_array_interface__ or the buffer protocol.\n"
      "dtype : dtype, optional\n    See the memory with this dtype instead.\n"
      "shape, strides : sequence of int, optional\n"
      "    See the memory with this shape; strides in elements. Packed types (i4,\n"
      "    u4, e2m1: two elements to a byte) come in this way.");
  type.def(nb::new_(&make_tensor), nb::arg("tensor").none(), nb::arg("dtype").none() = nb::none(),
           nb::arg("shape") = nb::none(), nb::arg("strides") = nb::none())
      .def_static("describe", &describe_tensor, nb::arg("dtype").none(), nb::arg("shape").none(),
                  nb::arg("strides") = nb::none(), nb::arg("device").none() = "cpu",
                  nb::arg("alignment").none() = 256,
                  "A tensor without data: enough to find and compile kernels, refused by run.")
      .def_prop_ro(
          "tensor", [](const Tensor& self) { return self.source; },
          "The framework's tensor; None for one that was only described.")
      .def_prop_ro("shape", [](const Tensor& self) { return extents_tuple(self.view.shape()); })
      .def_prop_ro(
          "strides", [](const Tensor& self) { return extents_tuple(self.view.strides()); },
          "In elements.")
      .def_prop_ro("dtype", [](const Tensor& self) { return dtype_object(self.view.dtype()); })
      .def_prop_ro(
          "device", [](const Tensor& self) { return self.view.device().name(); },
          "\"cpu\" or \"cuda:0\".")
      .def_prop_ro(
          "data_ptr", [](const Tensor& self) { return address_of(self.view.data()); },
          "Address of the first element; 0 without data.")
      .def_prop_ro(
          "alignment", [](const Tensor& self) { return self.view.alignment(); },
          "Largest power of two, at most 256, that divides address and strides, in bytes.")
      .def_prop_ro(
          "ndim", [](const Tensor& self) { return self.view.rank(); }, "Number of modes.")
      .def_prop_ro(
          "has_data", [](const Tensor& self) { return !self.view.described(); },
          "False for a tensor that was only described, and for torch's meta and fake tensors.")
      .def_prop_ro("__array_interface__",
                   [](const Tensor& self) { return array_interface(self, Device::Kind::cpu); })
      .def_prop_ro("__cuda_array_interface__",
                   [](const Tensor& self) { return array_interface(self, Device::Kind::cuda); })
      .def("__repr__", [](const Tensor& self) { return "Tensor(" + self.view.to_string() + ")"; });
  bind_tensor_export(type);
  bind_scaled(module);
}

}  // namespace estoc::python
