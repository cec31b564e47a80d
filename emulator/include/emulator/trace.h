// What happened in a launch and when, for timelines.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace estoc::emulator {

enum class TraceKind : std::uint8_t {
  wait,       ///< a warp waits for a barrier or a word of memory
  tma_load,   ///< from its issue to the arrival of its bytes
  tma_store,  ///< from its issue to its write
  cp_async,   ///< a group, from its commit to its end
  wgmma,      ///< from its issue to the wait that covers it
  mma,        ///< a run of mma.sync
  loads,      ///< a run of loads from global memory
  stores,     ///< a run of stores to global memory
};

/// One thing with a beginning and an end, counted in events of the emulator.
struct TraceEvent {
  TraceKind kind;
  std::array<unsigned, 3> cta;
  unsigned warp;  ///< that issued it
  std::uint64_t begin;
  std::uint64_t end;
  const char* what;  ///< the instruction
  const char* file;  ///< of the kernel's source; null where there is none
  int line;
  std::uint64_t object;  ///< address in shared memory of the mbarrier, number of a named barrier
  std::uint64_t bytes;
};

/// The time of a run is a count of events: what is traced, and switches to the first thread of a
/// warp. The emulator runs one thread at a time, so it tells order, not duration. That of an
/// estimate (timing.h) is in clocks.
struct Trace {
  static constexpr std::size_t kMaxEvents = 2'000'000;

  std::vector<TraceEvent> events;
  std::uint64_t end = 0;
  std::uint64_t left_out = 0;  ///< events beyond kMaxEvents
  const char* unit = "events of the emulator";

  /// The JSON that chrome://tracing and Perfetto read: a process for each CTA, with a thread for
  /// each of its warps, and rows for the copies and the products that are under way.
  std::string chrome_json(const std::string& kernel) const;
};

}  // namespace estoc::emulator
