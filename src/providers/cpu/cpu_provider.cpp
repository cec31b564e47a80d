// The provider "cpu": kernels for the host processor.
#include "providers/cpu/cpu_provider.h"

#include "providers/cpu/cpu_elementwise.h"
#include "providers/cpu/cpu_gemm.h"
#include "providers/cpu/quantised_gemm.h"

namespace estoc::cpu {
namespace {

class CpuProvider final : public Provider {
 public:
  std::string_view name() const override { return "cpu"; }
  std::vector<std::shared_ptr<const KernelClass>> classes() const override {
    return {gemm_,         scaled_gemm_,         quantised_gemm_,
            grouped_gemm_, scaled_grouped_gemm_, elementwise_};
  }

 private:
  std::shared_ptr<const KernelClass> gemm_ = std::make_shared<CpuGemm>(Operation::gemm);
  std::shared_ptr<const KernelClass> scaled_gemm_ =
      std::make_shared<CpuScaledGemm>(Operation::gemm);
  std::shared_ptr<const KernelClass> scaled_grouped_gemm_ =
      std::make_shared<CpuScaledGemm>(Operation::grouped_gemm);
  std::shared_ptr<const KernelClass> quantised_gemm_ = make_cpu_quantised_gemm();
  std::shared_ptr<const KernelClass> grouped_gemm_ =
      std::make_shared<CpuGemm>(Operation::grouped_gemm);
  std::shared_ptr<const KernelClass> elementwise_ = std::make_shared<CpuElementwise>();
};

}  // namespace

std::shared_ptr<const Provider> make_cpu_provider() {
  return std::make_shared<CpuProvider>();
}

}  // namespace estoc::cpu
