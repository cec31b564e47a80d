// What tcgen05 makes of products of any numbers, bit by bit: against the published model of its
// sums, computed here with whole numbers alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <string>
#include <vector>

#include "tcgen05_frame.h"

#include <estoc/ptx/tma.cuh>

namespace estoc::tcgen05_numerics {
namespace {

using namespace tcgen05_reports;

constexpr int kRows = 128;
constexpr u32 kPartB = 4096;
constexpr u32 kScalesOfA = 8192;
constexpr u32 kScalesOfB = 8704;
constexpr u32 kFull = 9216;
constexpr u32 kEnd = kFull + 8;
constexpr u32 kAddress = kFull + 16;
constexpr unsigned kAllBytes = kFull + 64;
constexpr Tcgen05Operand kScaleBlock{Tcgen05Swizzle::none, 0, 128};

/// An index, or a count, of arrays.
std::size_t index_of(int index) {
  return static_cast<std::size_t>(index);
}

struct Addresses {
  u64 a, b, a_scales, b_scales, c, out;
};

// One instruction: out = c * 2^-halvings + a b.
template <Tcgen05Product p, int halvings>
void kernel(const Addresses at_host) {
  static_assert(p.is_legal());
  const u32 base = ptx::smem_base();
  const u32 full = base + kFull;
  if (first()) {
    ptx::mbarrier_init(full, 1);
    ptx::mbarrier_init(base + kEnd, 1);
    ptx::fence_mbarrier_init();
  }
  ptx::barrier_sync();
  if (first_warp()) ptx::tcgen05_alloc<1, 128>(base + kAddress);
  if (first()) {
    constexpr u32 kA = kRows * 32, kB = p.n * 32;
    ptx::mbarrier_arrive_expect_tx(full, kA + kB + 1024);
    ptx::cp_async_bulk_load(base, at_host.a, kA, full);
    ptx::cp_async_bulk_load(base + kPartB, at_host.b, kB, full);
    ptx::cp_async_bulk_load(base + kScalesOfA, at_host.a_scales, 512, full);
    ptx::cp_async_bulk_load(base + kScalesOfB, at_host.b_scales, 512, full);
  }
  ptx::mbarrier_wait(full, 0);
  ptx::barrier_sync();
  ptx::tcgen05_fence_after_thread_sync();
  const u32 address = ptx::ld_shared<1>(base + kAddress).word[0];
  for (u32 column = 0; column < p.n; column += 8) {
    u32 words[8];
    for (u32 r = 0; r < 8; ++r)
      words[r] = ptx::ld_global<1>(at_host.c + (ptx::tid() * p.n + column + r) * 4).word[0];
    ptx::tcgen05_st<TensorShape::lanes32x32, 8>(own(address) + column, words);
  }
  ptx::tcgen05_wait_st();
  ptx::tcgen05_fence_before_thread_sync();
  ptx::barrier_sync();
  ptx::tcgen05_fence_after_thread_sync();
  if (first()) {
    const u64 a = Tcgen05Operand{Tcgen05Swizzle::none, kRows * 16, 128}.descriptor(base);
    const u64 b = Tcgen05Operand{Tcgen05Swizzle::none, p.n * 16, 128}.descriptor(base + kPartB);
    if constexpr (halvings > 0) {
      ptx::tcgen05_mma_scale_d<p.kind, 1, halvings>(address, a, b, p.descriptor(), true);
    } else if constexpr (p.block == 0) {
      ptx::tcgen05_mma<p.kind, 1>(address, a, b, p.descriptor(), true);
    } else {
      ptx::tcgen05_cp_32x128b_warpx4<1>(address + 64, kScaleBlock.descriptor(base + kScalesOfA));
      ptx::tcgen05_cp_32x128b_warpx4<1>(address + 68, kScaleBlock.descriptor(base + kScalesOfB));
      ptx::tcgen05_mma_scaled<p.kind, 1, p.block>(address, a, b, p.descriptor(), address + 64,
                                                  address + 68, true);
    }
    ptx::tcgen05_commit<1>(base + kEnd);
  }
  ptx::mbarrier_wait_cluster(base + kEnd, 0);
  ptx::tcgen05_fence_after_thread_sync();
  for (u32 column = 0; column < p.n; column += 8) {
    u32 words[8];
    ptx::tcgen05_ld<TensorShape::lanes32x32, 8>(words, own(address) + column);
    ptx::tcgen05_wait_ld();
    ptx::tcgen05_use(words);
    for (u32 r = 0; r < 8; ++r)
      ptx::st_global<1>(at_host.out + (ptx::tid() * p.n + column + r) * 4, Words<1>{{words[r]}});
  }
  end<1, 128>(address);
}

// A number: significand * 2^unit, whose leading bit, were it normal, would count 2^exponent.
struct Number {
  bool nan = false;
  bool infinite = false;
  long long significand = 0;
  int unit = 0;
  int exponent = 0;
};

struct Format {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinities;
  bool has_nan;  // of all ones alone, if it has no infinities
};

Format format_of(Type type) {
  switch (type) {
    case Type::f16:
      return {5, 10, true, true};
    case Type::bf16:
      return {8, 7, true, true};
    case Type::e4m3:
      return {4, 3, false, true};
    case Type::e5m2:
      return {5, 2, true, true};
    case Type::e2m1:
      return {2, 1, false, false};
    case Type::e2m3:
      return {2, 3, false, false};
    case Type::e3m2:
      return {3, 2, false, false};
    default:
      return {8, 23, true, true};
  }
}

Number number_of(Type type, u32 bits) {
  const Format f = format_of(type);
  if (type == Type::tf32) bits &= 0xffffe000;
  const u32 mantissa = bits & ((1u << f.mantissa_bits) - 1);
  const u32 field = bits >> f.mantissa_bits & ((1u << f.exponent_bits) - 1);
  const bool last = field == (1u << f.exponent_bits) - 1;
  const bool ones = mantissa == (1u << f.mantissa_bits) - 1;
  Number n;
  n.exponent = std::max<int>(static_cast<int>(field), 1) - ((1 << (f.exponent_bits - 1)) - 1);
  n.unit = n.exponent - f.mantissa_bits;
  n.significand = static_cast<long long>(mantissa | (field > 0 ? 1u << f.mantissa_bits : 0));
  n.nan = f.has_nan && last && (f.has_infinities ? mantissa != 0 : ones);
  n.infinite = f.has_infinities && last && mantissa == 0;
  if ((bits >> (f.exponent_bits + f.mantissa_bits) & 1) != 0) n.significand = -n.significand;
  return n;
}

// A scale, which has no sign.
Number scale_of(Type type, u32 byte) {
  if (type == Type::e4m3) return number_of(type, byte & 0x7f);
  Number n;
  n.nan = byte == 0xff;
  n.exponent = n.unit = static_cast<int>(byte) - 127;
  n.significand = 1;
  return n;
}

Number times(const Number& a, const Number& b) {
  Number n;
  n.significand = a.significand * b.significand;
  n.nan = a.nan || b.nan || (a.infinite && !b.infinite && b.significand == 0) ||
          (b.infinite && !a.infinite && a.significand == 0);
  n.infinite = a.infinite || b.infinite;
  n.unit = a.unit + b.unit;
  n.exponent = a.exponent + b.exponent;
  return n;
}

// Shifts a magnitude: what falls off is lost.
long long moved(long long value, int up) {
  const long long magnitude = value < 0 ? -value : value;
  const long long result = up >= 0 ? magnitude << up : up > -63 ? magnitude >> -up : 0;
  return value < 0 ? -result : result;
}

// The bits of significand * 2^unit, cut off to f32 or rounded to the nearest f16.
u32 as_f32(unsigned long long magnitude, int unit) {
  const int exponent = 63 - std::countl_zero(magnitude) + unit;
  if (exponent > 127) return 0x7f800000;
  const int quantum = std::max(exponent, -126) - 23;
  const auto kept = static_cast<u32>(moved(static_cast<long long>(magnitude), unit - quantum));
  return kept < 0x800000 ? kept : kept - 0x800000 + (static_cast<u32>(exponent + 127) << 23);
}

u32 as_f16(unsigned long long magnitude, int unit) {
  const int exponent = 63 - std::countl_zero(magnitude) + unit;
  if (exponent > 15) return 0x7c00;
  const int quantum = std::max(exponent, -14) - 10;
  const int down = quantum - unit;
  unsigned long long kept = magnitude;
  if (down > 62) return 0;
  if (down > 0) {
    kept = magnitude >> down;
    const unsigned long long rest = magnitude - (kept << down);
    const unsigned long long half = 1ULL << (down - 1);
    if (rest > half || (rest == half && kept % 2 != 0)) ++kept;
  } else {
    kept <<= -down;
  }
  // A carry moves into the exponent, up to infinity.
  if (kept < 0x400) return static_cast<u32>(kept);
  return std::min<u32>(
      static_cast<u32>(kept - 0x400) + (static_cast<u32>(std::max(exponent, -14) + 15) << 10),
      0x7c00);
}

u32 sum_of(const std::vector<Number>& terms, int kept, bool f16) {
  bool nan = false;
  bool above = false;
  bool below = false;
  int largest = -126;
  for (const Number& t : terms) {
    nan = nan || t.nan;
    above = above || (t.infinite && t.significand > 0);
    below = below || (t.infinite && t.significand < 0);
    if (t.significand != 0) largest = std::max(largest, t.exponent);
  }
  if (nan || (above && below)) return f16 ? 0x7fff : 0x7fffffff;
  if (above || below)
    return (below ? (f16 ? 0x8000u : 0x80000000u) : 0u) | (f16 ? 0x7c00u : 0x7f800000u);
  const int unit = largest - kept;
  long long sum = 0;
  for (const Number& t : terms)
    sum += t.significand == 0 ? 0 : moved(t.significand, t.unit - unit);
  if (sum == 0) return 0;
  const auto magnitude = static_cast<unsigned long long>(sum < 0 ? -sum : sum);
  const u32 bits = f16 ? as_f16(magnitude, unit) : as_f32(magnitude, unit);
  if (bits == 0) return 0;
  return bits | (sum < 0 ? (f16 ? 0x8000u : 0x80000000u) : 0u);
}

/// The codes of an operand and of its scales, and where they are in shared memory.
struct Operand {
  Type type;
  Type scale_type;
  int depth;
  int block;
  int rows;
  std::vector<u32> codes;
  std::vector<u32> scales;  // four of each row
  std::vector<u8> image;
  std::vector<u8> scale_image = std::vector<u8>(512);

  Operand(const Tcgen05Product& p, bool of_a)
      : type(of_a ? p.a : p.b),
        scale_type(p.scales),
        depth(p.depth()),
        block(p.block),
        rows(of_a ? kRows : p.n),
        codes(index_of(rows * depth)),
        scales(4 * index_of(rows)),
        image(32 * index_of(rows)) {}

  Number value(int row, int k) const { return number_of(type, codes[index_of(row * depth + k)]); }
  Number scale(int row, int k) const {
    return scale_of(scale_type, scales[index_of(row * 4 + k / block)]);
  }
  void pack() {
    // 16 elements of fewer than 8 bits lie in front of 16 bytes, or fill 8 of them.
    const Format f = format_of(type);
    const int bits = 1 + f.exponent_bits + f.mantissa_bits;
    const int each = depth / 2;
    std::fill(image.begin(), image.end(), u8{0x9b});
    for (int row = 0; row < rows; ++row) {
      for (int k = 0; k < depth; ++k) {
        const u32 code = codes[index_of(row * depth + k)];
        for (int bit = 0; bit < bits; ++bit) {
          const int place = k % each * bits + bit;
          auto& to =
              image[index_of(k / each * rows * 16 + row / 8 * 128 + row % 8 * 16 + place / 8)];
          const u32 mask = 1u << place % 8;
          to = static_cast<u8>((to & ~mask) | ((code >> bit & 1) != 0 ? mask : 0));
        }
      }
      for (int j = 0; j < 4; ++j) {
        scale_image[index_of(row % 32 * 16 + row / 32 * 4 + j)] =
            static_cast<u8>(scales[index_of(row * 4 + j)]);
      }
    }
  }
};

/// How numbers are drawn.
enum class Draw { any, near, wide, special, few };
constexpr Draw kDraws[] = {Draw::any, Draw::near, Draw::wide, Draw::special, Draw::few};

u32 draw_code(Type type, Draw how, std::mt19937& random) {
  const Format f = format_of(type);
  const u32 bits = static_cast<u32>(1 + f.exponent_bits + f.mantissa_bits);
  const u32 mask = static_cast<u32>((u64{1} << bits) - 1);
  const u32 any = static_cast<u32>(random()) & mask;
  if (how == Draw::any) return any;
  const u32 fields = ((1u << f.exponent_bits) - 1) << f.mantissa_bits;
  const u32 one_in = random() % 64;
  // Zeros, and numbers that are subnormal.
  if (how == Draw::few && one_in % 4 != 0) return one_in % 4 == 1 ? any & ~fields : 0;
  if (how == Draw::special && one_in < 4) {
    const u32 kSpecial[] = {0, 1u << (bits - 1), fields, fields | 1, (any & ~fields) | 1};
    return kSpecial[random() % 5] | (any & (1u << (bits - 1)));
  }
  if (one_in == 0) return any & (1u << (bits - 1));
  if (one_in == 1 && f.exponent_bits < 8) return any & ~fields;
  // Exponents about that of 1, and not infinite.
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const int reach = std::min(how == Draw::near || how == Draw::few ? 2 : 30, bias - 1);
  const u32 field = static_cast<u32>(bias + static_cast<int>(random() % (2 * reach + 1)) - reach);
  return reach <= 0 ? any : (any & ~fields) | field << f.mantissa_bits;
}

u32 draw_scale(Type type, Draw how, std::mt19937& random) {
  const u32 any = random() & 0xff;
  if (how == Draw::any) return any;
  if (how == Draw::special) return random() % 64 == 0 ? (random() % 2 == 0 ? 0xff : 0) : 127;
  if (type == Type::e4m3) return (any & 0x87) | (6 + random() % 3) << 3;
  return 127 + random() % 5 - 2 + (how == Draw::wide ? random() % 40 - 20 : 0);
}

template <Tcgen05Product p, int halvings>
std::vector<u32> run(const Operand& a, const Operand& b, const std::vector<u32>& c) {
  std::vector<u32> out(c.size());
  Addresses addresses{reinterpret_cast<u64>(a.image.data()),
                      reinterpret_cast<u64>(b.image.data()),
                      reinterpret_cast<u64>(a.scale_image.data()),
                      reinterpret_cast<u64>(b.scale_image.data()),
                      reinterpret_cast<u64>(c.data()),
                      reinterpret_cast<u64>(out.data())};
  void* arguments[] = {&addresses};
  emulator::Options options;
  options.cluster = {1, 1, 1};
  const emulator::Report report = emulator::launch(emulator::entry<kernel<p, halvings>>, {1, 1, 1},
                                                   kRows, kAllBytes, arguments, options);
  EXPECT_TRUE(report.clean()) << report.text();
  return out;
}

Number halved(Number n, int times_halved) {
  n.unit -= times_halved;
  n.exponent -= times_halved;
  return n;
}

u32 expected(const Tcgen05Product& p, const Operand& a, const Operand& b, const Number& before,
             int i, int j) {
  const bool f16 = p.sum == Type::f16;
  std::vector<Number> terms{before};
  const bool groups = p.kind == Tcgen05Kind::mxf4 || p.kind == Tcgen05Kind::mxf4nvf4;
  for (int k = 0; k < a.depth; ++k) {
    Number term = times(a.value(i, k), b.value(j, k));
    if (groups) {  // counted in quarters; the exponent is that of the scales alone
      term.significand = moved(term.significand, term.unit + 2);
      term.unit = -2;
      term.exponent = 0;
    }
    if (groups && k % 16 != 0) {
      terms.back().significand += term.significand;
    } else {
      terms.push_back(term);
    }
  }
  if (p.block == 0) return sum_of(terms, 25, f16);
  for (std::size_t t = 1; t < terms.size(); ++t) {
    const int k = static_cast<int>(t - 1) * (groups ? 16 : 1);
    terms[t] = times(terms[t], times(a.scale(i, k), b.scale(j, k)));
  }
  return sum_of(terms, groups ? 35 : 25, false);
}

template <Tcgen05Product p, int halvings = 0>
void check() {
  std::mt19937 random(1);
  Operand a(p, true);
  Operand b(p, false);
  for (const Draw how : kDraws) {
    // With C of any size, of that of the products, and without.
    for (int round = 0; round < 4; ++round) {
      for (Operand* o : {&a, &b}) {
        for (u32& code : o->codes)
          code = draw_code(o->type, how, random);
        for (u32& code : o->scales)
          code = draw_scale(p.scales, how, random);
        o->pack();
      }
      std::vector<u32> c(index_of(kRows * p.n));
      for (u32& word : c) {
        word = round == 0 ? 0 : draw_code(p.sum, round == 1 ? Draw::any : how, random);
        if (round == 3 && p.sum == Type::f32)
          word = (word & 0x807fffff) | (how == Draw::few ? 70 + random() % 60 : 120 + random() % 30)
                                           << 23;
      }
      const std::vector<u32> out = run<p, halvings>(a, b, c);
      for (int i = 0; i < kRows; ++i) {
        for (int j = 0; j < p.n; ++j) {
          const auto at = index_of(i * p.n + j);
          const u32 got = p.sum == Type::f16 ? out[at] & 0xffff : out[at];
          ASSERT_EQ(got, expected(p, a, b, halved(number_of(p.sum, c[at]), halvings), i, j))
              << static_cast<int>(how) << ", " << round << ": " << i << ", " << j;
        }
      }
    }
  }
}

constexpr Tcgen05Product plain(Tcgen05Kind kind, Type a, Type b, Type sum) {
  return {kind, a, b, sum, 1, kRows, 48};
}
constexpr Tcgen05Product scaled(Tcgen05Kind kind, Type a, Type b, int block, Type scales) {
  return {kind, a, b, Type::f32, 1, kRows, 48, false, false, block, scales};
}

TEST(Tcgen05Numerics, HalfFloats) {
  check<plain(Tcgen05Kind::f16, Type::bf16, Type::bf16, Type::f32)>();
  check<plain(Tcgen05Kind::f16, Type::f16, Type::f16, Type::f32)>();
  check<plain(Tcgen05Kind::f16, Type::f16, Type::f16, Type::f16)>();
}

// No model covers these: the sum before is a term with a smaller exponent.
TEST(Tcgen05Numerics, ScaledSums) {
  check<plain(Tcgen05Kind::f16, Type::bf16, Type::bf16, Type::f32), 3>();
  check<plain(Tcgen05Kind::f16, Type::f16, Type::f16, Type::f16), 15>();
  check<plain(Tcgen05Kind::tf32, Type::tf32, Type::tf32, Type::f32), 1>();
}

TEST(Tcgen05Numerics, Tf32) {
  check<plain(Tcgen05Kind::tf32, Type::tf32, Type::tf32, Type::f32)>();
}

TEST(Tcgen05Numerics, EightBits) {
  check<plain(Tcgen05Kind::f8f6f4, Type::e4m3, Type::e4m3, Type::f32)>();
  check<plain(Tcgen05Kind::f8f6f4, Type::e5m2, Type::e4m3, Type::f32)>();
  check<plain(Tcgen05Kind::f8f6f4, Type::e4m3, Type::e5m2, Type::f16)>();
}

TEST(Tcgen05Numerics, PaddedElements) {
  check<plain(Tcgen05Kind::f8f6f4, Type::e2m1, Type::e4m3, Type::f32)>();
  check<plain(Tcgen05Kind::f8f6f4, Type::e5m2, Type::e2m3, Type::f16)>();
  check<plain(Tcgen05Kind::f8f6f4, Type::e3m2, Type::e2m1, Type::f32)>();
  check<scaled(Tcgen05Kind::mxf8f6f4, Type::e4m3, Type::e2m1, 32, Type::e8m0)>();
  check<scaled(Tcgen05Kind::mxf8f6f4, Type::e3m2, Type::e2m3, 32, Type::e8m0)>();
}

TEST(Tcgen05Numerics, ScaledBytes) {
  check<scaled(Tcgen05Kind::mxf8f6f4, Type::e4m3, Type::e4m3, 32, Type::e8m0)>();
  check<scaled(Tcgen05Kind::mxf8f6f4, Type::e5m2, Type::e4m3, 32, Type::e8m0)>();
}

TEST(Tcgen05Numerics, ScaledGroups) {
  check<scaled(Tcgen05Kind::mxf4, Type::e2m1, Type::e2m1, 32, Type::e8m0)>();
  check<scaled(Tcgen05Kind::mxf4nvf4, Type::e2m1, Type::e2m1, 16, Type::e4m3)>();
  check<scaled(Tcgen05Kind::mxf4nvf4, Type::e2m1, Type::e2m1, 16, Type::e8m0)>();
  check<scaled(Tcgen05Kind::mxf4nvf4, Type::e2m1, Type::e2m1, 32, Type::e8m0)>();
}

}  // namespace
}  // namespace estoc::tcgen05_numerics
