// What boxes of tensors are, where they may be, and how they lie in shared memory.
#include "tma_box.h"

#include <fmt/core.h>

#include <cstring>

namespace estoc::emulator {
namespace {

// Turns the first coordinate into units. Where it is not of a kind that the GPU takes, a Hopper GPU
// stops with an illegal instruction.
bool check_first(Thread& thread, Box& box, i32 at, Site site) {
  const MapUnit& unit = box.unit;
  const auto elements = static_cast<i32>(unit.elements);
  box.at[0] = at / elements - (at % elements < 0 ? 1 : 0);
  if (unit.is_padded() && at % static_cast<i32>(kPaddedBox) != 0) {
    Machine::current().report(
        Fault::misaligned, thread, site, box.address_of(box.at),
        fmt::format("the first coordinate of a box of padded elements is a multiple of {}, here it "
                    "is {}",
                    kPaddedBox, at));
    return false;
  }
  const bool in_unit = at % elements == 0;
  if (!unit.is_padded() && (!in_unit || box.at[0] * i64{unit.bytes} % 16 != 0)) {
    Machine::current().report(
        Fault::misaligned, thread, site, box.address_of(box.at),
        fmt::format("the first coordinate of a box of TMA is a whole number of 16 bytes, here it "
                    "is {}, of {} bytes to {}",
                    at, unit.bytes,
                    unit.elements == 1 ? "each" : fmt::format("{}", unit.elements)));
  }
  return true;
}

}  // namespace

bool decode_box(Thread& thread, const TensorMap& map, const i32* at, int rank, Site site,
                Box& box) {
  Machine& m = Machine::current();
  check_map(thread, map, site);
  std::memcpy(&box.map, &map, sizeof(box.map));
  const bool gathers = rank == kFourRows;
  if (box.map.magic != kMapMagic || box.map.rank != (gathers ? 2 : rank)) {
    m.report(Fault::bad_descriptor, thread, site, 0,
             box.map.magic != kMapMagic
                 ? "the tensor map was not encoded by encode_tiled of the emulator"
                 : fmt::format("{} coordinates for a tensor map of rank {}",
                               gathers ? "a column and four rows" : fmt::format("{}", rank),
                               box.map.rank));
    return false;
  }
  if (gathers && box.map.box[1] != 1) {
    m.report(Fault::bad_descriptor, thread, site, 0,
             fmt::format("four rows of a tensor map whose box has {} rows, not 1", box.map.box[1]));
    return false;
  }
  box.unit = map_unit(box.map.type);
  box.row_units = box.map.box[0] / box.unit.elements;
  box.rows = 1;
  for (u32 mode = 1; mode < box.map.rank; ++mode) {
    const u32 step = box.map.element_strides[mode];
    box.counts[mode] = (box.map.box[mode] + step - 1) / step;
    box.rows *= box.counts[mode];
  }
  box.gathers = gathers;
  if (gathers) {
    std::copy_n(at + 1, box.gathered.size(), box.gathered.begin());
    box.rows = static_cast<u32>(box.gathered.size());
  }
  for (u32 i = 0; i < box.map.rank; ++i)
    box.at[i] = at[i];
  return check_first(thread, box, at[0], site);
}

bool begins_inside(Thread& thread, const Box& box, Site site) {
  for (u32 mode = 0; mode < box.map.rank; ++mode) {
    i64 first = box.at[mode];
    if (box.gathers && mode == 1) {
      first = *std::min_element(box.gathered.begin(), box.gathered.end());
    }
    if (first >= 0) continue;
    Machine::current().report(
        Fault::out_of_bounds, thread, site, box.address_of(box.at),
        fmt::format("a box that TMA stores begins in its tensor, here {} before it in mode {}",
                    -first, mode));
    return false;
  }
  return true;
}

void check_shared_alignment(Thread& thread, const Box& box, u32 shared, Site site) {
  const u32 need = box.map.swizzle == 0 ? 128u : 128u << box.map.swizzle;
  // A swizzled box may start at any row of its pattern, but what reads it counts rows from its
  // start.
  if (shared % 128 != 0) {
    Machine::current().report(Fault::misaligned, thread, site, shared,
                              fmt::format("a box of TMA is aligned to 128 bytes in shared memory, "
                                          "here to {} for its swizzle",
                                          need));
  }
}

void copy_swizzled(std::byte* shared, u32 base, std::byte* plain, u32 bytes, u32 mode,
                   bool to_shared) {
  u32 offset = 0;
  while (bytes > 0) {
    const u32 place = base + offset;
    if (place % 16 == 0 && bytes >= 16) {
      std::byte* there = shared + (swizzle_address(place, mode) - kSharedBase);
      std::memcpy(to_shared ? there : plain, to_shared ? plain : there, 16);
      offset += 16;
      plain += 16;
      bytes -= 16;
      continue;
    }
    const u32 piece = std::min(bytes, 16 - place % 16);
    std::byte* there = shared + (swizzle_address(place, mode) - kSharedBase);
    if (to_shared) {
      std::memcpy(there, plain, piece);
    } else {
      std::memcpy(plain, there, piece);
    }
    offset += piece;
    plain += piece;
    bytes -= piece;
  }
}

void pad_swizzled(std::byte* shared, u32 base, const std::byte* plain, u32 bytes, u32 mode,
                  const MapUnit& unit) {
  for (u32 from = 0; from < bytes; from += unit.bytes, base += unit.shared_bytes) {
    std::byte* const there = shared + (swizzle_address(base, mode) - kSharedBase);
    std::memset(there, kPaddingByte, unit.shared_bytes);
    std::memcpy(there, plain + from, unit.bytes);
  }
}

void fill_outside(const Box& box, std::byte* to, u32 bytes) {
  std::memset(to, 0, bytes);
  if (box.map.nan_fill == 0) return;
  // What an H200 fills with, of all types.
  constexpr u16 kNan = 0x7ff7;
  for (u32 i = 0; i < bytes; i += sizeof(kNan))
    std::memcpy(to + i, &kNan, sizeof(kNan));
}

}  // namespace estoc::emulator
