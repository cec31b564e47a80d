// The command `estoc` with a kernel class of this program's, written in CUDA C++.
#include <estoc/command.hpp>
#include <estoc/estoc.hpp>
#include <memory>

namespace {

class OneGemm final : public estoc::CudaKernelClass {
 public:
  std::string_view name() const override { return "one_gemm"; }
  estoc::Operation operation() const override { return estoc::Operation::gemm; }
  std::shared_ptr<const estoc::DesignSpace> space() const override { return space_; }
  estoc::CudaCode code(const estoc::DesignPoint& /*point*/,
                       estoc::Target /*target*/) const override {
    return {.source = "extern \"C\" __global__ void estoc_kernel() {}"};
  }
  void plan(const estoc::DesignPoint& /*point*/, const estoc::Knobs& /*knobs*/,
            const estoc::RuntimeArguments& /*arguments*/, const estoc::Workspace& /*workspace*/,
            estoc::LaunchPlan& plan) const override {
    plan.kernel({});
  }

 private:
  std::shared_ptr<const estoc::DesignSpace> space_ =
      estoc::DesignSpace::Builder().dtypes(estoc::Role::a_dtype, {estoc::Dtype::f32}).build();
};

}  // namespace

int main(int argc, char** argv) {
  estoc::register_kernel_class("consumer", std::make_shared<OneGemm>());
  return estoc::run_command(argc, argv);
}
