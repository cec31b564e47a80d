// What a kernel that is built on demand begins with: the emulator's functions through a table, and
// the names that plain CUDA code expects.
#pragma once
#pragma GCC system_header

#include <emulator/entry.h>
#include <emulator/functions.h>

namespace estoc::emulator {

static const FunctionTable* table = nullptr;

// Of the blocks that this host thread runs.
static thread_local unsigned block_shape[3] = {1, 1, 1};

#define ESTOC_FUNCTION(result, name, parameters, names) \
  result name parameters {                              \
    return table->name names;                           \
  }
#include <emulator/functions.def>
#undef ESTOC_FUNCTION

struct Indices {
  unsigned x, y, z;
};

inline Indices thread_index() {
  const unsigned tid = place().tid;
  const unsigned row = tid / block_shape[0];
  return {tid % block_shape[0], row % block_shape[1], row / block_shape[1]};
}

inline Indices indices(const u32 (&of)[3]) {
  return {of[0], of[1], of[2]};
}

}  // namespace estoc::emulator

extern "C" __attribute__((visibility("default"))) void estoc_emulator_connect(
    const estoc::emulator::FunctionTable* functions, const unsigned* block) {
  estoc::emulator::table = functions;
  for (int i = 0; i < 3; ++i)
    estoc::emulator::block_shape[i] = block[i];
}

inline void estoc_sync_threads(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  estoc::emulator::barrier_sync(0, 0, "__syncthreads", {file, line});
}

#define threadIdx (::estoc::emulator::thread_index())
#define blockIdx (::estoc::emulator::indices(::estoc::emulator::place().ctaid))
#define gridDim (::estoc::emulator::indices(::estoc::emulator::place().nctaid))
#define blockDim (::estoc::emulator::indices(::estoc::emulator::block_shape))
#define __syncthreads estoc_sync_threads
#define __constant__ static const
#define __restrict__ __restrict
#define __host__
// CTAs come one after the other.
#undef __shared__
#define __shared__ static
