// Encodes tensor maps by the CUDA driver, or what stands in for it.
#include "providers/cuda/tensor_map.h"

#include <fmt/ranges.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>

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

// CUtensorMapL2promotion
int driver_promotion(int bytes) {
  return bytes == 256 ? 3 : 2;
}

constexpr int kInterleaveNone = 0;
constexpr int kFillZeros = 0;

}  // namespace

abi::TensorMap encode_tensor_map(const PlanDevice& device, const TensorMapSpec& spec) {
  // The driver wants 64 bytes' alignment, which a value that is returned need not have.
  alignas(64) std::array<std::byte, sizeof(abi::TensorMap)> encoded;
  constexpr std::array<std::uint32_t, TensorMapSpec::kMaxRank> kEveryElement{1, 1, 1, 1, 1};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses are as device code takes them
  void* const address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(spec.address));
  const int result = device.encode_tiled(
      encoded.data(), driver_type(spec.type), spec.rank, address, spec.extents.data(),
      spec.stride_bytes.data(), spec.box.data(), kEveryElement.data(), kInterleaveNone,
      driver_swizzle(spec.swizzle_bytes), driver_promotion(spec.promotion_bytes), kFillZeros);
  abi::TensorMap map;
  std::memcpy(&map, encoded.data(), sizeof(map));
  if (result == jit::kCudaSuccess) return map;
  jit::driver().check(static_cast<jit::CUresult>(result),
                      fmt::format("cuTensorMapEncodeTiled({}: ({}), box ({}))", spec.operand,
                                  fmt::join(std::span(spec.extents).first(spec.rank), ", "),
                                  fmt::join(std::span(spec.box).first(spec.rank), ", ")));
  return map;
}

}  // namespace estoc::cuda
