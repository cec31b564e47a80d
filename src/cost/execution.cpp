// How a kernel carries out a GEMM: tiles, waves, and the time that each resource needs by itself.
#include "cost/execution.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace estoc::cost {
namespace {

// CTAs that work beside each other find each other's tiles on their way from the L2 cache.
constexpr double kNeighbours = 8;
// Of a store that runs beside the other consumer's products, this part delays them.
constexpr double kSeenStore = 0.43;
// Fitted: how often parts' sums move between the L2 cache and multiprocessors.
constexpr double kSumsTraffic = 9;
// Fitted: clocks in which the CTAs of a cluster wait for each other in each tile of K.
constexpr double kClusterClocks = 60;

// What is loaded of a row that begins or ends within lines is in two of them. Boxes of rows that
// begin or end within sectors count for more: fitted to the times of kernels that differ in their
// clusters alone.
constexpr double kSplitLines = 2;
constexpr double kSplitSectors = 4;

double lines_of(RowUnit rows, const Design& design) {
  if (rows == RowUnit::line) return 1;
  return rows == RowUnit::less && design.boxes ? kSplitSectors : kSplitLines;
}

/// Of a positive quotient below 2^63. Without SSE 4.1, std::ceil is a call.
double ceil_div(double a, double b) {
  const double quotient = a / b;
  const auto whole = static_cast<double>(static_cast<std::int64_t>(quotient));
  return whole < quotient ? whole + 1 : whole;
}

/// How often CTAs of a cluster wait for each other to add up so many parts.
double gathers_of(const Design& design, int parts) {
  if (!design.gathers_in_rounds) return parts - 1;
  return static_cast<double>(std::bit_width(static_cast<unsigned>(parts - 1)));
}

/// CTAs of a cluster that sum up a tile together.
int parts_of(const Design& design, const Division& division) {
  return design.gather_clocks > 0 && division.split_tiles == 0 ? division.split : 1;
}

double live_clusters(int size, const Design& design, const DeviceModel& device) {
  const auto at = static_cast<std::size_t>(size) - 1;
  if (size > 1 && at < device.live_clusters.size()) return device.live_clusters[at];
  return static_cast<double>(device.multiprocessors) * design.ctas_per_multiprocessor / size;
}

/// The 16-norm: of two that are alike, a twentieth more than each.
double sharp_sum(double a, double b, double c) {
  const auto power = [](double x) {
    const double fourth = x * x * (x * x);
    return fourth * fourth * (fourth * fourth);
  };
  const double most = std::max({a, b, c});
  if (most <= 0) return 0;
  const double sum = power(a / most) + power(b / most) + power(c / most);
  return most * std::sqrt(std::sqrt(std::sqrt(std::sqrt(sum))));
}

/// The clusters' tiles that cover the output.
struct Grid {
  double high, wide;
  double across_m, across_n;

  Grid(const Work& work, const Design& design)
      : high(design.tile_m * design.cluster_m),
        wide(design.tile_n * design.cluster_n),
        across_m(ceil_div(work.m, high)),
        across_n(ceil_div(work.n, wide)) {}
};

double distinct_bytes(const Grid& grid, const Work& work, const Design& design, double window) {
  const double size = design.cluster_m * design.cluster_n;
  const double k_bytes = std::min(design.tile_k, work.k) * work.element_bytes;
  const double taken = std::clamp(window / size, 1.0, grid.across_m * grid.across_n);
  const double inner = design.along_m ? grid.across_m : grid.across_n;
  const double outer = design.along_m ? grid.across_n : grid.across_m;
  const double group = std::min<double>(design.group, inner);
  const bool one_band = taken <= group * outer;
  const double bands = one_band ? 1 : ceil_div(taken, group * outer);
  const double inner_tiles = one_band ? std::min(taken, group) : std::min(group * bands, inner);
  const double outer_tiles = taken <= group ? 1 : std::min(ceil_div(taken, group), outer);
  const double a_tiles = design.along_m ? inner_tiles : outer_tiles;
  const double b_tiles = design.along_m ? outer_tiles : inner_tiles;
  return k_bytes * (a_tiles * std::min(grid.high, work.m) + b_tiles * std::min(grid.wide, work.n)) /
         (taken * size);
}

/// Seconds in which a second kernel adds up what the parts of the last tiles leave.
double sums_seconds(const Work& work, const Design& design, const DeviceModel& device,
                    const Division& division) {
  const double rows = design.tile_m * design.cluster_m;
  const double tile =
      (design.whole_parts ? rows : std::min(rows, work.m)) * design.tile_n * design.cluster_n;
  const double parts = division.split;
  const double bytes = division.split_tiles * parts * tile * design.sum_bytes;
  return device.second_kernel_seconds +
         bytes * kSumsTraffic / (device.l2_per_clock * device.multiprocessors * device.clock_hz);
}

/// Waves of so many clusters at once. The parts of the last tiles take as many as they need, each a
/// part of a whole one.
double waves_of(double clusters, double at_once, const Division& division) {
  const double before = clusters - division.split_tiles;
  if (division.split_tiles == 0) return ceil_div(before, at_once);
  return ceil_div(before, at_once) +
         ceil_div(division.split_tiles * division.split, at_once) / division.split;
}

/// What the parts of the last tiles change, and what their sums take on top.
void add_tail(const Work& work, const Design& design, const DeviceModel& device,
              const Division& division, Execution& e) {
  e.exact_waves = std::min(e.exact_waves, e.waves);
  e.sums = sums_seconds(work, design, device, division);
}

}  // namespace

double distinct_bytes(const Work& work, const Design& design, double window) {
  return distinct_bytes(Grid(work, design), work, design, window);
}

Footprint footprint_of(const Work& work, const Design& design, const DeviceModel& device) {
  const Grid grid(work, design);
  // Rows and columns beyond the problem are not fetched.
  const double rows = std::min(work.m / (grid.across_m * design.cluster_m), design.tile_m);
  const double columns = std::min(work.n / (grid.across_n * design.cluster_n), design.tile_n);
  const double k_bytes = std::min(design.tile_k, work.k) * work.element_bytes;
  const double a_bytes = k_bytes * rows / design.cluster_n;
  const double b_bytes = k_bytes * columns / design.cluster_m;
  return {.across_m = grid.across_m,
          .across_n = grid.across_n,
          .own_bytes = a_bytes + b_bytes + design.extra_bytes,
          .line_bytes = a_bytes * lines_of(work.a_rows, design) +
                        b_bytes * lines_of(work.b_rows, design) + design.extra_bytes,
          .neighbour_bytes = distinct_bytes(grid, work, design, kNeighbours),
          .wave_bytes = distinct_bytes(grid, work, design, device.multiprocessors)};
}

Execution execute(const Work& work, const Design& design, const DeviceModel& device,
                  const Footprint& footprint, const Division& division) {
  Execution e;
  const int parts = parts_of(design, division);
  const int size = design.cluster_m * design.cluster_n * parts;
  e.across_m = footprint.across_m;
  e.across_n = footprint.across_n;
  const bool tail = division.split_tiles > 0;
  e.clusters =
      std::max(e.across_m * e.across_n * work.l * (tail ? 1 : division.split / parts), 1.0);
  e.slots = std::max(live_clusters(size, design, device), 1.0);
  e.exact_waves = e.clusters / e.slots;
  e.waves = waves_of(e.clusters, e.slots, division);
  e.k_tiles = std::max(ceil_div(work.k, design.tile_k * (tail ? 1 : division.split)), 1.0);
  if (tail) add_tail(work, design, device, division, e);
  e.live_ctas =
      std::min(e.clusters + (tail ? division.split_tiles * (division.split - 1) : 0), e.slots) *
      size;
  const double own = footprint.own_bytes;
  e.bytes_in_flight = e.live_ctas * std::min<double>(design.stages, e.k_tiles) * own;

  // CTAs that share a multiprocessor share its arithmetic. Those of clusters have one each.
  const double together = parts > 1 ? 1 : std::max(design.ctas_per_multiprocessor, 1);
  const double rounds =
      together > 1 ? waves_of(e.clusters, device.multiprocessors, division) : e.waves;
  const double clock = 1 / device.clock_hz;
  const double steps = rounds * e.k_tiles;
  e.arithmetic = (steps * design.stage_clocks + (rounds - 1) * design.change_clocks) * clock;
  e.loaded_bytes = e.clusters * size * e.k_tiles * own;
  e.neighbour_bytes = footprint.neighbour_bytes;
  e.wave_bytes = footprint.wave_bytes;
  // The L2 cache is shared: multiprocessors without a CTA leave their part of it to the others.
  const double busy = std::min(e.live_ctas / device.multiprocessors, 1.0) *
                      (e.waves > 1 ? std::min(e.exact_waves / e.waves, 1.0) : 1.0);
  e.l2 = steps * footprint.line_bytes * busy / device.l2_per_clock * clock;
  const double turn = design.refill_clocks * clock + device.load_seconds;
  e.latency = steps * turn / (std::min<double>(design.stages, e.k_tiles) * together);
  e.sync = steps * clock *
           ((design.cluster_m * design.cluster_n == 1 ? 0
             : design.cluster_clocks >= 0             ? design.cluster_clocks
                                                      : kClusterClocks) +
            (parts > 1 ? design.parts_clocks : 0));
  const double reached =
      std::min(device.memory_bytes_per_s, e.bytes_in_flight / device.memory_seconds);
  e.memory = work.compulsory / std::max(reached, 1.0);
  const double stores = design.overlap == Overlap::pingpong ? 1 + kSeenStore * (rounds - 1)
                        : design.overlap == Overlap::beside ? 1
                                                            : rounds;
  e.store =
      (stores * design.store_clocks + rounds * gathers_of(design, parts) * design.gather_clocks) *
      clock;
  e.fill = design.start_clocks * clock * (together > 1 ? ceil_div(rounds, together) : 1.0);
  e.launch = device.launch_seconds;
  const double loop =
      (design.sharp
           ? sharp_sum(e.arithmetic, e.l2, e.latency)
           : std::sqrt(e.arithmetic * e.arithmetic + e.l2 * e.l2 + e.latency * e.latency)) +
      e.sync;
  const double overlapped =
      design.sharp ? sharp_sum(loop, e.memory, 0) : std::sqrt(loop * loop + e.memory * e.memory);
  e.seconds = e.launch + e.fill + overlapped + e.store + e.sums;
  return e;
}

}  // namespace estoc::cost
