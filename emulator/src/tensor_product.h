// One tcgen05.mma: its descriptors, and the product that it is.
#pragma once

#include <bit>
#include <optional>

#include "tensor_memory.h"

namespace estoc::emulator {

/// An operand in shared memory, as its descriptor says (PTX ISA 9.7.16.4.1).
struct TensorDescriptor {
  u64 bits;
  u32 start;
  u32 leading;
  u32 stride;
  abi::Tcgen05Swizzle swizzle;

  explicit TensorDescriptor(u64 descriptor)
      : bits(descriptor),
        start(static_cast<u32>(bits & 0x3fff) << 4),
        leading(static_cast<u32>(bits >> 16 & 0x3fff) << 4),
        stride(static_cast<u32>(bits >> 32 & 0x3fff) << 4),
        swizzle(static_cast<abi::Tcgen05Swizzle>(bits >> 61)) {}

  /// Bytes of the rows that the swizzle exchanges chunks of.
  u32 span() const;
  /// Bytes after which its pattern repeats.
  u32 pattern() const;
  /// Where 16 bytes are: of row `outer` of M or N, those from byte 16 * chunk of K on.
  u32 k_major(u32 outer, u32 chunk) const;
  /// Those of K `k` from byte 16 * chunk of M or N on.
  u32 outer_major(u32 chunk, u32 k) const;

 private:
  u32 swizzled(u32 address) const;
};

/// Bits of an element of a type that takes `bits`: fewer where it is padded.
inline u32 small_bits(abi::Type type, u32 bits) {
  if (bits != 8) return bits;
  if (type == abi::Type::e2m1) return 4;
  return type == abi::Type::e2m3 || type == abi::Type::e3m2 ? 6 : 8;
}

/// One operand of a product, of which each CTA of the group has `rows`.
struct TensorOperand {
  abi::Type type;
  u32 bits;  ///< that an element takes
  bool outer_major;
  bool negated;
  u32 rows;
  TensorDescriptor from;

  u32 depth() const { return 256 / bits; }
  /// Bits of an element without what pads it.
  u32 data_bits() const { return small_bits(type, bits); }
  /// Bytes in front of 16 that hold elements.
  u32 data_bytes() const { return 16 * data_bits() / bits; }
};

/// The scales of blocks of a product: words of tensor memory, and where its bytes begin in them.
struct TensorBlocks {
  u32 size = 0;  ///< elements along K that share a scale; 0: there are none
  abi::Type type = abi::Type::f32;
  u32 a = 0;
  u32 b = 0;
  u32 a_first = 0;
  u32 b_first = 0;
};

struct TensorProduct {
  TensorOperand a;
  TensorOperand b;
  abi::Type sum;
  u32 group;
  u32 m;
  u32 n;
  u32 d;
  u32 a_address;  ///< in tensor memory, where it is there
  bool a_in_tensor_memory;
  bool add;
  std::array<Cta*, 2> ctas;
  TensorBlocks blocks{};
  int halvings = 0;
  std::array<u32, 8> disabled{};

  /// Lanes of d that a CTA of the group writes: bit i is lane i % 32 of word i / 32.
  bool writes(u32 cta, u32 lane) const {
    return (disabled[4 * cta + lane / 32] >> lane % 32 & 1) == 0;
  }
  /// Groups of eight lanes of which a CTA writes some.
  u16 written(u32 cta) const {
    u16 groups = 0;
    for (u32 i = 0; i < 16; ++i) {
      const u32 off = disabled[4 * cta + i / 4] >> 8 * (i % 4) & 0xff;
      groups = static_cast<u16>(groups | (off == 0xff ? 0u : 1u << i));
    }
    return groups;
  }
  u32 own_rows() const { return m / group; }
  /// The halves of N lie one below the other.
  bool halved() const { return group == 2 && m == 128; }
  /// A row of M takes every second group of 16 lanes.
  bool spread() const { return group == 1 && m == 64; }
  u32 d_columns() const { return halved() ? n / 2 : n; }
  /// Columns of tensor memory that the scales of a CTA's rows take, and those of all columns.
  u32 a_scale_columns() const { return (own_rows() + 31) / 32; }
  u32 b_scale_columns() const { return (n + 31) / 32; }
  u16 lanes(u32 address) const {
    if (!spread()) return 0xffff;
    return static_cast<u16>(address >> 16 == 16 ? 0xcccc : 0x3333);
  }
  /// The lane of a row of this CTA, for an accumulator or an operand at `address`.
  u32 lane(u32 row, u32 address) const {
    return spread() ? row % 16 + row / 16 * 32 + (address >> 16) : row;
  }
};

/// Calls action(address, row, k, whether the 16 bytes lie along M or N) for each 16 bytes of one
/// CTA's part of an operand.
template <typename Action>
void for_tensor_chunks(const TensorOperand& o, const Action& action) {
  const u32 elements = 128 / o.bits;
  if (o.outer_major) {
    for (u32 k = 0; k < o.depth(); ++k) {
      for (u32 chunk = 0; chunk < o.rows / elements; ++chunk)
        action(o.from.outer_major(chunk, k), chunk * elements, k, true);
    }
    return;
  }
  for (u32 row = 0; row < o.rows; ++row) {
    for (u32 chunk = 0; chunk < 2; ++chunk)
      action(o.from.k_major(row, chunk), row, chunk * elements, false);
  }
}

/// The product that the descriptors state; reports what no instruction is, and what is not
/// modelled.
std::optional<TensorProduct> decode_product(Thread& thread, const TensorOperands& operands,
                                            Site site);
/// The blocks that the operands and the instruction descriptor state; reports what is none.
std::optional<TensorBlocks> decode_blocks(Thread& thread, const TensorOperands& operands,
                                          const abi::Tcgen05Product& product, Site site);
/// A scale: its significand, below 1 where it is subnormal, times 2^exponent. NaN has one of NaN.
struct TensorScale {
  float significand;
  int exponent;
};
/// That of a byte of type e8m0 or e4m3, of which that has no sign.
TensorScale tensor_scale(abi::Type type, u32 byte);

/// Calls action(row, block, scale) for the scales of each of `rows` rows, which lie at `words` with
/// the first byte `first`. Each quarter of the lanes has a copy of its own; where they differ the
/// scale is NaN.
template <typename Action>
void for_scales(const TensorBlocks& blocks, TensorMemory& memory, u32 words, u32 first, u32 rows,
                u32 count, const Action& action) {
  constexpr u32 kQuarter = 32;
  for (u32 row = 0; row < rows; ++row) {
    const u32 column = (words & 0xffff) + row / kQuarter;
    const u32 word = memory.row(row % kQuarter)[column];
    bool same = true;
    for (u32 lane = row % kQuarter; lane < kTensorLanes; lane += kQuarter)
      same = same && memory.row(lane)[column] == word;
    for (u32 block = 0; block < count; ++block) {
      action(row, block,
             same ? tensor_scale(blocks.type, word >> 8 * (first + block) & 0xff)
                  : TensorScale{std::bit_cast<float>(0x7fffffffu), 0});
    }
  }
}
/// 16 elements of 4 or 6 bits in front of 16 bytes, each in a byte of its own.
void unpack_small(const std::byte* from, u32 bits, u8* codes);
/// Adds it to the sums in the tensor memory of its CTAs.
void execute(const TensorProduct& product);

}  // namespace estoc::emulator
