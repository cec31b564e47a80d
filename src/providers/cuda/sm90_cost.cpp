// How sm90_gemm carries out a product, for the prediction of its time; and its knobs.
#include "providers/cuda/sm90_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace estoc::cuda {
namespace {

using abi::Schedule;
using abi::Sm90GemmConfig;

// Bytes of shared memory that a multiprocessor reads in a clock.
constexpr double kSharedPerClock = 128;
// Measured: what adding the tensor cores' sums to registers takes beside the products.
constexpr double kPromotion = 1.12;
// Clocks from a launch to the first product, and of a tile's stores that nothing hides.
constexpr double kStartClocks = 1500;
constexpr double kStoreBytesPerClock = 48;
constexpr double kStoreClocks = 600;
// An epilogue's own way through shared memory, an element: measured on an H200 (docs/notes).
constexpr double kFusedClocks = 0.09;
// Tiles of the other direction that are taken together; CTAs that share what they load.
constexpr int kGroup = 16;
constexpr double kWindow = 8;
// One warpgroup alone leaves issue slots empty: an element takes it so many times as long.
constexpr double kAlone = 1.5;
// Measured: what one more CTA that sums up a part of a tile costs, and bytes that it sends in a
// clock.
constexpr double kMeetClocks = 3000;
constexpr double kSentPerClock = 12;
// A part of K is worth its CTA from so many stages on.
constexpr double kMinStages = 4;
// Parts through the workspace are tried where so many clusters live at once for each tile, and K
// has such length.
constexpr double kMinTailGain = 1.1;
constexpr double kMinTailStages = 16;
constexpr int kMaxTailWaves = 3;
// What gave the least regret on a table: parts through the workspace are taken where the physical
// model has them so many times as fast.
constexpr double kWorthTail = 1.4;

/// Clocks of one instruction of 64 rows and 32 bytes of K: the tensor cores' or, for few columns,
/// those in which shared memory gives the operands.
double instruction_clocks(const Sm90GemmConfig& config) {
  const double tensor = config.tile_n / 2.0;
  const double shared = (64.0 + config.tile_n) * 32 / kSharedPerClock;
  return std::max(tensor, shared);
}

cost::Overlap overlap_of(Schedule schedule) {
  switch (schedule) {
    case Schedule::single:
      return cost::Overlap::none;
    case Schedule::cooperative:
      return cost::Overlap::halves;
    case Schedule::pingpong:
      break;
  }
  return cost::Overlap::pingpong;
}

/// Of a tile's output and what else its epilogue moves and computes.
double store_clocks(const Sm90GemmConfig& config, const cost::Work& work) {
  const double area = static_cast<double>(config.tile_m) * config.tile_n;
  const double outputs = std::max(work.m * work.n * work.l, 1.0);
  const double bytes = area * (work.out_bytes + work.extra_bytes / outputs);
  const bool fused = work.extra_bytes > 0 || work.epilogue_clocks > 0;
  const double alone = config.schedule == Schedule::pingpong ? kAlone : 1;
  // Boxes of 32 bytes a row, and the threads' own stores.
  const bool slow = !config.tma_store || config.store_row_bytes() < 64;
  return kStoreClocks + area * (work.epilogue_clocks + (fused ? kFusedClocks : 0)) * alone +
         bytes / (slow ? kStoreBytesPerClock / 4 : kStoreBytesPerClock);
}

}  // namespace

cost::Design sm90_design(const Sm90GemmConfig& config, const cost::Work& work) {
  cost::Design design;
  design.tile_m = config.tile_m;
  design.tile_n = config.tile_n;
  design.tile_k = config.tile_k();
  design.cluster_m = config.cluster_m;
  design.cluster_n = config.cluster_n;
  design.stages = config.stages;
  design.stage_clocks = 4 * (config.tile_m / 64.0) * instruction_clocks(config);
  if (config.promote) design.stage_clocks *= kPromotion;
  design.start_clocks = kStartClocks;
  design.store_clocks = store_clocks(config, work);
  design.overlap = overlap_of(config.schedule);
  design.promoted = config.promote;
  design.integers = config.accumulator == abi::Type::i32;
  design.a_m_major = config.a_m_major;
  design.b_n_major = config.b_n_major;
  design.plain_stores = !config.tma_store;
  design.gather_clocks = kMeetClocks + config.tile_m * config.tile_n * 4 / kSentPerClock;
  return design;
}

Knobs sm90_knobs(const Sm90GemmConfig& config, const cost::Work& work) {
  cost::Design design = sm90_design(config, work);
  const double tiles_m = std::ceil(work.m / (config.tile_m * config.cluster_m));
  const double tiles_n = std::ceil(work.n / (config.tile_n * config.cluster_n));
  design.group = config.cluster_m > 1 ? kGroup / 2 : kGroup;
  design.along_m = true;
  const double down = cost::distinct_bytes(work, design, kWindow);
  design.along_m = false;
  const double across = cost::distinct_bytes(work, design, kWindow);
  Knobs knobs;
  const bool along_m = down != across ? down < across : tiles_m >= tiles_n;
  knobs.raster = along_m ? Knobs::Raster::along_m : Knobs::Raster::along_n;
  knobs.swizzle = static_cast<std::int16_t>(design.group);
  return knobs;
}

namespace {

/// Tries divisions of K, and keeps the fastest and how long it takes.
class SplitSearch {
 public:
  SplitSearch(const cost::Work& work, const cost::Design& design, const cost::DeviceModel& device)
      : work_(work), device_(device), design_(design) {}

  void attempt(Sm90Split split) {
    design_.split = split.parts;
    design_.split_tiles = split.tiles;
    const double seconds = cost::execute(work_, design_, device_).seconds;
    if (seconds >= best_.seconds) return;
    best_ = split;
    best_.seconds = seconds;
  }
  Sm90Split best() const { return best_; }

 private:
  const cost::Work& work_;
  const cost::DeviceModel& device_;
  cost::Design design_;
  Sm90Split best_{.seconds = std::numeric_limits<double>::max()};
};

/// Clusters that have a tile each, those that live at once, and K in stages.
struct Grid {
  double clusters, slots, stages;

  Grid(const Sm90GemmConfig& config, const cost::Work& work, const cost::DeviceModel& device)
      : clusters(std::ceil(work.m / (config.tile_m * config.cluster_m)) *
                 std::ceil(work.n / (config.tile_n * config.cluster_n)) * work.l),
        slots(config.cluster_size() > 1
                  ? device.live_clusters[static_cast<std::size_t>(config.cluster_size()) - 1]
                  : device.multiprocessors),
        stages(std::ceil(work.k / config.tile_k())) {}
};

}  // namespace

Sm90Split sm90_cluster_split(const Sm90GemmConfig& config, const cost::Work& work,
                             const cost::Design& design, const cost::DeviceModel& device) {
  const Grid grid(config, work, device);
  const double room = std::min(device.multiprocessors / grid.clusters, grid.stages / kMinStages);
  const int most =
      config.splits_k() ? std::min(static_cast<int>(std::min(room, 100.0)), config.kMaxParts) : 1;
  SplitSearch search(work, design, device);
  search.attempt({});
  for (int parts = 2; parts <= most; ++parts)
    search.attempt({parts, 0});
  return search.best();
}

Sm90Split sm90_tail_split(const Sm90GemmConfig& config, const cost::Work& work,
                          const cost::Design& design, const cost::DeviceModel& device,
                          double seconds) {
  const Grid grid(config, work, device);
  const double least = device.launch_seconds + design.start_clocks / device.clock_hz +
                       work.compulsory / device.memory_bytes_per_s + cost::kSecondKernel;
  const bool worth = kWorthTail * least < seconds && grid.stages >= kMinTailStages &&
                     grid.slots >= kMinTailGain * grid.clusters;
  if (work.reduces || !worth || !config.has_tails(work.fused)) return {};
  SplitSearch search(work, design, device);
  for (int waves = 1; waves <= kMaxTailWaves; ++waves) {
    const double parts =
        std::min({std::floor(grid.slots * waves / grid.clusters), grid.stages / kMinStages,
                  static_cast<double>(Sm90GemmConfig::kMaxTailParts)});
    if (parts >= 2) search.attempt({static_cast<int>(parts), static_cast<int>(grid.clusters)});
  }
  const Sm90Split best = search.best();
  return kWorthTail * best.seconds < seconds ? best : Sm90Split{};
}

}  // namespace estoc::cuda
