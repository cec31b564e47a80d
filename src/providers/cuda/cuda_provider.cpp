// The cuda provider: our own kernels, written in CUDA C++ and compiled at run time.
#include "providers/cuda/cuda_provider.h"

#include "providers/cuda/simt_elementwise.h"
#include "providers/cuda/simt_gemm.h"
#include "providers/cuda/simt_scaled_gemm.h"
#include "providers/cuda/sm100_gemm.h"
#include "providers/cuda/sm100_grouped_gemm.h"
#include "providers/cuda/sm100_scaled_gemm.h"
#include "providers/cuda/sm120_gemm.h"
#include "providers/cuda/sm80_f32_gemm.h"
#include "providers/cuda/sm80_gemm.h"
#include "providers/cuda/sm90_f64_gemm.h"
#include "providers/cuda/sm90_gemm.h"
#include "providers/cuda/sm90_grouped_gemm.h"
#include "providers/cuda/sm90_pointer_gemm.h"

namespace estoc::cuda {
namespace {

class CudaProvider final : public Provider {
 public:
  std::string_view name() const override { return "cuda"; }
  std::vector<std::shared_ptr<const KernelClass>> classes() const override { return classes_; }

 private:
  std::vector<std::shared_ptr<const KernelClass>> classes_{make_sm90_gemm(),
                                                           make_sm90_fast_gemm(),
                                                           make_sm90_swapped_gemm(),
                                                           make_sm90_swapped_fast_gemm(),
                                                           make_sm90_prepared_gemm(),
                                                           make_sm90_bf16x6_gemm(),
                                                           make_sm90_scaled_gemm(),
                                                           make_sm90_swapped_scaled_gemm(),
                                                           make_sm90_dequantised_gemm(),
                                                           make_sm90_swapped_dequantised_gemm(),
                                                           make_sm100_gemm(),
                                                           make_sm100_dynamic_gemm(),
                                                           make_sm100_i8_gemm(),
                                                           make_sm100_prepared_gemm(),
                                                           make_sm100_scaled_gemm(),
                                                           make_sm100_dequantised_gemm(),
                                                           make_sm120_gemm(),
                                                           make_sm120_scaled_gemm(),
                                                           make_sm80_gemm(),
                                                           make_sm80_f32_gemm(),
                                                           make_sm90_f64_gemm(),
                                                           make_sm80_dequantised_gemm(),
                                                           make_sm80_scaled_gemm(),
                                                           make_simt_gemm(),
                                                           make_simt_scaled_gemm(),
                                                           make_sm90_grouped_gemm(),
                                                           make_sm90_swapped_grouped_gemm(),
                                                           make_sm90_gathered_gemm(),
                                                           make_sm90_pointer_gemm(),
                                                           make_sm90_scaled_grouped_gemm(),
                                                           make_sm90_swapped_scaled_grouped_gemm(),
                                                           make_sm100_grouped_gemm(),
                                                           make_sm100_swapped_grouped_gemm(),
                                                           make_sm80_grouped_gemm(),
                                                           make_sm80_gathered_gemm(),
                                                           make_sm80_pointer_gemm(),
                                                           make_sm90_quantised_gemm(),
                                                           make_sm90_scaled_quantised_gemm(),
                                                           make_sm80_quantised_gemm(),
                                                           make_simt_quantised_gemm(),
                                                           make_simt_scaled_quantised_gemm(),
                                                           make_simt_grouped_gemm(),
                                                           make_simt_scaled_grouped_gemm(),
                                                           make_simt_gathered_gemm(),
                                                           make_simt_pointer_gemm(),
                                                           make_simt_elementwise()};
};

}  // namespace

std::shared_ptr<const Provider> make_cuda_provider() {
  return std::make_shared<CudaProvider>();
}

}  // namespace estoc::cuda
