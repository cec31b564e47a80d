// Products of a warpgroup: operands are read as their descriptors say, and multiplied.
#include "wgmma_product.h"

#include <algorithm>
#include <cstring>

#include "aligned_product.h"
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

// Eight numbers of 16 bits each.
using Halves __attribute__((vector_size(16))) = u16;
constexpr u32 kHalves = 8;

[[gnu::always_inline]] inline void convert_halves(Type type, const Halves& halves, float* values) {
  if (type == Type::bf16) {
    for (u32 i = 0; i < kHalves; ++i)
      values[i] = bfloat_to_float(halves[i]);
  } else {
    for (u32 i = 0; i < kHalves; ++i)
      values[i] = half_to_float(halves[i]);
  }
}

// The elements of 16 bytes.
template <typename Value>
void convert(Type type, const std::byte* memory, Value (&values)[16]) {
  if constexpr (std::is_same_v<Value, float>) {
    if (type == Type::bf16 || type == Type::f16) {
      Halves halves;
      std::memcpy(&halves, memory, sizeof(halves));
      return convert_halves(type, halves, values);
    }
  }
  const auto bytes = static_cast<u32>(abi::type_bytes(type));
  for (u32 i = 0; i < 16 / bytes; ++i) {
    u32 bits = 0;
    std::memcpy(&bits, memory + i * bytes, bytes);
    values[i] = to_value<Value>(type, bits);
  }
}

constexpr std::byte kNothing[16] = {};

// The 16 bytes at an address of shared memory; zeros where there is none.
const std::byte* chunk_at(const Product& p, u32 address) {
  const std::size_t size = p.cta->storage.size() - 1024;
  if (address < kSharedBase || address + 16 - kSharedBase > size) return kNothing;
  return p.cta->shared + (address - kSharedBase);
}

// Rows become columns: three times, the first four and the last four are interleaved.
void transpose(Halves (&rows)[kHalves]) {
  for (int round = 0; round < 3; ++round) {
    Halves mixed[kHalves];
    for (u32 i = 0; i < kHalves / 2; ++i) {
      const Halves first = rows[i];
      const Halves second = rows[i + kHalves / 2];
      mixed[2 * i] = __builtin_shufflevector(first, second, 0, 8, 1, 9, 2, 10, 3, 11);
      mixed[2 * i + 1] = __builtin_shufflevector(first, second, 4, 12, 5, 13, 6, 14, 7, 15);
    }
    std::memcpy(rows, mixed, sizeof(mixed));
  }
}

// A K-major operand of 16 bits each as numbers, K by K: those of the same k lie together.
void read_transposed(const Product& p, u64 descriptor, Type type, int outer, float* to) {
  const Descriptor d(descriptor);
  const auto count = static_cast<u32>(outer);
  for (u32 row = 0; row < count; row += kHalves) {
    for (u32 chunk = 0; chunk < 2; ++chunk) {
      Halves halves[kHalves];
      for (u32 i = 0; i < kHalves; ++i)
        std::memcpy(&halves[i], chunk_at(p, d.k_major(row + i, chunk)), sizeof(Halves));
      transpose(halves);
      for (u32 k = 0; k < kHalves; ++k)
        convert_halves(type, halves[k], to + (chunk * kHalves + k) * count + row);
    }
  }
}

// A K-major operand of 16 bits each as numbers, row by row.
void read_rows(const Product& p, u64 descriptor, Type type, u32 rows, float* to) {
  const Descriptor d(descriptor);
  for (u32 row = 0; row < rows; ++row) {
    for (u32 chunk = 0; chunk < 2; ++chunk) {
      Halves halves;
      std::memcpy(&halves, chunk_at(p, d.k_major(row, chunk)), sizeof(halves));
      convert_halves(type, halves, to + (2 * row + chunk) * kHalves);
    }
  }
}

// The operand as numbers, from `to` with one stride for M or N and one for K.
template <typename Value>
void read_operand(const Product& p, bool of_a, int outer, Value* to, std::size_t outer_stride,
                  std::size_t k_stride) {
  const Type type = of_a ? p.a_type : p.b_type;
  const u32 count = 16 / static_cast<u32>(abi::type_bytes(type));
  for_chunks(p, of_a, outer, [&](u32 address, u32 row, u32 k, bool along_rows) {
    Value values[16];
    convert(type, chunk_at(p, address), values);
    Value* place = to + row * outer_stride + k * k_stride;
    const std::size_t step = along_rows ? outer_stride : k_stride;
    if (step == 1) {
      std::copy_n(values, count, place);
      return;
    }
    for (u32 i = 0; i < count; ++i)
      place[i * step] = values[i];
  });
}

template <typename Value>
void read_a(const Product& p, Value* to) {
  if constexpr (std::is_same_v<Value, float>) {
    if (abi::type_bytes(p.a_type) == 2 && !p.transpose_a) {
      return read_rows(p, p.a, p.a_type, kProductRows, to);
    }
  }
  read_operand(p, true, kProductRows, to, static_cast<std::size_t>(p.depth()), 1);
}

template <typename Value>
void read_b(const Product& p, Value* to) {
  if constexpr (std::is_same_v<Value, float>) {
    if (abi::type_bytes(p.b_type) == 2 && !p.transpose_b) {
      return read_transposed(p, p.b, p.b_type, p.columns, to);
    }
  }
  read_operand(p, false, p.columns, to, 1, static_cast<std::size_t>(p.columns));
}

// Kept for the next product of this host thread.
template <typename Value>
std::vector<Value>& numbers_of(bool a) {
  thread_local std::vector<Value> kept[2];
  return kept[a ? 0 : 1];
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
  std::vector<Value>& a = numbers_of<Value>(true);
  std::vector<Value>& b = numbers_of<Value>(false);
  a.resize(kProductRows * depth);
  b.resize(depth * columns);
  if (p.a_in_registers) {
    read_registers(p, a);
  } else {
    read_a(p, a.data());
  }
  read_b(p, b.data());
  if (!p.add) std::fill_n(sums, kProductRows * columns, Value{});
  if constexpr (std::is_same_v<Value, float>) {
    if (abi::type_bytes(p.a_type) == 1 && Machine::current().options().narrow_fp8_sums) {
      const auto least = [](Type type) { return type == Type::e4m3 ? -6 : -14; };
      constexpr int kBits = 13;
      multiply_aligned(sums, {a.data(), least(p.a_type)}, {b.data(), least(p.b_type)}, kProductRows,
                       p.columns, p.depth(), {kBits, kBits});
      return;
    }
  }
  multiply(sums, a.data(), b.data(), kProductRows, p.columns, p.depth());
}

// Sums of f16: the instruction adds up in f32, and rounds to nearest even once.
void execute_packed(const Product& p, float* values) {
  thread_local std::vector<float> sums;
  sums.resize(kProductRows * static_cast<std::size_t>(p.columns));
  for (std::size_t i = 0; i < sums.size(); i += 2) {
    const u32 word = std::bit_cast<u32>(values[i]);
    sums[i] = half_to_float(word & 0xffff);
    sums[i + 1] = half_to_float(word >> 16);
  }
  execute_as(p, sums.data());
  for (std::size_t i = 0; i < sums.size(); i += 2) {
    values[i] = std::bit_cast<float>(float_to_half(sums[i]) | float_to_half(sums[i + 1]) << 16);
  }
}

}  // namespace

void execute(const Product& p, float* values) {
  if (p.sum_type == Type::i32) return execute_as(p, reinterpret_cast<u32*>(values));
  if (p.sum_type == Type::f16) return execute_packed(p, values);
  execute_as(p, values);
}

}  // namespace estoc::emulator
