// Kernel classes sm100_gemm, sm100_i8_gemm, sm100_prepared_gemm and sm100_dequantised_gemm: TMA,
// tcgen05 with sums in tensor memory, warp-specialised and persistent.
#include "providers/cuda/sm100_gemm.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "estoc/arguments.hpp"
#include "operations/gemm/dequantised.h"
#include "providers/cuda/copied_operands.h"
#include "providers/cuda/gemm_class.h"
#include "providers/cuda/prepare.h"
#include "providers/cuda/sm100_space.h"
#include "providers/cuda/sm90_epilogue.h"
#include "providers/cuda/tensor_map.h"
#include "providers/cuda/tma_operand.h"

namespace estoc::cuda {
namespace {

using abi::Sm100GemmConfig;
using abi::Sm100GemmParameters;

constexpr std::array kSm100Targets{Target::sm(100, true), Target::sm(103, true)};
// Of extents and of tiles, so that coordinates and counts are 32-bit numbers.
constexpr std::int64_t kSm100Most = (std::int64_t{1} << 28) - 1;
// Tiles of the other direction that are taken together.
constexpr int kSm100Together = 8;

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

// Of one instruction of 32 bytes of K: the tensor cores' clocks or, for few columns, those in which
// shared memory gives the operands. Others measured them on a B200 (SemiAnalysis, microbenchmarks
// of tcgen05.mma).
double sm100_instruction_clocks(const Sm100GemmConfig& config) {
  const double columns = config.tile_n;
  return std::max(columns / 2, columns / (4.0 * config.group) + 32);
}

cost::Design sm100_design(const Sm100GemmConfig& config, const cost::Work& work) {
  const double area = static_cast<double>(Sm100GemmConfig::kRows) * config.tile_n;
  cost::Design design;
  design.tile_m = Sm100GemmConfig::kRows;
  design.tile_n = config.tile_n;
  design.tile_k = config.tile_k();
  design.cluster_m = config.group;
  design.stages = config.stages;
  design.stage_clocks = 4 * sm100_instruction_clocks(config);
  design.start_clocks = 2000;
  const double outputs = std::max(work.m * work.n * work.l, 1.0);
  const double bytes = work.out_bytes + work.extra_bytes / outputs;
  design.store_clocks = 600 + area * (bytes / (config.tma_store ? 48 : 12) + work.epilogue_clocks);
  design.overlap = cost::Overlap::pingpong;
  design.a_m_major = config.a_m_major;
  design.b_n_major = config.b_n_major;
  design.plain_stores = !config.tma_store;
  design.untried = true;
  return design;
}

class Sm100Gemm final : public ConfiguredGemm<Sm100GemmConfig, Sm100GemmParameters> {
 public:
  explicit Sm100Gemm(Sm100Kind kind)
      : ConfiguredGemm("sm100_gemm", "Sm100Gemm"), kind_(kind), space_(make_sm100_space(kind)) {}

  std::string_view name() const override {
    constexpr std::array<std::string_view, 4> kNames{"sm100_gemm", "sm100_prepared_gemm",
                                                     "sm100_i8_gemm", "sm100_dequantised_gemm"};
    return kNames[static_cast<std::size_t>(kind_)];
  }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override {
    return std::span(kSm100Targets).first(kind_ == Sm100Kind::integer ? 1 : kSm100Targets.size());
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
                const PerformanceControls& /*controls*/, const cost::DeviceModel& /*device*/,
                cost::Plan& plan) const override {
    if (kind_ == Sm100Kind::dequantised) count_dequantised(plan.work);
    plan.family = cost::Family::sm90;
    plan.design = sm100_design(config, plan.work);
    Knobs knobs;
    knobs.raster = ceil_div(problem.m, config.group_rows()) >= ceil_div(problem.n, config.tile_n)
                       ? Knobs::Raster::along_m
                       : Knobs::Raster::along_n;
    knobs.swizzle = kSm100Together;
    cost::set_knobs(plan, knobs);
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
  void add_entries(const DesignPoint& point, const EpilogueGraph* /*epilogue*/,
                   CudaCode& code) const override {
    if (kind_ == Sm100Kind::dequantised) add_dequantise_entry(point, is_transposed(point), code);
    if (kind_ == Sm100Kind::prepared) add_prepare_entry(point, false, code);
  }

  Sm100GemmParameters parameters(const Sm100GemmConfig& config,
                                 const GemmLaunch& launch) const override {
    const GemmProblem& problem = launch.problem;
    Sm100GemmParameters p{};
    add_maps(config, launch, p);
    p.out_raw = device_matrix(problem.out.view);
    p.m = static_cast<int>(problem.m);
    p.n = static_cast<int>(problem.n);
    p.k = static_cast<int>(problem.k);
    p.l = static_cast<int>(problem.l);
    p.tiles_m = static_cast<int>(ceil_div(p.m, config.group_rows()));
    p.tiles_n = static_cast<int>(ceil_div(p.n, config.tile_n));
    p.along_n = launch.knobs.raster == Knobs::Raster::along_n;
    p.group = std::clamp<int>(launch.knobs.swizzle, 1, p.along_n ? p.tiles_n : p.tiles_m);
    p.a_batched = is_batched(problem.a.view);
    p.b_batched = is_batched(problem.b.view);
    p.tiles = static_cast<unsigned>(std::int64_t{p.tiles_m} * p.tiles_n * p.l);
    return p;
  }

  CudaGeometry geometry(const Sm100GemmConfig& config, const Sm100GemmParameters& p,
                        const PlanDevice& device) const override {
    const auto group = static_cast<unsigned>(config.group);
    const auto room = static_cast<unsigned>(device.clusters_at_once(config.group));
    return {.grid = {std::min(p.tiles, room) * group, 1, 1},
            .block = {static_cast<unsigned>(config.threads()), 1, 1},
            .shared_bytes = static_cast<unsigned>(config.shared_bytes()),
            .cluster = {group, 1, 1}};
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
  static void add_maps(const Sm100GemmConfig& config, const GemmLaunch& launch,
                       Sm100GemmParameters& p) {
    const GemmProblem& problem = launch.problem;
    const PlanDevice& device = launch.device;
    if (problem.k > 0) {
      p.a = encode_tensor_map(
          device, tma_load_spec({problem.a, config.a_m_major}, config.a, config.a_m_major,
                                Sm100GemmConfig::kRows, 1, config.tile_k()));
      p.b = encode_tensor_map(
          device, tma_load_spec({problem.b, !config.b_n_major}, config.b, config.b_n_major,
                                config.own_columns(), 1, config.tile_k()));
    }
    if (config.epilogue.columns > 0) {
      p.out = fused_out_map(device, config, EpilogueView(launch.gemm, problem.transposed));
    }
    if (config.epilogue.columns > 0 || !config.tma_store) return;
    p.out =
        encode_tensor_map(device, tma_map_spec({problem.out, false}, config.out,
                                               static_cast<std::uint32_t>(config.store_columns()),
                                               Sm100GemmConfig::kRows, config.store_row_bytes()));
  }

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

std::shared_ptr<const KernelClass> make_sm100_dequantised_gemm() {
  return std::make_shared<Sm100Gemm>(Sm100Kind::dequantised);
}

}  // namespace estoc::cuda
