// Kernel class sm100_gemm and those of the same code: TMA, tcgen05 with sums in tensor memory,
// warp-specialised and persistent.
#include "providers/cuda/sm100_gemm.h"

#include <fmt/core.h>

#include <array>

#include "estoc/arguments.hpp"
#include "operations/gemm/dequantised.h"
#include "providers/cuda/copied_operands.h"
#include "providers/cuda/gemm_class.h"
#include "providers/cuda/prepare.h"
#include "providers/cuda/sm100_launch.h"
#include "providers/cuda/sm100_space.h"
#include "providers/cuda/sm90_epilogue.h"
#include "providers/cuda/tails.h"
#include "providers/cuda/tma_operand.h"

namespace estoc::cuda {
namespace {

using abi::Sm100GemmConfig;
using abi::Sm100GemmParameters;

constexpr std::string_view kSm100FusedEntry =
    R"(using FusedMaps = estoc::epilogue::MappedFused<Epilogue>::Maps;
extern "C" __global__ void __launch_bounds__(kConfig.threads(), 1)
estoc_kernel(const __grid_constant__ Sm100GemmParameters parameters,
             const __grid_constant__ Epilogue::Parameters epilogue,
             const __grid_constant__ FusedMaps maps) {
  estoc::sm100_gemm<kConfig>(parameters,
                             estoc::epilogue::MappedFused<Epilogue>{epilogue, maps});
}
)";

class Sm100Gemm final : public ConfiguredGemm<Sm100GemmConfig, Sm100GemmParameters> {
 public:
  explicit Sm100Gemm(Sm100Kind kind)
      : ConfiguredGemm("sm100_gemm", "Sm100Gemm"), kind_(kind), space_(make_sm100_space(kind)) {}

  std::string_view name() const override {
    constexpr std::array<std::string_view, 5> kNames{"sm100_gemm", "sm100_prepared_gemm",
                                                     "sm100_i8_gemm", "sm100_dequantised_gemm",
                                                     "sm100_dynamic_gemm"};
    return kNames[static_cast<std::size_t>(kind_)];
  }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override {
    return std::span<const Target>(kSm100Targets)
        .first(kind_ == Sm100Kind::integer ? 1 : kSm100Targets.size());
  }
  bool takes_block_scales() const override { return kind_ == Sm100Kind::dequantised; }

 protected:
  Sm100GemmConfig config_of(const DesignPoint& point) const override { return sm100_config(point); }
  Sm100GemmConfig fused(const Sm100GemmConfig& config, const EpilogueGraph& epilogue,
                        bool transposed) const override {
    return fused_config(config, epilogue, transposed);
  }
  bool is_transposed(const DesignPoint& point) const override { return is_column_major(point); }

  GemmLimits limits() const override {
    return {
        .extent = kSm100Most, .batches = kSm100Most, .tiles = kSm100Most, .all_tiles = kSm100Most};
  }

  Status check_any(const GemmArguments& gemm) const override {
    if (kind_ == Sm100Kind::dequantised) return operations::check_dequantised_as_bf16(gemm);
    return kind_ == Sm100Kind::prepared ? check_any_copied(gemm) : Status::success();
  }
  bool looks_at_operands_alone(Target /*target*/) const override { return true; }
  Status check(const DesignPoint& point, const GemmArguments& gemm,
               Target /*target*/) const override {
    const OperandPlanes planes = operand_planes(point, gemm);
    Status status = kind_ == Sm100Kind::dequantised ? check_any(gemm)
                    : is_copied(point, 0)           ? check_copied(gemm, false)
                                                    : check_tma_strides(planes.a);
    if (status.ok() && kind_ != Sm100Kind::dequantised) {
      status = is_copied(point, 1) ? check_copied(gemm, true) : check_tma_strides(planes.b);
    }
    if (!status.ok() || point.integer(Role::out_alignment) != 16) return status;
    status = check_tma_strides(planes.out);
    return status.ok() ? check_tma_rows(planes.out) : status;
  }

  Status check_epilogue(const Decoded& kernel, Target /*target*/) const override {
    return check_room(kernel.config, *kernel.epilogue, kernel.transposed);
  }

  void add_cost(const Sm100GemmConfig& config, const GemmProblem& problem,
                const PerformanceControls& controls, const cost::DeviceModel& device,
                cost::Plan& plan) const override {
    if (kind_ == Sm100Kind::dequantised) count_dequantised(plan.work);
    plan.family = cost::Family::sm90;
    plan.design = sm100_design(config, plan.work);
    cost::set_knobs(plan, sm100_knobs(config, problem));
    split_sm100(config, controls, device, plan);
  }

  bool copies_operands() const override {
    return kind_ == Sm100Kind::prepared || kind_ == Sm100Kind::dequantised;
  }
  OperandCopies copies(const DesignPoint& point, const GemmProblem& problem) const override {
    if (kind_ == Sm100Kind::dequantised) return OperandCopies::dequantised(problem);
    if (kind_ != Sm100Kind::prepared) return {};
    const bool transposed = problem.transposed;
    return {problem, is_copied(point, transposed ? 1 : 0), is_copied(point, transposed ? 0 : 1)};
  }
  std::vector<std::string> shared_headers() const override {
    if (!copies_operands()) return ConfiguredGemm::shared_headers();
    return {device_name(), kind_ == Sm100Kind::dequantised ? "dequantise" : "prepare"};
  }
  void add_entries(const DesignPoint& point, const EpilogueGraph* epilogue,
                   CudaCode& code) const override {
    if (epilogue == nullptr || epilogue->reduced.empty()) {
      code.source += sums_source("sm100", type_name(), epilogue);
      code.entries.emplace_back("estoc_sum_parts");
    }
    if (kind_ == Sm100Kind::dequantised) add_dequantise_entry(point, is_transposed(point), code);
    if (kind_ == Sm100Kind::prepared) add_prepare_entry(point, false, code);
  }

  Sm100GemmParameters parameters(const Sm100GemmConfig& config,
                                 const GemmLaunch& launch) const override {
    Sm100GemmParameters p = sm100_operands(config, launch);
    const Tail tail = tail_of(config, launch.gemm, launch.problem, launch.knobs);
    add_tail(config, tail, cluster_tiles(config, launch.problem), launch.workspace, p);
    return p;
  }

  std::size_t sums_workspace(const Sm100GemmConfig& config, const GemmArguments& gemm,
                             const GemmProblem& problem, const Knobs& knobs) const override {
    return static_cast<std::size_t>(tail_bytes(config, tail_of(config, gemm, problem, knobs)));
  }
  bool add_sums(const Sm100GemmConfig& config, const Sm100GemmParameters& p,
                LaunchPlan& plan) const override {
    return add_sums_kernel(config, p, plan);
  }

  CudaGeometry geometry(const Sm100GemmConfig& config, const Sm100GemmParameters& p,
                        const PlanDevice& device) const override {
    return sm100_geometry(config, p, device);
  }

  PartCounts part_counts(const Sm100GemmConfig& config, std::int64_t m,
                         std::int64_t n) const override {
    return tile_part_counts(config, m, n);
  }
  void add_epilogue(const Sm100GemmConfig& config, const EpilogueView& view,
                    const PartCounts& parts, const Workspace& workspace, bool empty,
                    LaunchPlan& plan) const override {
    add_mapped_epilogue(config, view, parts, workspace, empty, plan);
  }

  std::string sums_of(const DesignPoint& point) const override {
    if (kind_ == Sm100Kind::dequantised) return "tcgen05 bf16 x bf16";
    // Each product of an instruction is of 32 bytes of K, whatever the tile.
    return fmt::format("tcgen05 {} x {}", dtype_name(point.dtype(Role::a_dtype)),
                       dtype_name(point.dtype(Role::b_dtype)));
  }
  std::string fused_entry() const override { return std::string(kSm100FusedEntry); }

 private:
  Sm100Kind kind_;
  std::shared_ptr<const DesignSpace> space_;
};

}  // namespace

std::shared_ptr<const KernelClass> make_sm100_gemm() {
  return std::make_shared<Sm100Gemm>(Sm100Kind::plain);
}

std::shared_ptr<const KernelClass> make_sm100_prepared_gemm() {
  return std::make_shared<Sm100Gemm>(Sm100Kind::prepared);
}

std::shared_ptr<const KernelClass> make_sm100_i8_gemm() {
  return std::make_shared<Sm100Gemm>(Sm100Kind::integer);
}

std::shared_ptr<const KernelClass> make_sm100_dynamic_gemm() {
  return std::make_shared<Sm100Gemm>(Sm100Kind::dynamic);
}

std::shared_ptr<const KernelClass> make_sm100_dequantised_gemm() {
  return std::make_shared<Sm100Gemm>(Sm100Kind::dequantised);
}

}  // namespace estoc::cuda
