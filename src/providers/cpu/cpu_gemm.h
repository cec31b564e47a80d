// The kernel classes cpu_gemm, cpu_grouped_gemm and those of scaled operands: products on the host.
#pragma once

#include <utility>

#include "estoc/kernel_class.hpp"

namespace estoc::cpu {

/// One kernel for each combination of dtypes; any strides, any size. docs/cpu_provider.md lists the
/// combinations and says how sums are made.
class CpuGemm : public KernelClass {
 public:
  /// For gemm or grouped_gemm.
  explicit CpuGemm(Operation operation);

  std::string_view name() const override {
    return operation_ == Operation::gemm ? "cpu_gemm" : "cpu_grouped_gemm";
  }
  bool takes_pairs() const override { return true; }
  TakesPointers takes_pointers() const override {
    return operation_ == Operation::gemm ? TakesPointers::never : TakesPointers::also;
  }
  TakesRows takes_rows() const override {
    return operation_ == Operation::gemm ? TakesRows::never : TakesRows::also;
  }
  Operation operation() const override { return operation_; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override;
  Status supports(const DesignPoint& point, const RuntimeArguments& arguments,
                  Target target) const override;
  Status supports_epilogue(const DesignPoint& point, const EpilogueGraph& epilogue,
                           Target target) const override;
  std::string summation(const DesignPoint& point, const EpilogueGraph* epilogue) const override;
  std::optional<Prediction> predict(const DesignPoint& point, const RuntimeArguments& arguments,
                                    Target target) const override;
  /// Throws std::bad_alloc when there is no memory for the panels.
  std::unique_ptr<Launch> bind(const DesignPoint& point, const Knobs& knobs,
                               const RuntimeArguments& arguments,
                               std::shared_ptr<const CompiledObject> object,
                               const BindOptions& options) const override;

 protected:
  CpuGemm(Operation operation, std::shared_ptr<const DesignSpace> space)
      : operation_(operation), space_(std::move(space)) {}

 private:
  Operation operation_;
  std::shared_ptr<const DesignSpace> space_;
};

/// The same for quantised operands with scales of blocks, and for scaled ones of 4 bits: elements
/// are multiplied by their scales in f32 while panels are read.
class CpuScaledGemm final : public CpuGemm {
 public:
  /// For gemm or grouped_gemm.
  explicit CpuScaledGemm(Operation operation);

  std::string_view name() const override {
    return operation() == Operation::gemm ? "cpu_scaled_gemm" : "cpu_scaled_grouped_gemm";
  }
  bool takes_block_scales() const override { return true; }
  TakesPointers takes_pointers() const override { return TakesPointers::never; }
  TakesRows takes_rows() const override { return TakesRows::never; }
  Status supports_any(const RuntimeArguments& arguments) const override;
  Status supports(const DesignPoint& point, const RuntimeArguments& arguments,
                  Target target) const override;
};

}  // namespace estoc::cpu
