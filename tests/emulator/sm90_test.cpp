// The sm_90a test kernel under the emulator: clean as it is, and each planted mistake found.
#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <type_traits>
#include <vector>

#include "emulator/conversions.h"
#include "emulator/launch.h"
#include "emulator/tensor_map.h"

#include "sm90_kernel.cuh"

namespace estoc::sm90_test {
namespace {

using emulator::Fault;
using emulator::Options;
using emulator::Report;
using emulator::Schedule;

template <typename Kernel>
void kernel(const TensorMap a, const TensorMap b, const TensorMap out,
            const typename Kernel::Parameters p) {
  Kernel{}.run(a, b, out, p);
}

struct Matrix {
  std::vector<u16> elements;
  int rows;
  int columns;  // contiguous

  Matrix(int r, int c) : elements(static_cast<std::size_t>(r * c)), rows(r), columns(c) {}

  TensorMap map(u32 box_columns, u32 box_rows, int swizzle) {
    TensorMap result{};
    const std::uint64_t extents[] = {static_cast<u64>(columns), static_cast<u64>(rows)};
    const std::uint64_t strides[] = {static_cast<u64>(columns) * 2};
    const std::uint32_t box[] = {box_columns, box_rows};
    const std::uint32_t ones[] = {1, 1};
    EXPECT_EQ(emulator::encode_tiled(&result, 9, 2, elements.data(), extents, strides, box, ones, 0,
                                     swizzle, 0, 0),
              0)
        << emulator::encode_problem();
    return result;
  }

  float at(int row, int column) const {
    return emulator::bfloat_to_float(elements[static_cast<std::size_t>(row * columns + column)]);
  }
};

struct Problem {
  int m, n, k;
  unsigned ctas;
};

struct Outcome {
  Report report;
  bool right;
};

template <int tile_n, int stages, bool b_rows, int cluster_m, Mistake mistake>
Outcome run(Problem problem, Options options = {}) {
  using K = Kernel<tile_n, stages, b_rows, cluster_m, mistake>;
  const auto [m, n, k, ctas] = problem;
  std::mt19937 random(11);
  Matrix a(m, k);
  Matrix b(b_rows ? k : n, b_rows ? n : k);
  Matrix out(m, n);
  for (Matrix* matrix : {&a, &b}) {
    for (u16& x : matrix->elements) {
      x = static_cast<u16>(
          emulator::float_to_bfloat(static_cast<float>(static_cast<int>(random() % 5) - 2)));
    }
  }
  TensorMap a_map = a.map(64, 128, 3);
  TensorMap b_map = b_rows ? b.map(64, 64, 3) : b.map(64, tile_n / cluster_m, 3);
  TensorMap out_map = out.map(tile_n, 64, 0);
  typename K::Parameters p{(m + 127) / 128, (n + tile_n - 1) / tile_n, (k + 63) / 64};
  options.cluster = {cluster_m, 1, 1};
  options.memory = {{a.elements.data(), a.elements.size() * 2, "A", false},
                    {b.elements.data(), b.elements.size() * 2, "B", false},
                    {out.elements.data(), out.elements.size() * 2, "out", true, false}};
  void* arguments[] = {&a_map, &b_map, &out_map, &p};
  Outcome outcome{emulator::launch(emulator::entry<kernel<K>>, {ctas, 1, 1}, K::kThreads,
                                   K::kSharedBytes, arguments, options),
                  true};
  for (int i = 0; i < m && outcome.right; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int x = 0; x < k; ++x)
        sum += a.at(i, x) * (b_rows ? b.at(x, j) : b.at(j, x));
      const float rounded = emulator::bfloat_to_float(emulator::float_to_bfloat(sum));
      outcome.right = outcome.right && out.at(i, j) == rounded;
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

TEST(Sm90, RunsCleanAndExact) {
  constexpr Mistake kNone = Mistake::none;
  expect_clean(run<128, 2, false, 1, kNone>({256, 256, 256, 4}));
  expect_clean(run<64, 3, false, 1, kNone>({200, 136, 168, 3}));
  expect_clean(run<256, 2, true, 1, kNone>({128, 256, 128, 1}));
  expect_clean(run<64, 2, true, 1, kNone>({136, 72, 72, 2}));
}

TEST(Sm90, ClusterWithMulticastIsClean) {
  expect_clean(run<128, 2, false, 2, Mistake::none>({256, 256, 192, 2}));
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    expect_clean(
        run<64, 2, false, 2, Mistake::none>({256, 64, 192, 2}, schedule(Schedule::random, seed)));
  }
}

TEST(Sm90, EveryScheduleIsClean) {
  expect_clean(run<64, 2, false, 1, Mistake::none>({128, 128, 192, 1}, schedule(Schedule::eager)));
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    expect_clean(
        run<64, 2, false, 1, Mistake::none>({128, 128, 192, 1}, schedule(Schedule::random, seed)));
  }
}

TEST(Sm90, CountsInstructions) {
  const Report report = run<128, 2, false, 1, Mistake::none>({256, 256, 256, 4}).report;
  EXPECT_EQ(report.statistics.wgmma, 4u * 4 * 4 * 2);
  EXPECT_EQ(report.statistics.tma_loads, 4u * 4 * 2);
  EXPECT_EQ(report.statistics.tma_stores, 4u * 2);
}

struct Planted {
  const char* name;
  Outcome (*run)(Options);
  std::vector<Fault> faults;  // one of these is to be reported
  bool by_result = false;     // no rule is broken: only the output is wrong
};

void PrintTo(const Planted& plant,
             std::ostream* to) {  // NOLINT: the name that GoogleTest looks for
  *to << plant.name;
}

template <Mistake mistake, int cluster = 1>
Outcome planted(Options options) {
  return run<64, 2, false, cluster, mistake>({128 * cluster, 128, 256, cluster}, options);
}

std::vector<Planted> table() {
  using M = Mistake;
  return {
      {"no_wait_on_empty", planted<M::no_wait_on_empty>, {Fault::race}},
      {"wrong_phase", planted<M::wrong_phase>, {Fault::race, Fault::deadlock}},
      {"expect_too_small", planted<M::expect_too_small>, {Fault::transaction_mismatch}},
      {"expect_too_large", planted<M::expect_too_large>, {Fault::transaction_mismatch}},
      {"no_proxy_fence", planted<M::no_proxy_fence>, {Fault::missing_proxy_fence}},
      {"early_release", planted<M::early_release>, {Fault::race}},
      {"read_before_wait", planted<M::read_before_wait>, {Fault::accumulator_in_flight}},
      {"no_read_wait", planted<M::no_read_wait>, {Fault::race}},
      {"no_barrier_before_store", planted<M::no_barrier_before_store>, {Fault::race}},
      {"no_wgmma_fence", planted<M::no_wgmma_fence>, {Fault::missing_wgmma_fence}},
      {"no_init_fence", planted<M::no_init_fence>, {Fault::missing_init_fence}},
      {"no_start_barrier", planted<M::no_start_barrier>, {Fault::race, Fault::barrier_misuse}},
      {"lane_zero_waits", planted<M::lane_zero_waits>, {Fault::race}},
      {"shared_barrier_id",
       planted<M::shared_barrier_id>,
       {Fault::named_barrier_clash, Fault::race}},
      {"wrong_stage", planted<M::wrong_stage>, {Fault::race, Fault::uninitialised}},
      {"wrong_swizzle", planted<M::wrong_swizzle>, {}, true},
      {"off_by_one_k", planted<M::off_by_one_k>, {Fault::race, Fault::uninitialised}, true},
      {"too_few_arrivals", planted<M::too_few_arrivals>, {Fault::arrival_overflow, Fault::race}},
      {"second_arrival", planted<M::second_arrival>, {Fault::arrival_overflow, Fault::race}},
      {"store_not_drained", planted<M::store_not_drained>, {Fault::leaked_async}},
      {"divergent_fence", planted<M::divergent_fence>, {Fault::divergent}},
      {"k_not_counted", planted<M::k_not_counted>, {Fault::transaction_mismatch}},
      {"no_cluster_end", planted<M::no_cluster_end, 2>, {Fault::leaked_async}},
      {"no_commit", planted<M::no_commit>, {Fault::accumulator_in_flight}},
  };
}

class PlantedMistake : public testing::TestWithParam<Planted> {};

TEST_P(PlantedMistake, IsFoundInEverySchedule) {
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

INSTANTIATE_TEST_SUITE_P(All, PlantedMistake, testing::ValuesIn(table()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace estoc::sm90_test
