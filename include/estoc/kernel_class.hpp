// The interface a kernel author implements: KernelClass, and Provider, which supplies them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estoc/design_space.hpp"
#include "estoc/epilogue_graph.hpp"
#include "estoc/status.hpp"

namespace estoc {

/// Run-time parameters of a kernel that ranking chooses; they do not change what is compiled.
struct Knobs {
  enum class Raster : std::uint8_t { along_m, along_n };
  Raster raster = Raster::along_m;
  std::int16_t swizzle = 1;  ///< tiles of the other direction taken together
  std::int16_t split = 1;    ///< parts that K is divided into
  /// Of how many tiles, the last ones, whose parts' sums pass through the workspace; 0: K of every
  /// tile is divided among the CTAs of a cluster.
  std::int32_t split_tiles = 0;
  /// Every second tile that is computed in a place takes K backwards, so that bits depend on where
  /// a tile stands; no kernel does so under deterministic or batch_invariant.
  bool zigzag = false;
  bool operator==(const Knobs&) const = default;
};

/// Predicted time of a kernel on arguments, and the knobs it holds for. Of kernels of equal time,
/// the one of less energy ranks first.
struct Prediction {
  double seconds = 0;
  Knobs knobs;
  double joules = 0;  ///< predicted energy of one launch; 0: not known
};

/// One part of a prediction, for people and for tables: "tensor cores" 1.2e-6 s, "live CTAs" 66.
struct PredictionPart {
  enum class Unit : std::uint8_t { seconds, count, factor };

  std::string name;
  double value = 0;
  Unit unit = Unit::seconds;
  bool operator==(const PredictionPart&) const = default;
};

/// What compiled code takes of the machine, as the compiler reports it.
struct KernelResources {
  int registers = 0;     ///< of a thread
  int shared_bytes = 0;  ///< static shared memory of a CTA
  int stack_bytes = 0;   ///< local memory of a thread
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
  int barriers = 0;

  bool operator==(const KernelResources&) const = default;
};

/// Compiled code as files hold it.
struct CompiledCode {
  std::string format;    ///< "cubin", "fatbin", "ptx"
  std::string compiler;  ///< "nvrtc-13.0"; empty for code that came ready-made
  std::string bytes;
  KernelResources resources;
  std::string log;  ///< what the compiler said; not saved with artifacts
};

/// The result of compiling a kernel; kernel classes derive their own. Immutable, shared by threads.
class CompiledObject {
 public:
  virtual ~CompiledObject() = default;
  /// The code; null for a class that compiles nothing.
  virtual const CompiledCode* code() const { return nullptr; }
};

/// Compile options.
struct CompileOptions {
  bool lineinfo = false;   ///< relate instructions to lines of the source, for profilers
  bool use_caches = true;  ///< false: compile anew, whatever memory and disk hold
  bool operator==(const CompileOptions&) const = default;
};

/// The kernel that a class is to compile.
struct CompileRequest {
  const DesignPoint& point;
  Target target;
  CompileOptions options{};
  /// What is applied to the accumulator; null when out is the accumulator.
  const EpilogueGraph* epilogue = nullptr;
};

/// Texts that KernelClass::emit can give.
enum class Emission : std::uint8_t { source, ptx };

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
  /// Has later launches work on `arguments`, which differ from those it was bound to in addresses
  /// alone and are aligned as well. False, with nothing changed, where that takes a new bind, as by
  /// default. Allocates nothing.
  virtual bool move_to(const RuntimeArguments& arguments);
};

/// What bind is given besides the kernel.
struct BindOptions {
  Workspace workspace;
  void* stream = nullptr;  ///< where the first launch will go; with workspace, all of them
  int threads = 0;         ///< host threads of a cpu kernel; 0: as many as there are cores
  /// The launch may begin before the kernel ahead of it on the stream has ended (programmatic
  /// dependent launch); classes whose device code does not wait for it ignore the option.
  bool programmatic = true;
};

/// Generates kernels of one kind and knows how to compile and run them.
///
/// The library compares dtypes, layouts, alignments and op of the arguments with the design space
/// before it calls other functions. Any of them may be called by any number of threads at once, and
/// never under a lock of the library.
class KernelClass {
 public:
  virtual ~KernelClass() = default;

  /// First part of every kernel's name: lower-case letters, digits, '_'.
  virtual std::string_view name() const = 0;
  virtual Operation operation() const = 0;

  /// The kernels there are; the same space each time. It needs a dimension of role a_dtype, and an
  /// elementwise class one of role op. Of the roles that it leaves out, B has the dtype of A, the
  /// accumulator is default_accumulator_type(A, B), out has the accumulator's dtype
  /// (elementwise: A's), any layout will do, and an operand is aligned to its elements.
  virtual std::shared_ptr<const DesignSpace> space() const = 0;

  /// What the class can be compiled for; at least one.
  virtual std::span<const Target> targets() const = 0;

  /// Smallest compute capability times ten; by default that of the first target.
  virtual int min_cc() const;

  /// True for a class whose kernels are known only where their device is, such as a library's. It
  /// is left out of get_kernels() without arguments, and queried only for a target of which the
  /// machine has a CUDA device. False by default.
  virtual bool needs_device() const;

  /// Whether kernels of the class multiply operands with scales of blocks; which, supports() says.
  /// Other classes are not given such operands, and need not know of scaled ones: other scales come
  /// as an epilogue. False by default.
  virtual bool takes_block_scales() const;

  /// Whether kernels of the class compute the two accumulators of an epilogue that has them in
  /// pairs, from twice as many columns of B as out has. Other classes are not given such
  /// arguments. False by default.
  virtual bool takes_pairs() const;

  /// Whether a class of grouped_gemm takes matrices by pointers, GroupLayout::pointers: never, as
  /// by default, as well as other groups, or nothing else. It is not given what it does not take.
  enum class TakesPointers : std::uint8_t { never, also, only };
  virtual TakesPointers takes_pointers() const;

  /// Whether a class of grouped_gemm takes an index of the rows of A, GroupOptions::rows; likewise.
  enum class TakesRows : std::uint8_t { never, also, only };
  virtual TakesRows takes_rows() const;

  /// Whether kernels of the class store a quantised out, and no other; then their out dtype is that
  /// of its data, and D is f32. Other classes are not given such arguments. False by default.
  virtual bool quantises() const;

  /// How a GEMM kernel adds up an element of out, for PerformanceControls::batch_invariant. Kernels
  /// of one target that answer alike, of whatever class, give an element the same bits, wherever
  /// its row stands and whatever else they compute. Empty, as by default, where that cannot be
  /// promised. `epilogue` is null where out is the accumulator. Must not throw.
  virtual std::string summation(const DesignPoint& point, const EpilogueGraph* epilogue) const;

  /// Works out of a kernel, once, what the functions below need at each launch: from its first
  /// compilation on they find it as point.decoded(). `epilogue` is the kernel's, null where out is
  /// the accumulator. Depends on nothing else. By default null. Must not throw.
  virtual std::shared_ptr<const void> decode(
      const DesignPoint& point, const std::shared_ptr<const EpilogueGraph>& epilogue) const;

  /// Conditions of every kernel of the class beyond the design space, which supports() checks too:
  /// a search calls it once, before it looks at kernels. Success by default. Must not throw; on
  /// failure the message names operand, expected and got.
  virtual Status supports_any(const RuntimeArguments& arguments) const;

  /// Conditions beyond the design space: sizes, strides, resources. Must not throw; on failure the
  /// message names operand, expected and got.
  virtual Status supports(const DesignPoint& point, const RuntimeArguments& arguments,
                          Target target) const;

  /// Dimensions of the design space, a bit for each, the first one's the lowest: of kernels that
  /// differ in others alone, supports() says the same of these arguments, and a search need not
  /// call it for each of them. By default all. Must not throw.
  virtual std::uint32_t support_depends_on(const RuntimeArguments& arguments, Target target) const;

  /// Whether the class compiles the kernel with that epilogue. The default refuses every one. Must
  /// not throw, and depends on nothing but what it is given; on failure the message names the node.
  virtual Status supports_epilogue(const DesignPoint& point, const EpilogueGraph& epilogue,
                                   Target target) const;

  /// Dimensions as in support_depends_on(): of kernels that differ in others alone,
  /// supports_epilogue() says the same of any epilogue and target. By default all. Must not throw.
  virtual std::uint32_t epilogue_support_depends_on() const;

  /// Predicted time; nullopt when the class cannot tell: such kernels rank last, in order.
  virtual std::optional<Prediction> predict(const DesignPoint& point,
                                            const RuntimeArguments& arguments, Target target) const;

  /// predict() of several kernels, in their order; by default one after the other. A class
  /// overrides it where much depends on the arguments alone.
  virtual std::vector<std::optional<Prediction>> predict_all(
      std::span<const DesignPoint* const> points, const RuntimeArguments& arguments,
      Target target) const;

  /// predict() again, closer and at more expense, in the order of the points. A search calls it for
  /// the kernels that it lists first, and keeps predict()'s knobs. Empty, as by default, where
  /// predict() is as close as can be.
  virtual std::vector<std::optional<Prediction>> predict_closely(
      std::span<const DesignPoint* const> points, const RuntimeArguments& arguments,
      Target target) const;

  /// What predict() made its time of, and facts it rests on, in the order they are to be read.
  /// Names are short, stable and differ. Parts of unit seconds are times of resources, of which the
  /// largest limits the kernel; they need not add up to the prediction. Empty by default.
  virtual std::vector<PredictionPart> predict_parts(const DesignPoint& point,
                                                    const RuntimeArguments& arguments,
                                                    Target target) const;

  /// Bytes of workspace that run needs for these arguments.
  virtual std::size_t workspace_size(const DesignPoint& point, const Knobs& knobs,
                                     const RuntimeArguments& arguments) const;

  /// Bytes that are enough for every problem of the same dtypes and layouts whose extents are at
  /// most those of `largest`; by default workspace_size() of that one.
  virtual std::size_t workspace_bound(const DesignPoint& point, const Knobs& knobs,
                                      const RuntimeArguments& largest) const;

  /// Compiles for a target, which is one of targets(); needs no device. What it gives serves all
  /// arguments that the kernel supports. By default there is nothing to compile. Throws
  /// Error{compile}.
  virtual std::shared_ptr<const CompiledObject> compile(const CompileRequest& request) const;

  /// Makes a compiled object of code read from a file, which compile() once gave. By default only
  /// of no code. Throws Error{value} for code that is not of this class's kind.
  virtual std::shared_ptr<const CompiledObject> load(const CompileRequest& request,
                                                     CompiledCode code) const;

  /// Names what compiled code expects of its caller (parameters, their meaning). It is saved with
  /// an artifact, and one with another name is refused. Empty by default.
  virtual std::string abi() const;

  /// Names what compile() makes the code of a kernel from: text, headers, compiler's options. It is
  /// saved with an artifact, and one with another name is refused: its code may differ from what
  /// this class launches. options are not looked at. Empty by default.
  virtual std::string code_key(const CompileRequest& request) const;

  /// The text a kernel is compiled from, or a stage of its compilation. By default Error
  /// {unsupported}.
  virtual std::string emit(const CompileRequest& request, Emission what) const;

  /// Everything a launch needs, from supported arguments that have data.
  virtual std::unique_ptr<Launch> bind(const DesignPoint& point, const Knobs& knobs,
                                       const RuntimeArguments& arguments,
                                       std::shared_ptr<const CompiledObject> object,
                                       const BindOptions& options) const = 0;

  /// One launch on options.stream without keeping what was bound; by default bind() and launch.
  /// A class that can do so without allocating memory overrides it.
  virtual void run(const DesignPoint& point, const Knobs& knobs, const RuntimeArguments& arguments,
                   const std::shared_ptr<const CompiledObject>& object,
                   const BindOptions& options) const;
};

/// A source of kernel classes: a DSL or a library.
class Provider {
 public:
  virtual ~Provider() = default;
  /// Lower-case letters, digits, '_'.
  virtual std::string_view name() const = 0;
  /// The classes, in the order they are to be listed; called once, when it is registered.
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
