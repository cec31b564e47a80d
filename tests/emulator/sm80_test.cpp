// The sm_80 test kernel under the emulator: clean as it is, and each planted mistake found.
#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <vector>

#include "emulator/conversions.h"
#include "emulator/launch.h"

#include "sm80_kernel.cuh"

namespace estoc::sm80_test {
namespace {

using emulator::Fault;
using emulator::Options;
using emulator::Report;
using emulator::Schedule;

template <typename Kernel>
void kernel(const typename Kernel::Parameters p) {
  Kernel::run(p);
}

struct Problem {
  int m, n, k;
};

struct Outcome {
  Report report;
  bool right;
};

template <int stages, Mistake mistake>
Outcome run(Problem problem, Options options = {}) {
  using K = Kernel<stages, mistake>;
  const auto [m, n, k] = problem;
  std::mt19937 random(3);
  std::vector<u16> a(static_cast<std::size_t>(m * k));
  std::vector<u16> b(static_cast<std::size_t>(n * k));
  std::vector<float> out(static_cast<std::size_t>(m * n));
  for (std::vector<u16>* matrix : {&a, &b}) {
    for (u16& x : *matrix) {
      x = static_cast<u16>(
          emulator::float_to_half(static_cast<float>(static_cast<int>(random() % 7) - 3)));
    }
  }
  typename K::Parameters p{reinterpret_cast<u64>(a.data()),
                           reinterpret_cast<u64>(b.data()),
                           reinterpret_cast<u64>(out.data()),
                           m,
                           n,
                           k};
  options.memory = {{a.data(), a.size() * 2, "A", false},
                    {b.data(), b.size() * 2, "B", false},
                    {out.data(), out.size() * 4, "out", true, false}};
  void* arguments[] = {&p};
  Outcome outcome{
      emulator::launch(emulator::entry<kernel<K>>,
                       {static_cast<unsigned>(m + 63) / 64, static_cast<unsigned>(n + 63) / 64, 1},
                       K::kThreads, K::kSharedBytes, arguments, options),
      true};
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int x = 0; x < k; ++x) {
        sum += emulator::half_to_float(a[static_cast<std::size_t>(i * k + x)]) *
               emulator::half_to_float(b[static_cast<std::size_t>(j * k + x)]);
      }
      outcome.right = outcome.right && out[static_cast<std::size_t>(i * n + j)] == sum;
    }
  }
  return outcome;
}

Options schedule(Schedule kind, std::uint64_t seed = 0) {
  Options options;
  options.schedule = kind;
  options.seed = seed;
  return options;
}

void expect_clean(const Outcome& outcome) {
  EXPECT_TRUE(outcome.report.clean()) << outcome.report.text();
  EXPECT_TRUE(outcome.right);
}

TEST(Sm80, RunsCleanAndExact) {
  expect_clean(run<3, Mistake::none>({128, 64, 128}));
  expect_clean(run<2, Mistake::none>({100, 72, 40}));
  expect_clean(run<4, Mistake::none>({8, 8, 8}));
}

TEST(Sm80, EveryScheduleIsClean) {
  expect_clean(run<3, Mistake::none>({64, 64, 160}, schedule(Schedule::eager)));
  for (std::uint64_t seed = 1; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    expect_clean(run<3, Mistake::none>({64, 64, 160}, schedule(Schedule::random, seed)));
  }
}

TEST(Sm80, CountsInstructions) {
  const Report report = run<3, Mistake::none>({64, 64, 64}).report;
  EXPECT_EQ(report.statistics.mma, 4u * 2 * 2 * 8);
  EXPECT_EQ(report.statistics.cp_async, 2u * 2 * 2 * 128);
}

struct Planted {
  const char* name;
  Outcome (*run)(Options);
  std::vector<Fault> faults;
  bool by_result = false;
};

void PrintTo(const Planted& plant,
             std::ostream* to) {  // NOLINT: the name that GoogleTest looks for
  *to << plant.name;
}

template <Mistake mistake>
Outcome planted(Options options) {
  return run<3, mistake>({100, 64, 200}, options);
}

std::vector<Planted> table() {
  using M = Mistake;
  return {
      {"no_wait", planted<M::no_wait>, {Fault::race}},
      {"waits_for_too_few", planted<M::waits_for_too_few>, {Fault::race}},
      {"no_barrier", planted<M::no_barrier>, {Fault::race}},
      {"no_second_barrier", planted<M::no_second_barrier>, {Fault::race}},
      {"past_the_end", planted<M::past_the_end>, {Fault::out_of_bounds}},
      {"no_zero_fill", planted<M::no_zero_fill>, {Fault::uninitialised}},
      {"misaligned", planted<M::misaligned>, {Fault::misaligned}},
      {"wrong_fragment", planted<M::wrong_fragment>, {}, true},
      {"not_drained", planted<M::not_drained>, {Fault::leaked_async}},
      {"divergent_mma", planted<M::divergent_mma>, {Fault::divergent}},
  };
}

class PlantedMistake80 : public testing::TestWithParam<Planted> {};

TEST_P(PlantedMistake80, IsFoundInEverySchedule) {
  const Planted& plant = GetParam();
  for (const Options& options : {schedule(Schedule::late), schedule(Schedule::eager),
                                 schedule(Schedule::random, 1), schedule(Schedule::random, 2)}) {
    const Outcome outcome = plant.run(options);
    bool found = plant.by_result && !outcome.right;
    for (const Fault fault : plant.faults)
      found = found || outcome.report.has(fault);
    EXPECT_TRUE(found) << "schedule " << static_cast<int>(options.schedule) << " seed "
                       << options.seed << ", output " << (outcome.right ? "right" : "wrong") << "\n"
                       << outcome.report.text();
  }
}

INSTANTIATE_TEST_SUITE_P(All, PlantedMistake80, testing::ValuesIn(table()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace estoc::sm80_test
