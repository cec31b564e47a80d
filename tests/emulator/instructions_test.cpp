// Exchange, clusters, words of global memory, TMA's boxes, registers: small kernels, one each.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "emulator/launch.h"
#include "emulator/tensor_map.h"

#include <estoc/ptx/atomic.cuh>
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/cluster.cuh>
#include <estoc/ptx/cp_async.cuh>
#include <estoc/ptx/fence.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/mbarrier.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/setmaxnreg.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/tma.cuh>
#include <estoc/ptx/warp.cuh>

namespace estoc {
namespace {

using emulator::Fault;
using emulator::Options;
using emulator::Report;

struct Setting {
  unsigned ctas = 1;
  unsigned threads = 32;
  unsigned shared = 0;
  Options options{};
};

template <auto kernel, typename... Arguments>
Report run(Setting how, Arguments... arguments) {
  void* pointers[] = {&arguments..., nullptr};
  return emulator::launch(emulator::entry<kernel>, {how.ctas, 1, 1}, how.threads, how.shared,
                          pointers, how.options);
}

u64 address_of(std::vector<u32>& words) {
  return reinterpret_cast<u64>(words.data());
}

void store(u64 out, u32 index, u32 value) {
  ptx::st_global<1>(out + 4 * index, Words<1>{{value}});
}

void exchange(u64 out) {
  const u32 lane = ptx::laneid();
  u32 sum = lane;
  for (u32 mask = 16; mask > 0; mask /= 2)
    sum += ptx::shfl_sync_bfly(sum, mask);
  store(out, lane, sum);
  store(out, 32 + lane, ptx::shfl_sync_idx(lane * 10, 3));
  store(out, 64 + lane, ptx::shfl_sync_down(lane, 30));
  store(out, 96 + lane, ptx::shfl_sync_up(lane, 1));
  store(out, 128 + lane, ptx::vote_sync_ballot(lane % 2 == 0));
  store(out, 160 + lane, ptx::redux_sync_add(lane) + ptx::redux_sync_max(lane));
  store(out, 192 + lane, ptx::vote_sync_any(lane == 5) && !ptx::vote_sync_all(lane == 5) ? 1 : 0);
}

TEST(Warp, Exchange) {
  std::vector<u32> out(224);
  const Report report = run<exchange>({}, address_of(out));
  EXPECT_TRUE(report.clean()) << report.text();
  for (u32 lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[lane], 496u);
    EXPECT_EQ(out[32 + lane], 30u);
    EXPECT_EQ(out[64 + lane], lane < 2 ? lane + 30 : lane);
    EXPECT_EQ(out[96 + lane], lane == 0 ? 0 : lane - 1);
    EXPECT_EQ(out[128 + lane], 0x55555555u);
    EXPECT_EQ(out[160 + lane], 496u + 31);
    EXPECT_EQ(out[192 + lane], 1u);
  }
}

// Each CTA writes into its neighbour's shared memory. `barrier` is what makes that right.
template <bool barrier>
void neighbours(u64 out) {
  const u32 rank = ptx::cluster_ctarank();
  const u32 base = ptx::smem_base();
  const u32 mine = base + 4 * ptx::tid();
  ptx::st_shared_cluster<1>(ptx::mapa(mine, rank ^ 1), Words<1>{{100 * rank + ptx::tid()}});
  if (barrier) {
    ptx::barrier_cluster_arrive_release();
    ptx::barrier_cluster_wait();
  }
  store(out, rank * 32 + ptx::tid(), ptx::ld_shared<1>(mine).word[0]);
}

TEST(Cluster, SharedMemoryOfNeighbours) {
  std::vector<u32> out(64);
  Setting how{.ctas = 2, .shared = 256};
  how.options.cluster = {2, 1, 1};
  Report report = run<neighbours<true>>(how, address_of(out));
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(out[5], 105u);
  EXPECT_EQ(out[37], 5u);
  report = run<neighbours<false>>(how, address_of(out));
  EXPECT_TRUE(report.has(Fault::race)) << report.text();
}

// The CTAs add up: each writes its part, the last to come adds them. `fence` is what makes it
// right.
template <bool fence>
void last_adds(u64 parts, u64 counter, u64 out) {
  if (ptx::tid() != 0) return;
  store(parts, ptx::ctaid_x(), ptx::ctaid_x() + 1);
  const u32 before =
      fence ? ptx::atom_acq_rel_global_add(counter, 1) : ptx::atom_global_add(counter, 1u);
  if (before + 1 < ptx::nctaid_x()) return;
  u32 sum = 0;
  for (u32 i = 0; i < ptx::nctaid_x(); ++i)
    sum += ptx::ld_global<1>(parts + 4 * i).word[0];
  store(out, 0, sum);
}

TEST(Global, LastOneAdds) {
  std::vector<u32> parts(8);
  std::vector<u32> counter(1);
  std::vector<u32> out(1);
  Setting how{.ctas = 8};
  how.options.memory = {{parts.data(), 32, "parts", true, false},
                        {counter.data(), 4, "counter"},
                        {out.data(), 4, "out", true, false}};
  Report report =
      run<last_adds<true>>(how, address_of(parts), address_of(counter), address_of(out));
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(out[0], 36u);
  counter[0] = 0;
  report = run<last_adds<false>>(how, address_of(parts), address_of(counter), address_of(out));
  EXPECT_TRUE(report.has(Fault::race)) << report.text();
}

// CTA 0 waits for what CTA 1 writes, which starts only then.
void hand_over(u64 flag, u64 out) {
  if (ptx::tid() != 0) return;
  if (ptx::ctaid_x() == 0) {
    ptx::wait_acquire_global(flag, 7);
    store(out, 0, ptx::ld_global<1>(out + 4).word[0]);
  } else {
    store(out, 1, 42);
    ptx::st_release_global(flag, 7);
  }
}

TEST(Global, WaitsForAnotherCta) {
  std::vector<u32> flag(1);
  std::vector<u32> out(2);
  Setting how{.ctas = 2};
  how.options.memory = {{flag.data(), 4, "flag"}, {out.data(), 8, "out", true, false}};
  Report report = run<hand_over>(how, address_of(flag), address_of(out));
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(out[0], 42u);
  how.ctas = 1;
  flag[0] = 0;
  report = run<hand_over>(how, address_of(flag), address_of(out));
  EXPECT_TRUE(report.has(Fault::deadlock)) << report.text();
}

// Loads a box that hangs over every edge, and stores or adds it elsewhere.
template <bool adds>
void box(const TensorMap from, const TensorMap to) {
  const u32 base = ptx::smem_base();
  const u32 barrier = base + 1024;
  if (ptx::tid() == 0) {
    ptx::mbarrier_init(barrier, 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive_expect_tx(barrier, 8 * 3 * 2 * 4);
    ptx::cp_async_bulk_tensor_load(base, from, barrier, {-4, 4, 1});
    ptx::mbarrier_wait(barrier, 0);
    if (adds) {
      ptx::cp_reduce_async_bulk_tensor_add(to, base, {0, 0, 0});
    } else {
      ptx::cp_async_bulk_tensor_store(to, base, {0, 0, 0});
    }
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group<0>();
  }
}

TensorMap map_of(std::vector<float>& values, const std::uint64_t (&extents)[3]) {
  TensorMap map{};
  const std::uint64_t strides[] = {extents[0] * 4, extents[0] * extents[1] * 4};
  const std::uint32_t box[] = {8, 3, 2};
  const std::uint32_t ones[] = {1, 1, 1};
  EXPECT_EQ(
      emulator::encode_tiled(&map, 7, 3, values.data(), extents, strides, box, ones, 0, 0, 0, 0), 0)
      << emulator::encode_problem();
  return map;
}

TEST(Tma, BoxOverTheEdges) {
  std::vector<float> from(8 * 6 * 2);
  std::iota(from.begin(), from.end(), 1.0f);
  std::vector<float> to(8 * 3 * 2, 1000.0f);
  const TensorMap from_map = map_of(from, {8, 6, 2});
  const TensorMap to_map = map_of(to, {8, 3, 2});
  Setting how{.shared = 1040};
  how.options.memory = {{from.data(), from.size() * 4, "from", false}, {to.data(), 192, "to"}};
  for (const float before : {0.0f, 5.0f}) {
    to.assign(to.size(), before == 0 ? 1000.0f : before);
    const Report report = before == 0 ? run<box<false>>(how, from_map, to_map)
                                      : run<box<true>>(how, from_map, to_map);
    EXPECT_TRUE(report.clean()) << report.text();
    for (int z = 0; z < 2; ++z) {
      for (int y = 0; y < 3; ++y) {
        for (int x = 0; x < 8; ++x) {
          const bool inside = x >= 4 && y + 4 < 6 && z + 1 < 2;
          const auto source = static_cast<std::size_t>((z + 1) * 48 + (y + 4) * 8 + x - 4);
          EXPECT_EQ(to[static_cast<std::size_t>(z * 24 + y * 8 + x)],
                    before + (inside ? from[source] : 0.0f))
              << x << y << z;
        }
      }
    }
  }
}

TEST(Tma, EncoderRefusesWhatTheDriverRefuses) {
  std::vector<float> values(64);
  alignas(64) std::byte map[128];
  const std::uint64_t extents[] = {8, 8};
  const std::uint32_t ones[] = {1, 1};
  const auto encode = [&](std::uint64_t stride, std::uint32_t width, int swizzle) {
    const std::uint32_t box[] = {width, 8};
    return emulator::encode_tiled(map, 7, 2, values.data(), extents, &stride, box, ones, 0, swizzle,
                                  0, 0);
  };
  EXPECT_EQ(encode(32, 8, 0), 0);
  EXPECT_EQ(encode(36, 8, 0), 1);
  EXPECT_EQ(encode(32, 3, 0), 1);
  EXPECT_EQ(encode(32, 16, 1), 1);
  EXPECT_STRNE(emulator::encode_problem(), "");
}

template <int more>
void registers() {
  if (ptx::tid() < 128) {
    ptx::reg_dec<40>();
  } else {
    ptx::reg_inc<more>();
  }
}

TEST(Registers, PoolIsFinite) {
  EXPECT_TRUE(run<registers<232>>({.threads = 384}).clean());
  const Report report = run<registers<240>>({.threads = 384});
  EXPECT_TRUE(report.has(Fault::deadlock)) << report.text();
  EXPECT_NE(report.text().find("setmaxnreg.inc"), std::string::npos) << report.text();
}

// 640 threads get 96 registers each, and what is left of 65,536 is no one's.
TEST(Registers, PoolIsWhatTheThreadsHadAtTheLaunch) {
  EXPECT_TRUE(run<registers<104>>({.threads = 640}).clean());
  const Report report = run<registers<112>>({.threads = 640});
  EXPECT_TRUE(report.has(Fault::deadlock)) << report.text();
}

template <int more>
void shared_registers() {
  if (ptx::tid() < 128) {
    ptx::reg_dec<24, 2>();
  } else {
    ptx::reg_inc<more, 2>();
  }
}

TEST(Registers, TwoCtasShareThePool) {
  EXPECT_TRUE(run<shared_registers<232>>({.threads = 256}).clean());
  const Report report = run<shared_registers<240>>({.threads = 256});
  EXPECT_TRUE(report.has(Fault::deadlock)) << report.text();
}

// cp.async that arrives at an mbarrier by itself.
template <bool waits>
void copies_arrive(u64 from, u64 out) {
  const u32 base = ptx::smem_base();
  const u32 barrier = base + 512;
  if (ptx::tid() == 0) ptx::mbarrier_init(barrier, 32);
  ptx::barrier_sync();
  ptx::cp_async<16>(base + 16 * ptx::tid(), from + 16 * ptx::tid());
  ptx::cp_async_mbarrier_arrive_noinc(barrier);
  if (waits) ptx::mbarrier_wait(barrier, 0);
  const u32 other = 31 - ptx::tid();
  store(out, ptx::tid(), ptx::ld_shared<1>(base + 16 * other).word[0]);
}

TEST(CpAsync, ArrivesAtBarrier) {
  std::vector<u32> from(128);
  std::iota(from.begin(), from.end(), 0u);
  std::vector<u32> out(32);
  Report report = run<copies_arrive<true>>({.shared = 520}, address_of(from), address_of(out));
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(out[0], 124u);
  report = run<copies_arrive<false>>({.shared = 520}, address_of(from), address_of(out));
  EXPECT_TRUE(report.has(Fault::race)) << report.text();
}

TEST(Launch, RefusesWhatTheDriverRefuses) {
  const auto launch = [](unsigned ctas, unsigned threads, unsigned shared) {
    Options options;
    options.cluster = {2, 1, 1};
    emulator::launch(emulator::entry<registers<232>>, {ctas, 1, 1}, threads, shared, nullptr,
                     options);
  };
  EXPECT_THROW(launch(3, 32, 0), std::invalid_argument);
  EXPECT_THROW(launch(2, 2048, 0), std::invalid_argument);
  EXPECT_THROW(launch(2, 32, 300000), std::invalid_argument);
}

enum class Dependency { none, late, by_all, by_one };

template <Dependency waits>
void dependent(u64 out) {
  const u32 t = ptx::tid();
  ptx::griddepcontrol_launch_dependents();
  if (waits == Dependency::by_all || (waits == Dependency::by_one && t == 0)) {
    ptx::griddepcontrol_wait();
  }
  ptx::barrier_sync();
  store(out, t, t);
  if (waits == Dependency::late) ptx::griddepcontrol_wait();
}

// A launch that may begin early waits before it touches memory.
TEST(Global, ProgrammaticLaunchWaitsFirst) {
  std::vector<u32> out(64);
  Setting how{1, 64, 0, {}};
  EXPECT_TRUE(run<dependent<Dependency::none>>(how, address_of(out)).clean());
  how.options.programmatic = true;
  how.options.memory = {{out.data(), 256, "out"}};
  for (const Report& report : {run<dependent<Dependency::none>>(how, address_of(out)),
                               run<dependent<Dependency::late>>(how, address_of(out))}) {
    EXPECT_TRUE(report.has(Fault::missing_dependency_wait)) << report.text();
  }
  EXPECT_TRUE(run<dependent<Dependency::by_all>>(how, address_of(out)).clean());
  EXPECT_TRUE(run<dependent<Dependency::by_one>>(how, address_of(out)).clean());
}

}  // namespace
}  // namespace estoc
