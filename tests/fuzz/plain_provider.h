// The kernel class that the fuzz target of the C interface finds: plain loops, with a workspace.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "estoc/arguments.hpp"
#include "estoc/kernel_class.hpp"

namespace estoc {
inline constexpr std::array kPlainTargets{Target::cpu(), Target::sm(90, true)};

/// out = A @ B of f32, by plain loops, with a workspace that is written.
class PlainLaunch final : public Launch {
 public:
  PlainLaunch(const GemmArguments& gemm, Workspace workspace)
      : gemm_(gemm), workspace_(workspace) {}

  void launch(void* /*stream*/) override {
    if (workspace_.bytes > 0) std::memset(workspace_.data, 1, workspace_.bytes);
    const GemmExtents& extents = gemm_.extents();
    for (std::int64_t l = 0; l < extents.l; ++l)
      for (std::int64_t i = 0; i < extents.m; ++i)
        for (std::int64_t j = 0; j < extents.n; ++j) {
          float sum = 0;
          for (std::int64_t k = 0; k < extents.k; ++k)
            sum += at(gemm_.a_matrix(), l, i, k) * at(gemm_.b_matrix(), l, k, j);
          at(gemm_.out_matrix(), l, i, j) = sum;
        }
  }

 private:
  static float& at(const MatrixView& x, std::int64_t l, std::int64_t i, std::int64_t j) {
    return static_cast<float*>(x.data)[l * x.batch_stride + i * x.row_stride + j * x.column_stride];
  }

  GemmArguments gemm_;
  Workspace workspace_;
};

class PlainGemm final : public KernelClass {
 public:
  std::string_view name() const override { return "plain_gemm"; }
  Operation operation() const override { return Operation::gemm; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override { return kPlainTargets; }
  std::size_t workspace_size(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
                             const RuntimeArguments& /*arguments*/) const override {
    return 64;
  }
  std::unique_ptr<Launch> bind(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
                               const RuntimeArguments& arguments,
                               std::shared_ptr<const CompiledObject> /*object*/,
                               const BindOptions& options) const override {
    return std::make_unique<PlainLaunch>(dynamic_cast<const GemmArguments&>(arguments),
                                         options.workspace);
  }

 private:
  std::shared_ptr<const DesignSpace> space_ = DesignSpace::Builder()
                                                  .dtypes(Role::a_dtype, {Dtype::f32})
                                                  .choices("kind", {"one", "other"})
                                                  .build();
};

class PlainProvider final : public Provider {
 public:
  std::string_view name() const override { return "plain"; }
  std::vector<std::shared_ptr<const KernelClass>> classes() const override {
    return {std::make_shared<PlainGemm>()};
  }
};

}  // namespace estoc
