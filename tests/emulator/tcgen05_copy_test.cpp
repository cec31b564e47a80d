// What tcgen05.cp, shift and the further forms of mma leave in tensor memory.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tcgen05_frame.h"

namespace estoc::tcgen05_copy {
namespace {

using namespace tcgen05_reports;
using abi::TensorSource;

constexpr u32 kWords = 8;
constexpr u32 kBefore = 0x11111111;
constexpr Tcgen05Operand kRows{Tcgen05Swizzle::none, 128 * 16, 128};

// Byte i of shared memory.
constexpr u32 byte_at(u32 i) {
  return (i * 13 + i / 256) & 0xff;
}

// Fills shared memory with these bytes and tensor memory with kBefore; returns its address.
template <int group = 1>
u32 begin_filled() {
  const u32 address = begin<group>();
  for (u32 i = 4 * ptx::tid(); i < kDone; i += 4 * ptx::ntid()) {
    u32 word = 0;
    for (u32 byte = 0; byte < 4; ++byte)
      word |= byte_at(i + byte) << 8 * byte;
    ptx::st_shared<1>(at(i), Words<1>{{word}});
  }
  ptx::fence_proxy_async();
  u32 words[kWords];
  for (u32& word : words)
    word = kBefore + ptx::tid();
  ptx::tcgen05_st<TensorShape::lanes32x32, kWords>(own(address), words);
  ptx::tcgen05_wait_st();
  ptx::tcgen05_fence_before_thread_sync();
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
  ptx::tcgen05_fence_after_thread_sync();
  return address;
}

// Waits for what the first thread has committed, and stores the 8 columns of all lanes.
template <int group = 1>
void end_stored(u32 address, u64 out) {
  wait_done();
  ptx::tcgen05_fence_after_thread_sync();
  u32 words[kWords];
  ptx::tcgen05_ld<TensorShape::lanes32x32, kWords>(words, own(address));
  ptx::tcgen05_wait_ld();
  ptx::tcgen05_use(words);
  const u32 lane = ptx::cluster_ctarank() * 128 + ptx::tid();
  for (u32 r = 0; r < kWords; ++r)
    ptx::st_global<1>(out + (lane * kWords + r) * 4, Words<1>{{words[r]}});
  end<group>(address);
}

std::vector<u32> run(emulator::Entry kernel, emulator::Schedule schedule, unsigned ctas = 1) {
  std::vector<u32> out(std::size_t{ctas} * 128 * kWords);
  u64 address = reinterpret_cast<u64>(out.data());
  void* arguments[] = {&address};
  emulator::Options options;
  options.schedule = schedule;
  options.cluster = {ctas, 1, 1};
  const auto report =
      emulator::launch(kernel, options.cluster, 128, kSharedBytes, arguments, options);
  EXPECT_TRUE(report.clean()) << report.text();
  return out;
}

// `copies` of one CTA or of a pair.
template <auto copies, int group>
void copy_kernel(u64 out) {
  const u32 address = begin_filled<group>();
  if (first() && ptx::cluster_ctarank() == 0) {
    copies(address);
    if constexpr (group == 2) {
      ptx::tcgen05_commit_multicast<2>(at(kDone), 3);
    } else {
      ptx::tcgen05_commit<1>(at(kDone));
    }
  }
  end_stored<group>(address, out);
}

/// The byte of shared memory that byte `byte` of lane `lane` holds, or kKept.
using Source = std::function<u32(u32 lane, u32 byte)>;
constexpr u32 kKept = ~0u;

u32 row_byte(u32 row, u32 byte) {
  return row / 8 * 128 + row % 8 * 16 + byte / 16 * 128 * 16 + byte % 16;
}

template <auto copies, int group = 1>
void check_copy(const Source& source) {
  for (const auto schedule : {emulator::Schedule::late, emulator::Schedule::eager}) {
    const auto out = run(emulator::entry<copy_kernel<copies, group>>, schedule, group);
    for (u32 i = 0; i < out.size() * 4; ++i) {
      const u32 lane = i / (4 * kWords) % 128;
      const u32 from = source(lane, i % (4 * kWords));
      const u32 expected = from == kKept ? (kBefore + lane) >> 8 * (i % 4) & 0xff : byte_at(from);
      ASSERT_EQ(out[i / 4] >> 8 * (i % 4) & 0xff, expected) << lane << ", " << i % (4 * kWords);
    }
  }
}

u64 rows() {
  return kRows.descriptor(at(0));
}

constexpr auto kAll = [](u32 address) { ptx::tcgen05_cp_128x256b<1>(address, rows()); };
constexpr auto kAllOfPair = [](u32 address) { ptx::tcgen05_cp_128x256b<2>(address, rows()); };
constexpr auto kNarrow = [](u32 address) { ptx::tcgen05_cp_128x128b<1>(address, rows()); };
constexpr auto kTwice02 = [](u32 address) {
  ptx::tcgen05_cp_64x128b_warpx2_02_13<1>(address, rows());
};
constexpr auto kTwice01 = [](u32 address) {
  ptx::tcgen05_cp_64x128b_warpx2_01_23<1>(address, rows());
};
constexpr auto kFourTimes = [](u32 address) { ptx::tcgen05_cp_32x128b_warpx4<1>(address, rows()); };
constexpr auto kFour = [](u32 address) { ptx::tcgen05_cp_4x256b<1>(address + (11 << 16), rows()); };

TEST(Tcgen05Copies, RowsGoToTheirLanes) {
  const auto narrow = [](const std::function<u32(u32)>& row_of) {
    return
        [row_of](u32 lane, u32 byte) { return byte < 16 ? row_byte(row_of(lane), byte) : kKept; };
  };
  check_copy<kAll>([](u32 lane, u32 byte) { return row_byte(lane, byte); });
  check_copy<kAllOfPair, 2>([](u32 lane, u32 byte) { return row_byte(lane, byte); });
  check_copy<kNarrow>(narrow([](u32 lane) { return lane; }));
  check_copy<kTwice02>(narrow([](u32 lane) { return lane < 64 ? lane : lane - 64; }));
  check_copy<kTwice01>(narrow([](u32 lane) {
    constexpr u32 kFirst[] = {0, 0, 32, 32};
    return kFirst[lane / 32] + lane % 32;
  }));
  check_copy<kFourTimes>(narrow([](u32 lane) { return lane % 32; }));
  check_copy<kFour>(
      [](u32 lane, u32 byte) { return lane % 32 == 11 ? row_byte(lane / 32, byte) : kKept; });
}

template <TensorSource source>
void unpacks(u64 out) {
  const u32 address = begin_filled();
  if (first()) {
    ptx::tcgen05_cp_128x256b<1, source>(address, rows());
    ptx::tcgen05_commit<1>(at(kDone));
  }
  end_stored(address, out);
}

TEST(Tcgen05Copies, SmallElementsGetBytes) {
  const auto bits_of = [](u32 lane, u32 byte, u32 first, u32 count) {
    u32 bits = 0;
    for (u32 i = first; i < first + count; ++i) {
      const u32 from = byte_at(row_byte(lane, byte / 16 * 16 + i / 8));
      bits |= (from >> i % 8 & 1) << (i - first);
    }
    return bits;
  };
  const auto four = run(emulator::entry<unpacks<TensorSource::packed4>>, emulator::Schedule::late);
  const auto six = run(emulator::entry<unpacks<TensorSource::packed6>>, emulator::Schedule::eager);
  for (u32 i = 0; i < 128 * 32; ++i) {
    const u32 element = i % 16;
    ASSERT_EQ(four[i / 4] >> 8 * (i % 4) & 0xff, bits_of(i / 32, i % 32, 4 * element, 4) << 2) << i;
    ASSERT_EQ(six[i / 4] >> 8 * (i % 4) & 0xff, bits_of(i / 32, i % 32, 6 * element, 6)) << i;
  }
}

// Elements of 4 bits times e4m3, A from tensor memory and from shared memory: 8 columns of each.
template <bool from_tensor_memory>
void small_elements(u64 out) {
  constexpr Tcgen05Product kSmall{
      Tcgen05Kind::f8f6f4, Type::e2m1, Type::e4m3, Type::f32, 1, 128, 16};
  static_assert(kSmall.is_legal());
  const u32 address = begin_filled();
  // Far from the first rows of A, and numbers alone.
  const u64 b = Tcgen05Operand{Tcgen05Swizzle::none, 16 * 16, 128}.descriptor(at(kB));
  ptx::st_shared<1>(at(kB + 4 * ptx::tid()), Words<1>{{0x38303038u + ptx::tid() % 3}});
  ptx::fence_proxy_async();
  ptx::barrier_sync();
  if (first()) {
    if constexpr (from_tensor_memory) {
      ptx::tcgen05_cp_128x256b<1, TensorSource::packed4>(address + 64, rows());
      ptx::tcgen05_mma_tensor<Tcgen05Kind::f8f6f4, 1>(address, address + 64, b, kSmall.descriptor(),
                                                      false);
    } else {
      ptx::tcgen05_mma<Tcgen05Kind::f8f6f4, 1>(address, rows(), b, kSmall.descriptor(), false);
    }
    ptx::tcgen05_commit<1>(at(kDone));
  }
  end_stored(address, out);
}

TEST(Tcgen05Copies, SmallElementsMultiplyFromTensorMemory) {
  const auto one = run(emulator::entry<small_elements<false>>, emulator::Schedule::late);
  const auto other = run(emulator::entry<small_elements<true>>, emulator::Schedule::late);
  EXPECT_EQ(one, other);
  EXPECT_NE(std::count_if(one.begin(), one.end(), [](u32 word) { return word != 0; }), 0);
}

constexpr auto kShift = [](u32 address) { ptx::tcgen05_shift_down<1>(address); };
constexpr auto kShiftHalf = [](u32 address) { ptx::tcgen05_shift_down<1>(address + (64 << 16)); };
constexpr auto kShiftOfPair = [](u32 address) { ptx::tcgen05_shift_down<2>(address); };
constexpr auto kShiftAndFill = [](u32 address) {
  ptx::tcgen05_shift_down<1>(address);
  ptx::tcgen05_cp_4x256b<1>(address, rows());
};

TEST(Tcgen05Copies, LanesAreShifted) {
  constexpr u32 kNothing = 0x7fc07ead;
  for (const auto schedule : {emulator::Schedule::late, emulator::Schedule::eager}) {
    const auto all = run(emulator::entry<copy_kernel<kShift, 1>>, schedule);
    const auto half = run(emulator::entry<copy_kernel<kShiftHalf, 1>>, schedule);
    const auto pair = run(emulator::entry<copy_kernel<kShiftOfPair, 2>>, schedule, 2);
    const auto filled = run(emulator::entry<copy_kernel<kShiftAndFill, 1>>, schedule);
    for (u32 i = 0; i < 128 * kWords; ++i) {
      const u32 lane = i / kWords;
      const u32 shifted = lane % 32 == 0 ? kNothing : kBefore + lane - 1;
      ASSERT_EQ(all[i], shifted) << lane;
      ASSERT_EQ(half[i], lane < 64 ? kBefore + lane : shifted) << lane;
      ASSERT_EQ(pair[i], shifted) << lane;
      ASSERT_EQ(pair[128 * kWords + i], shifted) << lane;
      const u32 byte = byte_at(row_byte(lane / 32, i % kWords * 4));
      ASSERT_EQ(filled[i] & 0xff, lane % 32 == 0 ? byte : shifted & 0xff) << lane;
    }
  }
}

constexpr u32 kDisabled[8] = {0x00000001, 0xffffffff, 0, 0x80000000, 0x0000ff00, 0, 5, 0x7fffffff};

template <int group>
void masked(u64 out) {
  constexpr Tcgen05Product kMasked{Tcgen05Kind::f16, Type::bf16, Type::bf16, Type::f32, group,
                                   128 * group,      16 * group};
  static_assert(kMasked.is_legal());
  const u32 address = begin_filled<group>();
  for (u32 i = 4 * ptx::tid(); i < kDone; i += 4 * ptx::ntid())
    ptx::st_shared<1>(at(i), Words<1>{{0}});
  ptx::fence_proxy_async();
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
  if (first() && ptx::cluster_ctarank() == 0) {
    u32 disabled[4 * group];
    for (int i = 0; i < 4 * group; ++i)
      disabled[i] = kDisabled[i];
    ptx::tcgen05_mma_disable_lanes<Tcgen05Kind::f16, group>(
        address, a_operand(), Tcgen05Operand{Tcgen05Swizzle::none, 256, 128}.descriptor(at(kB)),
        kMasked.descriptor(), disabled, false);
    if constexpr (group == 2) {
      ptx::tcgen05_commit_multicast<2>(at(kDone), 3);
    } else {
      ptx::tcgen05_commit<1>(at(kDone));
    }
  }
  end_stored<group>(address, out);
}

TEST(Tcgen05Products, DisabledLanesStayAsTheyAre) {
  const auto one = run(emulator::entry<masked<1>>, emulator::Schedule::late);
  const auto two = run(emulator::entry<masked<2>>, emulator::Schedule::eager, 2);
  for (u32 i = 0; i < 2 * 128 * kWords; ++i) {
    const u32 lane = i / kWords;
    const bool kept = (kDisabled[lane / 32] >> lane % 32 & 1) != 0;
    const u32 expected = kept ? kBefore + lane % 128 : 0;
    ASSERT_EQ(two[i], expected) << lane;
    ASSERT_EQ(one[i % one.size()], lane < 128 ? expected : one[i % one.size()]) << lane;
  }
}

}  // namespace
}  // namespace estoc::tcgen05_copy
