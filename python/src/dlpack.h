// The structures of the DLPack protocol, 0.x to 1.3, as their layout is laid down by its ABI.
#pragma once

#include <cstddef>
#include <cstdint>

#include "addresses.h"
#include "estoc/dtype.hpp"

namespace estoc::python::dlpack {

enum DeviceType : std::int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13 };

/// Codes of types that are named in messages.
enum TypeCode : std::uint8_t {
  kInt = 0,
  kUint = 1,
  kFloat = 2,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
};

struct Device {
  std::int32_t type;
  std::int32_t id;
};

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

/// The type of a Dtype.
constexpr DataType type_of(Dtype dtype) {
  constexpr std::uint8_t kCodes[] = {
#define ESTOC_DTYPE_NAMES(name, safetensors, npy, dlpack, xla, ...) dlpack,
#include "estoc/dtypes.def"
  };
  return {kCodes[static_cast<std::size_t>(dtype)], static_cast<std::uint8_t>(dtype_bits(dtype)), 1};
}

struct Tensor {
  void* data;
  Device device;
  std::int32_t rank;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null for a compact row-major tensor
  std::uint64_t byte_offset;
};

/// The address of the first element.
inline void* data_of(const Tensor& tensor) {
  return pointer_at(address_of(tensor.data) + tensor.byte_offset);
}

struct ManagedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor*);
};

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

inline constexpr std::uint64_t kReadOnly = 1;

struct ManagedTensorVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedTensorVersioned*);
  std::uint64_t flags;
  Tensor tensor;
};

struct ExchangeHeader {
  Version version;
  ExchangeHeader* previous;
};

/// What a tensor type offers in the capsule `__dlpack_c_exchange_api__`.
struct ExchangeApi {
  ExchangeHeader header;
  int (*allocate)(Tensor* prototype, ManagedTensorVersioned** out, void* context,
                  void (*set_error)(void* context, const char* kind, const char* message));
  int (*managed_from_object)(void* object, ManagedTensorVersioned** out);
  int (*managed_to_object)(ManagedTensorVersioned* tensor, void** out);
  int (*tensor_from_object)(void* object, Tensor* out);
  int (*current_stream)(std::int32_t device_type, std::int32_t device_id, void** out);
};

}  // namespace estoc::python::dlpack
