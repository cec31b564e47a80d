// The interface a kernel author implements: KernelClass, and Provider, which supplies them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "estoc/design_space.hpp"
#include "estoc/status.hpp"

namespace estoc {

/// Run-time parameters of a kernel that ranking chooses; they do not change what is compiled.
struct Knobs {
  enum class Raster : std::uint8_t { along_m, along_n };
  Raster raster = Raster::along_m;
  std::int16_t swizzle = 1;  ///< tiles of the other direction taken together
  std::int16_t split = 1;    ///< parts that K is divided into
  bool operator==(const Knobs&) const = default;
};

/// Predicted time of a kernel on arguments, and the knobs it holds for.
struct Prediction {
  double seconds = 0;
  Knobs knobs;
};

/// What compiling a kernel gave; kernel classes derive their own. Immutable, shared by threads.
class CompiledObject {
 public:
  virtual ~CompiledObject() = default;
};

/// Scratch memory of the caller: on the operands' device, aligned to 256 bytes, any content.
struct Workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// A kernel with everything bound that a launch needs.
class Launch {
 public:
  virtual ~Launch() = default;
  /// Starts the work on `stream` (a CUstream; ignored by host kernels, which are done when it
  /// returns). Allocates nothing and does not wait. One thread at a time may use one object.
  virtual void launch(void* stream) = 0;
};

/// What bind is given besides the kernel.
struct BindOptions {
  Workspace workspace;
  void* stream = nullptr;  ///< where the first launch will go
  int threads = 0;         ///< host threads of a cpu kernel; 0: as many as there are cores
};

/// Generates kernels of one kind and knows how to compile and run them.
///
/// The library compares dtypes, layouts, alignments and op of the arguments with the design space
/// before it asks anything else. All functions may be called by any number of threads at once, and
/// never under a lock of the library.
class KernelClass {
 public:
  virtual ~KernelClass() = default;

  /// First part of every kernel's name: lower-case letters, digits, '_'.
  virtual std::string_view name() const = 0;
  virtual Operation operation() const = 0;

  /// The kernels there are; the same space each time. It needs a dimension of role a_dtype, and an
  /// elementwise class one of role op. Of the roles that it leaves out, B has the dtype of A, the
  /// accumulator is f64 for f64, i32 for integers, else f32, out has the accumulator's dtype
  /// (elementwise: A's), any layout will do, and an operand is aligned to its elements.
  virtual std::shared_ptr<const DesignSpace> space() const = 0;

  /// What the class can be compiled for; at least one.
  virtual std::span<const Target> targets() const = 0;

  /// Smallest compute capability times ten; by default that of the first target.
  virtual int min_cc() const;

  /// True for a class whose kernels are known only where their device is, such as a library's. It
  /// is left out of get_kernels() without arguments, and asked only for a target of which the
  /// machine has a CUDA device. False by default.
  virtual bool needs_device() const;

  /// Conditions beyond the design space: sizes, strides, resources. Must not throw; on failure the
  /// message names operand, expected and got.
  virtual Status supports(const DesignPoint& point, const RuntimeArguments& arguments,
                          Target target) const;

  /// Predicted time; nullopt when the class cannot tell: such kernels rank last, in order.
  virtual std::optional<Prediction> predict(const DesignPoint& point,
                                            const RuntimeArguments& arguments, Target target) const;

  /// Bytes of workspace that run needs for these arguments.
  virtual std::size_t workspace_size(const DesignPoint& point, const Knobs& knobs,
                                     const RuntimeArguments& arguments) const;

  /// Compiles for `target`, which is one of targets(); needs no device. What it gives serves all
  /// arguments that the kernel supports. By default there is nothing to compile. Throws
  /// Error{compile}.
  virtual std::shared_ptr<const CompiledObject> compile(const DesignPoint& point,
                                                        const RuntimeArguments& arguments,
                                                        Target target) const;

  /// Everything a launch needs, from supported arguments that have data.
  virtual std::unique_ptr<Launch> bind(const DesignPoint& point, const Knobs& knobs,
                                       const RuntimeArguments& arguments,
                                       std::shared_ptr<const CompiledObject> object,
                                       const BindOptions& options) const = 0;
};

/// A source of kernel classes: a DSL or a library.
class Provider {
 public:
  virtual ~Provider() = default;
  /// Lower-case letters, digits, '_'.
  virtual std::string_view name() const = 0;
  /// The classes, in the order they are to be listed; asked once, when it is registered.
  virtual std::vector<std::shared_ptr<const KernelClass>> classes() const = 0;
};

/// Adds a provider after those there are. Throws Error{exists} when the name, or the name of one
/// of its classes, is taken, Error{value} when one is no legal name or classes() throws.
void register_provider(std::shared_ptr<const Provider> provider);

/// Adds one class to the provider of that name, which is made when there is none (and goes with
/// its last class).
/// Throws Error{exists} when the class's name is taken, Error{value} when it is no legal name.
void register_kernel_class(std::string_view provider,
                           std::shared_ptr<const KernelClass> kernel_class);

/// Takes a provider, or one class, away again; false when there is none of that name. Kernels that
/// were handed out stay usable.
bool unregister_provider(std::string_view name);
bool unregister_kernel_class(std::string_view name);

/// Names of the providers, in order.
std::vector<std::string> available_providers();

}  // namespace estoc
