// Encoding tensor maps, with the driver's documented conditions.
#include "tensor_map.h"

#include <fmt/core.h>

#include <cstring>
#include <string>

#include "emulator/tensor_map.h"

namespace estoc::emulator {
namespace {

thread_local std::string problem;

std::string check_modes(u32 rank, u64 bytes, const std::uint64_t* extents,
                        const std::uint64_t* strides, const std::uint32_t* box,
                        const std::uint32_t* element_strides) {
  for (u32 i = 0; i < rank; ++i) {
    if (extents[i] == 0 || extents[i] > u64{1} << 32) {
      return fmt::format("extent {} is {}, not 1 to 2^32", i, extents[i]);
    }
    if (box[i] == 0 || box[i] > 256) return fmt::format("box {} is {}, not 1 to 256", i, box[i]);
    if (element_strides[i] == 0 || element_strides[i] > 8) {
      return fmt::format("element stride {} is {}, not 1 to 8", i, element_strides[i]);
    }
    if (i + 1 < rank && (strides[i] % 16 != 0 || strides[i] >= u64{1} << 40)) {
      return fmt::format("stride {} is {} bytes, not a multiple of 16 below 2^40", i, strides[i]);
    }
  }
  if (box[0] * bytes % 16 != 0) {
    return fmt::format("the box is {} bytes wide, not a multiple of 16", box[0] * bytes);
  }
  return {};
}

std::string check(int data_type, u32 rank, const void* address, const std::uint64_t* extents,
                  const std::uint64_t* strides, const std::uint32_t* box,
                  const std::uint32_t* element_strides, int interleave, int swizzle) {
  if (data_type < 0 || data_type > 12) return fmt::format("unknown data type {}", data_type);
  if (rank < 1 || rank > 5) return fmt::format("rank {} is not 1 to 5", rank);
  if (interleave != 0) return "interleaved layouts are not modelled";
  if (swizzle < 0 || swizzle > 3) return fmt::format("unknown swizzle {}", swizzle);
  if (reinterpret_cast<std::uintptr_t>(address) % 16 != 0) {
    return "the address is not a multiple of 16";
  }
  const u64 bytes = element_bytes(static_cast<MapType>(data_type));
  if (auto text = check_modes(rank, bytes, extents, strides, box, element_strides); !text.empty()) {
    return text;
  }
  const u64 row = box[0] * bytes;
  const u64 span = swizzle == 0 ? row : u64{16} << swizzle;
  if (row > span) return fmt::format("the box is {} bytes wide, the swizzle spans {}", row, span);
  return {};
}

}  // namespace

int encode_tiled(void* map, int data_type, std::uint32_t rank, void* address,
                 const std::uint64_t* extents, const std::uint64_t* strides,
                 const std::uint32_t* box, const std::uint32_t* element_strides, int interleave,
                 int swizzle, int /*l2_promotion*/, int out_of_bounds_fill) {
  problem =
      check(data_type, rank, address, extents, strides, box, element_strides, interleave, swizzle);
  if (reinterpret_cast<std::uintptr_t>(map) % 64 != 0) problem = "the map is not aligned to 64";
  if (!problem.empty()) return 1;
  EncodedMap encoded{};
  encoded.magic = kMapMagic;
  encoded.type = static_cast<MapType>(data_type);
  encoded.rank = static_cast<u8>(rank);
  encoded.swizzle = static_cast<u8>(swizzle);
  encoded.nan_fill = out_of_bounds_fill != 0 ? 1 : 0;
  encoded.address = reinterpret_cast<std::uintptr_t>(address);
  for (u32 i = 0; i < rank; ++i) {
    encoded.last[i] = static_cast<u32>(extents[i] - 1);
    encoded.box[i] = static_cast<u16>(box[i]);
    encoded.element_strides[i] = static_cast<u8>(element_strides[i]);
    if (i + 1 < rank) encoded.strides[i] = strides[i];
  }
  std::memcpy(map, &encoded, sizeof(encoded));
  return 0;
}

const char* encode_problem() {
  return problem.c_str();
}

}  // namespace estoc::emulator
