// Estimates of time, from recordings that are written down here.
#include "emulator/timing.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "emulator/trace.h"

namespace estoc::emulator {
namespace {

/// A device of round figures.
constexpr DeviceTiming kDevice{
    .device = "test",
    .cc = 90,
    .measured = false,
    .multiprocessors = 10,
    .clock_hz = 1e9,
    .memory_bytes_per_s = 1e12,
    .l2_per_clock = 100,
    .link_per_clock = 100,
    .load_clocks = 1000,
    .box_clocks = 0,
    .store_per_clock = 10,
    .scatter_per_clock = 10,
    .store_clocks = 500,
    .shared_per_clock = 1000,
    .written_per_clock = 1e6,
    .global_clocks = 700,
    .issue_clocks = 1,
    .wake_clocks = 0,
    .far_clocks = 200,
    .product_clocks = 0,
    .product_rate = 1,
    .mma_products = 1024,
    .tensor_move_per_clock = 128,
    .tensor_move_clocks = 0,
    .launch_seconds = 0,
    .step_seconds = 0,
};

constexpr std::uint32_t kColumns = 200;  // of a product: 100 clocks

/// One CTA of so many warps, and the instructions of each.
Recording recording_of(std::vector<std::vector<RecordedOp>> warps) {
  Recording recording;
  recording.threads = static_cast<unsigned>(32 * warps.size());
  recording.grid_clusters = 1;
  for (unsigned i = 0; i < warps.size(); ++i)
    recording.warps.push_back({0, i, std::move(warps[i])});
  return recording;
}

RecordedOp op(Act act, std::uint32_t object = 0, std::uint32_t amount = 0,
              std::uint32_t extra = 0) {
  return {act, 0, object, amount, extra, amount};
}

double clocks(const Recording& recording) {
  return estimate(recording, kDevice).clocks;
}

TEST(Timing, InstructionsTakeIssueSlots) {
  EXPECT_DOUBLE_EQ(clocks(recording_of({{op(Act::issue), op(Act::issue), op(Act::issue)}})), 3);
}

TEST(Timing, EveryFourthWarpHasTheSameScheduler) {
  const std::vector<RecordedOp> some(10, op(Act::issue));
  EXPECT_DOUBLE_EQ(clocks(recording_of({some, some, some, some})), 10);
  EXPECT_DOUBLE_EQ(clocks(recording_of({some, some, some, some, some})), 20);
}

TEST(Timing, ProductsFollowEachOther) {
  const std::vector<RecordedOp> products{op(Act::wgmma, 0, kColumns), op(Act::wgmma, 0, kColumns),
                                         op(Act::wgmma_commit), op(Act::wgmma_wait)};
  const TimeEstimate estimated = estimate(recording_of({products}), kDevice);
  EXPECT_DOUBLE_EQ(estimated.tensor_clocks, 200);
  EXPECT_DOUBLE_EQ(estimated.clocks, 201) << "the first is issued in clock 1";
}

TEST(Timing, WarpgroupsShareTensorCores) {
  const std::vector<RecordedOp> products{op(Act::wgmma, 0, kColumns), op(Act::wgmma_commit),
                                         op(Act::wgmma_wait)};
  std::vector<std::vector<RecordedOp>> warps(8, products);
  EXPECT_DOUBLE_EQ(estimate(recording_of(warps), kDevice).tensor_clocks, 200);
  EXPECT_GE(clocks(recording_of(warps)), 200);
}

TEST(Timing, WaitsForTheBytesOfALoad) {
  Recording recording = recording_of(
      {{op(Act::arrive, 0, 4000, 1), op(Act::bulk_load, 0, 4000)}, {op(Act::wait, 0, 1)}});
  recording.barriers = {{0, 0, 1}};
  const double alone = clocks(recording);
  EXPECT_GE(alone, 1000 + 40) << "latency, and 100 bytes in a clock";
  EXPECT_LT(alone, 1000 + 60);
  recording.input_bytes = 4000;
  recording.grid_clusters = 10;
  EXPECT_GE(clocks(recording), alone) << "all CTAs share the memory";
}

TEST(Timing, StoresEndAfterTheirWarp) {
  EXPECT_GE(clocks(recording_of({{op(Act::bulk_store, 0, 1000)}})), 100 + 500);
}

TEST(Timing, NamedBarriersMeet) {
  const Recording recording =
      recording_of({{op(Act::issue), op(Act::issue), op(Act::named_sync, 1, 64)},
                    {op(Act::named_sync, 1, 64), op(Act::issue)}});
  EXPECT_DOUBLE_EQ(clocks(recording), 4);
}

TEST(Timing, LargeGridsComeInWaves) {
  Recording recording = recording_of({{op(Act::issue)}});
  recording.grid_clusters = 25;
  const TimeEstimate estimated = estimate(recording, kDevice);
  EXPECT_DOUBLE_EQ(estimated.waves, 3);
  EXPECT_EQ(estimated.live_ctas, 10);
  EXPECT_DOUBLE_EQ(estimated.seconds, 3e-9);
}

constexpr std::uint32_t kRows = 128;

/// Products of `kColumns` columns and their operands, with copies of `bytes` between them.
Recording scaled_products(std::uint32_t bytes) {
  std::vector<RecordedOp> ops;
  for (int i = 0; i < 10; ++i) {
    ops.push_back(op(Act::tensor_mma, 0, kColumns, kRows));
    ops.push_back(op(Act::tensor_copy, 0, bytes));
  }
  ops.push_back(op(Act::tensor_mma, 0, kColumns, kRows));
  ops.push_back(op(Act::tensor_commit, 0, 0, 1));
  Recording recording = recording_of({ops, {op(Act::wait, 0, 1)}});
  recording.barriers = {{0, 0, 1}};
  return recording;
}

TEST(Timing, CopiesTakeWhatProductsLeaveOfSharedMemory) {
  // Operands take (128 + 200) * 32 / 1000 of a product's 100 clocks: 89 are left.
  EXPECT_NEAR(clocks(scaled_products(80'000)), 1100, 15);
  EXPECT_GT(clocks(scaled_products(150'000)), 1500);
  DeviceTiming stops = kDevice;
  stops.copy_stops = 1;
  EXPECT_NEAR(estimate(scaled_products(80'000), stops).clocks, 1100 + 800, 15);
}

TEST(Timing, ProductsWaitForTheirCopies) {
  Recording recording =
      recording_of({{op(Act::tensor_copy, 0, 300'000), op(Act::tensor_mma, 0, kColumns, kRows),
                     op(Act::tensor_commit, 0, 0, 1)},
                    {op(Act::wait, 0, 1)}});
  recording.barriers = {{0, 0, 1}};
  EXPECT_GE(clocks(recording), 400);
}

TEST(Timing, AMulticastIsOneInstruction) {
  const auto commits = [](Act second) {
    std::vector<RecordedOp> ops(20, op(Act::issue));
    for (int i = 0; i < 10; ++i) {
      ops.push_back(op(Act::tensor_commit, 0, 0, 1));
      ops.push_back(op(second, 0, 0, 1));
    }
    Recording recording = recording_of({ops});
    recording.barriers = {{0, 0, 100}};
    return clocks(recording);
  };
  EXPECT_DOUBLE_EQ(commits(Act::tensor_commit), 40);
  EXPECT_DOUBLE_EQ(commits(Act::tensor_commit_copy), 30);
}

TEST(Timing, CommitsReachOtherCtasLater) {
  Recording recording;
  recording.threads = 32;
  recording.cluster_size = 2;
  recording.grid_clusters = 1;
  recording.warps = {
      {0, 0, {op(Act::tensor_commit, 0, 0, 1), op(Act::tensor_commit_copy, 1, 0, 1)}},
      {1, 0, {op(Act::wait, 1, 1)}}};
  recording.barriers = {{0, 0, 1}, {1, 0, 1}};
  EXPECT_GE(clocks(recording), kDevice.far_clocks);
}

TEST(Timing, RefusesToWaitForever) {
  Recording recording = recording_of({{op(Act::wait, 0, 1)}});
  recording.barriers = {{0, 0, 1}};
  EXPECT_THROW(clocks(recording), std::runtime_error);
}

TEST(Timing, TracesInClocks) {
  Trace trace;
  const Recording recording =
      recording_of({{op(Act::wgmma, 0, kColumns), op(Act::wgmma_commit), op(Act::wgmma_wait)}});
  estimate(recording, kDevice, &trace);
  ASSERT_EQ(trace.events.size(), 1u);
  EXPECT_EQ(trace.events[0].begin, 1u);
  EXPECT_EQ(trace.events[0].end, 101u);
}

TEST(Timing, KnowsTwoDevices) {
  ASSERT_NE(find_device_timing(90), nullptr);
  EXPECT_TRUE(find_device_timing(90)->measured);
  ASSERT_NE(find_device_timing(100), nullptr);
  EXPECT_FALSE(find_device_timing(100)->measured);
  EXPECT_EQ(find_device_timing(80), nullptr);
}

}  // namespace
}  // namespace estoc::emulator
