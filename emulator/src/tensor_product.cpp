// Products of tcgen05: descriptors are decoded and checked, operands read as they say, and
// multiplied. Products are exact; sums are added up in f32, K ascending, those with scales of
// blocks in f64 and rounded once an instruction. A Blackwell GPU aligns all products of an
// instruction to the largest and cuts off below 25 bits (35 of e2m1 with scales), which is not
// modelled.
#include "tensor_product.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <type_traits>

#include "numbers.h"
#include "product.h"

namespace estoc::emulator {
namespace {

using abi::Tcgen05Kind;
using abi::Tcgen05Swizzle;
using abi::Type;

void report_descriptor(Thread& thread, Site site, u64 bits, std::string message) {
  Machine::current().report(Fault::bad_descriptor, thread, site, bits == 0 ? 1 : bits,
                            std::move(message));
}

std::optional<Type> type_of(Tcgen05Kind kind, u32 code) {
  switch (kind) {
    case Tcgen05Kind::f16:
      if (code < 2) return code == 0 ? Type::f16 : Type::bf16;
      return std::nullopt;
    case Tcgen05Kind::tf32:
      return code == 2 ? std::optional(Type::tf32) : std::nullopt;
    case Tcgen05Kind::f8f6f4:
    case Tcgen05Kind::mxf8f6f4:
      if (code < 2) return code == 0 ? Type::e4m3 : Type::e5m2;
      return std::nullopt;
    case Tcgen05Kind::mxf4:
    case Tcgen05Kind::mxf4nvf4:
      return code == 1 ? std::optional(Type::e2m1) : std::nullopt;
    default:
      if (code < 2) return code == 0 ? Type::u8 : Type::i8;
      return std::nullopt;
  }
}

std::optional<Type> sum_type_of(Tcgen05Kind kind, u32 code) {
  if (abi::takes_scales(kind)) return Type::f32;
  constexpr Type kTypes[] = {Type::f16, Type::f32, Type::i32};
  if (code > 2) return std::nullopt;
  return kTypes[code];
}

// What instruction descriptors may not have, or what is not modelled of it.
const char* instruction_problem(const TensorOperands& o) {
  const u32 bits = o.instruction;
  if ((bits & 7) != 0) return "its bits 0 to 2 make it sparse, which tcgen05.mma is not";
  if ((bits >> 3 & 1) != 0) return "sums that saturate are not modelled";
  if (abi::takes_scales(o.kind)) {
    if ((bits >> 6 & 1) != 0) return "its bit 6 is not 0";
    return (bits >> 31) != 0 ? "products of 96 along K are not modelled" : nullptr;
  }
  if ((bits >> 6 & 1) != 0 || (bits >> 23 & 1) != 0 || (bits >> 29) != 0) {
    return "its bits 6, 23 and 29 to 31 are not 0";
  }
  if (o.kind == Tcgen05Kind::i8 && (bits >> 13 & 3) != 0) return "integers are not negated";
  return nullptr;
}

// What descriptors of shared memory may not have, or what is not modelled of it.
const char* operand_problem(const TensorOperand& o) {
  const TensorDescriptor& d = o.from;
  const auto code = static_cast<u32>(d.swizzle);
  if ((d.bits >> 46 & 7) != 1) return "its bits 46 to 48 are not 001";
  if ((d.bits & 0x1fe00000c000c000) != 0) return "its bits 14, 15, 30, 31 and 53 to 60 are not 0";
  if (code == 3 || code == 5 || code == 7) return "its bits 61 to 63 are no swizzle";
  if ((d.bits >> 49 & 7) != 0) {
    return "a base offset is not modelled: let the pattern start at a multiple of its size";
  }
  if ((d.bits >> 52 & 1) != 0) return "a leading offset that is an address is not modelled";
  const bool atoms = d.swizzle == Tcgen05Swizzle::bytes128_atom32;
  if (o.outer_major && atoms != (o.type == Type::tf32)) {
    return "M- or N-major tf32 has 128 bytes swizzled in atoms of 32, and no other type has";
  }
  if (!o.outer_major && atoms) return "K-major operands with atoms of 32 bytes are not modelled";
  if (d.swizzle == Tcgen05Swizzle::none) {
    return !o.outer_major && d.leading == 0
               ? "without a swizzle the leading offset, from 16 bytes of K to the next, is not 0"
               : nullptr;
  }
  if (d.start % d.pattern() >= d.span()) {
    return "it does not start in the first row of its swizzle's pattern, and has no base offset";
  }
  if (o.outer_major ? d.start % d.span() != 0 : d.start % d.span() + 32 > d.span()) {
    return "it leaves the row of its swizzle";
  }
  if (d.stride % d.pattern() != 0 || (o.outer_major && d.leading % d.pattern() != 0)) {
    return "its offsets are no multiples of its swizzle's pattern";
  }
  return nullptr;
}

bool check_operand(Thread& thread, const TensorOperand& o, const char* name, Site site) {
  const char* wrong = operand_problem(o);
  if (wrong == nullptr) return true;
  report_descriptor(thread, site, o.from.bits,
                    fmt::format("the descriptor of {} is {:#x}: {}", name, o.from.bits, wrong));
  return false;
}

const char* const kKindNames[] = {"f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"};

// A scaled kind's scales are of e8m0 where bit 23 is set.
Type scale_type_of(const TensorOperands& o) {
  if (!abi::takes_scales(o.kind)) return Type::f32;
  return (o.instruction >> 23 & 1) != 0 ? Type::e8m0 : Type::e4m3;
}

}  // namespace

u32 TensorDescriptor::span() const {
  switch (swizzle) {
    case Tcgen05Swizzle::none:
      return 16;
    case Tcgen05Swizzle::bytes32:
      return 32;
    case Tcgen05Swizzle::bytes64:
      return 64;
    default:
      return 128;
  }
}

u32 TensorDescriptor::pattern() const {
  return swizzle == Tcgen05Swizzle::bytes128_atom32 ? 512 : 8 * span();
}

u32 TensorDescriptor::swizzled(u32 address) const {
  if (swizzle == Tcgen05Swizzle::bytes128_atom32) return address ^ (address >> 2 & 0x60);
  return address ^ (address >> 3 & (span() - 16));
}

u32 TensorDescriptor::k_major(u32 outer, u32 chunk) const {
  if (swizzle == Tcgen05Swizzle::none) {
    return start + outer / 8 * stride + outer % 8 * 16 + chunk * leading;
  }
  return swizzled(start + outer / 8 * stride + outer % 8 * span() + chunk * 16);
}

u32 TensorDescriptor::outer_major(u32 chunk, u32 k) const {
  if (swizzle == Tcgen05Swizzle::none) {
    return start + chunk * stride + k / 8 * leading + k % 8 * 16;
  }
  const u32 rows = pattern() / span();
  const u32 byte = 16 * chunk;
  return swizzled(start + byte / span() * leading + k / rows * stride + k % rows * span() +
                  byte % span());
}

std::optional<TensorProduct> decode_product(Thread& thread, const TensorOperands& o, Site site) {
  const u32 bits = o.instruction;
  const std::optional<Type> a = type_of(o.kind, bits >> 7 & 7);
  const std::optional<Type> b = type_of(o.kind, bits >> 10 & 7);
  const std::optional<Type> sum = sum_type_of(o.kind, bits >> 4 & 3);
  const u32 n = (bits >> 17 & 0x3f) * 8;
  const u32 m = (bits >> 24 & 0x1f) * 16;
  const char* const kind = kKindNames[static_cast<std::size_t>(o.kind)];
  const auto refuse = [&](const std::string& why) {
    report_descriptor(
        thread, site, bits,
        fmt::format("the instruction descriptor {:#010x} of kind::{}: {}", bits, kind, why));
    return std::nullopt;
  };
  if (const char* wrong = instruction_problem(o)) return refuse(wrong);
  if (!a || !b || !sum) {
    return refuse(fmt::format("types {} and {} with sums {} are none of this kind that is modelled",
                              bits >> 7 & 7, bits >> 10 & 7, bits >> 4 & 3));
  }
  const bool a_m_major = (bits >> 15 & 1) != 0;
  const bool b_n_major = (bits >> 16 & 1) != 0;
  const abi::Tcgen05Product stated{o.kind,
                                   *a,
                                   *b,
                                   *sum,
                                   static_cast<int>(o.group),
                                   static_cast<int>(m),
                                   static_cast<int>(n),
                                   a_m_major,
                                   b_n_major,
                                   o.scales.block,
                                   scale_type_of(o)};
  if (!stated.is_legal()) {
    return refuse(fmt::format("no product of cta_group::{} has M {} and N {} with these types",
                              o.group, m, n));
  }
  const std::optional<TensorBlocks> blocks = decode_blocks(thread, o, stated, site);
  if (!blocks) return std::nullopt;
  Cta& cta = *thread.cta;
  TensorProduct p{{*a, a_m_major, (bits >> 13 & 1) != 0, m / o.group, TensorDescriptor(o.a)},
                  {*b, b_n_major, (bits >> 14 & 1) != 0, n / o.group, TensorDescriptor(o.b)},
                  *sum,
                  o.group,
                  m,
                  n,
                  o.d,
                  static_cast<u32>(o.a),
                  o.a_in_tensor_memory,
                  o.add,
                  {&cta, o.group == 2 ? cta.cluster->ctas[cta.rank ^ 1].get() : nullptr},
                  *blocks};
  if (o.a_in_tensor_memory && (a_m_major || p.halved())) {
    return refuse(a_m_major ? "A in tensor memory is K-major"
                            : "A in tensor memory is not modelled for a pair with 128 rows");
  }
  if (!o.a_in_tensor_memory && !check_operand(thread, p.a, "A", site)) return std::nullopt;
  if (!check_operand(thread, p.b, "B", site)) return std::nullopt;
  return p;
}

namespace {

template <typename Value>
Value tensor_value(Type type, u32 bits) {
  if constexpr (std::is_floating_point_v<Value>) {
    return static_cast<Value>(element_value(type, bits));
  } else {
    return type == Type::i8 ? static_cast<u32>(static_cast<i32>(static_cast<i8>(bits)))
                            : bits & 0xff;
  }
}

// Element number `i` of a row of bytes.
u32 element_bits(const TensorOperand& o, const std::byte* from, u32 i) {
  if (o.bits() == 4) return std::to_integer<u32>(from[i / 2]) >> 4 * (i % 2) & 15;
  u32 bits = 0;
  std::memcpy(&bits, from + std::size_t{i} * o.bits() / 8, o.bits() / 8);
  return bits;
}

// One CTA's part of an operand, from `to` with one stride for M or N and one for K.
template <typename Value>
void read_part(const TensorOperand& o, const Cta& cta, Value* to, std::size_t outer_stride,
               std::size_t k_stride) {
  const std::size_t size = cta.storage.size() - 1024;
  for_tensor_chunks(o, [&](u32 address, u32 row, u32 k, bool along_rows) {
    std::byte chunk[16] = {};
    const u32 offset = address - kSharedBase;
    if (address >= kSharedBase && offset + 16 <= size) std::memcpy(chunk, cta.shared + offset, 16);
    Value* place = to + row * outer_stride + k * k_stride;
    const std::size_t step = along_rows ? outer_stride : k_stride;
    for (u32 i = 0; i < 128 / o.bits(); ++i) {
      const auto value = tensor_value<Value>(o.type, element_bits(o, chunk, i));
      place[i * step] = o.negated ? Value{} - value : value;
    }
  });
}

template <typename Value>
void read_from_tensor_memory(const TensorProduct& p, TensorMemory& memory, Value* to) {
  for (u32 row = 0; row < p.own_rows(); ++row) {
    const auto* from = reinterpret_cast<const std::byte*>(memory.row(p.lane(row, p.a_address)) +
                                                          (p.a_address & 0xffff));
    for (u32 k = 0; k < p.a.depth(); ++k) {
      const auto value = tensor_value<Value>(p.a.type, element_bits(p.a, from, k));
      to[row * p.a.depth() + k] = p.a.negated ? Value{} - value : value;
    }
  }
}

// Calls action(words of tensor memory, first of N, count) for the parts of a row of d.
template <typename Action>
void for_row_of_d(const TensorProduct& p, TensorMemory& memory, u32 row, const Action& action) {
  const u32 column = p.d & 0xffff;
  action(memory.row(p.lane(row, p.d)) + column, 0u, p.d_columns());
  if (p.halved()) action(memory.row(row + 64) + column, p.n / 2, p.n / 2);
}

template <typename Value>
void load_sums(const TensorProduct& p, TensorMemory& memory, Value* sums) {
  for (u32 row = 0; row < p.own_rows(); ++row) {
    for_row_of_d(p, memory, row, [&](const u32* words, u32 first, u32 count) {
      Value* to = sums + row * p.n + first;
      for (u32 i = 0; i < count; ++i) {
        if constexpr (std::is_floating_point_v<Value>) {
          to[i] = static_cast<Value>(p.sum == Type::f16 ? half_to_float(words[i] & 0xffff)
                                                        : std::bit_cast<float>(words[i]));
        } else {
          to[i] = words[i];
        }
      }
    });
  }
}

// Sums of f16 are in the lower half of a column; what is in the upper one is not stated.
constexpr u32 kUnstated = 0xdead0000;

template <typename Value>
void store_sums(const TensorProduct& p, TensorMemory& memory, const Value* sums) {
  for (u32 row = 0; row < p.own_rows(); ++row) {
    for_row_of_d(p, memory, row, [&](u32* words, u32 first, u32 count) {
      const Value* from = sums + row * p.n + first;
      for (u32 i = 0; i < count; ++i) {
        if constexpr (std::is_floating_point_v<Value>) {
          const auto sum = static_cast<float>(from[i]);
          words[i] = p.sum == Type::f16 ? float_to_half(sum) | kUnstated : std::bit_cast<u32>(sum);
        } else {
          words[i] = from[i];
        }
      }
    });
  }
}

template <typename Value>
void execute_tensor(const TensorProduct& p) {
  thread_local std::vector<Value> a;
  thread_local std::vector<Value> b;
  thread_local std::vector<Value> scaled;
  thread_local std::vector<Value> sums;
  const u32 depth = p.b.depth();
  a.resize(std::size_t{p.own_rows()} * depth);
  b.resize(std::size_t{depth} * p.n);
  for (u32 i = 0; i < p.group; ++i)
    read_part(p.b, *p.ctas[i], b.data() + i * p.b.rows, 1, p.n);
  for (u32 i = 0; i < p.group; ++i) {
    TensorMemory& memory = tensor_memory(*p.ctas[i]);
    if (p.a_in_tensor_memory) {
      read_from_tensor_memory(p, memory, a.data());
    } else {
      read_part(p.a, *p.ctas[i], a.data(), depth, 1);
    }
    if constexpr (std::is_same_v<Value, double>) {
      const TensorBlocks& s = p.blocks;
      apply_scales(s, memory, s.a, s.a_first, p.own_rows(), depth, a.data(), depth, 1);
      // Each CTA multiplies by the scales of B that it has.
      scaled = b;
      apply_scales(s, memory, s.b, s.b_first, p.n, depth, scaled.data(), 1, p.n);
    }
    sums.assign(std::size_t{p.own_rows()} * p.n, Value{});
    if (p.add) load_sums(p, memory, sums.data());
    const Value* const factors = p.blocks.size > 0 ? scaled.data() : b.data();
    multiply(sums.data(), a.data(), factors, static_cast<int>(p.own_rows()), static_cast<int>(p.n),
             static_cast<int>(depth));
    store_sums(p, memory, sums.data());
  }
}

}  // namespace

void execute(const TensorProduct& p) {
  if (p.sum == Type::i32) return execute_tensor<u32>(p);
  if (p.blocks.size > 0) return execute_tensor<double>(p);
  execute_tensor<float>(p);
}

}  // namespace estoc::emulator
