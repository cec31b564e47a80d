// An `estoc` that has a kernel class whose code is compiled already: a cubin, fatbin or PTX file.
// `cuda_image_kernel plain_gemm.ptx check ready_gemm-f32` runs and checks it.
#include <fstream>
#include <iostream>
#include <iterator>

#include "estoc/command.hpp"
#include "estoc/estoc.hpp"

using namespace estoc;  // NOLINT: an example reads better so

// What the kernel takes three of, by value, as its author documents it.
struct Matrix {
  const void* data;
  std::int64_t rows, columns, row_stride, column_stride, batch_stride;
};

Matrix matrix_of(const MatrixView& m) {
  return {m.data, m.rows, m.columns, m.row_stride, m.column_stride, m.batch_stride};
}

class ReadyGemm final : public CudaKernelClass {
 public:
  explicit ReadyGemm(std::string image) : image_(std::move(image)) {}

  std::string_view name() const override { return "ready_gemm"; }
  Operation operation() const override { return Operation::gemm; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }

  Status supports(const DesignPoint& /*point*/, const RuntimeArguments& arguments,
                  Target /*target*/) const override {
    const auto [m, n, k, l] = dynamic_cast<const GemmArguments&>(arguments).extents();
    if (n / kTile < 65535 && l <= 65535) return Status::success();
    return Status::fail(Reason::shape, "out.shape: expected a grid of at most 65535 tiles a side");
  }

  CudaCode code(const DesignPoint& /*point*/, Target /*target*/) const override {
    return {.source = {}, .image = image_, .entries = {"plain_gemm"}};
  }

  void plan(const DesignPoint& /*point*/, const Knobs& /*knobs*/, const RuntimeArguments& arguments,
            const Workspace& /*workspace*/, LaunchPlan& plan) const override {
    const auto& gemm = dynamic_cast<const GemmArguments&>(arguments);
    const auto [m, n, k, l] = gemm.extents();
    if (m == 0 || n == 0 || l == 0) return;
    auto tiles = [](auto extent) { return static_cast<unsigned>((extent - 1) / kTile + 1); };
    plan.kernel(
        {.grid = {tiles(m), tiles(n), static_cast<unsigned>(l)}, .block = {kTile, kTile, 1}},
        matrix_of(gemm.a_matrix()), matrix_of(gemm.b_matrix()), matrix_of(gemm.out_matrix()));
  }

 private:
  static constexpr unsigned kTile = 16;
  std::string image_;
  std::shared_ptr<const DesignSpace> space_ =
      DesignSpace::Builder().dtypes(Role::a_dtype, {Dtype::f32}).build();
};

int main(int argc, char** argv) {
  std::ifstream file(argc > 1 ? argv[1] : "", std::ios::binary);
  if (!file) {
    std::cerr << "usage: cuda_image_kernel FILE COMMAND..., FILE being a cubin, fatbin or PTX\n";
    return 2;
  }
  const std::string image{std::istreambuf_iterator<char>(file), {}};
  register_kernel_class("mine", std::make_shared<ReadyGemm>(image));
  return run_command(argc - 1, argv + 1);
}
