// Predicts the time of what cuBLASLt offers for a product.
#include "providers/cublaslt/lt_cost.h"

#include <algorithm>

namespace estoc::cublaslt {
namespace {

// Dense peak of the H200 in operations a second, as a rough guide for other devices.
double peak(Dtype a) {
  switch (a) {
    case Dtype::f64:
    case Dtype::f32:
      return 5.5e13;
    case Dtype::tf32:
      return 4.5e14;
    case Dtype::f16:
    case Dtype::bf16:
      return 8e14;
    default:
      return 1.6e15;
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

Prediction predict_lt(const LtFacts& /*facts*/, Dtype multiplied, Formulation formulation,
                      int answer, const GemmArguments& gemm, const LtDevice& device) {
  const GemmExtents& e = gemm.extents();
  const double operations = 2.0 * static_cast<double>(e.m) * static_cast<double>(e.n) *
                            static_cast<double>(e.k) * static_cast<double>(e.l);
  const double bytes = static_cast<double>(gemm.a().tensor().span_bytes()) +
                       static_cast<double>(gemm.b().tensor().span_bytes()) +
                       static_cast<double>(gemm.out().span_bytes()) + epilogue_bytes(gemm);
  const double seconds = std::max(operations / peak(multiplied), bytes / device.memory_bytes_per_s);
  // Later answers are the library's lesser choices.
  const double rank = 1.0 + 0.02 * answer + (formulation == Formulation::row ? 0.01 : 0.0);
  return {device.launch_seconds + 1.1 * seconds * rank, {}};
}

std::vector<PredictionPart> parts_of_facts(const LtFacts& facts, Formulation formulation,
                                           int answer) {
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
          count("answer", answer),
          count("row formulation", formulation == Formulation::row)};
}

}  // namespace estoc::cublaslt
