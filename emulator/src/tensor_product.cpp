// Products of tcgen05: their descriptors are decoded and checked.
#include "tensor_product.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

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
    case Tcgen05Kind::mxf8f6f4: {
      constexpr Type kNone = Type::boolean;
      constexpr Type kTypes[] = {Type::e4m3, Type::e5m2, kNone, Type::e2m3,
                                 Type::e3m2, Type::e2m1, kNone, kNone};
      return kTypes[code] == kNone ? std::nullopt : std::optional(kTypes[code]);
    }
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
  const auto size = static_cast<u32>(stated.container_bits());
  TensorProduct p{{*a, size, a_m_major, (bits >> 13 & 1) != 0, m / o.group, TensorDescriptor(o.a)},
                  {*b, size, b_n_major, (bits >> 14 & 1) != 0, n / o.group, TensorDescriptor(o.b)},
                  *sum,
                  o.group,
                  m,
                  n,
                  o.d,
                  static_cast<u32>(o.a),
                  o.a_in_tensor_memory,
                  o.add,
                  {&cta, o.group == 2 ? cta.cluster->ctas[cta.rank ^ 1].get() : nullptr},
                  *blocks,
                  o.halvings};
  std::copy_n(o.disabled, p.disabled.size(), p.disabled.begin());
  if (o.a_in_tensor_memory && (a_m_major || p.halved())) {
    return refuse(a_m_major ? "A in tensor memory is K-major"
                            : "A in tensor memory is not modelled for a pair with 128 rows");
  }
  if (!o.a_in_tensor_memory && !check_operand(thread, p.a, "A", site)) return std::nullopt;
  if (!check_operand(thread, p.b, "B", site)) return std::nullopt;
  return p;
}

}  // namespace estoc::emulator
