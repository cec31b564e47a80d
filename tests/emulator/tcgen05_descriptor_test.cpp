// Descriptors of tcgen05 that are wrong in one field each, and loads of pairs of CTAs.
#include <gtest/gtest.h>

#include "emulator/tensor_map.h"
#include "tcgen05_frame.h"

#include <estoc/ptx/tma_pair.cuh>

namespace estoc::tcgen05_reports {
namespace {

thread_local u32 given_instruction = 0;
thread_local u64 given_a = 0;
void given_descriptors() {
  const u32 address = begin();
  if (first()) {
    ptx::tcgen05_mma<Tcgen05Kind::f16, 1>(address, given_a == 0 ? a_operand() : given_a,
                                          b_operand(), given_instruction, false);
  }
  if (first()) ptx::tcgen05_commit<1>(at(kDone));
  wait_done();
  end(address);
}

void no_mistake() {
  const u32 address = begin();
  multiply_and_wait(address);
  load(address);
  end(address);
}

TEST(Tcgen05Descriptors, AreChecked) {
  given_instruction = kInstruction;
  given_a = 0;
  const auto is_clean = [] {
    return run_mistake(given_descriptors, 1, emulator::Schedule::late).clean();
  };
  EXPECT_TRUE(is_clean());
  EXPECT_TRUE(run_mistake(no_mistake, 1, emulator::Schedule::late).clean());
  const auto expect_bad = [&] {
    const emulator::Report report = run_mistake(given_descriptors, 1, emulator::Schedule::late);
    EXPECT_TRUE(report.has(Fault::bad_descriptor))
        << std::hex << given_instruction << " " << given_a << "\n"
        << report.text();
  };
  // M 96, N 264, N 24, sparse, saturating, sums of f16 and of i32, unknown types, bits that are 0.
  for (const u32 instruction :
       {(kInstruction & ~(31u << 24)) | 6u << 24, (kInstruction & ~(63u << 17)) | 33u << 17,
        (kInstruction & ~(63u << 17)) | 3u << 17, kInstruction | 4, kInstruction | 8,
        kInstruction & ~(3u << 4), kInstruction ^ 3u << 4, kInstruction | 3u << 7,
        kInstruction | 7u << 10, kInstruction ^ 1u << 10, kInstruction | 1u << 6,
        kInstruction | 1u << 23, kInstruction | 1u << 29, kInstruction | 1u << 31}) {
    given_instruction = instruction;
    expect_bad();
  }
  given_instruction = kInstruction;
  const u64 swizzled = Tcgen05Operand{Tcgen05Swizzle::bytes128, 0, 1024}.descriptor(0x400);
  // No constant bits, a base offset, an address as leading offset, bits that are 0, swizzles that
  // are none, the pattern's second row, the next row's bytes, a stride across patterns.
  for (const u64 a : {swizzled & ~(u64{1} << 46), swizzled | u64{1} << 49, swizzled | u64{1} << 52,
                      swizzled | u64{1} << 53, swizzled | u64{1} << 60, swizzled | u64{1} << 14,
                      swizzled | u64{1} << 61, swizzled | u64{7} << 61, swizzled + (128 >> 4),
                      swizzled + (112 >> 4), swizzled + (u64{512 >> 4} << 32),
                      Tcgen05Operand{Tcgen05Swizzle::bytes128_atom32, 0, 1024}.descriptor(0x400),
                      Tcgen05Operand{Tcgen05Swizzle::none, 0, 128}.descriptor(0x400)}) {
    given_a = a;
    expect_bad();
  }
}

// Both CTAs' bytes go to the even CTA's barrier; a load that is not of a pair tells its own.
template <bool of_pair, u32 expected>
void pair_loads(const TensorMap map) {
  const u32 address = begin<2>();
  const u32 rank = ptx::cluster_ctarank();
  if (first()) {
    if (rank == 0) ptx::mbarrier_arrive_expect_tx(at(kDone), expected);
    if (of_pair) {
      ptx::cp_async_bulk_tensor_load_pair(at(0), map, at(kDone), {0, static_cast<i32>(rank) * 8});
    } else {
      ptx::cp_async_bulk_tensor_load(at(0), map, at(kDone), {0, static_cast<i32>(rank) * 8});
    }
  }
  if (rank == 0) wait_done();
  end<2>(address);
}

template <bool of_pair, u32 expected = 1024>
emulator::Report run_pair_loads() {
  alignas(128) static std::byte in[1024];
  TensorMap map{};
  const std::uint64_t extents[] = {16, 16};
  const std::uint64_t strides[] = {64};
  const std::uint32_t box[] = {16, 8};
  const std::uint32_t steps[] = {1, 1};
  EXPECT_EQ(emulator::encode_tiled(&map, 7, 2, in, extents, strides, box, steps, 0, 0, 0, 0), 0);
  emulator::Options options;
  options.cluster = {2, 1, 1};
  void* arguments[] = {&map};
  return emulator::launch(emulator::entry<pair_loads<of_pair, expected>>, options.cluster, 128,
                          kSharedBytes, arguments, options);
}

TEST(Tcgen05Pairs, LoadsTellTheEvenCta) {
  const emulator::Report report = run_pair_loads<true>();
  EXPECT_TRUE(report.clean()) << report.text();
  const emulator::Report alone = run_pair_loads<false>();
  EXPECT_TRUE(alone.has(Fault::transaction_mismatch)) << alone.text();
  // The bytes of one CTA are expected.
  const emulator::Report half = run_pair_loads<true, 512>();
  EXPECT_TRUE(half.has(Fault::leaked_async)) << half.text();
}

}  // namespace
}  // namespace estoc::tcgen05_reports
