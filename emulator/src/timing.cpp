// An estimate of a launch's time from what its warps executed.
#include "emulator/timing.h"

#include <algorithm>
#include <cmath>

#include "replay.h"

namespace estoc::emulator {
namespace {

double loaded_bytes(const Recording& recording) {
  double bytes = 0;
  for (const Recording::Warp& warp : recording.warps) {
    for (const RecordedOp& op : warp.ops) {
      if (op.act == Act::bulk_load) bytes += op.fetched;
      if (op.act == Act::load || op.act == Act::async_copy) bytes += op.amount;
    }
  }
  return bytes;
}

}  // namespace

TimeEstimate estimate(const Recording& recording, const DeviceTiming& device, Trace* trace) {
  const double size = recording.cluster_size;
  const double slots =
      std::max(std::floor(device.multiprocessors / size) * recording.clusters, 1.0);
  const auto clusters = static_cast<double>(recording.grid_clusters);
  const double live = std::min(clusters, slots) * size;
  // CTAs on fewer multiprocessors than there are have what the others leave of the memory.
  const double busy = std::min<double>(live, device.multiprocessors);
  const double all_loaded = loaded_bytes(recording) / recording.clusters * clusters;
  const double memory = device.memory_bytes_per_s / device.clock_hz;
  const Shares shares{
      .l2_per_clock =
          std::min(device.l2_per_clock * device.multiprocessors / busy, device.link_per_clock),
      .memory_per_clock = memory / busy,
      .memory_part = all_loaded > 0 ? std::min(recording.input_bytes / all_loaded, 1.0) : 0};
  Replay replay(recording, device, shares, trace);
  TimeEstimate result;
  result.clocks = replay.run();
  result.tensor_clocks = replay.tensor_clocks();
  result.waves = std::ceil(clusters / slots);
  result.live_ctas = static_cast<int>(live);
  result.seconds = result.waves * result.clocks / device.clock_hz;
  return result;
}

}  // namespace estoc::emulator
