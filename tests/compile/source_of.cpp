// The one place where this test reaches into the cuda provider: the text of a kernel.
#include "source_of.h"

#include "providers/cuda/cuda_class.h"

namespace estoc::compile_test {

std::string source_of(const Kernel& kernel) {
  return dynamic_cast<const cuda::CudaKernelClass&>(kernel.kernel_class()).source(kernel.point());
}

}  // namespace estoc::compile_test
