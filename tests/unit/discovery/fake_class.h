// Kernel classes all of whose results a test can set, and arguments for them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "estoc/discovery.hpp"

namespace estoc::testing {

using Space = std::shared_ptr<const DesignSpace>;

inline const Target kHopper = Target::sm(90, true);

/// What a launch of a fake kernel was bound with.
struct Bound {
  std::string kernel;
  Workspace workspace;
  int threads = 0;
  int launches = 0;
  void* stream = nullptr;
};

/// A compiled object that remembers for what it was made.
struct FakeObject final : CompiledObject {
  explicit FakeObject(std::string of) : suffix(std::move(of)) {}
  std::string suffix;
};

/// A class with a name and a space; every hook that is set replaces the default.
class FakeClass final : public KernelClass {
 public:
  FakeClass(std::string class_name, Space design, std::vector<Target> target_list = {Target::cpu()})
      : label(std::move(class_name)),
        design_space(std::move(design)),
        target_list_(std::move(target_list)) {}

  std::string_view name() const override { return label; }
  Operation operation() const override { return kind; }
  Space space() const override { return on_space ? on_space() : design_space; }
  std::span<const Target> targets() const override { return target_list_; }
  bool needs_device() const override { return only_with_device; }

  std::shared_ptr<const void> decode(
      const DesignPoint& point,
      const std::shared_ptr<const EpilogueGraph>& epilogue) const override {
    return on_decode ? on_decode(point) : KernelClass::decode(point, epilogue);
  }

  Status supports_any(const RuntimeArguments& arguments) const override {
    return on_supports_any ? on_supports_any(arguments) : KernelClass::supports_any(arguments);
  }

  Status supports(const DesignPoint& point, const RuntimeArguments& arguments,
                  Target target) const override {
    return on_supports ? on_supports(point, arguments)
                       : KernelClass::supports(point, arguments, target);
  }

  std::uint32_t support_depends_on(const RuntimeArguments& /*arguments*/,
                                   Target /*target*/) const override {
    return support_dimensions;
  }

  std::string summation(const DesignPoint& point, const EpilogueGraph* epilogue) const override {
    return on_summation ? on_summation(point) : KernelClass::summation(point, epilogue);
  }

  std::optional<Prediction> predict(const DesignPoint& point, const RuntimeArguments& arguments,
                                    Target target) const override {
    return on_predict ? on_predict(point) : KernelClass::predict(point, arguments, target);
  }

  std::vector<std::optional<Prediction>> predict_closely(std::span<const DesignPoint* const> points,
                                                         const RuntimeArguments& arguments,
                                                         Target target) const override {
    if (!on_predict_closely) return KernelClass::predict_closely(points, arguments, target);
    std::vector<std::optional<Prediction>> predictions;
    for (const DesignPoint* const point : points)
      predictions.push_back(on_predict_closely(*point));
    return predictions;
  }

  std::vector<PredictionPart> predict_parts(const DesignPoint& point,
                                            const RuntimeArguments& arguments,
                                            Target target) const override {
    return on_parts ? on_parts(point, target)
                    : KernelClass::predict_parts(point, arguments, target);
  }

  std::size_t workspace_size(const DesignPoint& /*point*/, const Knobs& knobs,
                             const RuntimeArguments& /*arguments*/) const override {
    return workspace_bytes * static_cast<std::size_t>(knobs.split);
  }

  std::shared_ptr<const CompiledObject> compile(const CompileRequest& request) const override {
    ++compilations;
    if (on_compile) on_compile();
    return std::make_shared<FakeObject>(request.point.space().suffix(request.point));
  }

  std::unique_ptr<Launch> bind(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
                               const RuntimeArguments& /*arguments*/,
                               std::shared_ptr<const CompiledObject> object,
                               const BindOptions& options) const override {
    if (bound == nullptr) return nullptr;
    *bound = {label + static_cast<const FakeObject&>(*object).suffix, options.workspace,
              options.threads, 0, nullptr};
    return std::make_unique<FakeLaunch>(bound);
  }

  std::string label;
  Space design_space;
  Operation kind = Operation::gemm;
  bool only_with_device = false;
  std::size_t workspace_bytes = 0;
  std::uint32_t support_dimensions = ~std::uint32_t{0};
  std::shared_ptr<Bound> bound = std::make_shared<Bound>();
  std::function<Space()> on_space;
  std::function<std::shared_ptr<const void>(const DesignPoint&)> on_decode;
  std::function<Status(const RuntimeArguments&)> on_supports_any;
  std::function<Status(const DesignPoint&, const RuntimeArguments&)> on_supports;
  std::function<std::string(const DesignPoint&)> on_summation;
  std::function<std::optional<Prediction>(const DesignPoint&)> on_predict;
  std::function<std::optional<Prediction>(const DesignPoint&)> on_predict_closely;
  std::function<std::vector<PredictionPart>(const DesignPoint&, Target)> on_parts;
  std::function<void()> on_compile;
  mutable std::atomic<int> compilations = 0;

 private:
  struct FakeLaunch final : Launch {
    explicit FakeLaunch(std::shared_ptr<Bound> counted) : bound(std::move(counted)) {}
    void launch(void* stream) override {
      ++bound->launches;
      bound->stream = stream;
    }
    std::shared_ptr<Bound> bound;
  };

  std::vector<Target> target_list_;
};

/// A provider of the given classes.
class FakeProvider final : public Provider {
 public:
  using Classes = std::vector<std::shared_ptr<const KernelClass>>;

  FakeProvider(std::string name, Classes classes)
      : name_(std::move(name)), classes_(std::move(classes)) {}
  std::string_view name() const override { return name_; }
  Classes classes() const override { return classes_; }

 private:
  std::string name_;
  Classes classes_;
};

/// Registers a class for the length of a scope.
class Registered {
 public:
  explicit Registered(const std::shared_ptr<const KernelClass>& kernel_class,
                      std::string_view provider = "fake")
      : name_(kernel_class->name()) {
    register_kernel_class(provider, kernel_class);
  }
  ~Registered() { unregister_kernel_class(name_); }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;

 private:
  std::string name_;
};

/// dtypes f16 bf16, f32 accumulator, out f16 bf16 f32, layouts ttt tnt, alignment of A 4 16, tiles
/// 64x64x32 128x64x32: 2 * 3 * 2 * 2 * 2 = 48 kernels, B of A's dtype.
inline Space small_space() {
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::f16, Dtype::bf16})
      .dtypes(Role::accumulator_type, {Dtype::f32})
      .dtypes(Role::out_dtype, {Dtype::f16, Dtype::bf16, Dtype::f32})
      .layouts({"ttt", "tnt"})
      .alignments(Role::a_alignment, {4, 16})
      .shapes(Role::tile, {Shape3{64, 64, 32}, Shape3{128, 64, 32}});
  return builder.build();
}

/// `variants` kernels of f32 operands that differ in a choice.
inline Space plain_space(int variants = 1) {
  std::vector<int> numbers;
  for (int i = 0; i < variants; ++i)
    numbers.push_back(i);
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::f32}).integers("v", numbers);
  return builder.build();
}

inline std::shared_ptr<FakeClass> make_class(std::string name, Space space,
                                             std::vector<Target> targets = {Target::cpu()}) {
  return std::make_shared<FakeClass>(std::move(name), std::move(space), std::move(targets));
}

/// Dtypes and layouts of a GEMM to describe.
struct GemmTypes {
  Dtype a = Dtype::f16, b = Dtype::f16, out = Dtype::f16;
  Dtype accumulator_type = Dtype::f32;
  std::string_view layouts = "ttt";
  int alignment = 16;
};

inline TensorView describe(Dtype dtype, std::int64_t rows, std::int64_t columns, char letter,
                           int alignment = 256, Device device = Device::cpu()) {
  const std::array<std::int64_t, 2> shape{rows, columns};
  const std::array<std::int64_t, 2> strides{letter == 't' ? columns : 1, letter == 't' ? 1 : rows};
  return TensorView::describe(dtype, shape, strides, device, alignment);
}

/// A described GEMM of m = 128, n = 64, k = 32.
inline GemmArguments gemm(const GemmTypes& types = {}, const PerformanceControls& controls = {},
                          const EpilogueArguments& epilogue = {}, Device device = Device::cpu()) {
  return {describe(types.a, 128, 32, types.layouts[0], types.alignment, device),
          describe(types.b, 32, 64, types.layouts[1], types.alignment, device),
          describe(types.out, 128, 64, types.layouts[2], types.alignment, device),
          types.accumulator_type,
          controls,
          epilogue};
}

/// Controls that leave out kernels of more workspace.
inline PerformanceControls at_most(std::int64_t workspace_bytes) {
  PerformanceControls controls;
  controls.workspace_limit = workspace_bytes;
  return controls;
}

inline GemmArguments f32_gemm(const PerformanceControls& controls = {}) {
  return gemm({.a = Dtype::f32, .b = Dtype::f32, .out = Dtype::f32}, controls);
}

/// The error that `work` throws; fails the test when it throws none.
template <typename Work>
Error error_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  return {ErrorKind::cancelled, "nothing was thrown"};
}

template <typename Kernels>
std::vector<std::string> names_of(const Kernels& kernels) {
  std::vector<std::string> names;
  for (const Kernel& kernel : kernels)
    names.push_back(kernel.name());
  return names;
}

}  // namespace estoc::testing
