// Handles: Kernel, the Artifact that compiling it gives, and BoundKernel, ready to launch.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "estoc/kernel_class.hpp"

namespace estoc {

class Artifact;
class BoundKernel;

/// Options of Kernel::run and Kernel::bind.
struct RunOptions {
  /// A CUstream of the operands' device; null is the null stream of the context that is current, or
  /// of the device's primary one.
  void* stream = nullptr;
  Workspace workspace{};               ///< of workspace_size() bytes; a cpu kernel can do without
  int threads = 0;                     ///< host threads of a cpu kernel; 0: one for each core
  bool assume_supported_args = false;  ///< skip supports()
  /// On a GPU of compute capability 9.0 or more: the launch may begin before the kernel ahead of it
  /// on the stream has ended, and waits for its results itself (programmatic dependent launch), so
  /// that the start of one hides behind the end of the other. The order of results is that of the
  /// stream either way.
  bool programmatic = true;
};

/// One kernel: compiled-or-compilable, with metadata. A cheap handle; copies share everything.
class Kernel {
 public:
  /// A kernel of a class, as enumeration would give it. The point must belong to the class's
  /// space, else Error{value}.
  Kernel(std::shared_ptr<const KernelClass> kernel_class, std::string provider,
         const DesignPoint& point);

  const KernelMetadata& metadata() const;
  const std::string& name() const { return metadata().name; }
  const KernelClass& kernel_class() const;
  const DesignPoint& point() const;
  const Knobs& knobs() const { return knobs_; }

  /// The same kernel with other knobs.
  Kernel with_knobs(const Knobs& knobs) const;

  /// What the kernel applies to the accumulator; null when out is the accumulator. Kernels found
  /// for arguments have theirs, kernels found by name have none.
  const std::shared_ptr<const EpilogueGraph>& epilogue() const;
  /// The same kernel with that epilogue, or with none.
  Kernel with_epilogue(std::shared_ptr<const EpilogueGraph> epilogue) const;

  /// Seconds the ranking expected for the arguments the kernel was found for, if it could tell.
  std::optional<double> predicted_seconds() const { return predicted_seconds_; }

  /// Seconds that tuning measured for the arguments the kernel was found for, where that put it
  /// first; its knobs are then those that were measured.
  std::optional<double> tuned_seconds() const { return tuned_seconds_; }

  /// Whether the kernel can carry out `arguments`; on failure the reason. Never throws. `target`
  /// defaults to the one the kernel was found for, else to the device of the operands. Operands
  /// with data on a device that code for that target does not run on are a failure, as for run().
  Status supports(const RuntimeArguments& arguments,
                  std::optional<Target> target = std::nullopt) const noexcept;

  /// What the class's prediction for `arguments` is made of: KernelClass::predict_parts(). Empty
  /// when the class does not say, and for arguments that the kernel does not support. `target`
  /// defaults to the one the kernel was found for, else to the device of the operands. Throws what
  /// the class throws.
  std::vector<PredictionPart> prediction_parts(const RuntimeArguments& arguments,
                                               std::optional<Target> target = std::nullopt) const;

  /// Bytes of workspace that run needs.
  std::size_t workspace_size(const RuntimeArguments& arguments) const;

  /// Bytes that are enough for every problem of the same dtypes and layouts whose extents are at
  /// most those of `largest`, so that one allocation serves a range of shapes.
  std::size_t workspace_bound(const RuntimeArguments& largest) const;

  /// Compiles; needs no device. Throws Error{unsupported} with the reason when the arguments do
  /// not fit, Error{compile}.
  Artifact compile(const RuntimeArguments& arguments, std::optional<Target> target = std::nullopt,
                   const CompileOptions& options = {}) const;

  /// Compiles for one of metadata().targets, for all arguments that the kernel supports. Throws
  /// Error{unsupported} for another target, Error{compile}.
  Artifact compile(Target target, const CompileOptions& options = {}) const;

  /// The text the kernel is compiled from, or its PTX. Throws Error{unsupported} for a kernel that
  /// is not compiled from text, and for a target that is not one of metadata().targets.
  std::string emit(Emission what, Target target, const CompileOptions& options = {}) const;

  /// Compiles where that has not been done, launches, and returns; on a cpu target the output is
  /// complete then. Code that has been launched on a GPU stays loaded until the process ends, so
  /// that neither kernel nor artifact must outlive a launch or a captured graph. Throws Error
  /// {unsupported} with supports()'s reason, Error{value} for a stream of another device.
  void run(const RuntimeArguments& arguments, const RunOptions& options = {}) const;
  void run(const RuntimeArguments& arguments, const Artifact& artifact,
           const RunOptions& options = {}) const;

  /// Does once what every run repeats; the result launches any number of times. Where
  /// workspace_size() is not 0, it launches on options.stream alone.
  BoundKernel bind(const RuntimeArguments& arguments, const Artifact& artifact,
                   const RunOptions& options = {}) const;

  /// The same kernel with the same epilogue and knobs.
  bool operator==(const Kernel& other) const;

 private:
  friend struct KernelAccess;
  struct State;
  explicit Kernel(std::shared_ptr<const State> state);
  Status check_compiles(Target target) const;
  Artifact compile_supported(Target target, const CompileOptions& options = {}) const;
  void check_run(const RuntimeArguments& arguments, const Artifact& artifact,
                 const RunOptions& options) const;
  void run_supported(const RuntimeArguments& arguments, const Artifact& artifact,
                     const RunOptions& options) const;

  std::shared_ptr<const State> state_;
  Knobs knobs_;
  std::optional<double> predicted_seconds_;
  std::optional<double> tuned_seconds_;
  std::optional<Target> target_;
};

/// The result of Kernel::compile.
class Artifact {
 public:
  Artifact(Kernel kernel, Target target, std::shared_ptr<const CompiledObject> object)
      : kernel_(std::move(kernel)), object_(std::move(object)), target_(target) {}

  const Kernel& kernel() const { return kernel_; }
  Target target() const { return target_; }
  const std::shared_ptr<const CompiledObject>& compiled_object() const { return object_; }
  /// The compiled code; null when the kernel's class compiles nothing.
  const CompiledCode* code() const { return object_ != nullptr ? object_->code() : nullptr; }

 private:
  Kernel kernel_;
  std::shared_ptr<const CompiledObject> object_;
  Target target_;
};

/// A kernel bound to arguments: launch() starts it. Movable; used by one thread at a time.
class BoundKernel {
 public:
  explicit BoundKernel(std::unique_ptr<Launch> launch) : launch_(std::move(launch)) {}
  /// Throws Error{value} for a stream of another device than the operands', and for any but the one
  /// that was given to bind when the kernel takes workspace: launches on two streams could use it
  /// at the same time.
  void launch(void* stream = nullptr) { launch_->launch(stream); }
  /// Has later launches work on `arguments`, which differ from those it was bound to in addresses
  /// alone and are aligned as well. False, with nothing changed, where that takes a new bind.
  bool move_to(const RuntimeArguments& arguments) { return launch_->move_to(arguments); }

 private:
  std::unique_ptr<Launch> launch_;
};

}  // namespace estoc
