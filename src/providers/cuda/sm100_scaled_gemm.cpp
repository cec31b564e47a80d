// Kernel class sm100_scaled_gemm: operands with scales of blocks along K, which tcgen05 multiplies
// by; the rest is as in sm100_gemm.
#include "providers/cuda/sm100_scaled_gemm.h"

#include <fmt/core.h>

#include "estoc/arguments.hpp"
#include "providers/cuda/copied_operands.h"
#include "providers/cuda/gemm_class.h"
#include "providers/cuda/prepare.h"
#include "providers/cuda/sm100_launch.h"
#include "providers/cuda/sm100_scaled_space.h"
#include "providers/cuda/sm90_epilogue.h"
#include "providers/cuda/tails.h"
#include "providers/cuda/tensor_map.h"
#include "providers/cuda/tma_operand.h"

namespace estoc::cuda {
namespace {

using abi::Sm100ScaledGemmConfig;
using abi::Sm100ScaledGemmParameters;
using operations::BlockScales;

constexpr std::int64_t kScaleTileBytes = 512;

constexpr std::string_view kScaledFusedEntry =
    R"(using FusedMaps = estoc::epilogue::MappedFused<Epilogue>::Maps;
extern "C" __global__ void __launch_bounds__(kConfig.threads(), 1)
estoc_kernel(const __grid_constant__ Sm100ScaledGemmParameters parameters,
             const __grid_constant__ Epilogue::Parameters epilogue,
             const __grid_constant__ FusedMaps maps) {
  estoc::sm100_scaled_gemm<kConfig>(parameters,
                                    estoc::epilogue::MappedFused<Epilogue>{epilogue, maps});
}
)";

Status check_scaled_mode(const Operand& operand, const char* name) {
  const ScaledTensor* const scaled = operand.scaled();
  const bool fits = scaled != nullptr && (scaled->mode == ScaleMode::blockwise_1x32 ||
                                          scaled->mode == ScaleMode::blockwise_1x16);
  if (fits) return Status::success();
  return Status::fail(
      Reason::dtype, fmt::format("{}.scale: expected blockwise_1x32 or blockwise_1x16, got {}",
                                 name, scaled != nullptr ? scale_mode_name(scaled->mode) : "none"));
}

/// TMA reads scales that are not copied first.
Status check_scale_address(const Operand& operand, const char* name) {
  const TensorView& scale = operand.scaled()->scale;
  const bool read = operand.scaled()->swizzle != ScaleSwizzle::none;
  const auto address = reinterpret_cast<std::uintptr_t>(scale.data());
  if (!read || address % 16 == 0) return Status::success();
  return Status::fail(Reason::alignment,
                      fmt::format("{}.scale: expected an address that is a multiple of 16 bytes, "
                                  "got {}",
                                  name, address % 16));
}

Status check_bytes(const MatrixView& view, bool k_is_rows, const char* name) {
  const std::int64_t k = k_is_rows ? view.rows : view.columns;
  const std::int64_t step = k_is_rows ? view.column_stride : view.row_stride;
  if (is_packed(view.dtype) && (k % 2 != 0 || step % 2 != 0 || view.batch_stride % 2 != 0)) {
    return Status::fail(Reason::shape,
                        fmt::format("{}: expected rows of whole bytes along K, got k={}", name, k));
  }
  const MatrixView bytes = as_bytes(view, k_is_rows);
  return check_tma_strides({name, bytes, k_is_rows});
}

class Sm100ScaledGemm final
    : public ConfiguredGemm<Sm100ScaledGemmConfig, Sm100ScaledGemmParameters> {
 public:
  Sm100ScaledGemm() : ConfiguredGemm("sm100_scaled_gemm", "Sm100ScaledGemm") {}

  std::string_view name() const override { return "sm100_scaled_gemm"; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override { return kSm100Targets; }
  bool takes_block_scales() const override { return true; }

 protected:
  Sm100ScaledGemmConfig config_of(const DesignPoint& point) const override {
    return sm100_scaled_config(point);
  }
  Sm100ScaledGemmConfig fused(const Sm100ScaledGemmConfig& config, const EpilogueGraph& epilogue,
                              bool transposed) const override {
    return fused_config(config, epilogue, transposed);
  }
  bool is_transposed(const DesignPoint& point) const override { return is_column_major(point); }

  GemmLimits limits() const override {
    return {
        .extent = kSm100Most, .batches = kSm100Most, .tiles = kSm100Most, .all_tiles = kSm100Most};
  }

  Status check_any(const GemmArguments& gemm) const override {
    Status status = check_scaled_mode(gemm.a(), "A");
    if (status.ok()) status = check_scaled_mode(gemm.b(), "B");
    if (!status.ok() || gemm.a().scaled()->mode == gemm.b().scaled()->mode) return status;
    return Status::fail(Reason::dtype,
                        "B.scale: expected the mode that A's scales have, got another");
  }
  Status check(const DesignPoint& point, const GemmArguments& gemm,
               Target /*target*/) const override {
    if (Status status = check_any(gemm); !status.ok()) return status;
    if (gemm.a().scaled()->mode != sm100_scale_mode(point)) {
      // Most kernels of a search fail here: nothing is formatted.
      return Status::fail(Reason::dtype, "A.scale: expected the mode that the kernel is for");
    }
    Status status = check_bytes(gemm.a_matrix(), false, "A");
    if (status.ok()) status = check_bytes(gemm.b_matrix(), true, "B");
    if (status.ok()) status = check_scale_address(gemm.a(), "A");
    if (status.ok()) status = check_scale_address(gemm.b(), "B");
    if (!status.ok() || point.integer(Role::out_alignment) != 16) return status;
    const OperandPlanes planes = operand_planes(point, gemm);
    status = check_tma_strides(planes.out);
    return status.ok() ? check_tma_rows(planes.out) : status;
  }
  Status check_epilogue(const Decoded& kernel, Target /*target*/) const override {
    return check_room(kernel.config, *kernel.epilogue, kernel.transposed);
  }

  void add_cost(const Sm100ScaledGemmConfig& config, const GemmProblem& problem,
                const PerformanceControls& controls, const cost::DeviceModel& device,
                cost::Plan& plan) const override {
    plan.family = cost::Family::sm90;
    plan.design = sm100_design(config, plan.work);
    cost::set_knobs(plan, sm100_knobs(config, problem));
    split_sm100(config, controls, device, plan);
  }

  bool copies_operands() const override { return true; }
  OperandCopies copies(const DesignPoint& point, const GemmProblem& problem) const override {
    return OperandCopies::swizzled(problem, sm100_scaled_config(point).product().depth());
  }
  std::vector<std::string> shared_headers() const override {
    return {device_name(), "swizzle_scales"};
  }
  void add_entries(const DesignPoint& /*point*/, const EpilogueGraph* epilogue,
                   CudaCode& code) const override {
    if (epilogue == nullptr || epilogue->reduced.empty()) {
      code.source += sums_source("sm100", type_name(), epilogue);
      code.entries.emplace_back("estoc_sum_parts");
    }
    add_swizzle_entry(code);
  }

  Sm100ScaledGemmParameters parameters(const Sm100ScaledGemmConfig& config,
                                       const GemmLaunch& launch) const override {
    const GemmProblem& problem = launch.problem;
    Sm100ScaledGemmParameters p{sm100_operands(config, launch), {}, {}};
    const Tail tail = tail_of(config, launch.gemm, problem, launch.knobs);
    add_tail(config, tail, cluster_tiles(config, problem), launch.workspace, p);
    if (problem.k == 0) return p;
    const int words = config.scale_words();
    p.a_scales = scales_of(launch.device, problem.a.scales, problem.m, problem.l, words);
    p.b_scales = scales_of(launch.device, problem.b.scales, problem.n, problem.l, words);
    return p;
  }

  std::size_t sums_workspace(const Sm100ScaledGemmConfig& config, const GemmArguments& gemm,
                             const GemmProblem& problem, const Knobs& knobs) const override {
    return static_cast<std::size_t>(tail_bytes(config, tail_of(config, gemm, problem, knobs)));
  }
  bool add_sums(const Sm100ScaledGemmConfig& config, const Sm100ScaledGemmParameters& p,
                LaunchPlan& plan) const override {
    return add_sums_kernel(config, p, plan);
  }

  CudaGeometry geometry(const Sm100ScaledGemmConfig& config, const Sm100ScaledGemmParameters& p,
                        const PlanDevice& device) const override {
    return sm100_geometry(config, p, device);
  }

  PartCounts part_counts(const Sm100ScaledGemmConfig& config, std::int64_t m,
                         std::int64_t n) const override {
    return tile_part_counts(config, m, n);
  }
  void add_epilogue(const Sm100ScaledGemmConfig& config, const EpilogueView& view,
                    const PartCounts& parts, const Workspace& workspace, bool empty,
                    LaunchPlan& plan) const override {
    add_mapped_epilogue(config, view, parts, workspace, empty, plan);
  }

  std::string sums_of(const DesignPoint& point) const override {
    // Each product of an instruction is of 32 bytes of K, whatever the tile.
    return fmt::format("tcgen05 {} x {}, scales of {}", dtype_name(point.dtype(Role::a_dtype)),
                       dtype_name(point.dtype(Role::b_dtype)), point.value("blocks").text);
  }
  std::string fused_entry() const override { return std::string(kScaledFusedEntry); }

 private:
  /// Tiles of scales, in boxes of those of a stage along K.
  static abi::Sm100Scales scales_of(const PlanDevice& device, const BlockScales& scales,
                                    std::int64_t rows, std::int64_t batches, int words) {
    const bool batched = batches > 1 && scales.batch_stride != 0;
    const std::int64_t tiles = ceil_div(rows, 128) * scales.k_tiles;
    abi::Sm100Scales read{};
    read.tiles = static_cast<int>(scales.k_tiles);
    read.batched = batched;
    read.map = encode_tensor_map(
        device, {.operand = "scales",
                 .type = abi::Type::i32,
                 .address = reinterpret_cast<std::uintptr_t>(scales.data),
                 .extents = {kScaleTileBytes / 4, static_cast<std::uint64_t>(tiles),
                             static_cast<std::uint64_t>(batched ? batches : 1)},
                 .stride_bytes = {kScaleTileBytes,
                                  static_cast<std::uint64_t>(batched ? scales.batch_stride
                                                                     : kScaleTileBytes * tiles)},
                 .box = {kScaleTileBytes / 4, static_cast<std::uint32_t>(words), 1},
                 .swizzle_bytes = 0});
    return read;
  }

  std::shared_ptr<const DesignSpace> space_ = make_sm100_scaled_space();
};

}  // namespace

std::shared_ptr<const KernelClass> make_sm100_scaled_gemm() {
  return std::make_shared<Sm100ScaledGemm>();
}

}  // namespace estoc::cuda
