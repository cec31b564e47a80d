// An `estoc` with a custom kernel class, written in CUDA C++ and compiled by the library.
// `cuda_source_kernel check plain_gemm-f32-tile16x16x1` compiles it, runs it where it can, checks
// it.
#include "estoc/command.hpp"
#include "estoc/estoc.hpp"

using namespace estoc;  // NOLINT: an example reads better so
// The implementation: each thread computes one element of out, whatever the strides.
constexpr const char* kSource = R"(
struct Matrix { float* data; long long rows, columns, row_stride, column_stride, batch_stride; };

extern "C" __global__ void plain_gemm(Matrix a, Matrix b, Matrix out) {
  const long long i = blockIdx.x * (long long)TILE + threadIdx.y;
  const long long j = blockIdx.y * (long long)TILE + threadIdx.x;
  if (i >= out.rows || j >= out.columns) return;
  const float* x = a.data + blockIdx.z * a.batch_stride + i * a.row_stride;
  const float* y = b.data + blockIdx.z * b.batch_stride + j * b.column_stride;
  float sum = 0;
  for (long long k = 0; k < a.columns; ++k) sum += x[k * a.column_stride] * y[k * b.row_stride];
  out.data[blockIdx.z * out.batch_stride + i * out.row_stride + j * out.column_stride] = sum;
}
)";

struct Matrix {  // as the CUDA code declares it
  const void* data;
  std::int64_t rows, columns, row_stride, column_stride, batch_stride;
};

Matrix matrix_of(const MatrixView& m) {
  return {m.data, m.rows, m.columns, m.row_stride, m.column_stride, m.batch_stride};
}

// The interface: which kernels there are, what their code is, and how one is launched.
class PlainGemm final : public CudaKernelClass {
 public:
  std::string_view name() const override { return "plain_gemm"; }
  Operation operation() const override { return Operation::gemm; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }

  Status supports(const DesignPoint& point, const RuntimeArguments& arguments,
                  Target) const override {
    const auto [m, n, k, l] = dynamic_cast<const GemmArguments&>(arguments).extents();
    if (n / tile(point) < 65535 && l <= 65535) return Status::success();
    return Status::fail(Reason::shape, "out.shape: expected a grid of at most 65535 tiles a side");
  }

  CudaCode code(const DesignPoint& point, Target /*target*/) const override {
    return {.source = "#define TILE " + std::to_string(tile(point)) + kSource,
            .image = {},
            .entries = {"plain_gemm"}};
  }

  void plan(const DesignPoint& point, const Knobs& /*knobs*/, const RuntimeArguments& arguments,
            const Workspace& /*workspace*/, LaunchPlan& plan) const override {
    const auto& gemm = dynamic_cast<const GemmArguments&>(arguments);
    const auto [m, n, k, l] = gemm.extents();
    if (m == 0 || n == 0 || l == 0) return;
    auto tiles = [&](auto extent) { return static_cast<unsigned>((extent - 1) / tile(point) + 1); };
    plan.kernel({.grid = {tiles(m), tiles(n), static_cast<unsigned>(l)},
                 .block = {tile(point), tile(point), 1}},
                matrix_of(gemm.a_matrix()), matrix_of(gemm.b_matrix()),
                matrix_of(gemm.out_matrix()));
  }

 private:
  static unsigned tile(const DesignPoint& point) {
    return static_cast<unsigned>(point.shape(Role::tile).m);
  }
  std::shared_ptr<const DesignSpace> space_ =
      DesignSpace::Builder()
          .dtypes(Role::a_dtype, {Dtype::f32})
          .shapes(Role::tile, {Shape3{8, 8, 1}, Shape3{16, 16, 1}})
          .build();
};

int main(int argc, char** argv) {
  register_kernel_class("mine", std::make_shared<PlainGemm>());
  return run_command(argc, argv);
}
