// Products of a warpgroup: operands are read as their descriptors say, and multiplied.
#include "wgmma_product.h"

#include <algorithm>
#include <cstring>

#include "numbers.h"
#include "product.h"

namespace estoc::emulator {
namespace {

using abi::Type;

template <typename Value>
Value to_value(Type type, u32 bits) {
  if constexpr (std::is_same_v<Value, float>) {
    return element_value(type, bits);
  } else {
    return type == Type::i8 ? static_cast<u32>(static_cast<i32>(static_cast<i8>(bits)))
                            : bits & 0xff;
  }
}

// The elements of 16 bytes.
template <typename Value>
void convert(Type type, const std::byte* memory, Value (&values)[16]) {
  const auto bytes = static_cast<u32>(abi::type_bytes(type));
  u16 halves[8];
  std::memcpy(halves, memory, 16);
  if constexpr (std::is_same_v<Value, float>) {
    if (type == Type::bf16) {
      for (int i = 0; i < 8; ++i)
        values[i] = bfloat_to_float(halves[i]);
      return;
    }
  }
  for (u32 i = 0; i < 16 / bytes; ++i) {
    u32 bits = 0;
    std::memcpy(&bits, memory + i * bytes, bytes);
    values[i] = to_value<Value>(type, bits);
  }
}

// The operand as numbers, from `to` with one stride for M or N and one for K.
template <typename Value>
void read_operand(const Product& p, bool of_a, int outer, Value* to, std::size_t outer_stride,
                  std::size_t k_stride) {
  const Type type = of_a ? p.a_type : p.b_type;
  const u32 count = 16 / static_cast<u32>(abi::type_bytes(type));
  const std::size_t size = p.cta->storage.size() - 1024;
  for_chunks(p, of_a, outer, [&](u32 address, u32 row, u32 k, bool along_rows) {
    if (address < kSharedBase || address + 16 - kSharedBase > size) return;
    Value values[16];
    convert(type, p.cta->shared + (address - kSharedBase), values);
    Value* place = to + row * outer_stride + k * k_stride;
    const std::size_t step = along_rows ? outer_stride : k_stride;
    for (u32 i = 0; i < count; ++i)
      place[i * step] = values[i];
  });
}

// A from registers: word 2 * h + g of thread t.
template <typename Value>
void read_registers(const Product& p, std::vector<Value>& a) {
  const auto bytes = static_cast<u32>(abi::type_bytes(p.a_type));
  const u32 per_word = 4 / bytes;
  const auto depth = static_cast<u32>(p.depth());
  for (u32 t = 0; t < kGroupThreads; ++t) {
    for (u32 w = 0; w < 4; ++w) {
      const u32 row = 16 * (t / 32) + t % 32 / 4 + 8 * (w % 2);
      const u32 k = (w / 2 * 4 + t % 4) * per_word;
      for (u32 e = 0; e < per_word; ++e) {
        a[row * depth + k + e] = to_value<Value>(p.a_type, p.a_words[4 * t + w] >> (8 * bytes * e));
      }
    }
  }
}

template <typename Value>
void execute_as(const Product& p, Value* sums) {
  const auto depth = static_cast<std::size_t>(p.depth());
  const auto columns = static_cast<std::size_t>(p.columns);
  std::vector<Value> a(kProductRows * depth);
  std::vector<Value> b(depth * columns);
  if (p.a_in_registers) {
    read_registers(p, a);
  } else {
    read_operand(p, true, kProductRows, a.data(), depth, 1);
  }
  read_operand(p, false, p.columns, b.data(), 1, columns);
  if (!p.add) std::fill_n(sums, kProductRows * columns, Value{});
  if constexpr (std::is_same_v<Value, float>) {
    if (abi::type_bytes(p.a_type) == 1 && Machine::current().options().narrow_fp8_sums) {
      multiply_narrow(sums, a.data(), b.data(), kProductRows, p.columns, p.depth());
      return;
    }
  }
  multiply(sums, a.data(), b.data(), kProductRows, p.columns, p.depth());
}

}  // namespace

void execute(const Product& p, float* values) {
  if (p.integers) {
    execute_as(p, reinterpret_cast<u32*>(values));
  } else {
    execute_as(p, values);
  }
}

}  // namespace estoc::emulator
