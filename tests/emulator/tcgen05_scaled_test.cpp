// tcgen05 with scales of blocks: products of every kind against plain sums, worked values of their
// descriptors, and what is reported of mistakes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "emulator/conversions.h"
#include "tcgen05_frame.h"

#include <estoc/ptx/tma.cuh>

namespace estoc::tcgen05_scaled {
namespace {

using namespace tcgen05_reports;

/// Two instructions of 32 bytes of K each, whose operands are not swizzled.
struct Scaled {
  Tcgen05Product product;

  constexpr int depth() const { return 2 * product.depth(); }
  constexpr int scales() const { return 2 * product.scale_bytes(); }
  constexpr int words() const { return (scales() + 3) / 4; }
  constexpr int own(bool of_a) const { return (of_a ? product.m : product.n) / product.group; }
  constexpr int blocks() const { return (product.n + 127) / 128; }
  constexpr u32 part_bytes(bool of_a) const { return static_cast<u32>(own(of_a)) * 64; }
  // Scales of a CTA: of its rows, or of all columns.
  constexpr u32 scale_bytes(bool of_a) const {
    return static_cast<u32>((of_a ? 1 : blocks()) * words()) * 512;
  }
  constexpr Tcgen05Operand layout(bool of_a) const {
    return {Tcgen05Swizzle::none, static_cast<unsigned>(own(of_a)) * 16, 128};
  }
};

constexpr Tcgen05Product scaled(Tcgen05Kind kind, Type a, Type b, int block, Type scales, int group,
                                int n) {
  return {kind, a, b, Type::f32, group, 128 * group, n, false, false, block, scales};
}

constexpr u32 kPartB = 16384;
constexpr u32 kScalesA = 32768;
constexpr u32 kScalesB = 34816;
constexpr u32 kFull = 40960;
constexpr u32 kEnd = kFull + 8;
constexpr u32 kAddress = kFull + 16;
constexpr unsigned kAllBytes = kFull + 64;
constexpr u32 kWordsOfA = 256;
constexpr u32 kWordsOfB = 288;
constexpr Tcgen05Operand kScaleRows{Tcgen05Swizzle::none, 0, 128};

template <Scaled c>
void issue(u32 base, u32 address, u32 done) {
  constexpr Tcgen05Product kP = c.product;
  static_assert(kP.is_legal());
  for (u32 w = 0; w < c.words(); ++w) {
    ptx::tcgen05_cp_32x128b_warpx4<kP.group>(address + kWordsOfA + 4 * w,
                                             kScaleRows.descriptor(base + kScalesA + 512 * w));
    for (u32 block = 0; block < c.blocks(); ++block) {
      ptx::tcgen05_cp_32x128b_warpx4<kP.group>(
          address + kWordsOfB + 4 * (w * c.blocks() + block),
          kScaleRows.descriptor(base + kScalesB + 512 * (block * c.words() + w)));
    }
  }
  const u64 a = c.layout(true).descriptor(base);
  const u64 b = c.layout(false).descriptor(base + kPartB);
  for (u32 k = 0; k < 2; ++k) {
    const u32 byte = k * kP.scale_bytes();
    ptx::tcgen05_mma_scaled<kP.kind, kP.group, kP.block>(
        address, a + (k * 2 * c.layout(true).leading >> 4),
        b + (k * 2 * c.layout(false).leading >> 4), kP.descriptor(byte % 4),
        address + kWordsOfA + byte / 4 * 4, address + kWordsOfB + byte / 4 * 4 * c.blocks(), k > 0);
  }
  if constexpr (kP.group == 2) {
    ptx::tcgen05_commit_multicast<2>(done, 3);
  } else {
    ptx::tcgen05_commit<1>(done);
  }
}

struct Addresses {
  u64 a, b, a_scales, b_scales, out;
};

template <Scaled c>
void kernel(const Addresses p) {
  constexpr int kGroup = c.product.group;
  const u32 base = ptx::smem_base();
  const u32 full = base + kFull;
  const u32 rank = ptx::cluster_ctarank();
  if (first()) {
    ptx::mbarrier_init(full, 1);
    ptx::mbarrier_init(base + kEnd, 1);
    ptx::fence_mbarrier_init();
  }
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
  if (first_warp()) ptx::tcgen05_alloc<kGroup, 512>(base + kAddress);
  if (first()) {
    constexpr u32 kA = c.part_bytes(true), kB = c.part_bytes(false);
    constexpr u32 kScaleA = c.scale_bytes(true), kScaleB = c.scale_bytes(false);
    ptx::mbarrier_arrive_expect_tx(full, kA + kB + kScaleA + kScaleB);
    ptx::cp_async_bulk_load(base, p.a + rank * kA, kA, full);
    ptx::cp_async_bulk_load(base + kPartB, p.b + rank * kB, kB, full);
    ptx::cp_async_bulk_load(base + kScalesA, p.a_scales + rank * kScaleA, kScaleA, full);
    ptx::cp_async_bulk_load(base + kScalesB, p.b_scales, kScaleB, full);
  }
  ptx::mbarrier_wait(full, 0);
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
  ptx::tcgen05_fence_after_thread_sync();
  const u32 address = ptx::ld_shared<1>(base + kAddress).word[0];
  if (first() && rank == 0) issue<c>(base, address, base + kEnd);
  ptx::mbarrier_wait_cluster(base + kEnd, 0);
  ptx::tcgen05_fence_after_thread_sync();
  for (u32 column = 0; column < c.product.n; column += 8) {
    u32 words[8];
    ptx::tcgen05_ld<TensorShape::lanes32x32, 8>(words, own(address) + column);
    ptx::tcgen05_wait_ld();
    ptx::tcgen05_use(words);
    const u64 row = rank * 128 + ptx::tid();
    for (u32 r = 0; r < 8; ++r)
      ptx::st_global<1>(p.out + (row * c.product.n + column + r) * 4, Words<1>{{words[r]}});
  }
  end<kGroup, 512>(address);
}

struct Code {
  u32 bits;
  double value;
};

Code draw_element(Type type, std::mt19937& random) {
  if (type == Type::e2m1) {
    constexpr double kValues[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    const u32 bits = random() % 16;
    return {bits, bits < 8 ? kValues[bits] : -kValues[bits - 8]};
  }
  const auto value = static_cast<float>(static_cast<int>(random() % 7) - 3);
  return {type == Type::e4m3 ? emulator::float_to_e4m3(value) : emulator::float_to_e5m2(value),
          static_cast<double>(value)};
}

Code draw_scale(Type type, std::mt19937& random) {
  if (type == Type::e8m0) {
    const int exponent = static_cast<int>(random() % 5) - 2;
    return {static_cast<u32>(127 + exponent), std::ldexp(1.0, exponent)};
  }
  const auto value = 0.25F * static_cast<float>(1 + random() % 8);
  // The sign of such a scale is ignored.
  const u32 sign = random() % 2 == 0 ? 0 : 0x80;
  return {emulator::float_to_e4m3(value) | sign, static_cast<double>(value)};
}

std::size_t element(int row, int columns, int column) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
         static_cast<std::size_t>(column);
}

/// Values times scales, row by row, and the bytes of data and scales of all CTAs.
struct Operand {
  std::vector<double> values;
  std::vector<u8> data;
  std::vector<u8> scales;
};

Operand make_operand(const Scaled& c, bool of_a) {
  const Tcgen05Product& p = c.product;
  const Type type = of_a ? p.a : p.b;
  const int rows = of_a ? p.m : p.n;
  const int bits = abi::type_bits(type);
  std::mt19937 random(of_a ? 1 : 2);
  Operand o;
  o.data.resize(static_cast<std::size_t>(rows) * 64);
  o.scales.resize(static_cast<std::size_t>((rows + 127) / 128 * c.words()) * 512, 0xff);
  for (int row = 0; row < rows; ++row) {
    double scale = 0;
    for (int k = 0; k < c.depth(); ++k) {
      if (k % p.block == 0) {
        const int j = k / p.block;
        const Code code = draw_scale(p.scales, random);
        const int at = (row / 128 * c.words() + j / 4) * 512 + row % 32 * 16 + row % 128 / 32 * 4;
        o.scales[element(at, 1, j % 4)] = static_cast<u8>(code.bits);
        scale = code.value;
      }
      const Code code = draw_element(type, random);
      o.values.push_back(code.value * scale);
      const int byte = k * bits / 8;
      const int own_row = row % c.own(of_a);
      const int at = row / c.own(of_a) * static_cast<int>(c.part_bytes(of_a)) + own_row * 16 +
                     byte / 16 * c.own(of_a) * 16 + byte % 16;
      auto& to = o.data[static_cast<std::size_t>(at)];
      to = static_cast<u8>(to | code.bits << (k * bits % 8));
    }
  }
  return o;
}

template <Scaled c>
void check_product(emulator::Options options = {}) {
  constexpr Tcgen05Product kP = c.product;
  const Operand a = make_operand(c, true);
  const Operand b = make_operand(c, false);
  std::vector<float> out(static_cast<std::size_t>(kP.m * kP.n), NAN);
  Addresses p{reinterpret_cast<u64>(a.data.data()), reinterpret_cast<u64>(b.data.data()),
              reinterpret_cast<u64>(a.scales.data()), reinterpret_cast<u64>(b.scales.data()),
              reinterpret_cast<u64>(out.data())};
  void* arguments[] = {&p};
  options.cluster = {static_cast<unsigned>(kP.group), 1, 1};
  const emulator::Report report = emulator::launch(emulator::entry<kernel<c>>, options.cluster, 128,
                                                   kAllBytes, arguments, options);
  ASSERT_TRUE(report.clean()) << report.text();
  for (int i = 0; i < kP.m; ++i) {
    for (int j = 0; j < kP.n; ++j) {
      double sum = 0;
      for (int k = 0; k < c.depth(); ++k) {
        sum += a.values[element(i, c.depth(), k)] * b.values[element(j, c.depth(), k)];
      }
      ASSERT_EQ(out[static_cast<std::size_t>(i * kP.n + j)], static_cast<float>(sum))
          << i << ", " << j;
    }
  }
}

template <Scaled c>
void check_schedules() {
  for (const auto schedule :
       {emulator::Schedule::late, emulator::Schedule::eager, emulator::Schedule::random}) {
    emulator::Options options;
    options.schedule = schedule;
    options.seed = 3;
    check_product<c>(options);
  }
}

TEST(Tcgen05Scaled, Kinds) {
  using enum Tcgen05Kind;
  check_schedules<Scaled{scaled(mxf8f6f4, Type::e4m3, Type::e4m3, 32, Type::e8m0, 1, 64)}>();
  check_product<Scaled{scaled(mxf8f6f4, Type::e5m2, Type::e4m3, 32, Type::e8m0, 1, 192)}>();
  check_product<Scaled{scaled(mxf4, Type::e2m1, Type::e2m1, 32, Type::e8m0, 1, 128)}>();
  check_schedules<Scaled{scaled(mxf4nvf4, Type::e2m1, Type::e2m1, 16, Type::e4m3, 1, 64)}>();
  check_product<Scaled{scaled(mxf4nvf4, Type::e2m1, Type::e2m1, 16, Type::e8m0, 1, 32)}>();
  check_product<Scaled{scaled(mxf4nvf4, Type::e2m1, Type::e2m1, 32, Type::e8m0, 1, 256)}>();
}

TEST(Tcgen05Scaled, Pairs) {
  using enum Tcgen05Kind;
  check_schedules<Scaled{scaled(mxf8f6f4, Type::e4m3, Type::e5m2, 32, Type::e8m0, 2, 64)}>();
  check_product<Scaled{scaled(mxf4nvf4, Type::e2m1, Type::e2m1, 16, Type::e4m3, 2, 256)}>();
  check_product<Scaled{scaled(mxf4, Type::e2m1, Type::e2m1, 32, Type::e8m0, 2, 192)}>();
}

TEST(Tcgen05Scaled, WorkedValuesOfDescriptors) {
  using enum Tcgen05Kind;
  constexpr auto kMx8 = scaled(mxf8f6f4, Type::e4m3, Type::e4m3, 32, Type::e8m0, 2, 256);
  EXPECT_EQ(kMx8.descriptor(), 0x10C00000U);
  EXPECT_EQ(kMx8.descriptor(3), 0x70C00030U);
  constexpr auto kMx4 = scaled(mxf4, Type::e2m1, Type::e2m1, 32, Type::e8m0, 2, 256);
  EXPECT_EQ(kMx4.descriptor(), 0x10C00480U);
  EXPECT_EQ(kMx4.descriptor(2), 0x50C004A0U);
  constexpr auto kNv4 = scaled(mxf4nvf4, Type::e2m1, Type::e2m1, 16, Type::e4m3, 2, 256);
  EXPECT_EQ(kNv4.descriptor(), 0x10400480U);
  EXPECT_EQ(kMx8.scale_bytes(), 1);
  EXPECT_EQ(kMx4.scale_bytes(), 2);
  EXPECT_EQ(kNv4.scale_bytes(), 4);
}

TEST(Tcgen05Scaled, LegalProductsAreThoseOfTheTables) {
  using enum Tcgen05Kind;
  for (int group = 1; group <= 2; ++group) {
    for (int m = 32; m <= 512; m += 32) {
      for (int n = 0; n <= 264; n += 8) {
        Tcgen05Product p = scaled(mxf4, Type::e2m1, Type::e2m1, 32, Type::e8m0, group, n);
        p.m = m;
        EXPECT_EQ(p.is_legal(), m == 128 * group && n > 0 && n <= 256 && n % 16 == 0);
      }
    }
  }
  const auto legal = [](Tcgen05Kind kind, Type a, Type b, int block, Type scales) {
    return scaled(kind, a, b, block, scales, 1, 64).is_legal();
  };
  EXPECT_TRUE(legal(mxf4nvf4, Type::e2m1, Type::e2m1, 32, Type::e8m0));
  EXPECT_FALSE(legal(mxf4nvf4, Type::e2m1, Type::e2m1, 32, Type::e4m3));
  EXPECT_FALSE(legal(mxf4, Type::e2m1, Type::e2m1, 16, Type::e8m0));
  EXPECT_FALSE(legal(mxf4, Type::e4m3, Type::e2m1, 32, Type::e8m0));
  EXPECT_FALSE(legal(mxf8f6f4, Type::e4m3, Type::e4m3, 32, Type::e4m3));
  EXPECT_FALSE(legal(mxf8f6f4, Type::e4m3, Type::e4m3, 0, Type::f32));
  EXPECT_FALSE(legal(f8f6f4, Type::e4m3, Type::e4m3, 32, Type::e8m0));
}

// Mistakes, in the frame that other tests of tcgen05 have: products of zeros by 32 columns.
constexpr auto kBytes =
    scaled(Tcgen05Kind::mxf8f6f4, Type::e4m3, Type::e4m3, 32, Type::e8m0, 1, 32);

void copy_scales(u32 address, int line = __builtin_LINE()) {
  ptx::tcgen05_cp_32x128b_warpx4<1>(address, kScaleRows.descriptor(at(0)), line);
}
void multiply_scaled(u32 address, u32 a_scales, u32 b_scales, u32 instruction,
                     int line = __builtin_LINE()) {
  ptx::tcgen05_mma_scaled<Tcgen05Kind::mxf8f6f4, 1, 32>(
      address, a_operand(), b_operand(), instruction, a_scales, b_scales, false, line);
}
void commit_and_end(u32 address) {
  if (first()) ptx::tcgen05_commit<1>(at(kDone));
  wait_done();
  ptx::tcgen05_fence_after_thread_sync();
  end(address);
}
void no_mistake() {
  const u32 address = begin();
  if (first()) {
    copy_scales(address + 64);
    copy_scales(address + 68);
    multiply_scaled(address, address + 64, address + 68, kBytes.descriptor());
  }
  commit_and_end(address);
}
void scales_never_copied() {
  const u32 address = begin();
  if (first()) {
    copy_scales(address + 64);
    FAULT_NEXT;
    multiply_scaled(address, address + 64, address + 68, kBytes.descriptor());
  }
  commit_and_end(address);
}
void scales_beyond_allocation() {
  const u32 address = begin();
  if (first()) {
    copy_scales(address + 64);
    FAULT_NEXT;
    multiply_scaled(address, address + 126, address + 64, kBytes.descriptor());
  }
  commit_and_end(address);
}
void scales_in_lane_32() {
  const u32 address = begin();
  if (first()) {
    copy_scales(address + 64);
    FAULT_NEXT;
    multiply_scaled(address, address + 64 + (32 << 16), address + 64, kBytes.descriptor());
  }
  commit_and_end(address);
}
void scales_copied_over() {
  const u32 address = begin();
  if (first()) {
    copy_scales(address + 64);
    multiply_scaled(address, address + 64, address + 64, kBytes.descriptor());
    FAULT_NEXT;
    copy_scales(address + 64);
  }
  commit_and_end(address);
}
void scales_beneath_sums() {
  const u32 address = begin();
  if (first()) {
    copy_scales(address + 28);
    FAULT_NEXT;
    multiply_scaled(address, address + 28, address + 28, kBytes.descriptor());
  }
  commit_and_end(address);
}
void scales_copied_by_another() {
  const u32 address = begin();
  if (ptx::tid() == 64) {
    copy_scales(address + 64);
    ptx::tcgen05_commit<1>(at(kDone2));
  }
  ptx::barrier_sync();
  if (first()) {
    FAULT_NEXT;
    multiply_scaled(address, address + 64, address + 64, kBytes.descriptor());
  }
  wait_done(kDone2);
  commit_and_end(address);
}
template <u32 changed>
void wrong_bits() {
  const u32 address = begin();
  if (first()) {
    copy_scales(address + 64);
    FAULT_NEXT;
    multiply_scaled(address, address + 64, address + 64, kBytes.descriptor() ^ changed);
  }
  commit_and_end(address);
}
void half_a_word() {
  constexpr auto kHalves = scaled(Tcgen05Kind::mxf4, Type::e2m1, Type::e2m1, 32, Type::e8m0, 1, 32);
  const u32 address = begin();
  if (first()) {
    copy_scales(address + 64);
    FAULT_NEXT;
    ptx::tcgen05_mma_scaled<Tcgen05Kind::mxf4, 1, 32>(address, a_operand(), b_operand(),
                                                      kHalves.descriptor(1), address + 64,
                                                      address + 64, false);
  }
  commit_and_end(address);
}

TEST(Tcgen05Scaled, MistakesAreFoundAtTheirLine) {
  using emulator::Schedule;
  const struct {
    Fault fault;
    void (*kernel)();
  } mistakes[] = {
      {Fault::uninitialised, scales_never_copied},
      {Fault::out_of_bounds, scales_beyond_allocation},
      {Fault::tensor_memory, scales_in_lane_32},
      {Fault::race, scales_copied_over},
      {Fault::race, scales_beneath_sums},
      {Fault::race, scales_copied_by_another},
      {Fault::bad_descriptor, wrong_bits<1u << 31>},  // K of 96
      {Fault::bad_descriptor, wrong_bits<1u << 6>},
      {Fault::bad_descriptor, wrong_bits<1u << 2>},   // sparse
      {Fault::bad_descriptor, wrong_bits<1u << 23>},  // scales of e4m3
      {Fault::bad_descriptor, wrong_bits<1u << 24>},  // M 144
      {Fault::bad_descriptor, wrong_bits<2u << 7>},   // no type
      {Fault::bad_descriptor, half_a_word},
  };
  EXPECT_TRUE(run_mistake(no_mistake, 1, Schedule::late).clean());
  for (const auto& [fault, mistaken_kernel] : mistakes) {
    for (const auto schedule : {Schedule::late, Schedule::eager, Schedule::random}) {
      const emulator::Report report = run_mistake(mistaken_kernel, 1, schedule);
      bool found = false;
      for (const auto& finding : report.findings)
        found = found || (finding.fault == fault && finding.line == noted_line);
      EXPECT_TRUE(found) << "line " << noted_line << "\n" << report.text();
    }
  }
}

// A store to one quarter of the lanes leaves the copies of the others as they were.
void differing_copies(u64 out) {
  const u32 address = begin();
  if (first()) copy_scales(address + 64);
  if (first()) ptx::tcgen05_commit<1>(at(kDone2));
  wait_done(kDone2);
  ptx::tcgen05_fence_after_thread_sync();
  const u32 words[4] = {0x7f7f7f7f, 0x7f7f7f7f, 0x7f7f7f7f, 0x7f7f7f7f};
  if (first_warp()) ptx::tcgen05_st<TensorShape::lanes32x32, 4>(address + 64, words);
  if (first_warp()) ptx::tcgen05_wait_st();
  ptx::tcgen05_fence_before_thread_sync();
  ptx::barrier_sync();
  ptx::tcgen05_fence_after_thread_sync();
  if (first()) multiply_scaled(address, address + 64, address + 64, kBytes.descriptor());
  if (first()) ptx::tcgen05_commit<1>(at(kDone));
  wait_done();
  ptx::tcgen05_fence_after_thread_sync();
  u32 sums[1];
  ptx::tcgen05_ld<TensorShape::lanes32x32, 1>(sums, own(address));
  ptx::tcgen05_wait_ld();
  ptx::tcgen05_use(sums);
  ptx::st_global<1>(out + 4 * ptx::tid(), Words<1>{{sums[0]}});
  end(address);
}

TEST(Tcgen05Scaled, CopiesOfScalesInAllQuartersAreOne) {
  std::vector<float> out(128);
  u64 address = reinterpret_cast<u64>(out.data());
  void* arguments[] = {&address};
  emulator::Options options;
  options.cluster = {1, 1, 1};
  const auto report = emulator::launch(emulator::entry<differing_copies>, {1, 1, 1}, 128,
                                       kSharedBytes, arguments, options);
  EXPECT_TRUE(report.clean()) << report.text();
  for (const float sum : out)
    EXPECT_TRUE(std::isnan(sum));
}

}  // namespace
}  // namespace estoc::tcgen05_scaled
