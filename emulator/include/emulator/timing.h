// An estimate of a launch's time from what its warps executed: a simulation of discrete events.
#pragma once

#include <cstdint>
#include <string_view>

#include "emulator/recording.h"

namespace estoc::emulator {

struct Trace;

/// Rates and latencies of a device. Clocks are those of a multiprocessor.
struct DeviceTiming {
  std::string_view device;
  int cc;         ///< of the target, 90 for sm_90a
  bool measured;  ///< false: from documents alone, not compared with a device
  int multiprocessors;
  double clock_hz;
  double memory_bytes_per_s;     ///< of device memory, as a copy reaches
  double l2_per_clock;           ///< bytes that a multiprocessor gets while all of them load
  double link_per_clock;         ///< bytes that reach a multiprocessor's shared memory
  double load_clocks;            ///< from a bulk load's issue to its first bytes
  double box_clocks;             ///< between two bulk copies of a multiprocessor
  double store_per_clock;        ///< bytes that a multiprocessor's bulk stores leave it with
  double scatter_per_clock;      ///< the same of threads' own stores
  double store_clocks;           ///< from a store's issue to its end, less its bytes
  double shared_per_clock;       ///< bytes between shared memory and registers or tensor cores
  double written_per_clock;      ///< bytes of bulk copies that shared memory takes instead
  double global_clocks;          ///< latency of a load from global memory
  double issue_clocks;           ///< of an instruction's issue, with what stands around it
  double wake_clocks;            ///< from the end of a barrier's phase to the warp that waited
  double far_clocks;             ///< an arrival at another CTA of the cluster
  double product_clocks;         ///< from the last of a product's clocks to whoever waits for it
  double product_rate;           ///< of tensor cores, a part of the rate that the documents say
  double mma_products;           ///< 16-bit multiply-adds of mma.sync in a clock
  double tensor_move_per_clock;  ///< bytes of a warp between tensor memory and registers
  double tensor_move_clocks;     ///< latency of that
  /// Part of the clocks of a copy to tensor memory for which products stand still; for the rest it
  /// takes what they leave of shared memory.
  double copy_stops = 0;
  double launch_seconds;  ///< of a launch in a row of launches, before the first instruction
  double step_seconds;    ///< the same of a kernel that follows another of the same launch
};

/// The row of a compute capability; null where there is none.
const DeviceTiming* find_device_timing(int cc);

/// Of one launch.
struct TimeEstimate {
  double seconds = 0;        ///< without what passes before the first instruction
  double clocks = 0;         ///< of one wave, from the first instruction to the end of the last
  double tensor_clocks = 0;  ///< of them, those in which the busiest tensor cores multiply
  double waves = 1;          ///< times that the recorded clusters' time is taken
  int live_ctas = 0;         ///< on the device at once
};

/// Replays a recording on a device. Instructions that wait do so until what they wait for happens
/// in the replay; the emulator's own order counts for nothing but the order within each warp. With
/// `trace`, waits, copies and products are added to it, in clocks. Throws std::runtime_error where
/// warps wait for what the recording does not have.
TimeEstimate estimate(const Recording& recording, const DeviceTiming& device,
                      Trace* trace = nullptr);

}  // namespace estoc::emulator
