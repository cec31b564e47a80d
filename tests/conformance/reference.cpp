// Products of small integers by the definition: where PTX says that each element is.
#include <cstring>
#include <map>

#include "case.h"

namespace conformance {
namespace {

/// Elements of one type in memory, as numbers.
class Elements {
 public:
  Elements(Type type, const std::byte* memory)
      : bytes_(static_cast<u32>(estoc::abi::type_bytes(type))), memory_(memory) {
    for (int value = -3; value <= 6; ++value) {
      if (type == Type::u8 && value < 0) continue;
      u64 bits = 0;
      std::byte to[8] = {};
      put(type, to, value);
      std::memcpy(&bits, to, bytes_);
      numbers_[bits] = value;
    }
  }

  u32 bytes() const { return bytes_; }
  int at(u32 byte) const {
    u64 bits = 0;
    std::memcpy(&bits, memory_ + byte, bytes_);
    return numbers_.at(bits);
  }

 private:
  u32 bytes_;
  const std::byte* memory_;
  std::map<u64, int> numbers_;
};

// Where element (outer, k) of an operand of wgmma is, with the strides of wgmma_cases.cpp.
u32 place(u32 outer, u32 k, u32 bytes, bool mn_major, u64 swizzle) {
  const u32 across = mn_major ? outer * bytes : k * bytes;
  const u32 along = mn_major ? k : outer;
  if (swizzle == 0) {
    const u32 chunks = across / 16 * (mn_major ? 128 : 4096);
    return chunks + along / 8 * (mn_major ? 8192 : 128) + along % 8 * 16 + across % 16;
  }
  const u32 width = 256u >> swizzle;
  const u32 linear = across / width * 16 * width + along * width + across % width;
  return linear ^ (linear >> 7 & (width / 16 - 1)) << 4;
}

void write(const Case& test, std::vector<std::byte>& out, u32 word, double sum) {
  const bool integers = test.product->a == Type::i8 || test.product->a == Type::u8;
  put(integers ? Type::i32 : Type::f32, out.data() + 4 * word, sum);
}

void warpgroup_product(const Case& test, const std::vector<std::byte>& in,
                       std::vector<std::byte>& out) {
  const Product& p = *test.product;
  const Elements a(p.a, in.data());
  const Elements b(p.b, in.data() + kImageOfB);
  const u32 depth = 32 / a.bytes();
  for (u32 t = 0; t < 128; ++t) {
    for (u32 i = 0; i < static_cast<u32>(p.columns) / 2; ++i) {
      const u32 row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
      const u32 column = i / 4 * 8 + t % 4 * 2 + i % 2;
      double sum = 0;
      for (u32 k = 0; k < depth; ++k) {
        u32 from = place(row, k, a.bytes(), p.transpose_a, p.swizzle);
        if (p.a_registers) {
          const u32 thread = row / 16 * 32 + row % 8 * 4 + k * a.bytes() % 16 / 4;
          const u32 word = k * a.bytes() / 16 * 2 + row / 8 % 2;
          from = 16 * thread + 4 * word + k * a.bytes() % 4;
        }
        sum += a.at(from) * b.at(place(column, k, b.bytes(), p.transpose_b, p.swizzle));
      }
      const double start = test.at[0] != 0 ? (t + 3 * i) % 8 : 0;
      sum = start + (p.a_registers ? 1 : 2) * sum;
      if (p.packed) {
        put(Type::f16, out.data() + 4 * (i / 2 * 128 + t) + i % 2 * 2, sum);
      } else {
        write(test, out, i * 128 + t, sum);
      }
    }
  }
}

void warp_product(const Case& test, const std::vector<std::byte>& in, std::vector<std::byte>& out) {
  const Product& p = *test.product;
  const bool integers = p.a == Type::i8 || p.a == Type::u8;
  const Elements a(p.a, in.data());
  const Elements b(p.b, in.data() + 512);
  const Elements sums(integers ? Type::i32 : Type::f32, in.data() + 768);
  // Bytes of K: 32, of tf32 as well.
  for (u32 t = 0; t < 32; ++t) {
    for (u32 i = 0; i < 4; ++i) {
      const u32 row = t / 4 + i / 2 * 8;
      const u32 column = t % 4 * 2 + i % 2;
      double sum = sums.at(16 * t + 4 * i);
      for (u32 byte = 0; byte < 32; byte += a.bytes()) {
        const u32 half = byte / 16;
        const u32 quad = byte % 16 / 4;
        const u32 from_a = 16 * (row % 8 * 4 + quad) + 4 * (2 * half + row / 8) + byte % 4;
        const u32 from_b = 8 * (column * 4 + quad) + 4 * half + byte % 4;
        sum += a.at(from_a) * b.at(from_b);
      }
      write(test, out, 4 * t + i, sum);
    }
  }
}

}  // namespace

std::vector<std::byte> reference_of(const Case& test) {
  const std::vector<std::byte> in = make_input(test);
  std::vector<std::byte> out(test.out_bytes, std::byte{0xa5});
  if (test.product->warpgroup) {
    warpgroup_product(test, in, out);
  } else {
    warp_product(test, in, out);
  }
  return out;
}

}  // namespace conformance
