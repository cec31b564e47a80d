// The cublaslt provider: the vendor's kernels in the same list, and the baseline of every bench.
#include "providers/cublaslt/cublaslt_provider.h"

#include "providers/cublaslt/cublaslt_gemm.h"

namespace estoc::cublaslt {
namespace {

class CublasltProvider final : public Provider {
 public:
  std::string_view name() const override { return "cublaslt"; }
  std::vector<std::shared_ptr<const KernelClass>> classes() const override { return classes_; }

 private:
  std::vector<std::shared_ptr<const KernelClass>> classes_{make_cublaslt_gemm()};
};

}  // namespace

std::shared_ptr<const Provider> make_cublaslt_provider() {
  return std::make_shared<CublasltProvider>();
}

}  // namespace estoc::cublaslt
