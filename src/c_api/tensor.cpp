// The C interface to operands: tensors, their scale factors, elements, tensors in files.
#include <array>

#include "c_api/support.h"
#include "estoc/check.hpp"
#include "estoc/numeric.hpp"

namespace estoc::c_api {
namespace {

constexpr std::array kScaleModes{ScaleMode::tensorwise,      ScaleMode::rowwise,
                                 ScaleMode::blockwise_1x16,  ScaleMode::blockwise_1x32,
                                 ScaleMode::blockwise_1x128, ScaleMode::blockwise_128x128};
constexpr std::array kScaleSwizzles{ScaleSwizzle::none, ScaleSwizzle::swizzle_32x4x4};

/// The value of that name, which `name_of_value` gives for each.
template <typename Value, std::size_t count, typename NameOfValue>
Value value_of_name(const std::array<Value, count>& values, const NameOfValue& name_of_value,
                    const char* name, const std::string& what) {
  const std::string_view text = &required(name, what);
  std::string known;
  for (const Value value : values) {
    if (name_of_value(value) == text) return value;
    known.append(known.empty() ? "" : ", ").append(name_of_value(value));
  }
  throw Error(ErrorKind::value,
              what + ": expected one of " + known + ", got '" + std::string(text) + "'");
}

std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& shape,
                                            const std::string& what) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) {
    const std::int64_t extent = std::max<std::int64_t>(shape[i], 1);
    if (__builtin_mul_overflow(strides[i], extent, &strides[i - 1])) {
      throw Error(ErrorKind::value, what + ".shape: expected fewer than 2^63 elements");
    }
  }
  return strides;
}

TensorView view_of_struct(const estoc_tensor& t, const std::string& what) {
  if (t.rank < 0 || t.rank > kMaxRank) {
    throw Error(ErrorKind::value, what + ".rank: expected 0 to " + std::to_string(kMaxRank) +
                                      ", got " + std::to_string(t.rank));
  }
  const auto rank = static_cast<std::size_t>(t.rank);
  if (rank > 0) (void)required(t.shape, what + ".shape");
  const std::vector<std::int64_t> shape(t.shape, t.shape + rank);
  const std::vector<std::int64_t> strides = t.strides != nullptr
                                                ? std::vector(t.strides, t.strides + rank)
                                                : row_major_strides(shape, what);
  const Dtype dtype = dtype_of(t.dtype, what + ".dtype");
  const Device device = device_of(t.device, what + ".device");
  if (t.data != nullptr) return {t.data, dtype, shape, strides, device, what.c_str()};
  const std::int64_t alignment = t.alignment != 0 ? t.alignment : 256;
  return TensorView::describe(dtype, shape, strides, device, alignment, what.c_str());
}

ScaledTensor scaled_of(const estoc_tensor& t, const std::string& what) {
  const std::string scale_name = what + ".scale";
  const estoc_scale scale = read_struct(t.scale, scale_name);
  ScaledTensor scaled;
  scaled.data = view_of_struct(t, what);
  scaled.scale = view_of(scale.tensor, scale_name + ".tensor");
  scaled.mode = value_of_name(kScaleModes, scale_mode_name, scale.mode, scale_name + ".mode");
  if (scale.swizzle != nullptr) {
    scaled.swizzle =
        value_of_name(kScaleSwizzles, scale_swizzle_name, scale.swizzle, scale_name + ".swizzle");
  }
  if (scale.tensor_scale != nullptr) {
    scaled.tensor_scale = view_of(scale.tensor_scale, scale_name + ".tensor_scale");
  }
  scaled.powers_of_two = scale.powers_of_two != 0;
  return scaled;
}

void check_element(const void* data, std::int64_t index) {
  if (data == nullptr) refuse_null("data");
  if (index >= 0) return;
  throw Error(ErrorKind::value, "index: expected 0 or more, got " + std::to_string(index));
}

}  // namespace

Dtype dtype_of(const char* name, const std::string& what) {
  const std::string_view text = &required(name, what);
  if (const auto dtype = parse_dtype(text)) return *dtype;
  throw Error(ErrorKind::type,
              what + ": expected the name of a dtype, got '" + std::string(text) + "'");
}

Device device_of(int device, const std::string& what) {
  if (device >= 0) return Device::cuda(device);
  if (device == -1) return Device::cpu();
  throw Error(ErrorKind::value,
              what + ": expected -1 or a CUDA device's number, got " + std::to_string(device));
}

Device cuda_device(int device) {
  if (device >= 0) return Device::cuda(device);
  throw Error(ErrorKind::value,
              "device: expected a CUDA device's number, got " + std::to_string(device));
}

TensorView view_of(const estoc_tensor* tensor, const std::string& what) {
  const estoc_tensor t = read_struct(tensor, what);
  if (t.scale == nullptr) return view_of_struct(t, what);
  throw Error(ErrorKind::value, what + ".scale: expected NULL, as only A and B of a gemm have one");
}

Operand operand_of(const estoc_tensor* tensor, const std::string& what) {
  const estoc_tensor t = read_struct(tensor, what);
  if (t.scale != nullptr) return scaled_of(t, what);
  return view_of_struct(t, what);
}

estoc_tensor tensor_of(const TensorView& view) {
  estoc_tensor tensor{};
  tensor.data = view.data();
  tensor.dtype = name_of_dtype(view.dtype());
  tensor.shape = view.shape().data();
  tensor.strides = view.strides().data();
  tensor.rank = view.rank();
  tensor.device = view.device().is_cuda() ? view.device().index : -1;
  tensor.alignment = view.alignment();
  return tensor;
}

}  // namespace estoc::c_api

namespace c_api = estoc::c_api;
using c_api::guarded;
using c_api::required;

estoc_status estoc_dtype_bits(const char* dtype, int* bits) {
  return guarded([&] {
    int& place = required(bits, "bits");
    place = estoc::dtype_bits(c_api::dtype_of(dtype, "dtype"));
  });
}

estoc_status estoc_load_element(const char* dtype, const void* data, int64_t index, double* value) {
  return guarded([&] {
    c_api::check_element(data, index);
    double& place = required(value, "value");
    place = estoc::load_element(c_api::dtype_of(dtype, "dtype"), data, index);
  });
}

estoc_status estoc_store_element(const char* dtype, void* data, int64_t index, double value) {
  return guarded([&] {
    c_api::check_element(data, index);
    estoc::store_element(c_api::dtype_of(dtype, "dtype"), data, index, value);
  });
}

estoc_status estoc_fill_random(const estoc_tensor* tensor, uint64_t seed) {
  return guarded([&] {
    const estoc::TensorView view = c_api::view_of(tensor, "tensor");
    if (!view.device().is_cpu() || view.described()) {
      throw estoc::Error(estoc::ErrorKind::value, "tensor.data: expected data in host memory");
    }
    estoc::fill_random(view, seed);
  });
}

estoc_status estoc_tensor_file_open(const char* path, estoc_tensor_file** file) {
  return guarded([&] {
    c_api::give(file, "file", [&] { return estoc::FileTensor::open(&required(path, "path")); });
  });
}

estoc_status estoc_tensor_file_get(const estoc_tensor_file* file, estoc_tensor* tensor) {
  return guarded([&] {
    c_api::write_struct(tensor, c_api::tensor_of(c_api::value_of(file, "file").view()), "tensor");
  });
}

void estoc_tensor_file_destroy(estoc_tensor_file* file) {
  c_api::destroy(file);
}

estoc_status estoc_tensor_file_names(const char* path, estoc_strings** names) {
  return guarded([&] {
    c_api::give(names, "names", [&] { return estoc::safetensors_names(&required(path, "path")); });
  });
}

estoc_status estoc_tensor_save(const char* path, const estoc_tensor* tensor) {
  return guarded(
      [&] { estoc::save_tensor(&required(path, "path"), c_api::view_of(tensor, "tensor")); });
}

estoc_status estoc_tensor_check_save(const char* path, const char* dtype) {
  return guarded(
      [&] { estoc::check_save(&required(path, "path"), c_api::dtype_of(dtype, "dtype")); });
}
