// Encoding tensor maps, with the driver's documented conditions.
#include "tensor_map.h"

#include <fmt/core.h>

#include <cstring>
#include <string>

#include "emulator/tensor_map.h"

namespace estoc::emulator {
namespace {

thread_local std::string problem;

// What the driver asks for of a map beside the ranges of its numbers.
struct Wanted {
  u64 alignment = 16;  ///< bytes, of the address and the strides
  u64 first = 1;       ///< elements of the first extent
  u64 box = 0;         ///< elements of the first box; 0: any
};

Wanted wanted_by(const MapUnit& unit) {
  if (unit.is_padded()) return {32, kPaddedBox, kPaddedBox};
  return {16, unit.elements, 0};
}

std::string check_modes(u32 rank, const Wanted& wanted, const std::uint64_t* extents,
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
    if (i + 1 < rank && (strides[i] % wanted.alignment != 0 || strides[i] >= u64{1} << 40)) {
      return fmt::format("stride {} is {} bytes, not a multiple of {} below 2^40", i, strides[i],
                         wanted.alignment);
    }
  }
  if (extents[0] % wanted.first != 0) {
    return fmt::format("extent 0 is {}, not a multiple of {}", extents[0], wanted.first);
  }
  if (wanted.box != 0 && box[0] != wanted.box) {
    return fmt::format("box 0 is {}, not {}", box[0], wanted.box);
  }
  return {};
}

std::string check(int data_type, u32 rank, const void* address, const std::uint64_t* extents,
                  const std::uint64_t* strides, const std::uint32_t* box,
                  const std::uint32_t* element_strides, int interleave, int swizzle,
                  int out_of_bounds_fill) {
  if (data_type < 0 || data_type > static_cast<int>(MapType::u6_padded)) {
    return fmt::format("unknown data type {}", data_type);
  }
  if (rank < 1 || rank > 5) return fmt::format("rank {} is not 1 to 5", rank);
  if (interleave != 0) return "interleaved layouts are not modelled";
  if (swizzle < 0 || swizzle > 3) return fmt::format("unknown swizzle {}", swizzle);
  const MapUnit unit = map_unit(static_cast<MapType>(data_type));
  const Wanted wanted = wanted_by(unit);
  if (reinterpret_cast<std::uintptr_t>(address) % wanted.alignment != 0) {
    return fmt::format("the address is not a multiple of {}", wanted.alignment);
  }
  if (auto text = check_modes(rank, wanted, extents, strides, box, element_strides);
      !text.empty()) {
    return text;
  }
  const u64 row = u64{box[0]} * unit.shared_bytes / unit.elements;
  if (row % 16 != 0) return fmt::format("the box is {} bytes wide, not a multiple of 16", row);
  const u64 span = swizzle == 0 ? row : u64{16} << swizzle;
  if (row > span) return fmt::format("the box is {} bytes wide, the swizzle spans {}", row, span);
  if (unit.is_padded() && swizzle != 0 && swizzle != 3) {
    return "padded elements are swizzled in 128 bytes, or not";
  }
  if (unit.elements > 1 && out_of_bounds_fill != 0) {
    return "elements of fewer than 8 bits have no NaN to fill with";
  }
  return {};
}

}  // namespace

int encode_tiled(void* map, int data_type, std::uint32_t rank, void* address,
                 const std::uint64_t* extents, const std::uint64_t* strides,
                 const std::uint32_t* box, const std::uint32_t* element_strides, int interleave,
                 int swizzle, int /*l2_promotion*/, int out_of_bounds_fill) {
  problem = check(data_type, rank, address, extents, strides, box, element_strides, interleave,
                  swizzle, out_of_bounds_fill);
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
