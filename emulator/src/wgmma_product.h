// One wgmma instruction: its descriptors, and the product that it is.
#pragma once

#include <array>
#include <vector>

#include "machine.h"
#include "tensor_map.h"

namespace estoc::emulator {

inline constexpr int kProductRows = 64;
/// Of 16 bytes, in an operand of 256 rows or columns.
inline constexpr u32 kMaxChunks = 512;

/// The layout of one operand in shared memory, as its descriptor says (PTX ISA 9.7.15.5).
struct Descriptor {
  u32 start;
  u32 leading;
  u32 stride;
  u32 base_offset;
  u32 swizzle;  // as in tensor maps

  explicit Descriptor(u64 bits)
      : start(static_cast<u32>(bits & 0x3fff) << 4),
        leading(static_cast<u32>(bits >> 16 & 0x3fff) << 4),
        stride(static_cast<u32>(bits >> 32 & 0x3fff) << 4),
        base_offset(static_cast<u32>(bits >> 49 & 7)),
        swizzle(static_cast<u32>(bits >> 62)) {
    // Descriptors number the swizzles from the widest; tensor maps from the narrowest.
    if (swizzle != 0) swizzle = 4 - swizzle;
  }

  u32 width() const { return 16u << swizzle; }

  /// Where the 16 bytes of row `outer` (of M or N) that start at byte 16 * chunk of K are.
  u32 k_major(u32 outer, u32 chunk) const {
    const u32 row = start + outer / 8 * stride + outer % 8 * width();
    return swizzle_address(row + chunk * (swizzle == 0 ? leading : 16), swizzle);
  }

  /// Where the 8 elements of 16 bits are that start at 8 * chunk of M or N, for one k.
  u32 outer_major(u32 chunk, u32 k) const {
    const u32 per_atom = width() / 16;
    if (swizzle == 0) return start + chunk * stride + k / 8 * leading + k % 8 * 16;
    return swizzle_address(start + chunk / per_atom * leading + k / 8 * stride + k % 8 * width() +
                               chunk % per_atom * 16,
                           swizzle);
  }
};

/// One instruction, with what it needs when it happens.
struct Product {
  abi::Type a_type;
  abi::Type b_type;
  bool transpose_a;
  bool transpose_b;
  abi::Type sum_type;
  bool add;
  int columns;
  u64 a;
  u64 b;
  bool a_in_registers;
  std::vector<u32> a_words;  // 4 of each thread
  Cta* cta;

  int depth() const { return 32 / abi::type_bytes(a_type); }
};

/// Calls action(address, row, k, whether the 16 bytes lie along M or N) for each 16 bytes of an
/// operand of `outer` rows.
template <typename Action>
void for_chunks(const Product& p, bool of_a, int outer, const Action& action) {
  const Descriptor d(of_a ? p.a : p.b);
  if (of_a ? p.transpose_a : p.transpose_b) {
    for (u32 k = 0; k < static_cast<u32>(p.depth()); ++k) {
      for (u32 chunk = 0; chunk < static_cast<u32>(outer) / 8; ++chunk)
        action(d.outer_major(chunk, k), chunk * 8, k, true);
    }
  } else {
    for (u32 row = 0; row < static_cast<u32>(outer); ++row) {
      for (u32 chunk = 0; chunk < 2; ++chunk)
        action(d.k_major(row, chunk), row, chunk * 16 / static_cast<u32>(abi::type_bytes(p.a_type)),
               false);
    }
  }
}

/// values (64 x columns, row by row, as in Accumulators) += A B, or = A B.
void execute(const Product& product, float* values);

}  // namespace estoc::emulator
