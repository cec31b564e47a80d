// Rates and latencies of devices, and where each comes from.
#include <array>

#include "emulator/timing.h"

namespace estoc::emulator {
namespace {

// "Fitted": to 48 kernels of bench/results/clock/fit_h200.tsv, by `estoc_clock fit`.
constexpr DeviceTiming kH200{
    .device = "H200",
    .cc = 90,
    .measured = true,
    .multiprocessors = 132,
    .clock_hz = 1.98e9,            // the highest, which launches of microseconds keep
    .memory_bytes_per_s = 3.7e12,  // fitted; a copy reaches 4.3e12
    .l2_per_clock = 43,            // fitted
    .link_per_clock = 256,         // fitted: it is no limit
    .load_clocks = 1360,           // fitted
    .box_clocks = 6,               // fitted
    .store_per_clock = 64,         // fitted: it is no limit
    .scatter_per_clock = 11,       // fitted
    .store_clocks = 720,           // fitted
    .shared_per_clock = 128,       // 32 banks of 4 bytes
    .written_per_clock = 500,      // fitted
    .global_clocks = 700,          // assumed
    .issue_clocks = 18,            // fitted
    .wake_clocks = 5,              // fitted
    .far_clocks = 280,             // fitted
    .product_clocks = 150,         // fitted
    .product_rate = 0.87,          // a kernel of wgmma alone: 931 TFLOP/s of bf16
    .mma_products = 640,           // assumed: 0.62 of wgmma's
    .tensor_move_per_clock = 128,  // it has no tensor memory
    .tensor_move_clocks = 0,
    .launch_seconds = 1.4e-6,  // fitted
    .step_seconds = 3.5e-6,    // the same measurement as cost::kSecondKernel
};

// Nobody has timed these kernels there: what documents do not say is as on an H200.
constexpr DeviceTiming kB200{
    .device = "B200",
    .cc = 100,
    .measured = false,
    .multiprocessors = 148,
    .clock_hz = 1.85e9,            // that of the data sheet's 2.25 PFLOP/s of bf16
    .memory_bytes_per_s = 7.2e12,  // published microbenchmarks of bulk loads: 7.26e12
    .l2_per_clock = 52,            // the least with which pairs reach the published 1.81 PFLOP/s
    .link_per_clock = 256,         // as H200
    .load_clocks = 1600,           // microbenchmarks: 0.72 to 1.0 us
    .box_clocks = 6,               // as H200
    .store_per_clock = 64,
    .scatter_per_clock = 11,
    .store_clocks = 720,
    .shared_per_clock = 128,   // microbenchmarks: the bound of narrow products
    .written_per_clock = 500,  // as H200
    .global_clocks = 1050,     // microbenchmarks: 0.55 to 0.6 us
    .issue_clocks = 18,        // as H200
    .wake_clocks = 5,
    .far_clocks = 280,
    .product_clocks = 136,         // microbenchmarks: from the end of a product to its mbarrier
    .product_rate = 0.994,         // microbenchmarks: 128.7 clocks for 256 columns
    .mma_products = 640,           // as H200
    .tensor_move_per_clock = 128,  // assumed: a column of 32 lanes of a warp in a clock
    .tensor_move_clocks = 30,      // assumed
    .copy_stops = 0,  // assumed: like operands, which microbenchmarks show are read beside products
    .launch_seconds = 1.4e-6,  // as H200
    .step_seconds = 3.5e-6,
};

constexpr std::array kDevices{kH200, kB200};

}  // namespace

const DeviceTiming* find_device_timing(int cc) {
  for (const DeviceTiming& device : kDevices) {
    if (device.cc == cc) return &device;
  }
  return nullptr;
}

}  // namespace estoc::emulator
