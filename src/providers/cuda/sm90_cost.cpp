// How sm90_gemm carries out a product, for the prediction of its time; and its knobs.
#include "providers/cuda/sm90_cost.h"

#include <algorithm>
#include <cmath>

namespace estoc::cuda {
namespace {

using abi::Schedule;
using abi::Sm90GemmConfig;

// Bytes of shared memory that a multiprocessor reads in a clock.
constexpr double kSharedPerClock = 128;
// Measured: what adding the tensor cores' sums to registers takes beside the products.
constexpr double kPromotion = 1.12;
// Estimated: instructions of a thread that converts an element; lanes of a multiprocessor.
constexpr double kConversion = 3.5;
constexpr double kLanes = 128;
// Read off an H200's table: clocks that adding scaled sums takes in each tile of K: one wait, and a
// share for each sum of a thread. Products of other warps hide little of it.
constexpr double kScaledWait = 100;
constexpr double kScaledSum = 0.5;
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
// Fitted: what one more CTA that sums up a part of a tile costs, and bytes that it sends in a
// clock.
constexpr double kMeetClocks = 700;
constexpr double kSentPerClock = 52;
// A part of K is worth its CTA from so many stages on.
constexpr double kMinPartStages = 4;
// Parts through the workspace are tried where so many clusters live at once for each tile, and K
// has such length.
constexpr double kMinTailGain = 1.1;
constexpr double kMinTailStages = 16;
constexpr int kMaxTailWaves = 3;
// What gave the least regret on a table: parts through the workspace are taken where the physical
// model has them so many times as fast.
constexpr double kWorthTail = 1.1;

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

/// What one tile of K adds where its sums are scaled.
double scaling_clocks(const Sm90GemmConfig& config) {
  constexpr double kThreads = 128;
  const double sums = config.tile_m * config.tile_n / kThreads;
  return kScaledWait + kScaledSum * sums;
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
  if (config.scaled()) design.stage_clocks += scaling_clocks(config);
  if (config.converts()) {
    // Instructions of 16 elements of K, and conversions, which overlap less than they might.
    const double codes = config.tile_m * static_cast<double>(config.tile_k());
    const double alone = config.consumers() == 1 ? kAlone : 1;
    design.stage_clocks *= config.tile_k() / 64.0;
    design.stage_clocks += codes * kConversion * alone / kLanes;
  }
  design.start_clocks = kStartClocks;
  design.store_clocks = store_clocks(config, work);
  design.overlap = overlap_of(config.schedule);
  design.boxes = true;
  design.promoted = config.promote;
  design.integers = config.accumulator == abi::Type::i32;
  design.a_m_major = config.a_m_major;
  design.b_n_major = config.b_n_major;
  design.plain_stores = !config.tma_store;
  design.restated = config.out_m_major;
  design.gather_clocks = kMeetClocks + config.tile_m * config.tile_n *
                                           abi::type_bytes(config.accumulator) / kSentPerClock;
  return design;
}

Knobs sm90_knobs(const Sm90GemmConfig& config, const cost::Work& work, cost::Design design) {
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

Sm90SplitSearch::Sm90SplitSearch(const SplitLimits& limits, const cost::Work& work,
                                 const cost::Design& design, const cost::DeviceModel& device)
    : limits_(limits),
      work_(work),
      design_(design),
      device_(device),
      footprint_(cost::footprint_of(work, design, device)),
      clusters_(footprint_.across_m * footprint_.across_n * work.l),
      slots_(limits.cluster_size > 1
                 ? device.live_clusters[static_cast<std::size_t>(limits.cluster_size) - 1]
                 : device.multiprocessors),
      stages_(std::ceil(work.k / limits.tile_k)) {}

Sm90Split Sm90SplitSearch::divided(int parts, int tiles) const {
  const cost::Division division{parts, static_cast<double>(tiles)};
  return {parts, tiles, cost::execute(work_, design_, device_, footprint_, division)};
}

Sm90Split Sm90SplitSearch::in_clusters() const {
  const double room = std::min(device_.multiprocessors / clusters_, stages_ / kMinPartStages);
  const int most = std::min(static_cast<int>(std::min(room, 100.0)), limits_.most_in_clusters);
  Sm90Split best = divided(1, 0);
  for (int parts = 2; parts <= most; ++parts) {
    const Sm90Split split = divided(parts, 0);
    if (split.execution.seconds < best.execution.seconds) best = split;
  }
  return best;
}

Sm90Split Sm90SplitSearch::through_workspace(double seconds) const {
  const double least = device_.launch_seconds + design_.start_clocks / device_.clock_hz +
                       work_.compulsory / device_.memory_bytes_per_s +
                       device_.second_kernel_seconds;
  const bool worth = kWorthTail * least < seconds && stages_ >= kMinTailStages &&
                     slots_ >= kMinTailGain * clusters_;
  if (work_.reduces || !worth || limits_.most_in_workspace == 1) return {};
  Sm90Split best;
  best.execution.seconds = seconds / kWorthTail;
  int tried = 1;
  for (int waves = 1; waves <= kMaxTailWaves; ++waves) {
    const auto parts =
        static_cast<int>(std::min({std::floor(slots_ * waves / clusters_), stages_ / kMinPartStages,
                                   static_cast<double>(limits_.most_in_workspace)}));
    if (parts < 2 || parts == tried) continue;
    tried = parts;
    const Sm90Split split = divided(parts, static_cast<int>(clusters_));
    if (split.execution.seconds < best.execution.seconds) best = split;
  }
  return best;
}

}  // namespace estoc::cuda
