// The physical model: waves, bytes that neighbours share, and the time of each resource.
#include "cost/execution.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace estoc::cost {
namespace {

const DeviceModel kDevice{.name = "none", .target = Target::sm(90, true)};

Work work_of(double m, double n, double k, double l = 1) {
  return {.m = m, .n = n, .k = k, .l = l, .compulsory = 2 * l * (m * k + n * k + m * n)};
}

Design design_of(double tile_m, double tile_n, int cluster_m = 1, int cluster_n = 1) {
  Design design;
  design.tile_m = tile_m;
  design.tile_n = tile_n;
  design.cluster_m = cluster_m;
  design.cluster_n = cluster_n;
  design.stages = 4;
  design.stage_clocks = tile_m * tile_n * 64 / 2048;
  design.store_clocks = 1000;
  return design;
}

TEST(Execution, MoreWorkTakesLonger) {
  const Design design = design_of(128, 128);
  const auto seconds = [&](const Work& work) { return execute(work, design, kDevice).seconds; };
  const double once = seconds(work_of(4096, 4096, 4096));
  EXPECT_GT(seconds(work_of(8192, 4096, 4096)), 1.5 * once);
  EXPECT_GT(seconds(work_of(4096, 8192, 4096)), 1.5 * once);
  EXPECT_GT(seconds(work_of(4096, 4096, 8192)), 1.5 * once);
  EXPECT_GT(seconds(work_of(4096, 4096, 4096, 2)), 1.5 * once);
  for (double k = 64; k < 100'000; k *= 2) {
    EXPECT_GT(seconds(work_of(16, 512, 2 * k)), seconds(work_of(16, 512, k))) << k;
  }
}

TEST(Execution, ThirtyClustersOfFourLiveAtOnce) {
  const Design design = design_of(64, 64, 2, 2);
  const Execution full = execute(work_of(128, 128 * 30, 1024), design, kDevice);
  EXPECT_EQ(full.slots, 30);
  EXPECT_EQ(full.waves, 1);
  EXPECT_EQ(full.live_ctas, 120);
  const Execution more = execute(work_of(128, 128 * 31, 1024), design, kDevice);
  EXPECT_EQ(more.clusters, 31);
  EXPECT_EQ(more.waves, 2);
  EXPECT_EQ(more.live_ctas, 120);
  EXPECT_DOUBLE_EQ(more.exact_waves, 31.0 / 30);
  EXPECT_DOUBLE_EQ(more.arithmetic, 2 * full.arithmetic);
}

TEST(Execution, OtherClustersFillTheDevice) {
  const Work work = work_of(64 * 300, 64, 1024);
  EXPECT_EQ(execute(work, design_of(64, 64), kDevice).slots, 132);
  EXPECT_EQ(execute(work, design_of(64, 64, 2, 1), kDevice).slots, 66);
  Design two = design_of(64, 64);
  two.ctas_per_multiprocessor = 2;
  const Execution both = execute(work, two, kDevice);
  EXPECT_EQ(both.slots, 264);
  EXPECT_EQ(both.waves, 2);
  // What shares a multiprocessor shares its arithmetic: three tiles one after the other.
  EXPECT_DOUBLE_EQ(both.arithmetic, 3 * 16 * two.stage_clocks / kDevice.clock_hz);
}

TEST(Execution, BatchesAreFurtherTiles) {
  const Execution e = execute(work_of(65, 64, 64, 7), design_of(64, 64), kDevice);
  EXPECT_EQ(e.across_m, 2);
  EXPECT_EQ(e.clusters, 14);
}

TEST(Execution, RowsBeyondTheProblemAreNotFetched) {
  const Design design = design_of(64, 256);
  // Four stages of 64 elements of 2 bytes.
  EXPECT_EQ(execute(work_of(16, 256, 1024), design, kDevice).bytes_in_flight, 4 * 128 * (16 + 256));
  EXPECT_EQ(execute(work_of(64, 40, 1024), design, kDevice).bytes_in_flight, 4 * 128 * (64 + 40));
  // CTAs of a cluster fetch a part each of what they share.
  EXPECT_EQ(execute(work_of(64, 512, 1024), design_of(64, 256, 1, 2), kDevice).bytes_in_flight,
            2 * 4 * 128 * (32 + 256));
  // No more stages than there are tiles of K, nor more of a tile than there is.
  EXPECT_EQ(execute(work_of(64, 256, 128), design, kDevice).bytes_in_flight, 2 * 128 * (64 + 256));
  EXPECT_EQ(execute(work_of(64, 256, 8), design, kDevice).bytes_in_flight, 16 * (64 + 256));
}

TEST(Execution, DistinctBytesOfAWindow) {
  const Work work = work_of(512, 4096, 1024);
  Design design = design_of(64, 256);
  design.group = 16;
  design.along_m = true;  // one column of eight tiles
  EXPECT_DOUBLE_EQ(distinct_bytes(work, design, 8), 128 * (8 * 64 + 256) / 8.0);
  // Two whole columns; then all sixteen, of 128 tiles.
  EXPECT_DOUBLE_EQ(distinct_bytes(work, design, 16), 128 * (8 * 64 + 2 * 256) / 16.0);
  EXPECT_DOUBLE_EQ(distinct_bytes(work, design, 132), 128 * (512 + 4096) / 128.0);
  design.along_m = false;  // eight of a row's sixteen tiles
  EXPECT_DOUBLE_EQ(distinct_bytes(work, design, 8), 128 * (64 + 8 * 256) / 8.0);
  // Two rows.
  EXPECT_DOUBLE_EQ(distinct_bytes(work, design, 32), 128 * (2 * 64 + 16 * 256) / 32.0);
}

TEST(Execution, DistinctBytesOfGroupsAndBands) {
  const Work work = work_of(20 * 64, 3 * 256, 1024);
  Design design = design_of(64, 256);
  design.group = 4;
  // Four tiles of a column, then four of the next.
  EXPECT_DOUBLE_EQ(distinct_bytes(work, design, 8), 128 * (4 * 64 + 2 * 256) / 8.0);
  // A band of four by three, and the next.
  EXPECT_DOUBLE_EQ(distinct_bytes(work, design, 24), 128 * (8 * 64 + 3 * 256) / 24.0);
  // A window of four clusters of two.
  design.cluster_m = 2;
  EXPECT_DOUBLE_EQ(distinct_bytes(work, design, 8), 128 * (4 * 128 + 256) / 8.0);
}

TEST(Execution, PingpongHidesStores) {
  const Work work = work_of(64 * 132 * 4, 64, 1024);
  Design design = design_of(64, 64);
  const double clock = 1 / kDevice.clock_hz;
  EXPECT_DOUBLE_EQ(execute(work, design, kDevice).store, 4 * 1000 * clock);
  design.overlap = Overlap::halves;
  EXPECT_DOUBLE_EQ(execute(work, design, kDevice).store, 4 * 1000 * clock);
  design.overlap = Overlap::pingpong;
  EXPECT_DOUBLE_EQ(execute(work, design, kDevice).store, (1 + 3 * 0.43) * 1000 * clock);
  // There is nothing behind the last tile that could hide its store.
  EXPECT_DOUBLE_EQ(execute(work_of(64, 64, 1024), design, kDevice).store, 1000 * clock);
}

TEST(Execution, SharpResourcesHideEachOther) {
  const Work work = work_of(8192, 8192, 8192);
  Design design = design_of(128, 256);
  const Execution smooth = execute(work, design, kDevice);
  design.sharp = true;
  const Execution sharp = execute(work, design, kDevice);
  const double most = std::max({sharp.arithmetic, sharp.l2, sharp.latency, sharp.memory});
  const double rest = sharp.launch + sharp.fill + sharp.store;
  EXPECT_GE(sharp.seconds, most + rest);
  EXPECT_LT(sharp.seconds, 1.11 * most + rest) << "two norms of sixteen";
  EXPECT_LT(sharp.seconds, smooth.seconds);
}

TEST(Execution, StoresBesideProductsCostAChangeOfTiles) {
  const Work work = work_of(128 * 132 * 4, 128, 4096);
  Design design = design_of(128, 128);
  design.overlap = Overlap::beside;
  const Execution before = execute(work, design, kDevice);
  ASSERT_EQ(before.waves, 4);
  design.change_clocks = 500;
  const Execution after = execute(work, design, kDevice);
  EXPECT_DOUBLE_EQ(after.arithmetic, before.arithmetic + 3 * 500 / kDevice.clock_hz);
  EXPECT_DOUBLE_EQ(after.store, before.store);
  design.overlap = Overlap::pingpong;
  EXPECT_GT(execute(work, design, kDevice).store, after.store);
}

TEST(Execution, ScalesAreLoadedToo) {
  const Work work = work_of(1024, 1024, 1024);
  Design design = design_of(128, 128);
  const double plain = footprint_of(work, design, kDevice).own_bytes;
  design.extra_bytes = 512;
  EXPECT_DOUBLE_EQ(footprint_of(work, design, kDevice).own_bytes, plain + 512);
  EXPECT_DOUBLE_EQ(footprint_of(work, design, kDevice).line_bytes, plain + 512);
}

TEST(Execution, WholePartsHaveRowsBeyondTheProblem) {
  const Work work = work_of(16, 128, 65536);
  Design design = design_of(128, 128);
  design.split = 8;
  design.split_tiles = 1;
  const double few = execute(work, design, kDevice).sums - kDevice.second_kernel_seconds;
  design.whole_parts = true;
  EXPECT_NEAR(execute(work, design, kDevice).sums - kDevice.second_kernel_seconds, 8 * few, 1e-12);
}

TEST(Execution, SumsOfPartsHaveTheirOwnBytes) {
  const Work work = work_of(128, 128, 65536);
  Design design = design_of(128, 128);
  design.split = 8;
  design.split_tiles = 1;
  const double narrow = execute(work, design, kDevice).sums - kDevice.second_kernel_seconds;
  design.sum_bytes = sizeof(double);
  EXPECT_NEAR(execute(work, design, kDevice).sums - kDevice.second_kernel_seconds, 2 * narrow,
              1e-12);
}

TEST(Execution, PartsShareTheArithmeticOfAMultiprocessor) {
  const Work work = work_of(128, 128, 65536);
  Design design = design_of(128, 128);
  design.ctas_per_multiprocessor = 2;
  const double whole = execute(work, design, kDevice).arithmetic;
  design.split = kDevice.multiprocessors;
  design.split_tiles = 1;
  EXPECT_NEAR(execute(work, design, kDevice).arithmetic, whole / kDevice.multiprocessors,
              1e-3 * whole);
}

TEST(Execution, PartsOfKAreComputedAtOnce) {
  const Work work = work_of(64, 64 * 20, 8192);
  Design design = design_of(64, 64);
  const Execution whole = execute(work, design, kDevice);
  design.split = 4;
  const Execution parts = execute(work, design, kDevice);
  EXPECT_EQ(parts.clusters, 4 * whole.clusters);
  EXPECT_EQ(parts.k_tiles, whole.k_tiles / 4);
  EXPECT_EQ(parts.waves, 1);
  EXPECT_DOUBLE_EQ(parts.arithmetic, whole.arithmetic / 4);
  EXPECT_LT(parts.seconds, whole.seconds);
}

TEST(Execution, TheL2CacheIsSharedByThoseThatAreBusy) {
  const Design design = design_of(64, 64);
  const double clock = 1 / kDevice.clock_hz;
  const double tile_bytes = 128 * (64 + 64);
  const Execution full = execute(work_of(64 * 132, 64, 1024), design, kDevice);
  EXPECT_DOUBLE_EQ(full.l2, 16 * tile_bytes / kDevice.l2_per_clock * clock);
  const Execution half = execute(work_of(64 * 66, 64, 1024), design, kDevice);
  EXPECT_DOUBLE_EQ(half.l2, full.l2 / 2);
  // The second wave has half as many CTAs.
  const Execution more = execute(work_of(64 * 198, 64, 1024), design, kDevice);
  EXPECT_DOUBLE_EQ(more.l2, 1.5 * full.l2);
}

TEST(Execution, RowsThatSplitLinesAreLoadedTwice) {
  Work work = work_of(64 * 132, 64, 1024);
  const Design design = design_of(64, 192);
  const Execution whole = execute(work, design, kDevice);
  work.a_rows = RowUnit::sector;
  EXPECT_DOUBLE_EQ(execute(work, design, kDevice).l2 / whole.l2, 3.0 / 2);
  work.b_rows = RowUnit::sector;
  const Execution split = execute(work, design, kDevice);
  EXPECT_DOUBLE_EQ(split.l2 / whole.l2, 2);
  EXPECT_EQ(split.bytes_in_flight, whole.bytes_in_flight);
}

TEST(Execution, BoxesOfRowsThatSplitSectorsCountForMore) {
  Work work = work_of(64 * 132, 64, 1024);
  Design design = design_of(64, 192);
  const Execution whole = execute(work, design, kDevice);
  work.a_rows = work.b_rows = RowUnit::less;
  EXPECT_DOUBLE_EQ(execute(work, design, kDevice).l2 / whole.l2, 2);
  design.boxes = true;
  EXPECT_DOUBLE_EQ(execute(work, design, kDevice).l2 / whole.l2, 4);
  work.a_rows = work.b_rows = RowUnit::sector;
  EXPECT_DOUBLE_EQ(execute(work, design, kDevice).l2 / whole.l2, 2);
}

TEST(Execution, StagesHideLatency) {
  const Work work = work_of(64, 64, 1024);
  Design design = design_of(64, 64);
  EXPECT_DOUBLE_EQ(execute(work, design, kDevice).latency, 16 * kDevice.load_seconds / 4);
  design.stages = 8;
  EXPECT_DOUBLE_EQ(execute(work, design, kDevice).latency, 2 * kDevice.load_seconds);
  // All tiles of K are there after one load.
  EXPECT_DOUBLE_EQ(execute(work_of(64, 64, 128), design, kDevice).latency, kDevice.load_seconds);
}

TEST(Execution, CtasOfAClusterWaitForEachOther) {
  const Work work = work_of(128, 128, 1024);
  EXPECT_EQ(execute(work, design_of(64, 64), kDevice).sync, 0);
  const Execution pair = execute(work, design_of(64, 64, 2, 1), kDevice);
  EXPECT_GT(pair.sync, 0);
  EXPECT_DOUBLE_EQ(execute(work_of(128, 128, 2048), design_of(64, 64, 2, 1), kDevice).sync,
                   2 * pair.sync);
  // Clusters that sum up parts of K wait too.
  Design parts = design_of(64, 64);
  parts.split = 2;
  parts.gather_clocks = 1000;
  EXPECT_GT(execute(work, parts, kDevice).sync, 0);
}

TEST(Execution, MemoryIsAsFastAsBytesAreInFlight) {
  const Work small = work_of(64, 64, 4096);
  const Execution one = execute(small, design_of(64, 64), kDevice);
  EXPECT_DOUBLE_EQ(one.memory, small.compulsory * kDevice.memory_seconds / one.bytes_in_flight);
  const Work large = work_of(8192, 8192, 4096);
  EXPECT_DOUBLE_EQ(execute(large, design_of(128, 128), kDevice).memory,
                   large.compulsory / kDevice.memory_bytes_per_s);
}

}  // namespace
}  // namespace estoc::cost
