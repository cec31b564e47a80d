// Frames of small kernels with tensor memory, in which tests make mistakes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "emulator/launch.h"

#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/cluster.cuh>
#include <estoc/ptx/fence.cuh>
#include <estoc/ptx/mbarrier.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/tcgen05.cuh>
#include <estoc/ptx/tcgen05_memory.cuh>

namespace estoc::tcgen05_reports {
using abi::Tcgen05Kind;
using abi::Tcgen05Operand;
using abi::Tcgen05Product;
using abi::Tcgen05Swizzle;
using abi::TensorShape;
using abi::Type;
using emulator::Fault;

inline constexpr u32 kB = 4096;
inline constexpr u32 kDone = 8192;
inline constexpr u32 kDone2 = kDone + 8;
inline constexpr u32 kSlot = kDone + 64;
inline constexpr unsigned kSharedBytes = kDone + 128;
inline constexpr Tcgen05Product kProduct{
    Tcgen05Kind::f16, Type::bf16, Type::bf16, Type::f32, 1, 128, 32};
inline constexpr Tcgen05Operand kRowsOfA{Tcgen05Swizzle::none, 128 * 16, 128};
inline constexpr Tcgen05Operand kRowsOfB{Tcgen05Swizzle::none, 32 * 16, 128};
inline constexpr u32 kInstruction = kProduct.descriptor();

// The fault is at the line after the one that notes it here.
inline thread_local int noted_line = 0;
#define FAULT_NEXT noted_line = __LINE__ + 1

inline u32 at(u32 offset) {
  return ptx::smem_base() + offset;
}
inline u64 a_operand() {
  return kRowsOfA.descriptor(at(0));
}
inline u64 b_operand() {
  return kRowsOfB.descriptor(at(kB));
}
inline bool first() {
  return ptx::tid() == 0;
}
inline bool first_warp() {
  return ptx::tid() / 32 == 0;
}
inline void wait_done(u32 barrier = kDone) {
  ptx::mbarrier_wait_cluster(at(barrier), 0);
}

inline void prepare(bool fence = true) {
  for (u32 i = 4 * ptx::tid(); i < kDone; i += 4 * ptx::ntid())
    ptx::st_shared<1>(at(i), Words<1>{{0}});
  if (fence) ptx::fence_proxy_async();
  if (first()) {
    ptx::mbarrier_init(at(kDone), 1);
    ptx::mbarrier_init(at(kDone2), 1);
    ptx::fence_mbarrier_init();
  }
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
}
template <int group = 1, int columns = 128>
inline u32 begin(bool fence = true) {
  prepare(fence);
  if (first_warp()) ptx::tcgen05_alloc<group, columns>(at(kSlot));
  ptx::barrier_sync();
  ptx::tcgen05_fence_after_thread_sync();
  return ptx::ld_shared<1>(at(kSlot)).word[0];
}
template <int group = 1, int columns = 128>
inline void end(u32 address) {
  ptx::tcgen05_fence_before_thread_sync();
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
  ptx::tcgen05_fence_after_thread_sync();
  if (first_warp()) ptx::tcgen05_dealloc<group, columns>(address);
}
inline void multiply(u32 address, bool add = false, int line = __builtin_LINE()) {
  ptx::tcgen05_mma<Tcgen05Kind::f16, 1>(address, a_operand(), b_operand(), kInstruction, add, line);
}
inline void multiply_from(u32 address, u32 a, int line = __builtin_LINE()) {
  ptx::tcgen05_mma_tensor<Tcgen05Kind::f16, 1>(address, a, b_operand(), kInstruction, false, line);
}
inline void multiply_by(u32 instruction, u32 address, u64 a, int line = __builtin_LINE()) {
  ptx::tcgen05_mma<Tcgen05Kind::f16, 1>(address, a, b_operand(), instruction, false, line);
}
inline void multiply_and_wait(u32 address) {
  if (first()) multiply(address);
  if (first()) ptx::tcgen05_commit<1>(at(kDone));
  wait_done();
  ptx::tcgen05_fence_after_thread_sync();
}
inline u32 own(u32 address) {
  return address + (ptx::tid() / 32 * 32 << 16);
}
inline void load(u32 address) {
  u32 words[32];
  ptx::tcgen05_ld<TensorShape::lanes32x32, 32>(words, own(address));
  ptx::tcgen05_wait_ld();
  ptx::tcgen05_use(words);
}

inline thread_local void (*mistaken)() = nullptr;
inline void entry_of_mistakes() {
  mistaken();
}

inline emulator::Report run_mistake(void (*kernel)(), unsigned cluster,
                                    emulator::Schedule schedule) {
  emulator::Options options;
  options.schedule = schedule;
  options.seed = 7;
  options.cluster = {cluster, 1, 1};
  mistaken = kernel;
  return emulator::launch(emulator::entry<entry_of_mistakes>, options.cluster, 128, kSharedBytes,
                          nullptr, options);
}

struct Mistake {
  const char* name;
  Fault fault;
  void (*kernel)();
  unsigned cluster = 1;
  bool elsewhere = false;  ///< the line of the report is not that of the fault
};

// It is found in every schedule.
inline void expect_found(const Mistake& mistake) {
  using emulator::Schedule;
  for (const auto schedule : {Schedule::late, Schedule::eager, Schedule::random}) {
    const emulator::Report report = run_mistake(mistake.kernel, mistake.cluster, schedule);
    const bool found =
        std::any_of(report.findings.begin(), report.findings.end(), [&](const auto& finding) {
          return finding.fault == mistake.fault &&
                 (mistake.elsewhere || finding.line == noted_line) && !finding.message.empty();
        });
    EXPECT_TRUE(found) << static_cast<int>(schedule) << ", line " << noted_line << "\n"
                       << report.text();
  }
}

}  // namespace estoc::tcgen05_reports
