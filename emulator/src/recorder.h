// Beginning and end of a launch's recording.
#pragma once

#include <estoc/ptx/types.cuh>

#include "emulator/launch.h"
#include "emulator/recording.h"

namespace estoc::emulator {

void begin_recording(Recording& recording, const Options& options, u32 threads, u32 shared_bytes,
                     u64 clusters);

/// Brings what the threads of each warp noted into one order.
void finish_recording(Recording& recording);

}  // namespace estoc::emulator
