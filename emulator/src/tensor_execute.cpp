// Products of tcgen05: operands are read as their descriptors say, and multiplied. Sums are those
// of published models that were compared with Blackwell GPUs bit by bit.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "aligned_product.h"
#include "numbers.h"
#include "product.h"
#include "tensor_product.h"

namespace estoc::emulator {
namespace {

using abi::Type;

// Terms of one instruction keep so many bits after that of the largest exponent.
constexpr int kTermBits = 25;

// All values of a type of up to 8 bits.
struct Values {
  explicit Values(Type type) {
    for (u32 bits = 0; bits < 256; ++bits)
      of[bits] = element_value(type, bits);
  }
  std::array<float, 256> of;
};

const float* values_of(Type type) {
  static const Values kE4m3(Type::e4m3);
  static const Values kE5m2(Type::e5m2);
  static const Values kE2m1(Type::e2m1);
  static const Values kE2m3(Type::e2m3);
  static const Values kE3m2(Type::e3m2);
  switch (type) {
    case Type::e4m3:
      return kE4m3.of.data();
    case Type::e5m2:
      return kE5m2.of.data();
    case Type::e2m3:
      return kE2m3.of.data();
    case Type::e3m2:
      return kE3m2.of.data();
    default:
      return kE2m1.of.data();
  }
}

// The elements of 16 bytes of shared memory, or of some in tensor memory, as numbers; returns how
// many.
u32 convert(const TensorOperand& o, const std::byte* from, u32 bytes, bool packed, float* to) {
  const u32 count = bytes * 8 / o.bits;
  const auto* const codes = reinterpret_cast<const u8*>(from);
  if (o.bits == 4) {
    const float* const values = values_of(o.type);
    for (u32 i = 0; i < count; ++i)
      to[i] = values[codes[i / 2] >> 4 * (i % 2) & 15];
  } else if (o.bits == 8) {
    u8 unpacked[16];
    const u8* own = codes;
    if (packed && o.data_bits() != 8) {
      unpack_small(from, o.data_bits(), unpacked);
      own = unpacked;
    }
    // In bytes of their own, elements of 4 bits have two below them.
    const u32 shift = !packed && o.data_bits() == 4 ? 2 : 0;
    const float* const values = values_of(o.type);
    for (u32 i = 0; i < count; ++i)
      to[i] = values[own[i] >> shift];
  } else if (o.bits == 16) {
    u16 halves[16];
    std::memcpy(halves, from, bytes);
    for (u32 i = 0; i < count; ++i)
      to[i] = o.type == Type::bf16 ? bfloat_to_float(halves[i]) : half_to_float(halves[i]);
  } else {
    u32 words[8];
    std::memcpy(words, from, bytes);
    for (u32 i = 0; i < count; ++i)
      to[i] = truncate_tf32(words[i]);
  }
  if (o.negated) {
    for (u32 i = 0; i < count; ++i)
      to[i] = -to[i];
  }
  return count;
}

u32 convert(const TensorOperand& o, const std::byte* from, u32 bytes, bool /*packed*/, u32* to) {
  for (u32 i = 0; i < bytes; ++i) {
    const auto code = std::to_integer<u8>(from[i]);
    to[i] = o.type == Type::i8 ? static_cast<u32>(static_cast<i32>(static_cast<i8>(code))) : code;
  }
  return bytes;
}

constexpr std::byte kNoBytes[16] = {};
constexpr u32 kMostDepth = 64;

// One CTA's part of an operand, from `to` with one stride for M or N and one for K.
template <typename Value>
void read_part(const TensorOperand& o, const Cta& cta, Value* to, std::size_t outer_stride,
               std::size_t k_stride) {
  const std::size_t size = cta.storage.size() - 1024;
  for_tensor_chunks(o, [&](u32 address, u32 row, u32 k, bool along_rows) {
    const u32 offset = address - kSharedBase;
    const bool exists = address >= kSharedBase && offset + 16 <= size;
    Value* place = to + row * outer_stride + k * k_stride;
    const std::size_t step = along_rows ? outer_stride : k_stride;
    if (step == 1) {
      convert(o, exists ? cta.shared + offset : kNoBytes, 16, true, place);
      return;
    }
    Value values[kMostDepth];
    const u32 count = convert(o, exists ? cta.shared + offset : kNoBytes, 16, true, values);
    for (u32 i = 0; i < count; ++i)
      place[i * step] = values[i];
  });
}

template <typename Value>
void read_from_tensor_memory(const TensorProduct& p, TensorMemory& memory, Value* to) {
  for (u32 row = 0; row < p.own_rows(); ++row) {
    const auto* from = reinterpret_cast<const std::byte*>(memory.row(p.lane(row, p.a_address)) +
                                                          (p.a_address & 0xffff));
    convert(p.a, from, 32, false, to + row * p.a.depth());
  }
}

// Calls action(lane, words of tensor memory, first of N, count) for the parts of a row of d.
template <typename Action>
void for_row_of_d(const TensorProduct& p, TensorMemory& memory, u32 row, const Action& action) {
  const auto part = [&](u32 lane, u32 first, u32 count) {
    action(lane, memory.row(lane) + (p.d & 0xffff), first, count);
  };
  part(p.lane(row, p.d), 0, p.d_columns());
  if (p.halved()) part(row + 64, p.n / 2, p.n / 2);
}

template <typename Value>
void load_sums(const TensorProduct& p, TensorMemory& memory, Value* sums) {
  for (u32 row = 0; row < p.own_rows(); ++row) {
    for_row_of_d(p, memory, row, [&](u32, const u32* words, u32 first, u32 count) {
      Value* const to = sums + row * p.n + first;
      if (p.sum != Type::f16) {
        std::memcpy(to, words, count * sizeof(Value));
        return;
      }
      for (u32 i = 0; i < count; ++i)
        to[i] = static_cast<Value>(half_to_float(words[i] & 0xffff));
    });
  }
}

// Sums of f16 are in the lower half of a column; what is in the upper one is not stated.
constexpr u32 kUnstated = 0xdead0000;

template <typename Value>
void store_sums(const TensorProduct& p, u32 cta, const Value* sums) {
  TensorMemory& memory = tensor_memory(*p.ctas[cta]);
  for (u32 row = 0; row < p.own_rows(); ++row) {
    for_row_of_d(p, memory, row, [&](u32 lane, u32* words, u32 first, u32 count) {
      if (!p.writes(cta, lane)) return;
      const Value* const from = sums + row * p.n + first;
      if (p.sum != Type::f16) {
        std::memcpy(words, from, count * sizeof(Value));
        return;
      }
      for (u32 i = 0; i < count; ++i) {
        const u32 half = float_to_half(static_cast<float>(from[i]));
        words[i] = ((half & 0x7fff) == 0 ? 0 : half) | kUnstated;
      }
    });
  }
}

// The exponent of the least normal number of a type.
int least_exponent(Type type) {
  switch (type) {
    case Type::f16:
    case Type::e5m2:
      return -14;
    case Type::e4m3:
      return -6;
    case Type::e3m2:
      return -2;
    case Type::e2m3:
    case Type::e2m1:
      return 0;
    default:
      return -126;
  }
}

// The numbers of one instruction, kept for the next of this host thread.
template <typename Value>
struct Numbers {
  std::vector<Value> a;
  std::vector<Value> b;
  std::vector<Value> sums;
};

void multiply_plain(const TensorProduct& p, Numbers<float>& n) {
  multiply_aligned(n.sums.data(), {n.a.data(), least_exponent(p.a.type)},
                   {n.b.data(), least_exponent(p.b.type)}, static_cast<int>(p.own_rows()),
                   static_cast<int>(p.n), static_cast<int>(p.b.depth()),
                   {kTermBits, 23, p.sum == Type::f16, -p.halvings});
}

// Each row has one scale, a power of two.
void multiply_scaled(const TensorProduct& p, TensorMemory& memory, Numbers<float>& n) {
  thread_local std::vector<int> of_a;
  thread_local std::vector<int> of_b;
  const TensorBlocks& s = p.blocks;
  const auto exponents = [&](u32 words, u32 first, u32 rows, std::vector<int>& to) {
    to.resize(rows);
    for_scales(s, memory, words, first, rows, 1, [&](u32 row, u32, const TensorScale& scale) {
      to[row] = std::isnan(scale.significand) ? kNanScale : scale.exponent;
    });
  };
  exponents(s.a, s.a_first, p.own_rows(), of_a);
  exponents(s.b, s.b_first, p.n, of_b);
  multiply_aligned(n.sums.data(), {n.a.data(), least_exponent(p.a.type), of_a.data()},
                   {n.b.data(), least_exponent(p.b.type), of_b.data()},
                   static_cast<int>(p.own_rows()), static_cast<int>(p.n),
                   static_cast<int>(p.b.depth()), {kTermBits, 23});
}

// Significands and exponents of scales, for each group of a row.
struct Scales {
  std::vector<float> significands;
  std::vector<int> exponents;

  void resize(std::size_t size) {
    significands.resize(size);
    exponents.resize(size);
  }
  void set(std::size_t i, const TensorScale& scale) {
    significands[i] = scale.significand;
    exponents[i] = scale.exponent;
  }
  GroupScales view() const { return {significands.data(), exponents.data()}; }
};

void multiply_in_groups(const TensorProduct& p, TensorMemory& memory, Numbers<float>& n) {
  thread_local std::vector<float> grouped;
  thread_local Scales of_a;
  thread_local Scales of_b;
  const TensorBlocks& s = p.blocks;
  const u32 depth = p.b.depth();
  const u32 groups = depth / kGroupDepth;
  const u32 each = s.size / kGroupDepth;  // groups that share a scale
  const u32 rows = p.own_rows();
  grouped.resize(n.a.size());
  for (u32 row = 0; row < rows; ++row) {
    for (u32 g = 0; g < groups; ++g) {
      std::copy_n(n.a.data() + row * depth + g * kGroupDepth, kGroupDepth,
                  grouped.data() + (g * rows + row) * kGroupDepth);
    }
  }
  of_a.resize(std::size_t{rows} * groups);
  of_b.resize(std::size_t{groups} * p.n);
  for_scales(s, memory, s.a, s.a_first, rows, depth / s.size,
             [&](u32 row, u32 block, const TensorScale& scale) {
               for (u32 g = block * each; g < (block + 1) * each; ++g)
                 of_a.set(row * groups + g, scale);
             });
  for_scales(s, memory, s.b, s.b_first, p.n, depth / s.size,
             [&](u32 column, u32 block, const TensorScale& scale) {
               for (u32 g = block * each; g < (block + 1) * each; ++g)
                 of_b.set(g * p.n + column, scale);
             });
  multiply_groups(n.sums.data(), grouped.data(), of_a.view(), n.b.data(), of_b.view(),
                  static_cast<int>(rows), static_cast<int>(p.n), static_cast<int>(groups));
}

template <typename Value>
void execute_tensor(const TensorProduct& p) {
  thread_local Numbers<Value> n;
  const u32 depth = p.b.depth();
  n.a.resize(std::size_t{p.own_rows()} * depth);
  n.b.resize(std::size_t{depth} * p.n);
  for (u32 i = 0; i < p.group; ++i)
    read_part(p.b, *p.ctas[i], n.b.data() + i * p.b.rows, 1, p.n);
  for (u32 i = 0; i < p.group; ++i) {
    TensorMemory& memory = tensor_memory(*p.ctas[i]);
    if (p.a_in_tensor_memory) {
      read_from_tensor_memory(p, memory, n.a.data());
    } else {
      read_part(p.a, *p.ctas[i], n.a.data(), depth, 1);
    }
    n.sums.assign(std::size_t{p.own_rows()} * p.n, Value{});
    if (p.add) load_sums(p, memory, n.sums.data());
    if constexpr (std::is_same_v<Value, u32>) {
      multiply(n.sums.data(), n.a.data(), n.b.data(), static_cast<int>(p.own_rows()),
               static_cast<int>(p.n), static_cast<int>(depth));
    } else if (p.blocks.size == 0) {
      multiply_plain(p, n);
    } else if (p.a.bits == 4) {  // each CTA multiplies by the scales of B that it has
      multiply_in_groups(p, memory, n);
    } else {
      multiply_scaled(p, memory, n);
    }
    store_sums(p, i, n.sums.data());
  }
}

}  // namespace

void unpack_small(const std::byte* from, u32 bits, u8* codes) {
  u64 words[2] = {};
  std::memcpy(words, from, 16);
  for (u32 i = 0; i < 16; ++i) {
    const u32 at = i * bits;
    u64 code = words[at / 64] >> at % 64;
    if (at % 64 + bits > 64) code |= words[1] << (64 - at % 64);
    codes[i] = static_cast<u8>(code & ((1u << bits) - 1));
  }
}

void execute(const TensorProduct& p) {
  if (p.sum == Type::i32) return execute_tensor<u32>(p);
  execute_tensor<float>(p);
}

}  // namespace estoc::emulator
