// Kernel classes sm90_grouped_gemm, sm90_scaled_grouped_gemm, their swapped forms and
// sm90_gathered_gemm: the skeleton of sm90_gemm over tiles of groups.
#include "providers/cuda/sm90_grouped_gemm.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "estoc/abi/sm90_gathered_gemm.cuh"
#include "estoc/abi/sm90_grouped_gemm.cuh"
#include "estoc/arguments.hpp"
#include "providers/cuda/gemm_class.h"
#include "providers/cuda/groups.h"
#include "providers/cuda/sm90_cost.h"
#include "providers/cuda/sm90_epilogue.h"
#include "providers/cuda/sm90_launch.h"
#include "providers/cuda/sm90_scales.h"
#include "providers/cuda/sm90_space.h"
#include "providers/cuda/tma_groups.h"

namespace estoc::cuda {
namespace {

using abi::GroupedMode;
using abi::Sm90GroupedGemmConfig;
using abi::Sm90GroupedGemmParameters;

constexpr std::array kGroupedTargets{Target::sm(90, true)};
// Of extents and of tiles, so that coordinates and counts are 32-bit numbers.
constexpr std::int64_t kMaxGrouped = (std::int64_t{1} << 28) - 1;
// Beyond so many rows a group, tiles that are not swapped are as narrow.
constexpr double kMaxSwappedRows = 64;
// That TMA takes for a box of one row: read off an H200's table.
constexpr double kClocksOfRow = 57;

/// What classes of products in groups have in common.
template <typename Parameters>
class Sm90Groups : public ConfiguredGemm<Sm90GroupedGemmConfig, Parameters> {
 public:
  using Decoded = GemmKernel<Sm90GroupedGemmConfig>;

  Sm90Groups(Sm90Kind kind, std::string_view device_name, std::string_view type_name)
      : ConfiguredGemm<Sm90GroupedGemmConfig, Parameters>(device_name, type_name),
        swapped_(kind == Sm90Kind::swapped_grouped || kind == Sm90Kind::swapped_scaled_grouped),
        scaled_(kind == Sm90Kind::scaled_grouped || kind == Sm90Kind::swapped_scaled_grouped),
        space_(make_sm90_space(kind)) {}

  bool takes_block_scales() const override { return scaled_; }
  bool takes_pairs() const override { return !swapped_ && !scaled_; }
  Operation operation() const override { return Operation::grouped_gemm; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override { return kGroupedTargets; }

 protected:
  std::vector<std::string> shared_headers() const override { return {this->device_name()}; }
  bool is_swapped() const { return swapped_; }

  Sm90GroupedGemmConfig config_of(const DesignPoint& point) const override {
    return sm90_config(point);
  }
  Sm90GroupedGemmConfig widest_config(const DesignPoint& point,
                                      const Alignments& widest) const override {
    Sm90GroupedGemmConfig config = this->config_of(point);
    config.tma_store = config.tma_store || widest.out == 16;
    return config;
  }
  Alignments widest(const DesignPoint& point, const Alignments& own,
                    const GemmProblem& problem) const override {
    Alignments widest = own;
    const GroupedMode groups = groups_in_code(point, this->is_transposed(point));
    if (groups != GroupedMode::columns && sm90_takes_tma_stores(problem)) widest.out = 16;
    return widest;
  }
  Sm90GroupedGemmConfig fused(const Sm90GroupedGemmConfig& config, const EpilogueGraph& epilogue,
                              bool transposed) const override {
    return fused_config(config, epilogue, transposed, false);
  }
  bool is_transposed(const DesignPoint& point) const override { return sm90_is_transposed(point); }

  GemmLimits limits() const override {
    return {.extent = kMaxGrouped,
            .batches = kMaxGrouped,
            .tiles = kMaxGrouped,
            .all_tiles = kMaxGrouped};
  }

  Status check(const DesignPoint& point, const GemmArguments& gemm,
               Target /*target*/) const override {
    return gemm.pairs() != AccumulatorPairs::none ? check_tma_pairs(point, gemm)
                                                  : Status::success();
  }

  /// Of the operands too: those of the product alone lack the groups' matrices.
  Status check_groups(const DesignPoint& point, const RuntimeArguments& arguments) const override {
    const Shape3 tile = point.shape(Role::tile);
    const Shape3 cluster = point.shape(Role::cluster);
    if (scaled_) {
      const auto& grouped = static_cast<const GroupedGemmArguments&>(arguments);
      if (Status scales = sm90_check_group_scales(point, grouped); !scales.ok()) return scales;
    }
    return check_tma_groups(point, arguments, {tile.m * cluster.m, tile.n * cluster.n, tile.k},
                            kMaxGrouped);
  }

  Status check_epilogue(const Decoded& kernel, Target /*target*/) const override {
    return check_room(kernel.config, *kernel.epilogue, kernel.transposed);
  }

  void add_cost(const Sm90GroupedGemmConfig& config, const GemmProblem& /*problem*/,
                const PerformanceControls& /*controls*/, const cost::DeviceModel& /*device*/,
                cost::Plan& plan) const override {
    plan.family = cost::Family::sm90;
    plan.design = sm90_design(config, plan.work);
    if (config.groups == GroupedMode::rows)
      plan.work.l *= uneven_tiles(plan.work.m, config.tile_m * config.cluster_m);
    if (config.groups == GroupedMode::columns)
      plan.work.l *= uneven_tiles(plan.work.n, config.tile_n * config.cluster_n);
    plan.design.untried = swapped_ && plan.work.n > kMaxSwappedRows;
    cost::set_knobs(plan, sm90_knobs(config, plan.work, plan.design));
  }

  Parameters parameters(const Sm90GroupedGemmConfig& config,
                        const GemmLaunch& launch) const override {
    const GemmProblem& problem = launch.problem;
    Parameters p{};
    static_cast<abi::Sm90GemmParameters&>(p) = sm90_operands(config, launch);
    p.groups = device_groups(problem);
    p.tiles_m = static_cast<int>(ceil_div(p.m, config.cluster_rows()));
    p.tiles_n = static_cast<int>(ceil_div(p.n, config.cluster_columns()));
    p.along_n = launch.knobs.raster == Knobs::Raster::along_n;
    p.group = std::clamp<int>(launch.knobs.swizzle, 1, p.along_n ? p.tiles_n : p.tiles_m);
    p.parts = 1;
    p.tail_parts = 1;
    p.items = static_cast<unsigned>(most_grouped_tiles(
        problem, config.groups, config.cluster_rows(), config.cluster_columns()));
    p.undivided = p.items;
    if (config.scaled()) {
      p.a_scales = sm90_scales(problem.a.scales);
      p.b_scales = sm90_scales(problem.b.scales);
    }
    if (config.group_row_scales) {
      p.a_scales = sm90_row_scales(problem.a.scales);
      p.b_scales = sm90_row_scales(problem.b.scales);
    }
    return p;
  }

  CudaGeometry geometry(const Sm90GroupedGemmConfig& config, const Parameters& p,
                        const PlanDevice& device) const override {
    const auto size = static_cast<unsigned>(config.cluster_size());
    const auto room = static_cast<unsigned>(device.clusters_at_once(config.cluster_size()));
    return {.grid = {std::min(p.items, room) * size, 1, 1},
            .block = {static_cast<unsigned>(config.threads()), 1, 1},
            .shared_bytes = static_cast<unsigned>(config.shared_bytes()),
            .cluster = {size, 1, 1}};
  }

  PartCounts part_counts(const Sm90GroupedGemmConfig& config, std::int64_t m,
                         std::int64_t n) const override {
    return tile_part_counts(config, m, n);
  }
  void add_epilogue(const Sm90GroupedGemmConfig& config, const EpilogueView& view,
                    const PartCounts& parts, const Workspace& workspace, bool empty,
                    LaunchPlan& plan) const override {
    add_mapped_epilogue(config, view, parts, workspace, empty, plan);
  }

  std::string sums_of(const DesignPoint& point) const override {
    const Sm90GroupedGemmConfig config = sm90_config(point);
    const std::string_view sums = config.scaled()  ? ", scaled every 128 of K"
                                  : config.promote ? ", added to f32 every 128 of K"
                                                   : "";
    return fmt::format("wgmma {} x {}{}", dtype_name(point.dtype(Role::a_dtype)),
                       dtype_name(point.dtype(Role::b_dtype)), sums);
  }
  std::string fused_entry() const override {
    return sm90_fused_entry(this->device_name(), this->type_name());
  }

 private:
  bool swapped_;
  bool scaled_;
  std::shared_ptr<const DesignSpace> space_;
};

class Sm90GroupedGemm final : public Sm90Groups<Sm90GroupedGemmParameters> {
 public:
  explicit Sm90GroupedGemm(Sm90Kind kind)
      : Sm90Groups(kind, "sm90_grouped_gemm", "Sm90GroupedGemm") {}

  std::string_view name() const override {
    if (takes_block_scales()) {
      return is_swapped() ? "sm90_swapped_scaled_grouped_gemm" : "sm90_scaled_grouped_gemm";
    }
    return is_swapped() ? "sm90_swapped_grouped_gemm" : "sm90_grouped_gemm";
  }
};

class Sm90GatheredGemm final : public Sm90Groups<abi::Sm90GatheredGemmParameters> {
 public:
  Sm90GatheredGemm() : Sm90Groups(Sm90Kind::gathered, "sm90_gathered_gemm", "Sm90GatheredGemm") {}

  std::string_view name() const override { return device_name(); }
  TakesRows takes_rows() const override { return TakesRows::only; }

 protected:
  Sm90GroupedGemmConfig config_of(const DesignPoint& point) const override {
    Sm90GroupedGemmConfig config = sm90_config(point);
    config.gathered = true;
    return config;
  }
  void add_cost(const Sm90GroupedGemmConfig& config, const GemmProblem& problem,
                const PerformanceControls& controls, const cost::DeviceModel& device,
                cost::Plan& plan) const override {
    Sm90Groups::add_cost(config, problem, controls, device, plan);
    plan.design.stage_clocks = std::max(plan.design.stage_clocks, kClocksOfRow * config.tile_m);
  }
  abi::Sm90GatheredGemmParameters parameters(const Sm90GroupedGemmConfig& config,
                                             const GemmLaunch& launch) const override {
    // The map is of the rows that there are.
    GemmProblem problem = launch.problem;
    problem.a.view.rows = problem.a.rows.count;
    if (problem.a.rows.count == 0) problem.k = 0;
    const GemmLaunch own{launch.gemm,      problem,       launch.knobs,
                         launch.workspace, launch.device, launch.result};
    auto p = Sm90Groups::parameters(config, own);
    p.rows = device_rows(problem);
    return p;
  }
};

}  // namespace

std::shared_ptr<const KernelClass> make_sm90_grouped_gemm() {
  return std::make_shared<Sm90GroupedGemm>(Sm90Kind::grouped);
}

std::shared_ptr<const KernelClass> make_sm90_gathered_gemm() {
  return std::make_shared<Sm90GatheredGemm>();
}

std::shared_ptr<const KernelClass> make_sm90_swapped_grouped_gemm() {
  return std::make_shared<Sm90GroupedGemm>(Sm90Kind::swapped_grouped);
}

std::shared_ptr<const KernelClass> make_sm90_scaled_grouped_gemm() {
  return std::make_shared<Sm90GroupedGemm>(Sm90Kind::scaled_grouped);
}

std::shared_ptr<const KernelClass> make_sm90_swapped_scaled_grouped_gemm() {
  return std::make_shared<Sm90GroupedGemm>(Sm90Kind::swapped_scaled_grouped);
}

}  // namespace estoc::cuda
