// Predicts the time of an sm90_gemm kernel and chooses its knobs.
#include "providers/cuda/sm90_cost.h"

#include <algorithm>
#include <cmath>

#include "providers/cuda/epilogue_launch.h"

namespace estoc::cuda {
namespace {

using abi::Schedule;
using abi::Sm90GemmConfig;

// Bytes of shared memory that a multiprocessor reads in a clock, and that the L2 cache sends it.
constexpr double kSharedPerClock = 128;
constexpr double kL2PerClock = 58;
// Over so many stages CTAs drift apart, and find less of each other's tiles in the L2 cache.
constexpr double kLongStages = 64;
constexpr double kL2PerClockLate = 50;
// Each byte a clock beyond these delays the products, long before the cache is at its limit.
constexpr double kL2Free = 32;
constexpr double kL2Delay = 0.0013;
constexpr double kL2DelayLate = 0.0018;
// Clocks from a launch to the first product, and of a tile's stores that nothing hides.
constexpr double kFillClocks = 1500;
constexpr double kStoreBytesPerClock = 48;
constexpr double kStoreClocks = 600;
// An epilogue's own way through shared memory, an element: measured on an H200 (docs/notes).
constexpr double kFusedClocks = 0.09;
// One warpgroup alone leaves issue slots empty: an element takes it so many times as long.
constexpr double kAlone = 1.5;
// Of the time in which the last wave leaves multiprocessors idle, what a card at its power limit
// makes up by a higher clock; it comes to its limit in long launches alone.
constexpr double kMadeUp = 0.5;
constexpr double kLongWaves = 8;
constexpr double kShortWaves = 2;
// Of a store that runs beside the other consumer's products, this part delays them.
constexpr double kHiddenPart = 0.12;

double ceil_div(double a, double b) {
  return std::ceil(a / b);
}

double waves_of(double exact) {
  const double whole = std::ceil(exact);
  return exact < kLongWaves ? whole : whole - kMadeUp * (whole - exact);
}

/// Clocks of one instruction of 64 rows and 32 bytes of K: the tensor cores' or, for few columns,
/// those in which shared memory gives the operands.
double instruction_clocks(const Sm90GemmConfig& config) {
  const double tensor = config.tile_n / 2.0;
  const double shared = (64.0 + config.tile_n) * 32 / kSharedPerClock;
  return std::max(tensor, shared);
}

double stage_clocks(const Sm90GemmConfig& config, double stages) {
  const bool late = stages >= kLongStages;
  const double products = 4 * (config.tile_m / 64.0) * instruction_clocks(config);
  const double bytes = 128.0 * (static_cast<double>(config.tile_m) / config.cluster_n +
                                static_cast<double>(config.tile_n) / config.cluster_m);
  // Measured: promotion leaves the cache time enough, and sharing gains nothing.
  if (config.promote) return std::max(products * 1.12, bytes / kL2PerClock);
  const double beyond = std::max(bytes / products - kL2Free, 0.0);
  return std::max(products * (1 + beyond * (late ? kL2DelayLate : kL2Delay)),
                  bytes / (late ? kL2PerClockLate : kL2PerClock));
}

/// Of a tile's output and what else its epilogue moves and computes.
double store_clocks(const Sm90GemmConfig& config, const EpilogueTraffic& traffic, double outputs) {
  const double area = static_cast<double>(config.tile_m) * config.tile_n;
  const double bytes = area * (abi::type_bytes(config.out) + traffic.bytes / outputs);
  const double alone = config.schedule == Schedule::pingpong ? kAlone : 1;
  // Boxes of 32 bytes a row, and the threads' own stores.
  const bool slow = !config.tma_store || config.store_row_bytes() < 64;
  return kStoreClocks + area * traffic.clocks_per_element * alone +
         bytes / (slow ? kStoreBytesPerClock / 4 : kStoreBytesPerClock);
}

/// How much of the tensor cores' time a schedule keeps.
double reached(const Sm90GemmConfig& config, double stages, double waves) {
  switch (config.schedule) {
    case Schedule::single:
      return 0.75;
    case Schedule::cooperative:
      return 0.95;
    case Schedule::pingpong:
      // Measured: a consumer alone does not keep up with promotion.
      if (config.promote) return 0.64;
      if (config.tile_m == 128 && config.tile_n == 128) {
        if (waves <= kShortWaves) return config.cluster_m > 1 ? 0.93 : 0.945;
        return config.cluster_m > 1 ? 0.91 : stages < 1.5 * kLongStages ? 0.885 : 0.8;
      }
      if (config.tile_m == 128 && config.tile_n > 128) return config.tile_n == 192 ? 0.93 : 0.92;
      return stages < kLongStages ? 0.86 : 0.84;
  }
  return 1;
}

}  // namespace

Prediction predict_sm90(const Sm90GemmConfig& config, bool transposed, const GemmArguments& gemm,
                        const DeviceModel& device) {
  const GemmExtents& e = gemm.extents();
  const auto m = static_cast<double>(transposed ? e.n : e.m);
  const auto n = static_cast<double>(transposed ? e.m : e.n);
  const double tiles_m = ceil_div(m, config.tile_m * config.cluster_m);
  const double tiles_n = ceil_div(n, config.tile_n * config.cluster_n);
  const double clusters = tiles_m * tiles_n * static_cast<double>(e.l);
  // A cluster of four does not find room everywhere.
  const double room =
      config.cluster_size() == 4 ? device.multiprocessors * 0.9 : device.multiprocessors;
  const double waves = waves_of(clusters / std::max(std::floor(room / config.cluster_size()), 1.0));
  const double stages = ceil_div(static_cast<double>(e.k), config.tile_k());
  const double tile = stages * stage_clocks(config, stages) / reached(config, stages, waves);
  EpilogueTraffic traffic = epilogue_traffic(gemm);
  if (gemm.epilogue_binding() != nullptr) traffic.clocks_per_element += kFusedClocks;
  const double store =
      store_clocks(config, traffic, std::max(m * n * static_cast<double>(e.l), 1.0));
  const bool hidden = config.schedule == Schedule::pingpong;
  const double beside = std::max(store + kHiddenPart * (waves - 1) * store, waves * (store - tile));
  const double clocks = kFillClocks + waves * tile + (hidden ? beside : waves * store);
  const double bytes = static_cast<double>(gemm.a().tensor().span_bytes()) +
                       static_cast<double>(gemm.b().tensor().span_bytes()) +
                       static_cast<double>(gemm.out().span_bytes()) + traffic.bytes;
  const double seconds = std::max(clocks / device.clock_hz, bytes / device.memory_bytes_per_s);
  Knobs knobs;
  knobs.raster = tiles_m >= tiles_n ? Knobs::Raster::along_m : Knobs::Raster::along_n;
  knobs.swizzle = static_cast<std::int16_t>(16 / (config.cluster_m > 1 ? 2 : 1));
  return {device.launch_seconds + seconds, knobs};
}

}  // namespace estoc::cuda
