// Adds a custom kernel class, finds its kernels, runs them and checks what they compute.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "estoc/estoc.hpp"

using namespace estoc;  // NOLINT: an example reads better so

// The implementation: out = A @ B of f64 matrices with any strides, a tile of out at a time.
void multiply(const GemmArguments& gemm, const Shape3& tile) {
  const auto at = [](const MatrixView& x, std::int64_t l, std::int64_t i, std::int64_t j) {
    return static_cast<double*>(x.data) + l * x.batch_stride + i * x.row_stride +
           j * x.column_stride;
  };
  const auto [m, n, k, batches] = gemm.extents();
  for (std::int64_t l = 0; l < batches; ++l)
    for (std::int64_t i0 = 0; i0 < m; i0 += tile.m)
      for (std::int64_t j0 = 0; j0 < n; j0 += tile.n)
        for (std::int64_t i = i0; i < std::min(m, i0 + tile.m); ++i)
          for (std::int64_t j = j0; j < std::min(n, j0 + tile.n); ++j) {
            double sum = 0;
            for (std::int64_t p = 0; p < k; ++p)
              sum += *at(gemm.a_matrix(), l, i, p) * *at(gemm.b_matrix(), l, p, j);
            *at(gemm.out_matrix(), l, i, j) = sum;
          }
}

struct TiledLaunch final : Launch {
  TiledLaunch(const GemmArguments& arguments, const Shape3& shape) : gemm(arguments), tile(shape) {}
  void launch(void* /*stream*/) override { multiply(gemm, tile); }
  GemmArguments gemm;
  Shape3 tile;
};

// The interface: which kernels there are, and how one of them is bound to arguments.
class NaiveF64 final : public KernelClass {
 public:
  std::string_view name() const override { return "naive_f64"; }
  Operation operation() const override { return Operation::gemm; }
  std::span<const Target> targets() const override { return targets_; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::unique_ptr<Launch> bind(const DesignPoint& point, const Knobs& /*knobs*/,
                               const RuntimeArguments& arguments,
                               std::shared_ptr<const CompiledObject> /*object*/,
                               const BindOptions& /*options*/) const override {
    return std::make_unique<TiledLaunch>(static_cast<const GemmArguments&>(arguments),
                                         point.shape(Role::tile));
  }

 private:
  std::vector<Target> targets_{Target::cpu()};
  std::shared_ptr<const DesignSpace> space_ =
      DesignSpace::Builder()
          .dtypes(Role::a_dtype, {Dtype::f64})  // B, accumulator and out follow
          .shapes(Role::tile, {Shape3{16, 16, 1}, Shape3{32, 32, 1}})
          .build();
};

int main() {
  register_kernel_class("mine", std::make_shared<NaiveF64>());
  std::vector<double> a(70 * 50), b(50 * 90), out(70 * 90);
  const GemmArguments gemm(TensorView::row_major(a.data(), Dtype::f64, {70, 50}),
                           TensorView::column_major(b.data(), Dtype::f64, {50, 90}),
                           TensorView::row_major(out.data(), Dtype::f64, {70, 90}), Dtype::f64);
  fill_random(gemm.a().tensor(), 1);
  fill_random(gemm.b().tensor(), 2);
  const KernelList kernels = get_kernels(gemm, {.providers = {"mine"}});
  for (const Kernel& kernel : kernels) {
    std::fill(out.begin(), out.end(), -1.0);
    kernel.run(gemm);
    const CheckResult result = check_output(gemm);
    std::printf("%s: error %.1e\n", kernel.name().c_str(), result.error);
    if (!result.passed) return 1;
  }
  return kernels.size() == 2 ? 0 : 1;
}
