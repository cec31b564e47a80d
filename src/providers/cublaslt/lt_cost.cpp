// Predicts the time of what cuBLASLt offers for a product.
#include "providers/cublaslt/lt_cost.h"

#include <algorithm>

#include "cost/gemm_work.h"

namespace estoc::cublaslt {
namespace {

// The algorithm whose kernels use wgmma, read off an H200 with cuBLASLt 13.1.
constexpr int kHopperAlgorithm = 66;
// Tiles of algorithms whose configuration is not known.
constexpr int kTypicalTile = 128;
constexpr int kTypicalStages = 4;
constexpr double kStartClocks = 2000;

/// How many times as fast as mma.sync a target's own instructions multiply: wgmma, tcgen05.
double own_rate(Target target) {
  if (target.cc() == 90) return 2;
  return target.cc() == 100 || target.cc() == 103 ? 4 : 1;
}

/// Multiply-adds of a multiprocessor in a clock.
double products_per_clock(Dtype multiplied, bool older, const cost::DeviceModel& device) {
  const double f16 = (older ? 1 : own_rate(device.target)) * device.f16_products;
  switch (multiplied) {
    case Dtype::f64:
      return device.f64_products;
    case Dtype::f32:
      return device.f32_products;
    default:
      return f16 * 16 / (multiplied == Dtype::tf32 ? 32 : dtype_bits(multiplied)) *
             (is_float(multiplied) ? device.f32_sums : 1);
  }
}

/// What reading C adds.
double epilogue_bytes(const GemmArguments& gemm) {
  if (gemm.epilogue_binding() == nullptr) return 0;
  double bytes = 0;
  for (const EpilogueTensor& tensor : gemm.epilogue_binding()->graph->tensors) {
    if (!tensor.varies.m || !tensor.varies.n) continue;
    const GemmExtents& e = gemm.extents();
    bytes += static_cast<double>(e.m) * static_cast<double>(e.n) *
             static_cast<double>(tensor.varies.l ? e.l : 1) * dtype_bits(tensor.dtype) / 8;
  }
  return bytes;
}

}  // namespace

cost::Plan lt_plan(const LtFacts& facts, Dtype multiplied, OutOrder out_order, int heuristic,
                   const GemmArguments& gemm, const cost::DeviceModel& device) {
  const bool transposed = out_order == OutOrder::column && gemm.out_matrix().is_row_major();
  cost::Plan plan;
  plan.family = cost::Family::library;
  plan.work = cost::work_of(gemm, transposed, {epilogue_bytes(gemm), 0});
  cost::Design& design = plan.design;
  design.tile_m = facts.tile_rows > 0 ? facts.tile_rows : kTypicalTile;
  design.tile_n = facts.tile_columns > 0 ? facts.tile_columns : kTypicalTile;
  design.tile_k = 128 / plan.work.element_bytes;
  design.cluster_m = std::max(facts.cluster_m, 1);
  design.cluster_n = std::max(facts.cluster_n, 1);
  design.stages = kTypicalStages;
  design.split = std::max(facts.split_k, 1);
  design.of_library = true;
  design.choice = heuristic;
  design.restated = out_order == OutOrder::row;
  design.older = facts.algorithm != kHopperAlgorithm;
  design.own_stages = facts.stages_id;
  design.own_waves = facts.waves;
  design.workspace = static_cast<double>(facts.workspace_bytes);
  const double area = design.tile_m * design.tile_n;
  design.stage_clocks = area * design.tile_k / products_per_clock(multiplied, design.older, device);
  design.start_clocks = kStartClocks;
  design.store_clocks = area * plan.work.out_bytes / 48;
  design.overlap = cost::Overlap::halves;
  design.integers = multiplied == Dtype::i8;
  return plan;
}

std::vector<PredictionPart> parts_of_facts(const LtFacts& facts, OutOrder out_order,
                                           int heuristic) {
  using Unit = PredictionPart::Unit;
  auto count = [](const char* name, auto value) {
    return PredictionPart{name, static_cast<double>(value), Unit::count};
  };
  return {{"waves", facts.waves, Unit::factor},
          count("split K", facts.split_k),
          count("tile rows", facts.tile_rows),
          count("tile columns", facts.tile_columns),
          count("stages", facts.stages_id),
          count("cluster m", facts.cluster_m),
          count("cluster n", facts.cluster_n),
          count("algorithm", facts.algorithm),
          count("tile id", facts.tile_id),
          count("inner shape", facts.inner_shape_id),
          count("swizzle", facts.swizzle),
          count("reduction", facts.reduction),
          count("workspace bytes", facts.workspace_bytes),
          count("heuristic", heuristic),
          count("row order", out_order == OutOrder::row)};
}

}  // namespace estoc::cublaslt
