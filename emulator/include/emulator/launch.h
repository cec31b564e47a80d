// Runs device code on the CPU and says what is wrong with it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emulator/entry.h"

namespace estoc::emulator {

struct Trace;
struct Recording;

/// Kinds of findings.
enum class Fault {
  deadlock,
  race,
  missing_proxy_fence,
  out_of_bounds,
  misaligned,
  uninitialised,
  read_only,
  barrier_misuse,        ///< an mbarrier that is not initialised, or again while it is in use
  arrival_overflow,      ///< more arrivals than the phase of an mbarrier waits for
  transaction_mismatch,  ///< bytes expected and bytes arriving differ
  missing_init_fence,
  named_barrier_clash,
  divergent,
  leaked_async,
  accumulator_in_flight,
  missing_wgmma_fence,
  bad_descriptor,  ///< of wgmma or tcgen05, or a tensor map
  register_pool,
  tensor_memory,            ///< an allocation, a lane or a CTA that an instruction does not reach
  missing_tcgen05_fence,    ///< between tensor memory's accesses and a synchronisation of threads
  launch_control,           ///< a request after an answer that was no, a misread answer
  missing_dependency_wait,  ///< memory is touched before griddepcontrol.wait
  trap,                     ///< a plain pointer that leads nowhere, an integer divided by zero
  time_limit,
  unwritten_output,  ///< of `run`: elements of an output that no step wrote; of no CTA
};

std::string_view fault_name(Fault fault);

/// One thing that is wrong, and the first place where it was met.
struct Finding {
  Fault fault;
  std::string kernel;
  std::array<unsigned, 3> cta;
  unsigned thread;
  std::string file;
  int line;
  std::uint64_t address;  ///< 0 where there is none
  std::string message;    ///< what happened, and what to mend
  int count;              ///< how often

  std::string text() const;
};

/// How many instructions ran, each of a warp or a warpgroup counted once.
struct Statistics {
  std::uint64_t wgmma = 0;
  std::uint64_t tcgen05 = 0;  ///< products, of one CTA or a pair
  std::uint64_t mma = 0;
  std::uint64_t tma_loads = 0;
  std::uint64_t tma_stores = 0;
  std::uint64_t cp_async = 0;
  std::uint64_t barriers = 0;
  std::uint64_t launches = 0;
  /// Accesses to memory that went through the wrappers; those by plain pointers are not seen.
  std::uint64_t watched = 0;
};

struct Report {
  std::vector<Finding> findings;
  Statistics statistics;

  bool clean() const { return findings.empty(); }
  bool has(Fault fault) const;
  std::string text() const;
};

/// Which bytes of memory kernels have written, for the launches that come after.
class WrittenBytes {
 public:
  void add(const void* first, std::size_t bytes);
  /// Whether all of them are.
  bool has(const void* first, std::size_t bytes) const;
  bool empty() const { return pages_.empty(); }

 private:
  friend class Machine;
  static constexpr std::size_t kCells = 512;  ///< of a page; a cell has 16 bytes
  using Page = std::array<std::uint16_t, kCells>;

  std::unordered_map<std::uint64_t, Page> pages_;  ///< masks of bytes, by number of the page
};

/// A piece of global memory that the kernel may touch.
struct Allocation {
  const void* address;
  std::size_t bytes;
  std::string name;
  bool writable = true;
  bool initialised = true;
  /// Where given, the bytes that count as initialised besides; the launch adds what it writes.
  WrittenBytes* written = nullptr;
};

/// When asynchronous operations happen, and in which order threads run.
enum class Schedule {
  late,   ///< threads in turn; asynchronous operations when nothing else can go on
  eager,  ///< threads in turn; asynchronous operations at once
  random  ///< both drawn from `seed`
};

struct Options {
  std::string kernel_name = "kernel";
  Schedule schedule = Schedule::late;
  std::uint64_t seed = 0;
  bool checks = true;  ///< races and uninitialised memory; the cheaper checks are always made
  std::array<unsigned, 3> cluster = {1, 1, 1};
  std::vector<Allocation> memory;  ///< where empty, addresses are not checked
  /// The launch may begin before the one in front has ended: global memory is touched only after
  /// griddepcontrol.wait, by the same thread or one that this is ordered after.
  bool programmatic = false;
  /// wgmma keeps of sums of fp8 products what a Hopper GPU does: 13 bits after the first.
  bool narrow_fp8_sums = false;
  unsigned resident_clusters = 64;
  /// Processor time that the launch may take; 0: any. Kernels in a library of their own alone are
  /// stopped, such as those that are built on demand.
  double seconds = 0;
  int max_findings = 32;
  Trace* trace = nullptr;  ///< where given, the launch is added to it
  /// Where given, only the clusters that it asks for run, and what they execute is noted. The
  /// kernel calls through recording_table() (functions.h).
  Recording* recording = nullptr;
  bool products = true;  ///< without, sums of matrix products hold anything
};

using Dimensions = std::array<unsigned, 3>;

/// Runs `entry` in every thread of the grid. Throws std::invalid_argument where the driver would
/// refuse the launch, std::bad_alloc.
Report launch(Entry entry, Dimensions grid, unsigned threads, unsigned shared_bytes,
              void** arguments, const Options& options = {});

}  // namespace estoc::emulator
