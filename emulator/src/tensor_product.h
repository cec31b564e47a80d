// One tcgen05.mma: its descriptors, and the product that it is.
#pragma once

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

/// One operand of a product, of which each CTA of the group has `rows`.
struct TensorOperand {
  abi::Type type;
  bool outer_major;
  bool negated;
  u32 rows;
  TensorDescriptor from;

  u32 bytes() const { return static_cast<u32>(abi::type_bytes(type)); }
  u32 depth() const { return 32 / bytes(); }
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

  u32 own_rows() const { return m / group; }
  /// The halves of N lie one below the other.
  bool halved() const { return group == 2 && m == 128; }
  /// A row of M takes every second group of 16 lanes.
  bool spread() const { return group == 1 && m == 64; }
  u32 d_columns() const { return halved() ? n / 2 : n; }
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
  const u32 elements = 16 / o.bytes();
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
/// Adds it to the sums in the tensor memory of its CTAs.
void execute(const TensorProduct& product);

}  // namespace estoc::emulator
