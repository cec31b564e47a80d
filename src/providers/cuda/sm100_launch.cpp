// What the kernel classes for sm_100 share of costs and launches.
#include "providers/cuda/sm100_launch.h"

#include <algorithm>

#include "providers/cuda/sm90_epilogue.h"
#include "providers/cuda/tails.h"
#include "providers/cuda/tensor_map.h"
#include "providers/cuda/tma_operand.h"

namespace estoc::cuda {
namespace {

using abi::Sm100GemmConfig;
using abi::Sm100GemmParameters;

// Tiles of the other direction that are taken together.
constexpr int kSm100Together = 8;

abi::Type loaded_as(abi::Type type) {
  return abi::type_bytes(type) == 0 ? abi::Type::u8 : type;
}

void add_maps(const Sm100GemmConfig& config, const GemmLaunch& launch, Sm100GemmParameters& p) {
  const GemmProblem& problem = launch.problem;
  const PlanDevice& device = launch.device;
  if (problem.k > 0) {
    const MatrixView a = as_bytes(problem.a.view, false);
    const MatrixView b = as_bytes(problem.b.view, true);
    p.a = encode_tensor_map(
        device,
        tma_load_spec({problem.a.name, a, config.a_m_major}, loaded_as(config.a), config.a_m_major,
                      Sm100GemmConfig::kRows, config.places_n, config.tile_k()));
    p.b = encode_tensor_map(
        device,
        tma_load_spec({problem.b.name, b, !config.b_n_major}, loaded_as(config.b), config.b_n_major,
                      config.own_columns(), config.places_m, config.tile_k()));
  }
  if (config.epilogue.columns > 0) {
    EpilogueView view(launch.gemm, problem.transposed);
    view.whole_fours = problem.mapping != operations::Mapping::columns;
    p.out = fused_out_map(device, config, view);
  }
  if (config.epilogue.columns > 0 || !config.tma_store) return;
  p.out = encode_tensor_map(device, tma_map_spec({problem.out, false}, config.out,
                                                 static_cast<std::uint32_t>(config.store_columns()),
                                                 Sm100GemmConfig::kRows, config.store_row_bytes()));
}

// Of one instruction of 32 bytes of K: the tensor cores' clocks or, for few columns, those in which
// shared memory gives the operands. Others measured them on a B200 (SemiAnalysis, microbenchmarks
// of tcgen05.mma).
double sm100_instruction_clocks(const Sm100GemmConfig& config) {
  const double columns = config.tile_n;
  return std::max(columns / 2, columns / (4.0 * config.group) + 32);
}

}  // namespace

cost::Design sm100_design(const Sm100GemmConfig& config, const cost::Work& work) {
  const double area = static_cast<double>(Sm100GemmConfig::kRows) * config.tile_n;
  cost::Design design;
  design.tile_m = Sm100GemmConfig::kRows;
  design.tile_n = config.tile_n;
  design.tile_k = config.tile_k();
  design.cluster_m = config.group * config.places_m;
  design.cluster_n = config.places_n;
  design.stages = config.stages;
  design.stage_clocks = 4 * sm100_instruction_clocks(config);
  // Estimated: the first answer that no tile is left.
  design.start_clocks = config.dynamic ? 2500 : 2000;
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

Knobs sm100_knobs(const Sm100GemmConfig& config, const GemmProblem& problem) {
  Knobs knobs;
  knobs.raster =
      ceil_div(problem.m, config.cluster_rows()) >= ceil_div(problem.n, config.cluster_columns())
          ? Knobs::Raster::along_m
          : Knobs::Raster::along_n;
  knobs.swizzle = kSm100Together;
  return knobs;
}

void split_sm100(const Sm100GemmConfig& config, const PerformanceControls& controls,
                 const cost::DeviceModel& device, cost::Plan& plan) {
  if (controls.batch_invariant) return;
  const Sm90SplitSearch search(SplitLimits::of(config, plan.work.fused), plan.work, plan.design,
                               device);
  const Sm90Split whole = search.in_clusters();
  const Sm90Split tail = search.through_workspace(whole.execution.seconds);
  const std::int64_t bytes = tail_bytes(config, {tail.tiles, tail.parts});
  const bool allowed = bytes <= controls.workspace_limit.value_or(bytes);
  set_split(plan, tail.parts > 1 && allowed ? tail : whole);
}

Sm100GemmParameters sm100_operands(const Sm100GemmConfig& config, const GemmLaunch& launch) {
  const GemmProblem& problem = launch.problem;
  Sm100GemmParameters p{};
  add_maps(config, launch, p);
  p.out_raw = device_matrix(problem.out.view);
  p.m = static_cast<int>(problem.m);
  p.n = static_cast<int>(problem.n);
  p.k = static_cast<int>(problem.k);
  p.l = static_cast<int>(problem.l);
  p.tiles_m = static_cast<int>(ceil_div(p.m, config.cluster_rows()));
  p.tiles_n = static_cast<int>(ceil_div(p.n, config.cluster_columns()));
  p.along_n = launch.knobs.raster == Knobs::Raster::along_n;
  p.group = std::clamp<int>(launch.knobs.swizzle, 1, p.along_n ? p.tiles_n : p.tiles_m);
  p.a_batched = is_batched(problem.a.view);
  p.b_batched = is_batched(problem.b.view);
  return p;
}

CudaGeometry sm100_geometry(const Sm100GemmConfig& config, const Sm100GemmParameters& p,
                            const PlanDevice& device) {
  const auto size = static_cast<unsigned>(config.cluster_size());
  const auto room = static_cast<unsigned>(device.clusters_at_once(config.cluster_size()));
  return {.grid = {(config.dynamic ? p.items : std::min(p.items, room)) * size, 1, 1},
          .block = {static_cast<unsigned>(config.threads()), 1, 1},
          .shared_bytes = static_cast<unsigned>(config.shared_bytes()),
          .cluster = {size, 1, 1}};
}

}  // namespace estoc::cuda
