// tcgen05: products of every kind, layout and group against plain sums, what ld and st move, and
// the worked values of its descriptors.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "emulator/conversions.h"
#include "emulator/launch.h"

#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/cluster.cuh>
#include <estoc/ptx/fence.cuh>
#include <estoc/ptx/mbarrier.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/tcgen05.cuh>
#include <estoc/ptx/tcgen05_memory.cuh>
#include <estoc/ptx/tma.cuh>
#include <estoc/ptx/warp.cuh>

namespace estoc::tcgen05_tests {
namespace {

using abi::Tcgen05Kind;
using abi::Tcgen05Operand;
using abi::Tcgen05Product;
using abi::Tcgen05Swizzle;
using abi::TensorShape;
using abi::Type;

struct Case {
  Tcgen05Product product;
  Tcgen05Swizzle swizzle = Tcgen05Swizzle::bytes128;
  bool from_tensor_memory = false;

  constexpr int bytes() const { return abi::type_bytes(product.a); }
  constexpr int depth() const { return 64 / bytes(); }  // two instructions
  constexpr int rows(bool of_a) const { return (of_a ? product.m : product.n) / product.group; }
  constexpr bool outer_major(bool of_a) const {
    return of_a ? product.a_m_major : product.b_n_major;
  }
  constexpr int span() const {
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
  constexpr bool atoms() const { return swizzle == Tcgen05Swizzle::bytes128_atom32; }
  constexpr bool plain() const { return swizzle == Tcgen05Swizzle::none; }
  // Bytes from one span of K (K-major) or of M or N to the next.
  constexpr int block(bool of_a) const {
    if (outer_major(of_a)) return depth() * span();
    return rows(of_a) * span();
  }
  // Of one CTA's part.
  constexpr int part_bytes(bool of_a) const {
    return rows(of_a) * (outer_major(of_a) || span() < 64 ? 64 : span());
  }
  constexpr Tcgen05Operand layout(bool of_a) const {
    const auto own = static_cast<unsigned>(block(of_a));
    if (outer_major(of_a)) {
      if (plain()) return {swizzle, 128, own};
      return {swizzle, own, atoms() ? 512u : static_cast<unsigned>(8 * span())};
    }
    return {swizzle, plain() ? own : 0, static_cast<unsigned>(8 * span())};
  }
  // From the K of the first instruction to that of the second.
  constexpr u32 step(bool of_a) const {
    if (outer_major(of_a)) return static_cast<u32>(32 / bytes() * span());
    return static_cast<u32>(span() >= 64 ? 32 : 32 / span() * block(of_a));
  }
  // Where an element is, before and after the swizzle (the formulas of PTX ISA 9.7.16.10.6).
  u32 place(bool of_a, int outer, int k) const {
    const int across = (outer_major(of_a) ? outer : k) * bytes();
    const int line = outer_major(of_a) ? k : outer;
    const auto offset =
        static_cast<u32>(across / span() * block(of_a) + line * span() + across % span());
    if (atoms()) return offset ^ ((offset >> 7 & 3) << 5);
    return offset ^ ((offset >> 7 & static_cast<u32>(span() / 16 - 1)) << 4);
  }
};

constexpr u32 kBOffset = 16384;
constexpr u32 kBarriers = 49152;
constexpr u32 kSlot = kBarriers + 16;
constexpr unsigned kShared = kBarriers + 64;

template <int group>
void sync_all() {
  if constexpr (group == 2) {
    ptx::barrier_cluster_arrive_release();
    ptx::barrier_cluster_wait();
  }
  ptx::barrier_sync();
}

// Stores the rows of d that this warp reaches.
template <Case c>
void store_rows(u32 address, u64 out) {
  constexpr Tcgen05Product kP = c.product;
  constexpr bool kSpread = kP.group == 1 && kP.m == 64;
  constexpr bool kHalved = kP.group == 2 && kP.m == 128;
  const u32 warp = ptx::tid() / 32;
  const u32 lane = ptx::laneid();
  const auto put = [&](u32 row, u32 column, u32 word) {
    const u32 first = ptx::cluster_ctarank() * c.rows(true);
    const u32 m = kHalved ? row % 64 : row;
    const u32 n = column + (kHalved ? row / 64 * kP.n / 2 : 0);
    ptx::st_global<1>(out + ((first + m) * kP.n + n) * 4, Words<1>{{word}});
  };
  for (u32 column = 0; column < kP.n / (kHalved ? 2 : 1); column += 8) {
    const u32 from = address + (warp * 32 << 16) + column;
    if constexpr (kSpread) {
      u32 words[4];
      ptx::tcgen05_ld<TensorShape::lanes16x256, 1>(words, from);
      ptx::tcgen05_wait_ld();
      ptx::tcgen05_use(words);
      for (u32 r = 0; r < 4; ++r)
        put(16 * warp + lane / 4 + 8 * (r / 2), column + lane % 4 * 2 + r % 2, words[r]);
    } else {
      u32 words[8];
      ptx::tcgen05_ld<TensorShape::lanes32x32, 8>(words, from);
      ptx::tcgen05_wait_ld();
      ptx::tcgen05_use(words);
      for (u32 r = 0; r < 8; ++r)
        put(32 * warp + lane, column + r, words[r]);
    }
  }
}

template <Case c>
void issue(u32 base, u32 address, u32 done) {
  constexpr Tcgen05Product kP = c.product;
  static_assert(kP.is_legal());
  const u64 a = c.layout(true).descriptor(base);
  const u64 b = c.layout(false).descriptor(base + kBOffset);
  for (u32 k = 0; k < 2; ++k) {
    const u64 own_b = b + (k * c.step(false) >> 4);
    const u64 own_a = a + (k * c.step(true) >> 4);
    if constexpr (c.from_tensor_memory) {
      ptx::tcgen05_cp_128x256b<kP.group>(address + 256 + 8 * k, own_a);
      ptx::tcgen05_mma_tensor<kP.kind, kP.group>(address, address + 256 + 8 * k, own_b,
                                                 kP.descriptor(), k > 0);
    } else {
      ptx::tcgen05_mma<kP.kind, kP.group>(address, own_a, own_b, kP.descriptor(), k > 0);
    }
  }
  if constexpr (kP.group == 2) {
    ptx::tcgen05_commit_multicast<2>(done, 3);
  } else {
    ptx::tcgen05_commit<1>(done);
  }
}

template <Case c>
void kernel(u64 a, u64 b, u64 out) {
  constexpr int kGroup = c.product.group;
  constexpr u32 kABytes = c.part_bytes(true);
  constexpr u32 kBBytes = c.part_bytes(false);
  const u32 base = ptx::smem_base();
  const u32 full = base + kBarriers;
  const u32 done = full + 8;
  const u32 rank = ptx::cluster_ctarank();
  if (ptx::tid() == 0) {
    ptx::mbarrier_init(full, 1);
    ptx::mbarrier_init(done, 1);
    ptx::fence_mbarrier_init();
  }
  sync_all<kGroup>();
  if (ptx::tid() / 32 == 0) {
    ptx::tcgen05_alloc<kGroup, 512>(base + kSlot);
    ptx::tcgen05_relinquish_alloc_permit<kGroup>();
  }
  if (ptx::tid() == 0) {
    ptx::mbarrier_arrive_expect_tx(full, kABytes + kBBytes);
    ptx::cp_async_bulk_load(base, a + rank * kABytes, kABytes, full);
    ptx::cp_async_bulk_load(base + kBOffset, b + rank * kBBytes, kBBytes, full);
  }
  ptx::mbarrier_wait(full, 0);
  sync_all<kGroup>();
  ptx::tcgen05_fence_after_thread_sync();
  const u32 address = ptx::ld_shared<1>(base + kSlot).word[0];
  if (ptx::tid() == 0 && rank == 0) issue<c>(base, address, done);
  ptx::mbarrier_wait_cluster(done, 0);
  ptx::tcgen05_fence_after_thread_sync();
  store_rows<c>(address, out);
  ptx::tcgen05_fence_before_thread_sync();
  sync_all<kGroup>();
  if (ptx::tid() / 32 != 0) return;
  ptx::tcgen05_fence_after_thread_sync();
  ptx::tcgen05_dealloc<kGroup, 512>(address);
}

u32 encoded_as(Type type, int value) {
  const auto f = static_cast<float>(value);
  switch (type) {
    case Type::bf16:
      return emulator::float_to_bfloat(f);
    case Type::f16:
      return emulator::float_to_half(f);
    case Type::e4m3:
      return emulator::float_to_e4m3(f);
    case Type::e5m2:
      return emulator::float_to_e5m2(f);
    case Type::i8:
    case Type::u8:
      return static_cast<u32>(value) & 0xff;
    default:
      return std::bit_cast<u32>(f);
  }
}

// The values of an operand, row by row, and the bytes of each CTA's part.
struct Operand {
  std::vector<int> values;
  std::vector<std::byte> image;
};

Operand make_operand(const Case& c, bool of_a) {
  const Type type = of_a ? c.product.a : c.product.b;
  const int rows = c.rows(of_a);
  Operand o;
  o.image.resize(static_cast<std::size_t>(c.part_bytes(of_a) * c.product.group));
  std::mt19937 random(of_a ? 1 : 2);
  const auto size = static_cast<std::size_t>(c.bytes());
  for (int row = 0; row < rows * c.product.group; ++row) {
    for (int k = 0; k < c.depth(); ++k) {
      const int value = static_cast<int>(random() % 7) - (type == Type::u8 ? 0 : 3);
      const u32 bits = encoded_as(type, value);
      o.values.push_back(value);
      const auto at =
          static_cast<std::size_t>(row / rows * c.part_bytes(of_a)) + c.place(of_a, row % rows, k);
      std::memcpy(o.image.data() + at, &bits, size);
    }
  }
  return o;
}

float sum_of(const Case& c, u32 word) {
  if (c.product.sum == Type::f16) return emulator::half_to_float(word & 0xffff);
  if (c.product.sum == Type::i32) return static_cast<float>(static_cast<i32>(word));
  return std::bit_cast<float>(word);
}

template <Case c>
void check_product(const emulator::Options& given = {}) {
  constexpr Tcgen05Product kP = c.product;
  const Operand a = make_operand(c, true);
  const Operand b = make_operand(c, false);
  std::vector<u32> out(static_cast<std::size_t>(kP.m * kP.n), 0x7fc00000);
  u64 a_address = reinterpret_cast<u64>(a.image.data());
  u64 b_address = reinterpret_cast<u64>(b.image.data());
  u64 out_address = reinterpret_cast<u64>(out.data());
  void* arguments[] = {&a_address, &b_address, &out_address};
  emulator::Options options = given;
  options.cluster = {static_cast<unsigned>(kP.group), 1, 1};
  const emulator::Report report = emulator::launch(emulator::entry<kernel<c>>, options.cluster, 128,
                                                   kShared, arguments, options);
  ASSERT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(report.statistics.tcgen05, 2U);
  for (int i = 0; i < kP.m; ++i) {
    for (int j = 0; j < kP.n; ++j) {
      int sum = 0;
      for (int k = 0; k < c.depth(); ++k) {
        sum += a.values[static_cast<std::size_t>(i * c.depth() + k)] *
               b.values[static_cast<std::size_t>(j * c.depth() + k)];
      }
      ASSERT_EQ(sum_of(c, out[static_cast<std::size_t>(i * kP.n + j)]), static_cast<float>(sum))
          << i << ", " << j;
    }
  }
}

template <Case c>
void check_schedules() {
  for (const auto schedule : {emulator::Schedule::late, emulator::Schedule::eager}) {
    emulator::Options options;
    options.schedule = schedule;
    check_product<c>(options);
  }
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    emulator::Options options;
    options.schedule = emulator::Schedule::random;
    options.seed = seed;
    check_product<c>(options);
  }
}

constexpr Tcgen05Product product(Tcgen05Kind kind, Type a, Type b, Type sum, int group, int m,
                                 int n, bool a_m_major = false, bool b_n_major = false) {
  return {kind, a, b, sum, group, m, n, a_m_major, b_n_major};
}
constexpr Tcgen05Product half_floats(int group, int m, int n, bool a_m_major = false,
                                     bool b_n_major = false) {
  return product(Tcgen05Kind::f16, Type::bf16, Type::bf16, Type::f32, group, m, n, a_m_major,
                 b_n_major);
}

TEST(Tcgen05, Kinds) {
  check_schedules<Case{half_floats(1, 128, 64)}>();
  check_product<Case{product(Tcgen05Kind::f16, Type::f16, Type::f16, Type::f32, 1, 128, 32)}>();
  check_product<Case{product(Tcgen05Kind::f16, Type::f16, Type::f16, Type::f16, 1, 128, 32)}>();
  check_product<Case{product(Tcgen05Kind::tf32, Type::tf32, Type::tf32, Type::f32, 1, 128, 48)}>();
  check_product<Case{
      product(Tcgen05Kind::f8f6f4, Type::e4m3, Type::e5m2, Type::f32, 1, 128, 32)}>();
  check_product<Case{
      product(Tcgen05Kind::f8f6f4, Type::e5m2, Type::e4m3, Type::f16, 1, 128, 32)}>();
  check_product<Case{product(Tcgen05Kind::i8, Type::i8, Type::u8, Type::i32, 1, 128, 32)}>();
  check_product<Case{product(Tcgen05Kind::i8, Type::u8, Type::i8, Type::i32, 1, 128, 48)}>();
}

TEST(Tcgen05, ShapesAndGroups) {
  check_product<Case{half_floats(1, 128, 256)}>();
  check_schedules<Case{half_floats(1, 64, 40)}>();
  check_schedules<Case{half_floats(2, 256, 64)}>();
  check_schedules<Case{half_floats(2, 128, 96)}>();
  check_product<Case{half_floats(2, 256, 256)}>();
  check_product<Case{
      product(Tcgen05Kind::f8f6f4, Type::e4m3, Type::e4m3, Type::f32, 2, 256, 32)}>();
}

TEST(Tcgen05, Swizzles) {
  check_product<Case{half_floats(1, 128, 32), Tcgen05Swizzle::none}>();
  check_product<Case{half_floats(1, 128, 32), Tcgen05Swizzle::bytes32}>();
  check_product<Case{half_floats(1, 128, 32), Tcgen05Swizzle::bytes64}>();
}

TEST(Tcgen05, MajorModes) {
  check_product<Case{half_floats(1, 128, 64, true, true)}>();
  check_product<Case{half_floats(1, 128, 64, true, false), Tcgen05Swizzle::bytes64}>();
  check_product<Case{half_floats(1, 128, 64, false, true), Tcgen05Swizzle::bytes32}>();
  check_product<Case{half_floats(1, 64, 64, true, true), Tcgen05Swizzle::none}>();
  check_product<Case{half_floats(2, 256, 128, true, true)}>();
  check_product<Case{
      product(Tcgen05Kind::tf32, Type::tf32, Type::tf32, Type::f32, 1, 128, 64, true, true),
      Tcgen05Swizzle::bytes128_atom32}>();
  check_product<Case{
      product(Tcgen05Kind::f8f6f4, Type::e4m3, Type::e4m3, Type::f32, 1, 128, 128, true, true)}>();
}

TEST(Tcgen05, AFromTensorMemory) {
  check_schedules<Case{half_floats(1, 128, 64), Tcgen05Swizzle::none, true}>();
  check_product<Case{half_floats(2, 256, 64), Tcgen05Swizzle::none, true}>();
}

// Stores numbers by one shape, loads them by rows.
template <TensorShape shape, int repeat>
void move_words(u64 out) {
  const u32 base = ptx::smem_base();
  ptx::tcgen05_alloc<1, 64>(base);
  ptx::bar_warp_sync();
  ptx::tcgen05_fence_after_thread_sync();
  const u32 address = ptx::ld_shared<1>(base).word[0];
  constexpr int kCount = repeat * abi::tensor_registers(shape);
  u32 words[kCount];
  for (u32 r = 0; r < kCount; ++r)
    words[r] = 1000 * ptx::laneid() + r;
  ptx::tcgen05_st<shape, repeat>(address, words);
  if constexpr (shape != TensorShape::lanes32x32) {
    ptx::tcgen05_st<shape, repeat>(address + (16 << 16), words);
  }
  ptx::tcgen05_wait_st();
  u32 row[32];
  ptx::tcgen05_ld<TensorShape::lanes32x32, 32>(row, address);
  ptx::tcgen05_wait_ld();
  ptx::tcgen05_use(row);
  for (u32 c = 0; c < 32; ++c)
    ptx::st_global<1>(out + (ptx::laneid() * 32 + c) * 4, Words<1>{{row[c]}});
  ptx::tcgen05_dealloc<1, 64>(address);
}

template <TensorShape shape, int repeat>
std::vector<u32> moved() {
  std::vector<u32> out(32 * 32);
  u64 address = reinterpret_cast<u64>(out.data());
  void* arguments[] = {&address};
  for (const auto schedule : {emulator::Schedule::eager, emulator::Schedule::late}) {
    emulator::Options options;
    options.schedule = schedule;
    const auto report = emulator::launch(emulator::entry<move_words<shape, repeat>>, {1, 1, 1}, 32,
                                         64, arguments, options);
    EXPECT_TRUE(report.clean()) << report.text();
  }
  return out;
}

// Where register r of thread t is, of what PTX ISA 9.7.16.2.3 draws.
struct Drawn {
  u32 thread;
  u32 r;
  u32 lane;
  u32 column;
};
void expect_drawn(const std::vector<u32>& out, const std::vector<Drawn>& drawn) {
  EXPECT_EQ(std::set<u32>(out.begin(), out.begin() + 16 * 32).size(), 16U * 32);
  for (const Drawn& d : drawn)
    EXPECT_EQ(out[d.lane * 32 + d.column], 1000 * d.thread + d.r) << d.thread << ", " << d.r;
}

TEST(Tcgen05, MovesAreDrawnLikeThis) {
  expect_drawn(moved<TensorShape::lanes32x32, 32>(), {{5, 7, 5, 7}, {31, 31, 31, 31}});
  expect_drawn(moved<TensorShape::lanes16x64, 16>(), {{1, 0, 8, 0}, {2, 0, 0, 1}, {5, 3, 9, 6}});
  expect_drawn(moved<TensorShape::lanes16x128, 8>(), {{0, 1, 8, 0}, {1, 0, 0, 1}, {5, 3, 9, 5}});
  expect_drawn(moved<TensorShape::lanes16x256, 4>(),
               {{1, 0, 0, 2}, {2, 0, 0, 4}, {5, 3, 9, 3}, {31, 7, 15, 15}});
}

// A second allocation waits until the first warp gives columns back.
void allocate_in_turn(u64 out) {
  const u32 base = ptx::smem_base();
  const u32 warp = ptx::tid() / 32;
  ptx::tcgen05_alloc<1, 512>(base + 16 * warp);
  ptx::bar_warp_sync();
  ptx::tcgen05_fence_after_thread_sync();
  const u32 address = ptx::ld_shared<1>(base + 16 * warp).word[0];
  if (ptx::laneid() == 0) ptx::st_global<1>(out + 4 * warp, Words<1>{{address + 1}});
  ptx::tcgen05_dealloc<1, 512>(address);
}

TEST(Tcgen05, AllocationWaitsForRoom) {
  std::vector<u32> out(4);
  u64 address = reinterpret_cast<u64>(out.data());
  void* arguments[] = {&address};
  const auto report =
      emulator::launch(emulator::entry<allocate_in_turn>, {1, 1, 1}, 128, 64, arguments, {});
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(out, std::vector<u32>(4, 1));
}

TEST(Tcgen05, WorkedValuesOfDescriptors) {
  EXPECT_EQ(half_floats(1, 128, 256).descriptor(), 0x08400490U);
  EXPECT_EQ(half_floats(2, 256, 256).descriptor(), 0x10400490U);
  EXPECT_EQ(
      product(Tcgen05Kind::f8f6f4, Type::e4m3, Type::e4m3, Type::f32, 2, 256, 256).descriptor(),
      0x10400010U);
  constexpr Tcgen05Operand kRows{Tcgen05Swizzle::bytes128, 0, 1024};
  EXPECT_EQ(kRows.descriptor(0x1400), 0x4000404000000140U);
}

TEST(Tcgen05, LegalProductsAreThoseOfTheTables) {
  int legal = 0;
  for (int group = 1; group <= 2; ++group) {
    for (int m = 32; m <= 512; m += 32) {
      for (int n = 0; n <= 264; n += 8) {
        const bool by_table = (m == 64 * group || m == 128 * group) && n > 0 && n <= 256 &&
                              n % (group == 1 && m == 64 ? 8 : 16) == 0;
        EXPECT_EQ(half_floats(group, m, n).is_legal(), by_table) << group << " " << m << " " << n;
        legal += by_table ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(legal, 32 + 16 + 16 + 16);
  const auto integers = [](int group, int m, int n) {
    return product(Tcgen05Kind::i8, Type::i8, Type::i8, Type::i32, group, m, n).is_legal();
  };
  EXPECT_TRUE(integers(1, 64, 8) && integers(1, 128, 48) && integers(2, 256, 96));
  EXPECT_FALSE(integers(1, 64, 24) || integers(1, 64, 40) || integers(2, 256, 48));
  EXPECT_FALSE(product(Tcgen05Kind::f16, Type::f16, Type::bf16, Type::f32, 1, 128, 64).is_legal());
  EXPECT_FALSE(product(Tcgen05Kind::f16, Type::bf16, Type::bf16, Type::f16, 1, 128, 64).is_legal());
}

}  // namespace
}  // namespace estoc::tcgen05_tests
