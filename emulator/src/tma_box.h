// Boxes of tensors, as TMA copies them.
#pragma once

#include <algorithm>
#include <array>

#include "machine.h"
#include "tensor_map.h"

namespace estoc::emulator {

/// A box of a tensor: rows of units that lie together in global memory and in shared memory. A unit
/// is an element; of types of 4 and 6 bits it is some of them. Of a mode whose element stride is s,
/// every s-th element of the box is copied; there is none for the innermost.
struct Box {
  EncodedMap map;
  std::array<u32, 5> counts{};
  std::array<i64, 5> at{};  ///< the first in units
  MapUnit unit;
  u32 row_units;
  u32 rows;
  bool gathers = false;           ///< rows from anywhere
  std::array<i32, 4> gathered{};  ///< their second coordinates

  /// In global memory.
  u32 row_bytes() const { return row_units * unit.bytes; }
  u32 bytes() const { return row_bytes() * rows; }
  /// In shared memory, padding included.
  u32 shared_bytes() const { return row_units * unit.shared_bytes * rows; }
  i64 row_end() const { return (i64{map.last[0]} + 1) / unit.elements * unit.bytes; }

  /// First coordinate of row `row`, and whether all but the innermost mode lie inside.
  bool row_origin(u32 row, std::array<i64, 5>& point) const {
    bool inside = true;
    point = at;
    if (gathers) {
      point[1] = gathered[row];
      return point[1] >= 0 && point[1] <= i64{map.last[1]};
    }
    for (u32 mode = 1; mode < map.rank; ++mode) {
      point[mode] += i64{row % counts[mode]} * map.element_strides[mode];
      row /= counts[mode];
      inside = inside && point[mode] >= 0 && point[mode] <= i64{map.last[mode]};
    }
    return inside;
  }

  u64 address_of(const std::array<i64, 5>& point) const {
    i64 offset = point[0] * i64{unit.bytes};
    for (u32 mode = 1; mode < map.rank; ++mode)
      offset += point[mode] * static_cast<i64>(map.strides[mode - 1]);
    return map.address + static_cast<u64>(offset);
  }
};

/// Reports that a map in global memory is not read as it was changed: TMA reads it by a proxy of
/// its own, which fences order.
void check_map(Thread& thread, const TensorMap& map, Site site);

/// The box at `at`; reports why there is none.
bool decode_box(Thread& thread, const TensorMap& map, const i32* at, int rank, Site site, Box& box);

/// Loads may begin before the tensor, and any box may end after it; a store that begins before it
/// stops an H200 with an illegal instruction.
bool begins_inside(Thread& thread, const Box& box, Site site);

void check_shared_alignment(Thread& thread, const Box& box, u32 shared, Site site);

/// An H200 stores the last elements of a row in whole chunks, beyond the tensor's extent where that
/// is no multiple of one; loads stop at the element, and are taken to.
inline constexpr i64 kStoreChunk = 16;

/// Calls action(offset within the box as global memory has it, global address, bytes) for the parts
/// of row `row` that exist, and fill(offset, bytes) for those outside the tensor, whose rows end
/// with a whole chunk.
template <typename Action, typename Fill>
void for_row(const Box& box, u32 row, i64 chunk, const Action& action, const Fill& fill) {
  std::array<i64, 5> point{};
  const u32 bytes = box.row_bytes();
  const u32 offset = row * bytes;
  if (!box.row_origin(row, point)) {
    fill(offset, bytes);
    return;
  }
  const i64 begin = point[0] * box.unit.bytes;
  const i64 end = (box.row_end() + chunk - 1) / chunk * chunk;
  const i64 first = std::clamp<i64>(-begin, 0, bytes);
  const i64 last = std::clamp<i64>(end - begin, first, bytes);
  point[0] += first / box.unit.bytes;
  if (first > 0) fill(offset, static_cast<u32>(first));
  if (last > first) {
    action(offset + static_cast<u32>(first), box.address_of(point), static_cast<u32>(last - first));
  }
  if (last < bytes) {
    fill(offset + static_cast<u32>(last), static_cast<u32>(bytes - last));
  }
}

/// Copies between a plain buffer and swizzled shared memory, in pieces that stay together.
void copy_swizzled(std::byte* shared, u32 base, std::byte* plain, u32 bytes, u32 mode,
                   bool to_shared);
/// The same with units that are padded in shared memory; what is put there is not stated.
void pad_swizzled(std::byte* shared, u32 base, const std::byte* plain, u32 bytes, u32 mode,
                  const MapUnit& unit);

/// What loads bring from outside of the tensor.
void fill_outside(const Box& box, std::byte* to, u32 bytes);

}  // namespace estoc::emulator
