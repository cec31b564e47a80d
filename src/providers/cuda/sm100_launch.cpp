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
                      Sm100GemmConfig::kRows, config.places_n, config.tile_k(), config.k_bytes));
    p.b = encode_tensor_map(
        device,
        tma_load_spec({problem.b.name, b, !config.b_n_major}, loaded_as(config.b), config.b_n_major,
                      config.own_columns(), config.places_m, config.tile_k(), config.k_bytes));
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

}  // namespace

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
