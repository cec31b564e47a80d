// Kernel classes sm100_grouped_gemm and sm100_swapped_grouped_gemm: the skeleton of sm100_gemm over
// tiles of groups.
#include "providers/cuda/sm100_grouped_gemm.h"

#include <fmt/core.h>

#include <span>

#include "estoc/abi/sm100_grouped_gemm.cuh"
#include "estoc/arguments.hpp"
#include "providers/cuda/gemm_class.h"
#include "providers/cuda/groups.h"
#include "providers/cuda/sm100_launch.h"
#include "providers/cuda/sm100_space.h"
#include "providers/cuda/sm90_epilogue.h"
#include "providers/cuda/sm90_launch.h"
#include "providers/cuda/tma_groups.h"

namespace estoc::cuda {
namespace {

using abi::GroupedMode;
using abi::Sm100GroupedGemmConfig;
using abi::Sm100GroupedGemmParameters;

class Sm100GroupedGemm final
    : public ConfiguredGemm<Sm100GroupedGemmConfig, Sm100GroupedGemmParameters> {
 public:
  explicit Sm100GroupedGemm(Sm100Kind kind)
      : ConfiguredGemm("sm100_grouped_gemm", "Sm100GroupedGemm"),
        swapped_(kind == Sm100Kind::swapped_grouped),
        space_(make_sm100_space(kind)) {}

  std::string_view name() const override {
    return swapped_ ? "sm100_swapped_grouped_gemm" : "sm100_grouped_gemm";
  }
  Operation operation() const override { return Operation::grouped_gemm; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override { return kSm100Targets; }

 protected:
  Sm100GroupedGemmConfig config_of(const DesignPoint& point) const override {
    return sm100_config(point);
  }
  Sm100GroupedGemmConfig fused(const Sm100GroupedGemmConfig& config, const EpilogueGraph& epilogue,
                               bool transposed) const override {
    return fused_config(config, epilogue, transposed);
  }
  bool is_transposed(const DesignPoint& point) const override { return sm100_is_transposed(point); }

  GemmLimits limits() const override {
    return {
        .extent = kSm100Most, .batches = kSm100Most, .tiles = kSm100Most, .all_tiles = kSm100Most};
  }

  Status check(const DesignPoint& /*point*/, const GemmArguments& /*gemm*/,
               Target /*target*/) const override {
    return Status::success();
  }

  /// Of the operands too: those of the product alone lack the groups' matrices.
  Status check_groups(const DesignPoint& point, const RuntimeArguments& arguments) const override {
    const Shape3 tile = point.shape(Role::tile);
    const Shape3 cluster = point.shape(Role::cluster);
    return check_tma_groups(point, arguments, {tile.m * cluster.m, tile.n * cluster.n, tile.k},
                            kSm100Most);
  }

  Status check_epilogue(const Decoded& kernel, Target /*target*/) const override {
    return check_room(kernel.config, *kernel.epilogue, kernel.transposed);
  }

  void add_cost(const Sm100GroupedGemmConfig& config, const GemmProblem& problem,
                const PerformanceControls& /*controls*/, const cost::DeviceModel& /*device*/,
                cost::Plan& plan) const override {
    plan.family = cost::Family::sm90;
    plan.design = sm100_design(config, plan.work);
    if (config.groups == GroupedMode::rows)
      plan.work.l *= uneven_tiles(plan.work.m, config.cluster_rows());
    if (config.groups == GroupedMode::columns)
      plan.work.l *= uneven_tiles(plan.work.n, config.cluster_columns());
    cost::set_knobs(plan, sm100_knobs(config, problem));
  }

  Sm100GroupedGemmParameters parameters(const Sm100GroupedGemmConfig& config,
                                        const GemmLaunch& launch) const override {
    Sm100GroupedGemmParameters p{sm100_operands(config, launch), device_groups(launch.problem)};
    p.items = static_cast<unsigned>(most_grouped_tiles(
        launch.problem, config.groups, config.cluster_rows(), config.cluster_columns()));
    p.undivided = p.items;
    p.tail_parts = 1;
    return p;
  }

  CudaGeometry geometry(const Sm100GroupedGemmConfig& config, const Sm100GroupedGemmParameters& p,
                        const PlanDevice& device) const override {
    return sm100_geometry(config, p, device);
  }

  PartCounts part_counts(const Sm100GroupedGemmConfig& config, std::int64_t m,
                         std::int64_t n) const override {
    return tile_part_counts(config, m, n);
  }
  void add_epilogue(const Sm100GroupedGemmConfig& config, const EpilogueView& view,
                    const PartCounts& parts, const Workspace& workspace, bool empty,
                    LaunchPlan& plan) const override {
    add_mapped_epilogue(config, view, parts, workspace, empty, plan);
  }

  std::string sums_of(const DesignPoint& point) const override {
    return fmt::format("tcgen05 {} x {}", dtype_name(point.dtype(Role::a_dtype)),
                       dtype_name(point.dtype(Role::b_dtype)));
  }
  std::string fused_entry() const override { return sm90_fused_entry(device_name(), type_name()); }

 private:
  bool swapped_;
  std::shared_ptr<const DesignSpace> space_;
};

}  // namespace

std::shared_ptr<const KernelClass> make_sm100_grouped_gemm() {
  return std::make_shared<Sm100GroupedGemm>(Sm100Kind::grouped);
}

std::shared_ptr<const KernelClass> make_sm100_swapped_grouped_gemm() {
  return std::make_shared<Sm100GroupedGemm>(Sm100Kind::swapped_grouped);
}

}  // namespace estoc::cuda
