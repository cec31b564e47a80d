// Kernels that misbehave, registered in a copy of the command: what it does about them is tested.
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "estoc/arguments.hpp"
#include "estoc/command.hpp"
#include "estoc/kernel_class.hpp"

namespace estoc {
namespace {

constexpr std::array kTargets{Target::cpu()};

/// Writes zeros, or fails in one of the ways a kernel can fail.
class FaultyLaunch final : public Launch {
 public:
  FaultyLaunch(const TensorView& out, std::string fault) : out_(out), fault_(std::move(fault)) {}

  void launch(void* /*stream*/) override {
    if (fault_ == "driver") throw Error(ErrorKind::driver, "the driver says no");
    if (fault_ == "memory") throw std::bad_alloc();
    if (fault_ == "defect") throw std::logic_error("a defect");
    if (fault_ == "zeros") std::memset(out_.data(), 0, static_cast<std::size_t>(out_.span_bytes()));
  }

 private:
  TensorView out_;
  std::string fault_;
};

class FaultyGemm final : public KernelClass {
 public:
  FaultyGemm()
      : space_(DesignSpace::Builder()
                   .dtypes(Role::a_dtype, {Dtype::f32})
                   .dtypes(Role::b_dtype, {Dtype::f32})
                   .dtypes(Role::accumulator_type, {Dtype::f32})
                   .dtypes(Role::out_dtype, {Dtype::f32})
                   .choices("fault", {"zeros", "nothing", "compile", "driver", "memory", "defect"})
                   .build()) {}

  std::string_view name() const override { return "faulty_gemm"; }
  Operation operation() const override { return Operation::gemm; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override { return kTargets; }

  std::shared_ptr<const CompiledObject> compile(const CompileRequest& request) const override {
    if (fault(request.point) == "compile") throw Error(ErrorKind::compile, "it does not compile");
    return KernelClass::compile(request);
  }

  std::unique_ptr<Launch> bind(const DesignPoint& point, const Knobs& /*knobs*/,
                               const RuntimeArguments& arguments,
                               std::shared_ptr<const CompiledObject> /*object*/,
                               const BindOptions& /*options*/) const override {
    const auto& gemm = dynamic_cast<const GemmArguments&>(arguments);
    return std::make_unique<FaultyLaunch>(gemm.out(), fault(point));
  }

 private:
  static std::string fault(const DesignPoint& point) { return point.value("fault").text; }

  std::shared_ptr<const DesignSpace> space_;
};

/// Cannot even be asked what it has.
class BrokenClass final : public KernelClass {
 public:
  std::string_view name() const override { return "broken"; }
  Operation operation() const override { return Operation::gemm; }
  std::shared_ptr<const DesignSpace> space() const override {
    throw std::runtime_error("the space is missing");
  }
  std::span<const Target> targets() const override { return kTargets; }
  std::unique_ptr<Launch> bind(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
                               const RuntimeArguments& /*arguments*/,
                               std::shared_ptr<const CompiledObject> /*object*/,
                               const BindOptions& /*options*/) const override {
    return nullptr;
  }
};

/// Says what its predictions are made of, or does not, or fails to.
class PredictedCopy final : public KernelClass {
 public:
  std::string_view name() const override { return "predicted"; }
  Operation operation() const override { return Operation::elementwise; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override { return kTargets; }

  std::optional<Prediction> predict(const DesignPoint& point, const RuntimeArguments& /*arguments*/,
                                    Target /*target*/) const override {
    return Prediction{1e-6 * (1 + point.index(space_->find("parts"))), {}};
  }

  std::vector<PredictionPart> predict_parts(const DesignPoint& point,
                                            const RuntimeArguments& /*arguments*/,
                                            Target /*target*/) const override {
    const std::string& parts = point.value("parts").text;
    if (parts == "fail") throw std::runtime_error("the parts are missing");
    if (parts == "none") return {};
    using Unit = PredictionPart::Unit;
    return {{"cores", 2.5e-7, Unit::seconds},
            {"memory", parts == "all" ? 7.5e-7 : 1e-7, Unit::seconds},
            {"live CTAs", 66, Unit::count},
            {"residual", 1.25, Unit::factor}};
  }

  std::unique_ptr<Launch> bind(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
                               const RuntimeArguments& /*arguments*/,
                               std::shared_ptr<const CompiledObject> /*object*/,
                               const BindOptions& /*options*/) const override {
    return nullptr;
  }

 private:
  static constexpr ElementwiseOp kOp = ElementwiseOp::identity;
  std::shared_ptr<const DesignSpace> space_ =
      DesignSpace::Builder()
          .ops({&kOp, 1})
          .dtypes(Role::a_dtype, {Dtype::f32})
          .choices("parts", {"all", "quick", "none", "fail"})
          .build();
};

}  // namespace
}  // namespace estoc

int main(int argc, char** argv) {
  estoc::register_kernel_class("faulty", std::make_shared<const estoc::FaultyGemm>());
  estoc::register_kernel_class("faulty", std::make_shared<const estoc::BrokenClass>());
  estoc::register_kernel_class("parted", std::make_shared<const estoc::PredictedCopy>());
  return estoc::run_command(argc, argv);
}
