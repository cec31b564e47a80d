// Kernel classes simt_scaled_gemm, simt_scaled_quantised_gemm and simt_scaled_grouped_gemm:
// quantised operands with scales of blocks, on the ordinary units.
#include "providers/cuda/simt_scaled_gemm.h"

#include <fmt/core.h>

#include "core/architectures.h"
#include "estoc/abi/simt_scaled_grouped_gemm.cuh"
#include "operations/gemm/dequantised.h"
#include "operations/grouped_gemm/lowering.h"
#include "providers/cuda/gemm_class.h"
#include "providers/cuda/groups.h"
#include "providers/cuda/prepare.h"
#include "providers/cuda/simt_gemm.h"

namespace estoc::cuda {
namespace {

// K is contiguous and read by words, or strides are any.
constexpr int kWordBytes = 4;

bool scaled_alignments_follow_layouts(const DesignPoint& p) {
  const int wanted = p.value(Role::layouts).text[0] == 'x' ? 1 : kWordBytes;
  return p.integer(Role::a_alignment) == wanted && p.integer(Role::b_alignment) == wanted;
}

bool scaled_tile_fits(const DesignPoint& p) {
  return p.value(Role::layouts).text[0] != 'x' || p.shape(Role::tile).m == 32;
}

std::shared_ptr<const DesignSpace> scaled_space(bool quantised) {
  const auto plain_out = {Dtype::f32, Dtype::f16, Dtype::bf16};
  const auto quantised_out = {Dtype::e4m3, Dtype::e5m2, Dtype::e2m1};
  const auto operands = {Dtype::e4m3, Dtype::e5m2, Dtype::e2m1, Dtype::i8};
  return DesignSpace::Builder{}
      .dtypes(Role::a_dtype, operands)
      .dtypes(Role::b_dtype, operands)
      .dtypes(Role::accumulator_type, {Dtype::f32})
      .dtypes(Role::out_dtype, quantised ? quantised_out : plain_out)
      .layouts({"tnx", "xxx"})
      .alignments(Role::a_alignment, {kWordBytes, 1})
      .alignments(Role::b_alignment, {kWordBytes, 1})
      .shapes(Role::tile, {{64, 64, 16}, {32, 32, 16}})
      .require({"layouts", "align_a", "align_b"}, scaled_alignments_follow_layouts)
      // What a thread reads of larger tiles does not fit into its registers.
      .require({"layouts", "tile"}, scaled_tile_fits)
      .build();
}

/// What the classes have in common.
template <typename Parameters>
class ScaledClass : public ConfiguredGemm<abi::SimtScaledGemmConfig, Parameters> {
 public:
  using Base = ConfiguredGemm<abi::SimtScaledGemmConfig, Parameters>;
  using Decoded = GemmKernel<abi::SimtScaledGemmConfig>;

  ScaledClass(std::string_view device_name, std::string_view type_name, bool quantised)
      : Base(device_name, type_name), space_(scaled_space(quantised)) {}

  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  bool takes_block_scales() const override { return true; }

 protected:
  abi::SimtGemmConfig config_of(const DesignPoint& point) const override {
    return simt_config(point);
  }
  GemmLimits limits() const override { return {}; }

  Status check_epilogue(const Decoded& kernel, Target target) const override {
    return check_simt_epilogue(kernel.config, *kernel.epilogue, target);
  }

  void add_cost(const abi::SimtGemmConfig& config, const GemmProblem& /*problem*/,
                const PerformanceControls& /*controls*/, const cost::DeviceModel& device,
                cost::Plan& plan) const override {
    plan.family = cost::Family::simt;
    plan.design = simt_design(config, plan.work, device);
    plan.design.copy_bytes = config.a_vectors == abi::Vectors::none ? 1 : kWordBytes;
  }

  static abi::SimtScaledGemmParameters product_parameters(const abi::SimtGemmConfig& config,
                                                          const GemmProblem& problem) {
    auto p = tile_parameters<abi::SimtScaledGemmParameters>(config, problem, kSimtGroup);
    p.a_scales = device_scales(problem.a.scales);
    p.b_scales = device_scales(problem.b.scales);
    return p;
  }

  PartCounts part_counts(const abi::SimtGemmConfig& config, std::int64_t m,
                         std::int64_t n) const override {
    return simt_part_counts(config, m, n);
  }

  std::string sums_of(const DesignPoint& point) const override {
    return fmt::format("fma of scaled {} x {}", dtype_name(point.dtype(Role::a_dtype)),
                       dtype_name(point.dtype(Role::b_dtype)));
  }
  std::string_view least_ctas(bool fused) const override { return fused ? "1" : "kConfig.ctas()"; }

 private:
  std::shared_ptr<const DesignSpace> space_;
};

class SimtScaledGemm final : public ScaledClass<abi::SimtScaledGemmParameters> {
 public:
  explicit SimtScaledGemm(bool quantised)
      : ScaledClass("simt_scaled_gemm", "SimtScaledGemm", quantised), quantises_(quantised) {}

  std::string_view name() const override {
    return quantises_ ? "simt_scaled_quantised_gemm" : "simt_scaled_gemm";
  }
  bool quantises() const override { return quantises_; }

 protected:
  abi::SimtGemmConfig config_of(const DesignPoint& point) const override {
    abi::SimtGemmConfig config = simt_config(point);
    if (quantises_) config.out = abi::Type::f32;
    return config;
  }
  std::vector<std::string> shared_headers() const override {
    if (!quantises_) return ScaledClass::shared_headers();
    return {device_name(), "quantise"};
  }
  void add_entries(const DesignPoint& point, const EpilogueGraph* epilogue,
                   CudaCode& code) const override {
    if (!quantises_) return;
    const bool reduces = epilogue != nullptr && !epilogue->reduced.empty();
    add_quantise_entry(point.dtype(Role::out_dtype), reduces, code);
  }
  Status check_any(const GemmArguments& gemm) const override {
    return operations::check_dequantised(gemm);
  }
  Status check(const DesignPoint& /*point*/, const GemmArguments& gemm,
               Target /*target*/) const override {
    return check_any(gemm);
  }
  abi::SimtScaledGemmParameters parameters(const abi::SimtGemmConfig& config,
                                           const GemmLaunch& launch) const override {
    return product_parameters(config, launch.problem);
  }

 private:
  bool quantises_;
};

class SimtScaledGroupedGemm final : public ScaledClass<abi::SimtScaledGroupedGemmParameters> {
 public:
  SimtScaledGroupedGemm()
      : ScaledClass("simt_scaled_grouped_gemm", "SimtScaledGroupedGemm", false) {}

  std::string_view name() const override { return "simt_scaled_grouped_gemm"; }
  Operation operation() const override { return Operation::grouped_gemm; }

 protected:
  Status check(const DesignPoint& /*point*/, const GemmArguments& /*gemm*/,
               Target /*target*/) const override {
    return Status::success();
  }
  Status check_groups(const DesignPoint& point, const RuntimeArguments& arguments) const override {
    const auto& grouped = static_cast<const GroupedGemmArguments&>(arguments);
    if (Status status = operations::check_dequantised(grouped); !status.ok()) return status;
    const GemmProblem problem =
        operations::lower_product(arguments, operations::Orientation::as_given);
    const bool words = point.value(Role::layouts).text[0] != 'x';
    if (problem.mapping == operations::Mapping::reduction && words) {
      return Status::fail(Reason::layout,
                          "A.layout: expected a kernel of any strides (x) where K is divided, got "
                          "one of t");
    }
    return check_simt_groups(point, problem);
  }
  abi::SimtScaledGroupedGemmParameters parameters(const abi::SimtGemmConfig& config,
                                                  const GemmLaunch& launch) const override {
    abi::SimtScaledGroupedGemmParameters p{product_parameters(config, launch.problem),
                                           device_groups(launch.problem)};
    set_grouped_tiles(launch.problem, config, p.tiles_m, p.tiles_n);
    return p;
  }
};

}  // namespace

std::shared_ptr<const KernelClass> make_simt_scaled_gemm() {
  return std::make_shared<SimtScaledGemm>(false);
}

std::shared_ptr<const KernelClass> make_simt_scaled_grouped_gemm() {
  return std::make_shared<SimtScaledGroupedGemm>();
}

std::shared_ptr<const KernelClass> make_simt_scaled_quantised_gemm() {
  return std::make_shared<SimtScaledGemm>(true);
}

}  // namespace estoc::cuda
