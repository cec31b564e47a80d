// Every kind of report: a small kernel provokes each, and it names kernel, CTA, thread, line and
// address.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "emulator/launch.h"
#include "emulator/tensor_map.h"

#include <estoc/ptx/atomic.cuh>
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/cluster.cuh>
#include <estoc/ptx/cp_async.cuh>
#include <estoc/ptx/fence.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/ldmatrix.cuh>
#include <estoc/ptx/mbarrier.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/setmaxnreg.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/tma.cuh>
#include <estoc/ptx/warp.cuh>
#include <estoc/ptx/wgmma.cuh>

namespace estoc {
namespace {

using emulator::Fault;
using emulator::Options;
using emulator::Report;

struct Global {
  u64 in;
  u64 out;
  TensorMap map;
};

constexpr Words<1> kWord{{7}};
constexpr u32 kBarrier = 2048;

// The fault happens in CTA 1 and thread 37, unless the whole CTA takes part; at the line after the
// one that notes it here.
thread_local int fault_line = 0;
#define FAULT_IN_NEXT_LINE fault_line = __LINE__ + 1

bool culprit() {
  return ptx::ctaid_x() == 1 && ptx::tid() == 37;
}

u32 shared_at(u32 offset) {
  return ptx::smem_base() + offset;
}

u32 new_barrier(u32 count) {
  if (ptx::tid() == 0) {
    ptx::mbarrier_init(shared_at(kBarrier), count);
    ptx::fence_mbarrier_init();
  }
  ptx::barrier_sync();
  return shared_at(kBarrier);
}

void deadlock(const Global& /*g*/) {
  const u32 barrier = new_barrier(1);
  if (!culprit()) return;
  FAULT_IN_NEXT_LINE;
  ptx::mbarrier_wait(barrier, 0);
}

void race(const Global& /*g*/) {
  if (ptx::tid() == 0) ptx::st_shared<1>(shared_at(64), kWord);
  if (!culprit()) return;
  FAULT_IN_NEXT_LINE;
  ptx::st_shared<1>(shared_at(64), kWord);
}

void race_in_global_memory(const Global& g) {
  if (ptx::ctaid_x() != 1) return;
  if (ptx::tid() == 0) ptx::st_global<1>(g.out, kWord);
  if (!culprit()) return;
  FAULT_IN_NEXT_LINE;
  ptx::st_global<1>(g.out, kWord);
}

void write_while_read_by_store(const Global& g) {
  if (!culprit()) return;
  for (u32 i = 0; i < 64; i += 4)
    ptx::st_shared<1>(shared_at(i), kWord);
  ptx::fence_proxy_async();
  ptx::cp_async_bulk_store(g.out, shared_at(0), 64);
  ptx::cp_async_bulk_commit_group();
  FAULT_IN_NEXT_LINE;
  ptx::st_shared<1>(shared_at(16), kWord);
  ptx::cp_async_bulk_wait_group<0>();
}

void missing_proxy_fence(const Global& g) {
  if (!culprit()) return;
  for (u32 i = 0; i < 64; i += 4)
    ptx::st_shared<1>(shared_at(i), kWord);
  FAULT_IN_NEXT_LINE;
  ptx::cp_async_bulk_store(g.out, shared_at(0), 64);
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group<0>();
}

void out_of_bounds(const Global& g) {
  if (!culprit()) return;
  FAULT_IN_NEXT_LINE;
  ptx::ld_global<1>(g.in + 4096);
}

void out_of_shared_bounds(const Global& /*g*/) {
  if (!culprit()) return;
  FAULT_IN_NEXT_LINE;
  ptx::st_shared<1>(shared_at(4096), kWord);
}

void misaligned(const Global& g) {
  if (!culprit()) return;
  FAULT_IN_NEXT_LINE;
  ptx::ld_global<4>(g.in + 8);
}

void misaligned_box(const Global& g) {
  const u32 barrier = new_barrier(1);
  if (!culprit()) return;
  ptx::mbarrier_arrive_expect_tx(barrier, 64);
  FAULT_IN_NEXT_LINE;
  ptx::cp_async_bulk_tensor_load(shared_at(0), g.map, barrier, {3});
  ptx::mbarrier_wait(barrier, 0);
}

void uninitialised(const Global& /*g*/) {
  if (!culprit()) return;
  FAULT_IN_NEXT_LINE;
  ptx::ld_shared<1>(shared_at(128));
}

void uninitialised_global(const Global& g) {
  if (!culprit()) return;
  FAULT_IN_NEXT_LINE;
  ptx::ld_global<1>(g.out);
}

void read_only(const Global& g) {
  if (!culprit()) return;
  FAULT_IN_NEXT_LINE;
  ptx::st_global<1>(g.in, kWord);
}

void barrier_misuse(const Global& /*g*/) {
  if (!culprit()) return;
  FAULT_IN_NEXT_LINE;
  ptx::mbarrier_arrive(shared_at(kBarrier));
}

void barrier_initialised_in_use(const Global& /*g*/) {
  const u32 barrier = new_barrier(1);
  if (!culprit()) return;
  FAULT_IN_NEXT_LINE;
  ptx::mbarrier_init(barrier, 1);
}

void arrival_overflow(const Global& /*g*/) {
  const u32 barrier = new_barrier(1);
  if (!culprit()) return;
  ptx::mbarrier_arrive(barrier);
  FAULT_IN_NEXT_LINE;
  ptx::mbarrier_arrive(barrier);
}

void transaction_mismatch(const Global& g) {
  u32 barrier = shared_at(kBarrier);
  if (!culprit()) return;
  FAULT_IN_NEXT_LINE;
  ptx::mbarrier_init(barrier, 1);
  ptx::fence_mbarrier_init();
  ptx::mbarrier_arrive_expect_tx(barrier, 80);
  ptx::cp_async_bulk_load(shared_at(0), g.in, 64, barrier);
  ptx::mbarrier_wait(barrier, 0);
}

void missing_init_fence(const Global& g) {
  if (!culprit()) return;
  const u32 barrier = shared_at(kBarrier);
  ptx::mbarrier_init(barrier, 1);
  ptx::mbarrier_arrive_expect_tx(barrier, 64);
  FAULT_IN_NEXT_LINE;
  ptx::cp_async_bulk_load(shared_at(0), g.in, 64, barrier);
  ptx::mbarrier_wait(barrier, 0);
}

void named_barrier_clash(const Global& /*g*/) {
  if (ptx::ctaid_x() != 1) return;
  if (ptx::tid() < 32) {
    ptx::bar_sync<96>(3);
  } else if (ptx::tid() < 64) {
    FAULT_IN_NEXT_LINE;
    ptx::bar_sync<64>(3);
  }
}

void named_barrier_too_many(const Global& /*g*/) {
  if (ptx::ctaid_x() != 1 || ptx::tid() / 32 != 1) return;
  FAULT_IN_NEXT_LINE;
  ptx::bar_sync<32>(16);
}

void divergent(const Global& /*g*/) {
  if (ptx::ctaid_x() != 1 || ptx::tid() / 32 != 1) return;
  if (ptx::laneid() < 5) {
    ptx::stmatrix<1>(shared_at(0), kWord);
  } else {
    FAULT_IN_NEXT_LINE;
    ptx::shfl_sync_idx(1u, 0u);
  }
}

void leaked_store(const Global& g) {
  if (!culprit()) return;
  for (u32 i = 0; i < 64; i += 4)
    ptx::st_shared<1>(shared_at(i), kWord);
  ptx::fence_proxy_async();
  FAULT_IN_NEXT_LINE;
  ptx::cp_async_bulk_store(g.out, shared_at(0), 64);
  ptx::cp_async_bulk_commit_group();
}

void leaked_load(const Global& g) {
  const u32 barrier = new_barrier(1);
  if (!culprit()) return;
  ptx::mbarrier_arrive_expect_tx(barrier, 64);
  FAULT_IN_NEXT_LINE;
  ptx::cp_async_bulk_load(shared_at(0), g.in, 64, barrier);
}

void leaked_copy(const Global& g) {
  if (!culprit()) return;
  FAULT_IN_NEXT_LINE;
  ptx::cp_async<16>(shared_at(32), g.in);
  ptx::cp_async_commit_group();
}

void leaked_visit(const Global& /*g*/) {
  if (ptx::cluster_ctarank() != 1 || ptx::tid() != 37) return;
  const u32 there = ptx::mapa(shared_at(0), 0);
  FAULT_IN_NEXT_LINE;
  ptx::st_shared_cluster<1>(there, kWord);
}

u64 operand(u32 offset) {
  return static_cast<u64>(shared_at(offset) >> 4) | u64{64} << 16 | u64{8} << 32;
}

void fill_operands() {
  for (u32 i = 4 * ptx::tid(); i < 4096; i += 4 * ptx::ntid())
    ptx::st_shared<1>(shared_at(i), Words<1>{{0}});
  ptx::fence_proxy_async();
  ptx::barrier_sync();
}

template <int step>
void product(const Global& /*g*/) {
  fill_operands();
  if (ptx::ctaid_x() != 1) return;
  float acc[4] = {};
  if (step != 0) ptx::wgmma_fence();
  if (step == 0 || step == 2 || step == 3) FAULT_IN_NEXT_LINE;
  ptx::wgmma_mma_async<abi::Type::bf16, abi::Type::bf16>(acc, operand(0), operand(2048), true);
  ptx::wgmma_commit_group();
  if (step == 2) return;
  if (step == 1) FAULT_IN_NEXT_LINE;
  if (step == 1) ptx::acc_use(acc);
  ptx::wgmma_wait_group<0>();
  if (step != 3) ptx::acc_use(acc);
}

void cleared_without_use(const Global& /*g*/) {
  fill_operands();
  if (ptx::ctaid_x() != 1) return;
  float acc[4] = {};
  for (int product = 0; product < 2; ++product) {
    std::fill(std::begin(acc), std::end(acc), 0.0f);
    ptx::wgmma_fence();
    if (product == 1) FAULT_IN_NEXT_LINE;
    ptx::wgmma_mma_async<abi::Type::bf16, abi::Type::bf16>(acc, operand(0), operand(2048), true);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
  }
  ptx::acc_use(acc);
}

void bad_descriptor(const Global& /*g*/) {
  fill_operands();
  if (ptx::ctaid_x() != 1) return;
  float acc[4] = {};
  const u64 base_offset = u64{1} << 49 | u64{1} << 62;
  ptx::wgmma_fence();
  FAULT_IN_NEXT_LINE;
  ptx::wgmma_mma_async<abi::Type::bf16, abi::Type::bf16>(acc, operand(0) | base_offset,
                                                         operand(2048), false);
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
}

void bad_tensor_map(const Global& g) {
  const u32 barrier = new_barrier(1);
  if (!culprit()) return;
  FAULT_IN_NEXT_LINE;
  ptx::cp_async_bulk_tensor_load(shared_at(0), g.map, barrier, {0, 0});
}

void register_pool(const Global& /*g*/) {
  if (ptx::ctaid_x() != 1) return;
  FAULT_IN_NEXT_LINE;
  ptx::reg_inc<24>();
}

void missing_dependency_wait(const Global& g) {
  if (!culprit()) return;
  FAULT_IN_NEXT_LINE;
  ptx::ld_global<1>(g.in);
}

struct Provoked {
  const char* name;
  Fault fault;
  void (*kernel)(const Global&);
  bool has_address = true;
  unsigned thread = 37;
  unsigned cluster = 1;
  bool programmatic = false;
};

thread_local void (*provoking)(const Global&) = nullptr;

void entry(const Global global) {
  provoking(global);
}

const Provoked kProvoked[] = {
    Provoked{"deadlock", Fault::deadlock, deadlock},
    Provoked{"race", Fault::race, race},
    Provoked{"race_in_global_memory", Fault::race, race_in_global_memory},
    Provoked{"write_while_read_by_store", Fault::race, write_while_read_by_store},
    Provoked{"missing_proxy_fence", Fault::missing_proxy_fence, missing_proxy_fence},
    Provoked{"out_of_bounds", Fault::out_of_bounds, out_of_bounds},
    Provoked{"out_of_shared_bounds", Fault::out_of_bounds, out_of_shared_bounds},
    Provoked{"misaligned", Fault::misaligned, misaligned},
    Provoked{"misaligned_box", Fault::misaligned, misaligned_box},
    Provoked{"uninitialised", Fault::uninitialised, uninitialised},
    Provoked{"uninitialised_global", Fault::uninitialised, uninitialised_global},
    Provoked{"read_only", Fault::read_only, read_only},
    Provoked{"barrier_misuse", Fault::barrier_misuse, barrier_misuse},
    Provoked{"barrier_initialised_in_use", Fault::barrier_misuse, barrier_initialised_in_use},
    Provoked{"arrival_overflow", Fault::arrival_overflow, arrival_overflow},
    Provoked{"transaction_mismatch", Fault::transaction_mismatch, transaction_mismatch, true, 0},
    Provoked{"missing_init_fence", Fault::missing_init_fence, missing_init_fence},
    Provoked{"named_barrier_clash", Fault::named_barrier_clash, named_barrier_clash, true, 32},
    Provoked{"named_barrier_too_many", Fault::named_barrier_clash, named_barrier_too_many, true,
             32},
    Provoked{"divergent", Fault::divergent, divergent, false, 37},
    Provoked{"leaked_store", Fault::leaked_async, leaked_store},
    Provoked{"leaked_load", Fault::leaked_async, leaked_load},
    Provoked{"leaked_copy", Fault::leaked_async, leaked_copy},
    Provoked{"leaked_visit", Fault::leaked_async, leaked_visit, true, 37, 2},
    Provoked{"missing_wgmma_fence", Fault::missing_wgmma_fence, product<0>, false, 0},
    Provoked{"accumulators_in_flight", Fault::accumulator_in_flight, product<1>, false, 127},
    Provoked{"unused_accumulators", Fault::accumulator_in_flight, product<3>, false, 126},
    Provoked{"cleared_accumulators", Fault::accumulator_in_flight, cleared_without_use, false, 126},
    Provoked{"leaked_wgmma", Fault::leaked_async, product<2>, false, 0},
    Provoked{"bad_descriptor", Fault::bad_descriptor, bad_descriptor, true, 0},
    Provoked{"bad_tensor_map", Fault::bad_descriptor, bad_tensor_map, false},
    Provoked{"register_pool", Fault::register_pool, register_pool, false, 0},
    Provoked{"missing_dependency_wait", Fault::missing_dependency_wait, missing_dependency_wait,
             true, 37, 1, true}};

class Reports : public testing::TestWithParam<Provoked> {};

TEST_P(Reports, NameKernelCtaThreadLineAndAddress) {
  const Provoked& test = GetParam();
  alignas(128) static std::byte in[1024];
  alignas(128) static std::byte out[1024];
  Global global{reinterpret_cast<u64>(in), reinterpret_cast<u64>(out), {}};
  const std::uint64_t extents[] = {256};
  const std::uint64_t strides[] = {0};
  const std::uint32_t box[] = {16};
  const std::uint32_t steps[] = {1};
  ASSERT_EQ(emulator::encode_tiled(&global.map, 7, 1, in, extents, strides, box, steps, 0, 0, 0, 0),
            0);
  Options options;
  options.kernel_name = "provoked";
  options.cluster = {test.cluster, 1, 1};
  options.programmatic = test.programmatic;
  options.memory = {{in, sizeof(in), "in", false}, {out, sizeof(out), "out", true, false}};
  provoking = test.kernel;
  void* arguments[] = {&global};
  const Report report =
      emulator::launch(emulator::entry<entry>, {2, 1, 1}, 128, 4096, arguments, options);
  ASSERT_TRUE(report.has(test.fault)) << report.text();
  const emulator::Finding* finding = report.findings.data();
  while (finding->fault != test.fault)
    ++finding;
  EXPECT_EQ(finding->kernel, "provoked");
  EXPECT_EQ(finding->cta, (std::array<unsigned, 3>{1, 0, 0})) << report.text();
  EXPECT_EQ(finding->thread, test.thread) << report.text();
  EXPECT_EQ(finding->file, __FILE__) << report.text();
  EXPECT_EQ(finding->line, fault_line) << report.text();
  EXPECT_EQ(finding->address != 0, test.has_address) << report.text();
  EXPECT_FALSE(finding->message.empty());
}

// Runs a kernel of one warp on the tests' memory.
Report run_warp(void (*kernel)(const Global&), const Options& options) {
  alignas(128) static std::byte in[1024];
  Global global{reinterpret_cast<u64>(in), reinterpret_cast<u64>(in), {}};
  provoking = kernel;
  void* arguments[] = {&global};
  return emulator::launch(emulator::entry<entry>, {1, 1, 1}, 32, 4096, arguments, options);
}

void ends_with_empty_groups(const Global& g) {
  ptx::cp_async<16>(shared_at(16 * ptx::tid()), g.in);
  ptx::cp_async_commit_group();
  ptx::cp_async_commit_group();
  ptx::cp_async_commit_group();
  ptx::cp_async_wait_group<2>();
}

TEST(CopyGroups, EmptyOnesNeedNoWait) {
  for (const auto schedule : {emulator::Schedule::late, emulator::Schedule::eager}) {
    Options options;
    options.schedule = schedule;
    const Report report = run_warp(ends_with_empty_groups, options);
    EXPECT_TRUE(report.clean()) << report.text();
  }
}

u32 elected_lane = 0;
void elects_twice(const Global& /*g*/) {
  const bool first = ptx::elect_one();
  const bool second = ptx::elect_one();
  EXPECT_EQ(first, second);
  if (first) elected_lane = ptx::tid();
}

TEST(Elect, PicksOneLaneThatTheSeedDraws) {
  std::set<u32> lanes;
  Options options;
  options.schedule = emulator::Schedule::random;
  for (options.seed = 1; options.seed <= 8; ++options.seed) {
    EXPECT_TRUE(run_warp(elects_twice, options).clean());
    lanes.insert(elected_lane);
  }
  EXPECT_GT(lanes.size(), 3U);
}

#ifndef __SANITIZE_ADDRESS__  // which ends the process where memory is short
void stores_a_word(const Global& g) {
  ptx::st_global<1>(g.out, kWord);
}

TEST(Memory, ThatIsShortIsAnException) {
  Options options;
  options.memory = {{nullptr, std::size_t{1} << 62, "everything"}};
  EXPECT_THROW(run_warp(stores_a_word, options), std::bad_alloc);
}
#endif

void stores_half(const Global& g) {
  if (ptx::tid() < 16) ptx::st_global<1>(g.out + 4 * ptx::tid(), kWord);
  if (ptx::tid() == 16) ptx::st_global<1>(g.out + 512, kWord);
}
void loads_all(const Global& g) {
  (void)ptx::ld_global<1>(g.out + 4 * ptx::tid());
}

TEST(Memory, WhatALaunchWroteIsThereForTheNext) {
  alignas(128) static std::byte in[1024];
  emulator::WrittenBytes written;
  Options options;
  options.memory = {{in, 128, "workspace", true, false, &written},
                    {in + 512, 128, "neighbour", true, false, &written}};
  const auto run = [&](void (*kernel)(const Global&)) {
    Global global{0, reinterpret_cast<u64>(in), {}};
    provoking = kernel;
    void* arguments[] = {&global};
    return emulator::launch(emulator::entry<entry>, {1, 1, 1}, 32, 4096, arguments, options);
  };
  EXPECT_TRUE(run(stores_half).clean());
  EXPECT_TRUE(written.has(in, 64));
  EXPECT_FALSE(written.has(in, 65));
  EXPECT_TRUE(written.has(in + 512, 4));
  const Report report = run(loads_all);
  ASSERT_TRUE(report.has(Fault::uninitialised)) << report.text();
  EXPECT_EQ(report.findings[0].thread, 16U);
  EXPECT_EQ(report.findings[0].count, 16);
}

TEST(ReportKinds, EachIsProvoked) {
  // Those after it are of kernels that are built on demand (host/findings_test.cpp), two others of
  // tcgen05 (tcgen05_reports_test.cpp), one of launch_control_test.cpp.
  for (int kind = 0; kind <= static_cast<int>(Fault::missing_dependency_wait); ++kind) {
    if (kind == static_cast<int>(Fault::tensor_memory)) continue;
    if (kind == static_cast<int>(Fault::missing_tcgen05_fence)) continue;
    if (kind == static_cast<int>(Fault::launch_control)) continue;
    EXPECT_TRUE(std::any_of(std::begin(kProvoked), std::end(kProvoked), [&](const Provoked& test) {
      return test.fault == static_cast<Fault>(kind);
    })) << fault_name(static_cast<Fault>(kind));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Reports, testing::ValuesIn(kProvoked),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace estoc
