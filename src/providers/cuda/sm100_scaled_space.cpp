// The design space of sm100_scaled_gemm, and what a point of it means.
#include "providers/cuda/sm100_scaled_space.h"

#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "core/architectures.h"
#include "jit/abi_type.h"
#include "providers/cuda/operand_plane.h"
#include "providers/cuda/product_types.h"

namespace estoc::cuda {
namespace {

using abi::Sm100ScaledGemmConfig;

constexpr int kScaledSharedBytes = core::architecture(100).shared_bytes;
constexpr int kScaledMostStages = 12;
constexpr int kScaledLeastStages = 3;
// Tiles of columns begin at multiples of 64, so that no more than two tiles of scales have them.
constexpr int kScaledColumns[] = {64, 128, 192, 256};

Shape3 scaled_in_code(const DesignPoint& point, Role role) {
  return shape_in_code(point, role, is_column_major(point));
}

/// Any two of 8 bits, or two of e2m1.
bool scaled_types_fit(const DesignPoint& point) {
  const Dtype a = point.dtype(Role::a_dtype);
  const Dtype b = point.dtype(Role::b_dtype);
  return a == b || (is_fp8(a) && is_fp8(b));
}

/// Those of 16 elements are of e2m1.
bool scaled_blocks_fit(const DesignPoint& point) {
  return sm100_scale_mode(point) == ScaleMode::blockwise_1x32 ||
         point.dtype(Role::a_dtype) == Dtype::e2m1;
}

/// Of a row of a stage, along K.
int scaled_k_bytes(const DesignPoint& point) {
  return scaled_in_code(point, Role::tile).k * dtype_bits(point.dtype(Role::a_dtype)) / 8;
}

/// Rows of 128 bytes; of 64 where stages of e2m1 with their scales would be few.
bool sm100_scaled_tile_fits(const DesignPoint& point) {
  const Shape3 tile = scaled_in_code(point, Role::tile);
  const int bytes = scaled_k_bytes(point);
  const bool few = dtype_bits(point.dtype(Role::a_dtype)) == 4 && tile.n == 256;
  return tile.m == Sm100ScaledGemmConfig::kRows && (bytes == 128 || (bytes == 64 && few));
}

/// A CTA alone, or clusters of pairs, which stand one below the other and share the columns of B.
bool scaled_cluster_fits(const DesignPoint& point) {
  const Shape3 cluster = scaled_in_code(point, Role::cluster);
  return cluster.m % 2 == 0 || (cluster.n == 1 && scaled_k_bytes(point) == 128);
}

// As many stages as fit.
bool scaled_stages_fit(const DesignPoint& point) {
  Sm100ScaledGemmConfig config = sm100_scaled_config(point);
  config.stages = kScaledMostStages;
  while (config.stages >= kScaledLeastStages && config.shared_bytes() > kScaledSharedBytes)
    --config.stages;
  return point.integer(Role::stages) == config.stages;
}

std::vector<Shape3> scaled_tile_shapes() {
  std::vector<Shape3> shapes;
  for (const int k : {128, 256}) {
    for (const int columns : kScaledColumns) {
      shapes.push_back({Sm100ScaledGemmConfig::kRows, columns, k});
      if (columns != Sm100ScaledGemmConfig::kRows) {
        shapes.push_back({columns, Sm100ScaledGemmConfig::kRows, k});
      }
    }
  }
  return shapes;
}

}  // namespace

ScaleMode sm100_scale_mode(const DesignPoint& point) {
  return point.value("blocks").numbers[0] == 0 ? ScaleMode::blockwise_1x32
                                               : ScaleMode::blockwise_1x16;
}

abi::Sm100ScaledGemmConfig sm100_scaled_config(const DesignPoint& point) {
  const Shape3 cluster = scaled_in_code(point, Role::cluster);
  Sm100ScaledGemmConfig config{
      .a = abi_type(point.dtype(Role::a_dtype)),
      .b = abi_type(point.dtype(Role::b_dtype)),
      .accumulator = abi_type(point.dtype(Role::accumulator_type)),
      .out = abi_type(point.dtype(Role::out_dtype)),
      .a_m_major = false,
      .b_n_major = false,
      .tile_n = scaled_in_code(point, Role::tile).n,
      .stages = point.integer(Role::stages),
      .group = cluster.m % 2 == 0 ? 2 : 1,
      .tma_store = point.integer(Role::out_alignment) == 16,
      .scale_block = sm100_scale_mode(point) == ScaleMode::blockwise_1x32 ? 32 : 16};
  config.places_m = cluster.m / config.group;
  config.places_n = cluster.n;
  config.k_bytes = scaled_k_bytes(point);
  if (is_column_major(point)) std::swap(config.a, config.b);
  return config;
}

std::shared_ptr<const DesignSpace> make_sm100_scaled_space() {
  static constexpr std::array kOuts{Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::e4m3, Dtype::e5m2};
  static constexpr std::array kSums{Dtype::f32};
  std::vector<int> stages(kScaledMostStages - kScaledLeastStages + 1);
  std::iota(stages.begin(), stages.end(), kScaledLeastStages);
  return DesignSpace::Builder()
      .dtypes(Role::a_dtype, kDequantised)
      .dtypes(Role::b_dtype, kDequantised)
      .dtypes(Role::accumulator_type, kSums)
      .dtypes(Role::out_dtype, kOuts)
      .layouts({"tnt", "tnn"})
      .alignments(Role::a_alignment, {16})
      .alignments(Role::b_alignment, {16})
      .alignments(Role::out_alignment, {16, 1})
      .shapes(Role::tile, scaled_tile_shapes())
      .shapes(
          Role::cluster,
          {{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {2, 2, 1}, {4, 1, 1}, {1, 4, 1}, {4, 2, 1}, {2, 4, 1}})
      .integers(Role::stages, stages)
      .choices("blocks", {"1x32", "1x16"})
      .require({"a", "b"}, scaled_types_fit)
      .require({"a", "blocks"}, scaled_blocks_fit)
      .require({"a", "layouts", "tile"}, sm100_scaled_tile_fits)
      .require({"a", "layouts", "tile", "cluster"}, scaled_cluster_fits)
      .require(
          {"a", "b", "acc", "out", "layouts", "align_out", "tile", "cluster", "stages", "blocks"},
          scaled_stages_fit)
      .build_lazily();
}

}  // namespace estoc::cuda
