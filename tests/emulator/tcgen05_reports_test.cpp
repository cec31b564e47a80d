// What the emulator reports of tcgen05: a small kernel provokes each mistake, which is found at its
// line in every schedule.
#include <gtest/gtest.h>

#include <string>

#include "tcgen05_frame.h"

namespace estoc::tcgen05_reports {
namespace {

void not_freed() {
  prepare();
  FAULT_NEXT;
  if (first_warp()) ptx::tcgen05_alloc<1, 32>(at(kSlot));
}
void after_relinquish() {
  const u32 address = begin();
  if (first_warp()) ptx::tcgen05_relinquish_alloc_permit<1>();
  ptx::barrier_sync();
  FAULT_NEXT;
  if (first_warp()) ptx::tcgen05_alloc<1, 32>(at(kSlot));
  ptx::barrier_sync();
  const u32 second = ptx::ld_shared<1>(at(kSlot)).word[0];
  end(address);
  if (first_warp()) ptx::tcgen05_dealloc<1, 32>(second);
}
void growing() {
  const u32 address = begin();
  FAULT_NEXT;
  if (first_warp()) ptx::tcgen05_alloc<1, 256>(at(kSlot));
  ptx::barrier_sync();
  const u32 second = ptx::ld_shared<1>(at(kSlot)).word[0];
  end(address);
  if (first_warp()) ptx::tcgen05_dealloc<1, 256>(second);
}
void no_room() {
  prepare();
  if (!first_warp()) return;
  ptx::tcgen05_alloc<1, 512>(at(kSlot));
  FAULT_NEXT;
  ptx::tcgen05_alloc<1, 512>(at(kSlot));
}
void frees_half() {
  const u32 address = begin();
  FAULT_NEXT;
  if (first_warp()) ptx::tcgen05_dealloc<1, 64>(address);
  end(address);
}
void frees_too_early() {
  const u32 address = begin();
  multiply_and_wait(address);
  load(address);
  FAULT_NEXT;
  if (first_warp()) ptx::tcgen05_dealloc<1, 128>(address);
}
void beyond_allocation() {
  const u32 address = begin();
  multiply_and_wait(address);
  u32 words[64];
  FAULT_NEXT;
  ptx::tcgen05_ld<TensorShape::lanes32x32, 64>(words, own(address + 96));
  ptx::tcgen05_wait_ld();
  end(address);
}
void sums_beyond_allocation() {
  const u32 address = begin();
  FAULT_NEXT;
  if (first()) multiply(address + 112);
  end(address);
}
void other_quarter() {
  const u32 address = begin();
  multiply_and_wait(address);
  u32 words[1];
  FAULT_NEXT;
  ptx::tcgen05_ld<TensorShape::lanes32x32, 1>(words, address);
  ptx::tcgen05_wait_ld();
  end(address);
}
void different_addresses() {
  const u32 address = begin();
  multiply_and_wait(address);
  u32 words[1];
  FAULT_NEXT;
  ptx::tcgen05_ld<TensorShape::lanes32x32, 1>(words, own(address) + ptx::laneid() % 2);
  ptx::tcgen05_wait_ld();
  ptx::tcgen05_use(words);
  end(address);
}
void reads_nothing() {
  const u32 address = begin();
  u32 words[1];
  FAULT_NEXT;
  ptx::tcgen05_ld<TensorShape::lanes32x32, 1>(words, own(address));
  ptx::tcgen05_wait_ld();
  ptx::tcgen05_use(words);
  end(address);
}
void adds_to_nothing() {
  const u32 address = begin();
  FAULT_NEXT;
  if (first()) multiply(address, true);
  if (first()) ptx::tcgen05_commit<1>(at(kDone));
  wait_done();
  end(address);
}
void reads_before_the_product() {
  const u32 address = begin();
  if (first()) multiply(address);
  ptx::barrier_sync();
  ptx::tcgen05_fence_after_thread_sync();
  u32 words[1];
  FAULT_NEXT;
  ptx::tcgen05_ld<TensorShape::lanes32x32, 1>(words, own(address));
  ptx::tcgen05_wait_ld();
  ptx::tcgen05_use(words);
  if (first()) ptx::tcgen05_commit<1>(at(kDone));
  wait_done();
  end(address);
}
void no_fence_after_the_wait() {
  const u32 address = begin();
  if (first()) multiply(address);
  if (first()) ptx::tcgen05_commit<1>(at(kDone));
  wait_done();
  u32 words[1];
  FAULT_NEXT;
  ptx::tcgen05_ld<TensorShape::lanes32x32, 1>(words, own(address));
  ptx::tcgen05_wait_ld();
  ptx::tcgen05_use(words);
  end(address);
}
void commit_before_the_last_product() {
  const u32 address = begin();
  if (first()) {
    multiply(address);
    ptx::tcgen05_commit<1>(at(kDone));
    multiply(address, true);
    ptx::tcgen05_commit<1>(at(kDone2));
  }
  wait_done();
  ptx::tcgen05_fence_after_thread_sync();
  u32 words[1];
  FAULT_NEXT;
  ptx::tcgen05_ld<TensorShape::lanes32x32, 1>(words, own(address));
  ptx::tcgen05_wait_ld();
  ptx::tcgen05_use(words);
  wait_done(kDone2);
  end(address);
}
// Reads, then hands the sums back to the thread that multiplies: without the wait (0), without the
// fence before (1), or without the fence after the arrival (2).
template <int without>
void hands_back() {
  const u32 address = begin();
  multiply_and_wait(address);
  u32 words[32];
  ptx::tcgen05_ld<TensorShape::lanes32x32, 32>(words, own(address));
  if (without != 0) ptx::tcgen05_wait_ld();
  if (without != 1) ptx::tcgen05_fence_before_thread_sync();
  ptx::barrier_sync();
  if (without != 2) ptx::tcgen05_fence_after_thread_sync();
  FAULT_NEXT;
  if (ptx::tid() == 1) multiply(address);
  if (without == 0) ptx::tcgen05_wait_ld();
  ptx::tcgen05_use(words);
  if (ptx::tid() == 1) ptx::tcgen05_commit<1>(at(kDone2));
  wait_done(kDone2);
  end(address);
}
void operand_overwritten() {
  const u32 address = begin();
  if (first()) multiply(address);
  FAULT_NEXT;
  if (first()) ptx::st_shared<1>(at(64), Words<1>{{0}});
  if (first()) ptx::tcgen05_commit<1>(at(kDone));
  wait_done();
  end(address);
}
void no_proxy_fence() {
  const u32 address = begin(false);
  FAULT_NEXT;
  if (first()) multiply(address);
  if (first()) ptx::tcgen05_commit<1>(at(kDone));
  wait_done();
  end(address);
}
void used_before_the_wait() {
  const u32 address = begin();
  multiply_and_wait(address);
  u32 words[1];
  ptx::tcgen05_ld<TensorShape::lanes32x32, 1>(words, own(address));
  FAULT_NEXT;
  ptx::tcgen05_use(words);
  ptx::tcgen05_wait_ld();
  ptx::tcgen05_use(words);
  end(address);
}
void never_used() {
  const u32 address = begin();
  multiply_and_wait(address);
  u32 words[1];
  FAULT_NEXT;
  ptx::tcgen05_ld<TensorShape::lanes32x32, 1>(words, own(address));
  ptx::tcgen05_wait_ld();
  end(address);
}
void never_waited() {
  const u32 address = begin();
  multiply_and_wait(address);
  const u32 words[1] = {0};
  FAULT_NEXT;
  ptx::tcgen05_st<TensorShape::lanes32x32, 1>(own(address), words);
  end(address);
}
void never_committed() {
  const u32 address = begin();
  FAULT_NEXT;
  if (first()) multiply(address);
  end(address);
}
void committed_by_another() {
  const u32 address = begin();
  FAULT_NEXT;
  if (first()) multiply(address);
  ptx::barrier_sync();
  if (ptx::tid() == 32) ptx::tcgen05_commit<1>(at(kDone));
  wait_done();
  end(address);
}
void commit_to_no_barrier() {
  const u32 address = begin();
  if (first()) multiply(address);
  FAULT_NEXT;
  if (first()) ptx::tcgen05_commit<1>(at(kDone + 32));
  end(address);
}
void commit_without_init_fence() {
  const u32 address = begin();
  if (first()) {
    ptx::mbarrier_init(at(kDone + 16), 1);
    multiply(address);
    FAULT_NEXT;
    ptx::tcgen05_commit<1>(at(kDone + 16));
    ptx::mbarrier_wait(at(kDone + 16), 0);
  }
  end(address);
}
void both_groups() {
  const u32 address = begin();
  if (first() && ptx::cluster_ctarank() == 0) {
    FAULT_NEXT;
    ptx::tcgen05_commit<2>(at(kDone));
  }
  if (ptx::cluster_ctarank() == 0) wait_done();
  end(address);
}
void pair_of_one() {
  prepare();
  FAULT_NEXT;
  if (first_warp()) ptx::tcgen05_alloc<2, 32>(at(kSlot));
}
void pair_of_two_sizes() {
  prepare();
  if (!first_warp()) return;
  FAULT_NEXT;
  if (ptx::cluster_ctarank() == 0) ptx::tcgen05_alloc<2, 32>(at(kSlot));
  if (ptx::cluster_ctarank() == 1) ptx::tcgen05_alloc<2, 64>(at(kSlot));
}
void odd_cta_issues() {
  const u32 address = begin<2>();
  if (first() && ptx::cluster_ctarank() == 1) {
    FAULT_NEXT;
    ptx::tcgen05_commit<2>(at(kDone));
  }
  end<2>(address);
}
void peer_not_ready() {
  // The other CTA's operands are written, but nothing orders that before the product.
  prepare();
  if (first_warp()) ptx::tcgen05_alloc<2, 128>(at(kSlot));
  ptx::barrier_sync();
  const u32 address = ptx::ld_shared<1>(at(kSlot)).word[0];
  ptx::tcgen05_fence_after_thread_sync();
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
  ptx::tcgen05_fence_after_thread_sync();
  if (first() && ptx::cluster_ctarank() == 1) {
    ptx::st_shared<1>(at(0), Words<1>{{0}});
    ptx::fence_proxy_async();
  }
  constexpr Tcgen05Product kPair{Tcgen05Kind::f16, Type::bf16, Type::bf16, Type::f32, 2, 256, 64};
  if (first() && ptx::cluster_ctarank() == 0) {
    FAULT_NEXT;
    ptx::tcgen05_mma<Tcgen05Kind::f16, 2>(address, a_operand(), b_operand(), kPair.descriptor(),
                                          false);
    ptx::tcgen05_commit_multicast<2>(at(kDone), 3);
  }
  wait_done();
  end<2>(address);
}
void commit_to_nobody() {
  const u32 address = begin();
  FAULT_NEXT;
  if (first()) ptx::tcgen05_commit_multicast<1>(at(kDone), 5);
  wait_done();
  end(address);
}
void peer_does_not_wait() {
  const u32 address = begin();
  if (ptx::cluster_ctarank() == 1) {
    end(address);
    return;
  }
  FAULT_NEXT;
  if (first()) ptx::tcgen05_commit_multicast<1>(at(kDone), 3);
  wait_done();
  end(address);
}
void sums_of_another_shape() {
  constexpr Tcgen05Product kWide{Tcgen05Kind::f16, Type::bf16, Type::bf16, Type::f32, 1, 128, 16};
  const u32 address = begin();
  if (first()) multiply(address);
  if (first()) {
    FAULT_NEXT;
    ptx::tcgen05_mma<Tcgen05Kind::f16, 1>(address, a_operand(), b_operand(), kWide.descriptor(),
                                          true);
  }
  if (first()) ptx::tcgen05_commit<1>(at(kDone));
  wait_done();
  end(address);
}
void copy_over_an_operand() {
  const u32 address = begin();
  if (first()) {
    ptx::tcgen05_cp_128x256b<1>(address + 64, a_operand());
    ptx::tcgen05_mma_tensor<Tcgen05Kind::f16, 1>(address, address + 64, b_operand(), kInstruction,
                                                 false);
    FAULT_NEXT;
    ptx::tcgen05_cp_128x256b<1>(address + 64, a_operand());
    ptx::tcgen05_commit<1>(at(kDone));
  }
  wait_done();
  end(address);
}
void sums_as_an_operand() {
  const u32 address = begin();
  if (first()) {
    multiply(address + 64);
    FAULT_NEXT;
    ptx::tcgen05_mma_tensor<Tcgen05Kind::f16, 1>(address, address + 64, b_operand(), kInstruction,
                                                 false);
    ptx::tcgen05_commit<1>(at(kDone));
  }
  wait_done();
  end(address);
}
void stored_operand_without_wait() {
  const u32 address = begin();
  const u32 words[8] = {};
  ptx::tcgen05_st<TensorShape::lanes32x32, 8>(own(address + 64), words);
  ptx::tcgen05_fence_before_thread_sync();
  ptx::barrier_sync();
  ptx::tcgen05_fence_after_thread_sync();
  if (first()) {
    FAULT_NEXT;
    ptx::tcgen05_mma_tensor<Tcgen05Kind::f16, 1>(address, address + 64, b_operand(), kInstruction,
                                                 false);
  }
  ptx::tcgen05_wait_st();
  if (first()) ptx::tcgen05_commit<1>(at(kDone));
  wait_done();
  end(address);
}
void sums_in_lane_32() {
  const u32 address = begin();
  FAULT_NEXT;
  if (first()) multiply(address + (32 << 16));
  end(address);
}
void copy_in_lane_32() {
  const u32 address = begin();
  FAULT_NEXT;
  if (first()) ptx::tcgen05_cp_32x128b_warpx4<1>(address + (32 << 16), a_operand());
  end(address);
}
void copy_swizzled() {
  const u32 address = begin();
  FAULT_NEXT;
  if (first()) ptx::tcgen05_cp_32x128b_warpx4<1>(address, a_operand() | u64{2} << 61);
  end(address);
}

const Mistake kMistakes[] = {
    {"not_freed", Fault::tensor_memory, not_freed},
    {"after_relinquish", Fault::tensor_memory, after_relinquish},
    {"growing", Fault::tensor_memory, growing},
    {"no_room", Fault::deadlock, no_room},
    {"frees_half", Fault::tensor_memory, frees_half},
    {"frees_too_early", Fault::race, frees_too_early},
    {"beyond_allocation", Fault::out_of_bounds, beyond_allocation},
    {"sums_beyond_allocation", Fault::out_of_bounds, sums_beyond_allocation, 1, true},
    {"other_quarter", Fault::tensor_memory, other_quarter},
    {"different_addresses", Fault::divergent, different_addresses},
    {"reads_nothing", Fault::uninitialised, reads_nothing},
    {"adds_to_nothing", Fault::uninitialised, adds_to_nothing},
    {"reads_before_the_product", Fault::race, reads_before_the_product},
    {"no_fence_after_the_wait", Fault::missing_tcgen05_fence, no_fence_after_the_wait},
    {"commit_before_the_last_product", Fault::race, commit_before_the_last_product},
    {"hands_back_without_wait", Fault::race, hands_back<0>},
    {"hands_back_without_fence_before", Fault::race, hands_back<1>},
    {"hands_back_without_fence_after", Fault::missing_tcgen05_fence, hands_back<2>},
    {"operand_overwritten", Fault::race, operand_overwritten},
    {"no_proxy_fence", Fault::missing_proxy_fence, no_proxy_fence},
    {"used_before_the_wait", Fault::accumulator_in_flight, used_before_the_wait},
    {"never_used", Fault::accumulator_in_flight, never_used},
    {"never_waited", Fault::leaked_async, never_waited},
    {"never_committed", Fault::leaked_async, never_committed},
    {"committed_by_another", Fault::leaked_async, committed_by_another},
    {"commit_to_no_barrier", Fault::barrier_misuse, commit_to_no_barrier},
    {"commit_without_init_fence", Fault::missing_init_fence, commit_without_init_fence},
    {"both_groups", Fault::tensor_memory, both_groups, 2},
    {"pair_of_one", Fault::tensor_memory, pair_of_one},
    {"pair_of_two_sizes", Fault::tensor_memory, pair_of_two_sizes, 2, true},
    {"odd_cta_issues", Fault::tensor_memory, odd_cta_issues, 2},
    {"peer_not_ready", Fault::race, peer_not_ready, 2, true},
    {"commit_to_nobody", Fault::out_of_bounds, commit_to_nobody},
    {"peer_does_not_wait", Fault::leaked_async, peer_does_not_wait, 2},
    {"sums_of_another_shape", Fault::race, sums_of_another_shape},
    {"copy_over_an_operand", Fault::race, copy_over_an_operand},
    {"sums_as_an_operand", Fault::race, sums_as_an_operand},
    {"stored_operand_without_wait", Fault::race, stored_operand_without_wait},
    {"sums_in_lane_32", Fault::tensor_memory, sums_in_lane_32, 1, true},
    {"copy_in_lane_32", Fault::tensor_memory, copy_in_lane_32},
    {"copy_swizzled", Fault::bad_descriptor, copy_swizzled}};

class Tcgen05Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Tcgen05Mistakes, AreFoundAtTheirLine) {
  expect_found(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Kinds, Tcgen05Mistakes, testing::ValuesIn(kMistakes),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace estoc::tcgen05_reports
