// Base of kernel classes that are CUDA code: text for the JIT, or code that is compiled already.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "estoc/kernel_class.hpp"

namespace estoc {

/// The code of one kernel: CUDA C++ text, or a cubin, fatbin or PTX.
struct CudaCode {
  /// Compiled by NVRTC as C++20 without any header path but Estoc's own device headers.
  std::string source;
  /// Ready-made code, when `source` is empty; handed to the driver as it is.
  std::string image;
  /// Names of the __global__ functions that a launch starts, as the driver sees them
  /// (extern "C", or mangled).
  std::vector<std::string> entries{"estoc_kernel"};
};

/// Sizes of one kernel launch.
struct CudaGeometry {
  std::array<unsigned, 3> grid{1, 1, 1};
  std::array<unsigned, 3> block{32, 1, 1};
  unsigned shared_bytes = 0;  ///< dynamic shared memory of a CTA
  std::array<unsigned, 3> cluster{1, 1, 1};
};

/// What a plan may know about the device that it is for.
struct PlanDevice {
  int multiprocessors = 0;
  /// Writes a tensor map of 128 bytes to `map`, which is aligned to 64: cuTensorMapEncodeTiled of
  /// the CUDA driver, with its arguments, or what stands in for it. 0 is success.
  int (*encode_tiled)(void* map, int data_type, unsigned rank, void* address,
                      const std::uint64_t* extents, const std::uint64_t* strides,
                      const std::uint32_t* box, const std::uint32_t* element_strides,
                      int interleave, int swizzle, int l2_promotion, int fill) = nullptr;
  /// Ordinal of the CUDA device, the argument of resident_clusters.
  int index = -1;
  /// How many clusters of `size` CTAs device `index` runs at once when a CTA takes a whole
  /// multiprocessor; 0 until the driver was queried. May be null.
  int (*resident_clusters)(int index, int size) = nullptr;

  /// The same number where it is known, else as if any multiprocessors could form a cluster; at
  /// least 1. `size` is 1 or more.
  int clusters_at_once(int size) const;
};

/// What a launch consists of: kernels and fills, started in order on one stream. It holds
/// everything itself, so that making one allocates nothing.
class LaunchPlan {
 public:
  static constexpr std::size_t kMaxSteps = 6;
  static constexpr std::size_t kMaxParameters = 32;
  static constexpr std::size_t kMaxParameterBytes = 8192;

  LaunchPlan() = default;
  explicit LaunchPlan(const PlanDevice& device) : device_(device) {}

  /// The device that the plan is for; without multiprocessors where none was named.
  const PlanDevice& device() const { return device_; }

  /// Starts entry number `entry` of the class's code with these parameters, each passed by value
  /// as the kernel declares it. Throws Error{value} when the plan is full.
  template <typename... Parameters>
  void kernel(std::size_t entry, const CudaGeometry& geometry, const Parameters&... parameters) {
    begin_kernel(entry, geometry);
    (add_parameter(parameters), ...);
  }
  template <typename... Parameters>
  void kernel(const CudaGeometry& geometry, const Parameters&... parameters) {
    kernel(std::size_t{0}, geometry, parameters...);
  }

  /// Adds a parameter to the kernel that was added last; the caller fills it. `alignment` is a
  /// power of two of at most 128.
  std::byte* add_parameter_bytes(std::size_t bytes, std::size_t alignment) {
    return room_for_parameter(bytes, alignment);
  }

  /// The kernel that was added last may be launched before the kernel ahead of it in the plan has
  /// ended (programmatic dependent launch): it executes griddepcontrol.wait before it touches
  /// memory. Nothing changes where the driver or the device cannot do that.
  void launch_programmatically();

  /// Sets `bytes` bytes of device memory to `value`.
  void fill(void* address, std::uint8_t value, std::size_t bytes);

  /// A kernel when `address` is null.
  struct Step {
    CudaGeometry geometry;
    std::size_t entry = 0;
    std::size_t first_parameter = 0;
    std::size_t parameters = 0;
    void* address = nullptr;
    std::uint8_t value = 0;
    bool programmatic = false;  ///< see launch_programmatically
    std::size_t bytes = 0;
  };
  std::size_t size() const { return steps_used_; }
  const Step& step(std::size_t index) const { return steps_[index]; }
  /// Writes the addresses of a step's parameters, which stay valid as long as this plan does.
  void parameters_of(const Step& step, void** addresses) const;

 private:
  template <typename Parameter>
  void add_parameter(const Parameter& parameter) {
    static_assert(std::is_trivially_copyable_v<Parameter> && alignof(Parameter) <= 128);
    std::memcpy(room_for_parameter(sizeof(Parameter), alignof(Parameter)), &parameter,
                sizeof(Parameter));
  }
  Step& next_step();
  void begin_kernel(std::size_t entry, const CudaGeometry& geometry);
  std::byte* room_for_parameter(std::size_t bytes, std::size_t alignment);

  // Not initialised as a whole: a plan is made for every run.
  alignas(128) std::array<std::byte, kMaxParameterBytes> bytes_;
  std::array<std::uint16_t, kMaxParameters> offsets_;
  std::array<Step, kMaxSteps> steps_;
  PlanDevice device_;
  std::size_t bytes_used_ = 0;
  std::size_t parameters_used_ = 0;
  std::size_t steps_used_ = 0;
};

/// A kernel class that is CUDA code. A derived class describes its kernels (name, operation, space,
/// supports, predict), gives the code of one, and plans a launch; compiling, caching, artifacts,
/// contexts and launching come from here.
class CudaKernelClass : public KernelClass {
 public:
  /// Every target from sm_80 on that NVRTC 13.0 compiles for.
  std::span<const Target> targets() const override;

  /// The code of a kernel. Equal text and target mean equal code: that is the key of the caches.
  virtual CudaCode code(const DesignPoint& point, Target target) const = 0;

  /// The code of a kernel with an epilogue; called when supports_epilogue() allowed it. By default
  /// Error{unsupported}.
  virtual CudaCode fused_code(const DesignPoint& point, Target target,
                              const EpilogueGraph& epilogue) const;

  /// Adds the steps of a launch on arguments that have data to `plan`. None are legal, as for an
  /// empty output. The workspace has at least workspace_size() bytes. Called again for the
  /// same launch when it is the first to tell how many clusters the device runs at once.
  virtual void plan(const DesignPoint& point, const Knobs& knobs, const RuntimeArguments& arguments,
                    const Workspace& workspace, LaunchPlan& plan) const = 0;

  /// True when every kernel of the code executes griddepcontrol.wait before it touches memory, so
  /// that programmatic dependent launch is safe. False by default.
  virtual bool waits_for_dependencies() const;

  std::shared_ptr<const CompiledObject> compile(const CompileRequest& request) const final;
  std::shared_ptr<const CompiledObject> load(const CompileRequest& request,
                                             CompiledCode code) const final;
  std::string code_key(const CompileRequest& request) const final;
  std::string emit(const CompileRequest& request, Emission what) const final;
  std::unique_ptr<Launch> bind(const DesignPoint& point, const Knobs& knobs,
                               const RuntimeArguments& arguments,
                               std::shared_ptr<const CompiledObject> object,
                               const BindOptions& options) const final;
  void run(const DesignPoint& point, const Knobs& knobs, const RuntimeArguments& arguments,
           const std::shared_ptr<const CompiledObject>& object,
           const BindOptions& options) const final;
};

}  // namespace estoc
