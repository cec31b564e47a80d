// Cluster launch control under the emulator: the work of each cluster is done once, whoever does
// it, and mistakes are found.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "emulator/launch.h"

#include <estoc/ptx/atomic.cuh>
#include <estoc/ptx/cluster.cuh>
#include <estoc/ptx/fence.cuh>
#include <estoc/ptx/launch_control.cuh>
#include <estoc/ptx/mbarrier.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>

namespace estoc::launch_control {
namespace {

using emulator::Fault;
using emulator::Schedule;

constexpr u32 kAnswer = 0;
constexpr u32 kFull = 64;
constexpr u32 kEmpty = 72;
constexpr unsigned kSharedBytes = 128;
constexpr unsigned kThreads = 64;

// What a kernel leaves out or does wrongly.
enum class Mistake {
  none,
  asks_again,        ///< after an answer that was no
  misreads_answer,   ///< takes the first CTA of no cluster
  expects_no_bytes,  ///< of the answer
  answer_misaligned,
  asks_before_read,  ///< while others still read the answer before
};

u32 at(u32 offset) {
  return ptx::smem_base() + offset;
}

void meet() {
  ptx::barrier_cluster_arrive_release();
  ptx::barrier_cluster_wait();
}

/// All threads of a cluster count the work of cluster after cluster in `counts`. The first thread
/// of the first CTA asks, when all of the cluster have read the answer before.
template <Mistake mistake>
void count_work(u64 counts) {
  const u32 ctas = ptx::cluster_nctarank();
  if (ptx::tid() == 0) {
    ptx::mbarrier_init(at(kFull), 1);
    ptx::mbarrier_init(at(kEmpty), ctas * kThreads);
    ptx::fence_mbarrier_init();
  }
  meet();
  u32 phase = 0;
  u32 cta = ptx::ctaid_x();
  while (true) {
    if (ptx::tid() == 0) ptx::red_global_add(counts + 4 * cta, 1u);
    if (ptx::tid() == 0 && mistake != Mistake::expects_no_bytes) {
      ptx::mbarrier_arrive_expect_tx(at(kFull), 16);
    }
    if (ptx::tid() == 0 && ptx::cluster_ctarank() == 0) {
      if (mistake != Mistake::asks_before_read) {
        ptx::mbarrier_wait_cluster(at(kEmpty), phase ^ 1);
      }
      const u32 answer = at(mistake == Mistake::answer_misaligned ? kAnswer + 8 : kAnswer);
      if (ctas > 1) {
        ptx::clusterlaunchcontrol_try_cancel_multicast(answer, at(kFull));
      } else {
        ptx::clusterlaunchcontrol_try_cancel(answer, at(kFull));
      }
    }
    ptx::mbarrier_wait(at(kFull), phase);
    const Words<4> words = ptx::ld_shared<4>(at(kAnswer));
    ptx::fence_proxy_async();
    ptx::mbarrier_arrive_cluster(at(kEmpty), 0);
    phase ^= 1;
    if (!ptx::clusterlaunchcontrol_is_canceled(words)) {
      if (mistake == Mistake::misreads_answer) ptx::clusterlaunchcontrol_first_ctaid_x(words);
      break;
    }
    cta = ptx::clusterlaunchcontrol_first_ctaid_x(words) + ptx::cluster_ctarank();
  }
  if (mistake == Mistake::asks_again && ptx::tid() == 0 && ptx::cluster_ctarank() == 0) {
    ptx::clusterlaunchcontrol_try_cancel(at(kAnswer), at(kFull));
  }
  meet();
}

template <Mistake mistake>
void entry(void** arguments) {
  count_work<mistake>(*static_cast<u64*>(arguments[0]));
}

emulator::Report run(emulator::Entry kernel, unsigned ctas, unsigned cluster, Schedule schedule,
                     std::vector<u32>& counts) {
  counts.assign(ctas, 0);
  u64 address = reinterpret_cast<u64>(counts.data());
  void* arguments[] = {&address};
  emulator::Options options;
  options.schedule = schedule;
  options.seed = 5;
  options.cluster = {cluster, 1, 1};
  return emulator::launch(kernel, {ctas, 1, 1}, kThreads, kSharedBytes, arguments, options);
}

TEST(LaunchControl, TheWorkOfEachClusterIsDoneOnce) {
  for (const unsigned cluster : {1u, 2u, 4u}) {
    for (const auto schedule : {Schedule::late, Schedule::eager, Schedule::random}) {
      std::vector<u32> counts;
      const emulator::Report report = run(entry<Mistake::none>, 24, cluster, schedule, counts);
      EXPECT_TRUE(report.clean()) << report.text();
      EXPECT_EQ(counts, std::vector<u32>(24, 1)) << cluster;
    }
  }
}

struct Case {
  const char* name;
  emulator::Entry kernel;
  Fault fault;
};
const Case kCases[] = {
    {"asks_again", entry<Mistake::asks_again>, Fault::launch_control},
    {"misreads_answer", entry<Mistake::misreads_answer>, Fault::launch_control},
    {"expects_no_bytes", entry<Mistake::expects_no_bytes>, Fault::deadlock},
    {"answer_misaligned", entry<Mistake::answer_misaligned>, Fault::misaligned},
    {"asks_before_read", entry<Mistake::asks_before_read>, Fault::race},
};

class LaunchControlMistakes : public testing::TestWithParam<Case> {};

TEST_P(LaunchControlMistakes, AreFound) {
  for (const auto schedule : {Schedule::late, Schedule::eager, Schedule::random}) {
    std::vector<u32> counts;
    const emulator::Report report = run(GetParam().kernel, 8, 2, schedule, counts);
    EXPECT_TRUE(report.has(GetParam().fault)) << static_cast<int>(schedule) << report.text();
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, LaunchControlMistakes, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace estoc::launch_control
