// Kernel classes simt_scaled_gemm and simt_scaled_quantised_gemm: quantised operands with scales of
// blocks, on the ordinary units.
#include "providers/cuda/simt_scaled_gemm.h"

#include <fmt/core.h>

#include "core/architectures.h"
#include "estoc/abi/simt_scaled_gemm.cuh"
#include "operations/gemm/dequantised.h"
#include "providers/cuda/gemm_class.h"
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

class SimtScaledGemm final
    : public ConfiguredGemm<abi::SimtScaledGemmConfig, abi::SimtScaledGemmParameters> {
 public:
  explicit SimtScaledGemm(bool quantised)
      : ConfiguredGemm("simt_scaled_gemm", "SimtScaledGemm"),
        quantises_(quantised),
        space_(scaled_space(quantised)) {}

  std::string_view name() const override {
    return quantises_ ? "simt_scaled_quantised_gemm" : "simt_scaled_gemm";
  }
  bool quantises() const override { return quantises_; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  bool takes_block_scales() const override { return true; }

 protected:
  abi::SimtGemmConfig config_of(const DesignPoint& point) const override {
    abi::SimtGemmConfig config = simt_config(point);
    if (quantises_) config.out = abi::Type::f32;
    return config;
  }
  std::vector<std::string> shared_headers() const override {
    if (!quantises_) return ConfiguredGemm::shared_headers();
    return {device_name(), "quantise"};
  }
  void add_entries(const DesignPoint& point, const EpilogueGraph* epilogue,
                   CudaCode& code) const override {
    if (!quantises_) return;
    const bool reduces = epilogue != nullptr && !epilogue->reduced.empty();
    add_quantise_entry(point.dtype(Role::out_dtype), reduces, code);
  }
  GemmLimits limits() const override { return {}; }

  Status check_any(const GemmArguments& gemm) const override {
    return operations::check_dequantised(gemm);
  }
  Status check(const DesignPoint& /*point*/, const GemmArguments& gemm,
               Target /*target*/) const override {
    return check_any(gemm);
  }

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

  abi::SimtScaledGemmParameters parameters(const abi::SimtGemmConfig& config,
                                           const GemmLaunch& launch) const override {
    const GemmProblem& problem = launch.problem;
    return {.a = device_matrix(problem.a.view),
            .b = device_matrix(problem.b.view),
            .out = device_matrix(problem.out.view),
            .a_scales = device_scales(problem.a.scales),
            .b_scales = device_scales(problem.b.scales),
            .m = problem.m,
            .n = problem.n,
            .k = problem.k,
            .l = problem.l,
            .tiles_m = static_cast<unsigned>(ceil_div(problem.m, config.tile_m)),
            .tiles_n = static_cast<unsigned>(ceil_div(problem.n, config.tile_n)),
            .group = 8};
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
  bool quantises_;
  std::shared_ptr<const DesignSpace> space_;
};

}  // namespace

std::shared_ptr<const KernelClass> make_simt_scaled_gemm() {
  return std::make_shared<SimtScaledGemm>(false);
}

std::shared_ptr<const KernelClass> make_simt_scaled_quantised_gemm() {
  return std::make_shared<SimtScaledGemm>(true);
}

}  // namespace estoc::cuda
