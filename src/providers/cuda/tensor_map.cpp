// Encodes tensor maps by the CUDA driver, or what stands in for it.
#include "providers/cuda/tensor_map.h"

#include <fmt/core.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "jit/driver.h"

namespace estoc::cuda {
namespace {

// CUtensorMapDataType
int driver_type(abi::Type type) {
  switch (type) {
    case abi::Type::f16:
      return 6;
    case abi::Type::f32:
      return 7;
    case abi::Type::f64:
      return 8;
    case abi::Type::bf16:
      return 9;
    case abi::Type::tf32:
      return 11;
    case abi::Type::i32:
      return 3;
    default:
      return 0;
  }
}

// CUtensorMapSwizzle
int driver_swizzle(int bytes) {
  return bytes == 128 ? 3 : bytes == 64 ? 2 : bytes == 32 ? 1 : 0;
}

constexpr int kInterleaveNone = 0;
constexpr int kPromote256 = 3;
constexpr int kFillZeros = 0;

}  // namespace

abi::TensorMap encode_tensor_map(const PlanDevice& device, const TensorMapSpec& spec) {
  // The driver wants 64 bytes' alignment, which a value that is returned need not have.
  alignas(64) std::array<std::byte, sizeof(abi::TensorMap)> encoded;
  constexpr std::array<std::uint32_t, 3> kEveryElement{1, 1, 1};
  const int result = device.encode_tiled(
      encoded.data(), driver_type(spec.type), 3,
      reinterpret_cast<void*>(static_cast<std::uintptr_t>(spec.address)), spec.extents.data(),
      spec.stride_bytes.data(), spec.box.data(), kEveryElement.data(), kInterleaveNone,
      driver_swizzle(spec.swizzle_bytes), kPromote256, kFillZeros);
  abi::TensorMap map;
  std::memcpy(&map, encoded.data(), sizeof(map));
  if (result == jit::kCudaSuccess) return map;
  jit::driver().check(
      static_cast<jit::CUresult>(result),
      fmt::format("cuTensorMapEncodeTiled({}: {} x {} x {}, box {} x {})", spec.operand,
                  spec.extents[2], spec.extents[1], spec.extents[0], spec.box[1], spec.box[0]));
  return map;
}

}  // namespace estoc::cuda
