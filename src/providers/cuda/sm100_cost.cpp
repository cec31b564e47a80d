// What a kernel for sm_100 costs. Its clocks are those of the emulator's estimate of a B200, as
// these kernels have not been timed.
#include <algorithm>

#include "providers/cuda/sm100_launch.h"
#include "providers/cuda/tails.h"

namespace estoc::cuda {
namespace {

using abi::Sm100GemmConfig;

// Tiles of the other direction that are taken together.
constexpr int kSm100Together = 8;
// As emulator/src/device_timing.cpp has them: of an instruction's issue, from products to whoever
// waits for them, to another CTA of the cluster, and bytes from the L2 cache.
constexpr double kIssueClocks = 18;
constexpr double kProductClocks = 160;
constexpr double kFarClocks = 280;
constexpr double kL2Bytes = 52;
constexpr double kProductRate = 0.994;
// Of stores by threads this part delays products, as of sm90_gemm.
constexpr double kSeenStore = 0.43;

// Of one instruction of 32 bytes of K: the tensor cores' clocks or, for few columns, those in which
// shared memory gives the operands. Others measured them on a B200 (SemiAnalysis, microbenchmarks
// of tcgen05.mma).
double instruction_clocks(const Sm100GemmConfig& config) {
  const double columns = config.tile_n;
  return std::max(columns / 2, columns / (4.0 * config.group) + 32) / kProductRate;
}

// Of a stage: its products or, with scales, the thread that issues their copies too. Where there
// are two places for scales, it first waits for the products of the last but one.
double stage_clocks(const Sm100GemmConfig& config) {
  const int products = config.k_bytes / 32;
  const double multiplied = products * instruction_clocks(config);
  if (config.scale_block == 0) return multiplied;
  const int copies = config.scale_words() * (1 + config.scale_columns());
  const double issued =
      kIssueClocks * (4 + copies + products) +
      (config.scale_places() == Sm100GemmConfig::kMinScalePlaces ? kProductClocks : 0);
  return std::max(multiplied, issued);
}

// Of scales, that a CTA loads of a stage for itself and others.
double loaded_scales(const Sm100GemmConfig& config) {
  return static_cast<double>(config.a_scale_bytes()) / config.places_n +
         static_cast<double>(config.b_scale_bytes()) / (config.places_m * config.group);
}

double loaded_bytes(const Sm100GemmConfig& config) {
  return static_cast<double>(config.a_bytes()) / config.places_n +
         static_cast<double>(config.b_bytes()) / config.places_m + loaded_scales(config);
}

}  // namespace

cost::Design sm100_design(const Sm100GemmConfig& config, const cost::Work& work) {
  const double area = static_cast<double>(Sm100GemmConfig::kRows) * config.tile_n;
  const double far = config.cluster_size() > 1 ? kFarClocks : 0;
  cost::Design design;
  design.boxes = true;
  design.tile_m = Sm100GemmConfig::kRows;
  design.tile_n = config.tile_n;
  design.tile_k = config.tile_k();
  design.cluster_m = config.group * config.places_m;
  design.cluster_n = config.places_n;
  design.stages = config.stages;
  design.stage_clocks = stage_clocks(config);
  // A stage that is multiplied is not filled; its bytes come one after the other.
  design.refill_clocks =
      kProductClocks + kIssueClocks + far + design.stage_clocks + loaded_bytes(config) / kL2Bytes;
  design.extra_bytes = loaded_scales(config);
  design.cluster_clocks = 0;
  design.sharp = true;
  design.whole_parts = true;
  // Estimated: the first answer that no tile is left.
  design.start_clocks = (config.dynamic ? 2500 : 2000) + 2 * far;
  const double outputs = std::max(work.m * work.n * work.l, 1.0);
  const double bytes = work.out_bytes + work.extra_bytes / outputs;
  design.store_clocks = 600 + area * (bytes / (config.tma_store ? 48 : 12) + work.epilogue_clocks);
  design.overlap = cost::Overlap::beside;
  if (config.overlaps()) {
    // Half of a tile comes to registers in both CTAs or, in a loop, to out, and the first CTA
    // learns.
    const bool held = config.tma_store && !work.fused;
    design.change_clocks = 2 * far + 2 * kProductClocks + (held ? 200 : design.store_clocks / 2);
  } else if (config.sums() == 1) {
    design.overlap = cost::Overlap::none;
  }
  if (!config.tma_store) design.change_clocks += kSeenStore * design.store_clocks;
  design.a_m_major = config.a_m_major;
  design.b_n_major = config.b_n_major;
  design.plain_stores = !config.tma_store;
  design.untried = true;
  return design;
}

Knobs sm100_knobs(const Sm100GemmConfig& config, const GemmProblem& problem) {
  Knobs knobs;
  knobs.raster =
      ceil_div(problem.m, config.cluster_rows()) >= ceil_div(problem.n, config.cluster_columns())
          ? Knobs::Raster::along_m
          : Knobs::Raster::along_n;
  knobs.swizzle = kSm100Together;
  return knobs;
}

void split_sm100(const Sm100GemmConfig& config, const PerformanceControls& controls,
                 const cost::DeviceModel& device, cost::Plan& plan) {
  if (controls.batch_invariant) return;
  const Sm90SplitSearch search(SplitLimits::of(config, plan.work.fused), plan.work, plan.design,
                               device);
  set_fastest_split(config, search, controls, plan);
}

}  // namespace estoc::cuda
