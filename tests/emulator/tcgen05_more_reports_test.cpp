// What the emulator reports of copies to tensor memory, shifts and pairs, and of what other threads
// and the other CTA still do: a small kernel provokes each mistake.
#include <gtest/gtest.h>

#include <string>

#include "tcgen05_frame.h"

namespace estoc::tcgen05_reports {
namespace {

// All lanes of the first 8 columns are written.
u32 begin_written() {
  const u32 address = begin();
  const u32 words[8] = {};
  ptx::tcgen05_st<TensorShape::lanes32x32, 8>(own(address), words);
  ptx::tcgen05_wait_st();
  ptx::tcgen05_fence_before_thread_sync();
  ptx::barrier_sync();
  ptx::tcgen05_fence_after_thread_sync();
  return address;
}
void commit_and_end(u32 address) {
  if (first()) ptx::tcgen05_commit<1>(at(kDone));
  wait_done();
  ptx::tcgen05_fence_after_thread_sync();
  end(address);
}

void shift_from_lane_16() {
  const u32 address = begin_written();
  FAULT_NEXT;
  if (first()) ptx::tcgen05_shift_down<1>(address + (16 << 16));
  commit_and_end(address);
}
void shift_beyond_allocation() {
  const u32 address = begin_written();
  FAULT_NEXT;
  if (first()) ptx::tcgen05_shift_down<1>(address + 124);
  commit_and_end(address);
}
void shift_of_nothing() {
  const u32 address = begin_written();
  FAULT_NEXT;
  if (first()) ptx::tcgen05_shift_down<1>(address + 8);
  commit_and_end(address);
}
void shift_never_committed() {
  const u32 address = begin_written();
  FAULT_NEXT;
  if (first()) ptx::tcgen05_shift_down<1>(address);
  end(address);
}
void copy_over_a_shift() {
  const u32 address = begin_written();
  if (first()) ptx::tcgen05_shift_down<1>(address);
  FAULT_NEXT;
  if (first()) ptx::tcgen05_cp_128x256b<1>(address, a_operand());
  commit_and_end(address);
}
void shift_of_a_copy() {
  const u32 address = begin_written();
  if (first()) ptx::tcgen05_cp_128x256b<1>(address, a_operand());
  FAULT_NEXT;
  if (first()) ptx::tcgen05_shift_down<1>(address);
  commit_and_end(address);
}
void loads_before_the_shift() {
  const u32 address = begin_written();
  if (first()) ptx::tcgen05_shift_down<1>(address);
  ptx::barrier_sync();
  u32 words[1];
  FAULT_NEXT;
  ptx::tcgen05_ld<TensorShape::lanes32x32, 1>(words, own(address));
  ptx::tcgen05_wait_ld();
  ptx::tcgen05_use(words);
  commit_and_end(address);
}
void four_rows_to_lane_32() {
  const u32 address = begin_written();
  FAULT_NEXT;
  if (first()) ptx::tcgen05_cp_4x256b<1>(address + (32 << 16), a_operand());
  commit_and_end(address);
}
void two_rows_to_lane_16() {
  const u32 address = begin_written();
  FAULT_NEXT;
  if (first()) ptx::tcgen05_cp_64x128b_warpx2_02_13<1>(address + (16 << 16), a_operand());
  commit_and_end(address);
}
void copy_beyond_allocation() {
  const u32 address = begin_written();
  FAULT_NEXT;
  if (first()) ptx::tcgen05_cp_64x128b_warpx2_01_23<1>(address + 126, a_operand());
  commit_and_end(address);
}
void disabled_lanes_are_read() {
  const u32 address = begin();
  const u32 disabled[4] = {0, ~0u, 0, 0};
  if (first()) {
    ptx::tcgen05_mma_disable_lanes<Tcgen05Kind::f16, 1>(address, a_operand(), b_operand(),
                                                        kInstruction, disabled, false);
    ptx::tcgen05_commit<1>(at(kDone));
  }
  wait_done();
  ptx::tcgen05_fence_after_thread_sync();
  u32 words[1];
  FAULT_NEXT;
  ptx::tcgen05_ld<TensorShape::lanes32x32, 1>(words, own(address));
  ptx::tcgen05_wait_ld();
  ptx::tcgen05_use(words);
  end(address);
}

const Mistake kMistakes[] = {
    {"shift_from_lane_16", Fault::tensor_memory, shift_from_lane_16},
    {"shift_beyond_allocation", Fault::out_of_bounds, shift_beyond_allocation},
    {"shift_of_nothing", Fault::uninitialised, shift_of_nothing},
    {"shift_never_committed", Fault::leaked_async, shift_never_committed},
    {"copy_over_a_shift", Fault::race, copy_over_a_shift},
    {"shift_of_a_copy", Fault::race, shift_of_a_copy},
    {"loads_before_the_shift", Fault::race, loads_before_the_shift},
    {"four_rows_to_lane_32", Fault::tensor_memory, four_rows_to_lane_32},
    {"two_rows_to_lane_16", Fault::tensor_memory, two_rows_to_lane_16},
    {"copy_beyond_allocation", Fault::out_of_bounds, copy_beyond_allocation},
    {"disabled_lanes_are_read", Fault::uninitialised, disabled_lanes_are_read}};

class Tcgen05MoreMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Tcgen05MoreMistakes, AreFoundAtTheirLine) {
  expect_found(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Kinds, Tcgen05MoreMistakes, testing::ValuesIn(kMistakes),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace estoc::tcgen05_reports
