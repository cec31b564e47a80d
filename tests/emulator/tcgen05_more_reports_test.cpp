// What the emulator reports of copies to tensor memory, shifts and pairs, and of what other threads
// and the other CTA still do: a small kernel provokes each mistake.
#include <gtest/gtest.h>

#include <string>

#include "tcgen05_frame.h"

namespace estoc::tcgen05_reports::more {
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

void waits_for_another_commit() {
  const u32 address = begin();
  if (first()) multiply(address);
  if (first()) ptx::tcgen05_commit<1>(at(kDone2));
  FAULT_NEXT;
  ptx::mbarrier_wait_cluster(at(kDone), 0);
  end(address);
}
void operand_overwritten_after_an_early_commit() {
  const u32 address = begin();
  if (first()) {
    multiply(address);
    ptx::tcgen05_commit<1>(at(kDone));
    multiply(address, true);
    wait_done();
    FAULT_NEXT;
    ptx::st_shared<1>(at(64), Words<1>{{0}});
    ptx::tcgen05_commit<1>(at(kDone2));
  }
  wait_done(kDone2);
  end(address);
}
void waits_with_the_other_parity() {
  const u32 address = begin();
  if (first()) multiply(address);
  if (first()) ptx::tcgen05_commit<1>(at(kDone));
  ptx::mbarrier_wait_cluster(at(kDone), 1);
  ptx::tcgen05_fence_after_thread_sync();
  u32 words[1];
  FAULT_NEXT;
  ptx::tcgen05_ld<TensorShape::lanes32x32, 1>(words, own(address));
  ptx::tcgen05_wait_ld();
  ptx::tcgen05_use(words);
  wait_done();
  end(address);
}
void second_tile_adds() {
  const u32 address = begin();
  multiply_and_wait(address);
  load(address);
  ptx::tcgen05_fence_before_thread_sync();
  ptx::barrier_sync();
  ptx::tcgen05_fence_after_thread_sync();
  FAULT_NEXT;
  if (first()) multiply(address, true);
  if (first()) ptx::tcgen05_commit<1>(at(kDone2));
  wait_done(kDone2);
  end(address);
}
void sixteen_lanes_from_lane_8() {
  const u32 address = begin();
  multiply_and_wait(address);
  u32 words[4];
  FAULT_NEXT;
  ptx::tcgen05_ld<TensorShape::lanes16x256, 1>(words, own(address) + (8 << 16));
  ptx::tcgen05_wait_ld();
  end(address);
}
void half_a_warp_loads() {
  const u32 address = begin();
  multiply_and_wait(address);
  u32 words[1];
  if (ptx::laneid() < 16) {
    FAULT_NEXT;
    ptx::tcgen05_ld<TensorShape::lanes32x32, 1>(words, own(address));
  }
  ptx::tcgen05_wait_ld();
  end(address);
}
void one_lane_keeps_loading() {
  const u32 address = begin();
  multiply_and_wait(address);
  u32 words[1];
  ptx::tcgen05_ld<TensorShape::lanes32x32, 1>(words, own(address));
  ptx::tcgen05_wait_ld();
  ptx::tcgen05_use(words);
  if (ptx::tid() != 70) ptx::tcgen05_fence_before_thread_sync();
  ptx::barrier_sync();
  ptx::tcgen05_fence_after_thread_sync();
  FAULT_NEXT;
  if (first()) multiply(address);
  if (first()) ptx::tcgen05_commit<1>(at(kDone2));
  wait_done(kDone2);
  end(address);
}
void address_before_it_is_there() {
  prepare();
  if (first_warp()) ptx::tcgen05_alloc<1, 128>(at(kSlot));
  FAULT_NEXT;
  if (ptx::tid() == 64) ptx::ld_shared<1>(at(kSlot));
  ptx::barrier_sync();
  end(ptx::ld_shared<1>(at(kSlot)).word[0]);
}
void beyond_the_last_column() {
  const u32 address = begin<1, 512>();
  u32 words[32];
  FAULT_NEXT;
  ptx::tcgen05_ld<TensorShape::lanes32x32, 32>(words, own(address + 496));
  ptx::tcgen05_wait_ld();
  end<1, 512>(address);
}
void frees_from_the_middle() {
  const u32 address = begin();
  FAULT_NEXT;
  if (first_warp()) ptx::tcgen05_dealloc<1, 128>(address + 32);
  end(address);
}
void copy_without_proxy_fence() {
  const u32 address = begin(false);
  FAULT_NEXT;
  if (first()) ptx::tcgen05_cp_32x128b_warpx4<1>(address, a_operand());
  commit_and_end(address);
}

constexpr Tcgen05Product kOfPair{Tcgen05Kind::f16, Type::bf16, Type::bf16, Type::f32, 2, 256, 64};

void multiply_of_pair(u32 address, bool add = false, int line = __builtin_LINE()) {
  ptx::tcgen05_mma<Tcgen05Kind::f16, 2>(address, a_operand(), b_operand(), kOfPair.descriptor(),
                                        add, line);
}
// Both CTAs have allocated.
u32 begin_pair() {
  const u32 address = begin<2>();
  ptx::tcgen05_fence_before_thread_sync();
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
  ptx::tcgen05_fence_after_thread_sync();
  return address;
}
void one_cta_hands_back() {
  const u32 address = begin_pair();
  const bool leads = ptx::cluster_ctarank() == 0;
  if (first() && leads) multiply_of_pair(address);
  if (first() && leads) ptx::tcgen05_commit_multicast<2>(at(kDone), 3);
  wait_done();
  ptx::tcgen05_fence_after_thread_sync();
  load(address);
  ptx::tcgen05_fence_before_thread_sync();
  ptx::barrier_sync();
  ptx::tcgen05_fence_after_thread_sync();
  FAULT_NEXT;
  if (first() && leads) multiply_of_pair(address);
  if (first() && leads) ptx::tcgen05_commit_multicast<2>(at(kDone2), 3);
  wait_done(kDone2);
  end<2>(address);
}
void peer_frees_too_early() {
  const u32 address = begin_pair();
  const bool leads = ptx::cluster_ctarank() == 0;
  if (first() && leads) multiply_of_pair(address);
  if (first() && leads) ptx::tcgen05_commit_multicast<2>(at(kDone), 3);
  FAULT_NEXT;
  if (first_warp() && !leads) ptx::tcgen05_dealloc<2, 128>(address);
  wait_done();
  ptx::tcgen05_fence_after_thread_sync();
  if (first_warp() && leads) ptx::tcgen05_dealloc<2, 128>(address);
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
}
void one_cta_allocates() {
  prepare();
  if (!first_warp() || ptx::cluster_ctarank() != 0) return;
  FAULT_NEXT;
  ptx::tcgen05_alloc<2, 32>(at(kSlot));
}
void one_cta_frees() {
  prepare();
  FAULT_NEXT;
  if (first_warp()) ptx::tcgen05_alloc<2, 128>(at(kSlot));
  ptx::barrier_sync();
  ptx::tcgen05_fence_after_thread_sync();
  const u32 address = ptx::ld_shared<1>(at(kSlot)).word[0];
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
  if (first_warp() && ptx::cluster_ctarank() == 0) ptx::tcgen05_dealloc<2, 128>(address);
}
void allocates_before_the_peer_began() {
  FAULT_NEXT;
  if (first_warp()) ptx::tcgen05_alloc<2, 128>(at(kSlot));
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
  ptx::tcgen05_fence_after_thread_sync();
  end<2>(ptx::ld_shared<1>(at(kSlot)).word[0]);
}
void odd_cta_multiplies() {
  const u32 address = begin_pair();
  if (first() && ptx::cluster_ctarank() == 1) {
    FAULT_NEXT;
    multiply_of_pair(address);
  }
  end<2>(address);
}

const Mistake kMistakes[] = {
    {"waits_for_another_commit", Fault::deadlock, waits_for_another_commit},
    {"operand_overwritten_after_an_early_commit", Fault::race,
     operand_overwritten_after_an_early_commit},
    {"waits_with_the_other_parity", Fault::race, waits_with_the_other_parity, 1, true},
    {"second_tile_adds", Fault::tensor_memory, second_tile_adds},
    {"sixteen_lanes_from_lane_8", Fault::tensor_memory, sixteen_lanes_from_lane_8},
    {"half_a_warp_loads", Fault::divergent, half_a_warp_loads, 1, true},
    {"one_lane_keeps_loading", Fault::race, one_lane_keeps_loading},
    {"address_before_it_is_there", Fault::race, address_before_it_is_there, 1, true},
    {"beyond_the_last_column", Fault::out_of_bounds, beyond_the_last_column},
    {"frees_from_the_middle", Fault::tensor_memory, frees_from_the_middle},
    {"copy_without_proxy_fence", Fault::missing_proxy_fence, copy_without_proxy_fence},
    {"one_cta_hands_back", Fault::race, one_cta_hands_back, 2, true},
    {"peer_frees_too_early", Fault::race, peer_frees_too_early, 2},
    {"one_cta_allocates", Fault::deadlock, one_cta_allocates, 2},
    {"one_cta_frees", Fault::tensor_memory, one_cta_frees, 2},
    {"allocates_before_the_peer_began", Fault::race, allocates_before_the_peer_began, 2},
    {"odd_cta_multiplies", Fault::tensor_memory, odd_cta_multiplies, 2},
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
}  // namespace estoc::tcgen05_reports::more
