// What is learned from tables of measured kernels and added to the physical model.
#include "cost/residual.h"

#include <algorithm>
#include <cmath>

namespace estoc::cost {
namespace {

float log_of(double value) { return static_cast<float>(std::log2(value)); }

}  // namespace

Features features_of(const Work& work, const Design& design, const Execution& e,
                     const DeviceModel& device) {
  const double t = e.seconds;
  auto share = [&](double seconds) { return log_of(seconds / t + 0.02); };
  const double rows = std::ceil(work.m / (design.tile_m * design.cluster_m)) * design.tile_m *
                      design.cluster_m;
  const double columns = std::ceil(work.n / (design.tile_n * design.cluster_n)) * design.tile_n *
                         design.cluster_n;
  return {log_of(t * 1e6),
          share(e.arithmetic),
          share(e.l2),
          share(e.memory),
          share(e.store),
          share(e.fill + e.launch),
          log_of(e.k_tiles),
          log_of(e.live_ctas),
          log_of(e.bytes_in_flight + 1),
          log_of(work.m),
          log_of(work.n),
          log_of(work.compulsory + 1),
          log_of(work.l),
          static_cast<float>(1 - e.exact_waves / e.waves),
          static_cast<float>(std::min(e.waves, 8.0)),
          design.overlap == Overlap::pingpong ? 1.0F : 0.0F,
          design.overlap == Overlap::none ? 1.0F : 0.0F,
          log_of(design.tile_m),
          log_of(design.tile_n),
          design.cluster_m > 1 ? 1.0F : 0.0F,
          design.cluster_n > 1 ? 1.0F : 0.0F,
          static_cast<float>(design.stages),
          static_cast<float>(1 - work.m / rows),
          static_cast<float>(1 - work.n / columns),
          static_cast<float>(e.live_ctas / device.multiprocessors),
          log_of(work.element_bytes),
          design.promoted ? 1.0F : 0.0F,
          design.a_m_major ? 1.0F : 0.0F,
          design.b_n_major ? 1.0F : 0.0F,
          design.plain_stores ? 1.0F : 0.0F,
          log_of(work.out_bytes),
          static_cast<float>(work.extra_bytes / (work.compulsory + 1)),
          log_of(1 + 100 * work.epilogue_clocks),
          design.integers ? 1.0F : 0.0F,
          work.a_split ? 1.0F : 0.0F,
          work.b_split ? 1.0F : 0.0F,
          work.out_split ? 1.0F : 0.0F,
          log_of(e.neighbour_bytes + 1),
          log_of(e.wave_bytes + 1),
          design.along_m ? 1.0F : 0.0F};
}

double residual_factor(const Plan& /*plan*/, const Execution& /*execution*/,
                       const DeviceModel& /*device*/) {
  return 1;
}

}  // namespace estoc::cost
