// Timing kernels against each other on a CUDA device: interleaved, on rotated random operands.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "estoc/kernel.hpp"
#include "estoc/problem.hpp"

namespace estoc {

/// How measure() goes about it. docs/performance.md has the method and its reasons.
struct MeasureOptions {
  Device device = Device::cuda(0);
  /// Times every kernel is visited; each visit is one time slice.
  int rounds = 20;
  /// Length of a slice. Slices shorter than 0.2 s mislead where the GPU is at its power limit.
  double slice_seconds = 0.004;
  /// Work done before the first slice, so that clocks settle; 3 s for sustained figures.
  double warm_seconds = 0.1;
  /// Idle time before each slice, so that the GPU stays cool; 0 for sustained figures.
  double pause_seconds = 0.02;
  /// Launches that a slice has at least; 20 of them make a graph.
  int least_launches = 20;
  /// A kernel whose second launch took longer than this is timed by that launch alone, as its one
  /// slice (the first may load code). 0: however long.
  double patience_seconds = 0;
  std::uint64_t seed = 1;
  /// Times the fastest kernel once more, as if it were another one; see Measurement::noise.
  bool noise_floor = false;
  /// Called after each round with the part done; returning false ends with Error{cancelled}.
  std::function<bool(double)> progress;

  static MeasureOptions burst() { return {}; }
  static MeasureOptions sustained();
  /// For tables of many problems: three short slices a kernel, without a rest.
  static MeasureOptions survey();
};

/// The state of the GPU while kernels were timed; 0 where NVML does not tell.
struct GpuState {
  double sm_clock_mhz = 0;
  double watts = 0;
  double celsius = 0;
};

/// Time of one launch of a kernel.
struct KernelTiming {
  std::string kernel;
  std::string provider;
  std::vector<double> slices;  ///< seconds a launch, one figure a round
  double median = 0;
  double low = 0;  ///< quartiles
  double high = 0;
  std::string problem;  ///< why it could not be timed; empty when it was
};

struct Measurement {
  std::vector<KernelTiming> timings;  ///< in the order of the kernels given
  GpuState gpu;                       ///< median over the rounds
  int operand_sets = 1;               ///< copies of the operands that launches rotate through
  /// How far two timings of one and the same kernel were apart, as a part of the first: nothing
  /// smaller is a difference between kernels. Absent unless requested.
  std::optional<double> noise;
};

/// A problem, and kernels to be timed on it.
struct ProblemKernels {
  Problem problem;
  std::vector<Kernel> kernels;
};

/// Times kernels on problem after problem of one device. It keeps the operands' memory and the
/// random numbers, so that a further problem costs little more than its launches. One thread at a
/// time.
class MeasureSession {
 public:
  explicit MeasureSession(Device device);
  ~MeasureSession();
  MeasureSession(MeasureSession&& other) noexcept;
  MeasureSession& operator=(MeasureSession&& other) noexcept;

  /// Times kernels on one problem; options.device is ignored. Operands are random (normal for
  /// floats), in as many copies as exceed twice the L2 cache; launches are replayed from a graph;
  /// every round visits every kernel, in an order that changes. Results are not checked here.
  /// Throws Error{memory, driver, cancelled}.
  Measurement measure(const Problem& problem, const std::vector<Kernel>& kernels,
                      const MeasureOptions& options = {});

  /// The same for several problems, a measurement each. Every round visits the kernels of all, so
  /// that times on different problems can be compared: clocks, which depend on the power that was
  /// drawn just before, are the same for them. The noise is that of the fastest kernel of all.
  std::vector<Measurement> measure(const std::vector<ProblemKernels>& problems,
                                   const MeasureOptions& options = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// MeasureSession::measure of a new session, on options.device.
Measurement measure(const Problem& problem, const std::vector<Kernel>& kernels,
                    const MeasureOptions& options = {});

}  // namespace estoc
