// The design spaces of sm120_gemm and sm120_scaled_gemm, and what a point of them means.
#include "providers/cuda/sm120_space.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/architectures.h"
#include "providers/cuda/config_text.h"
#include "providers/cuda/operand_plane.h"
#include "providers/cuda/product_types.h"

namespace estoc::cuda {
namespace {

using abi::Sm120GemmConfig;

/// A tile and the warps that share it.
struct Sm120Tile {
  int m;
  int n;
  int warps_m;
  int warps_n;
};
constexpr std::array kSm120Menu{
    Sm120Tile{64, 32, 2, 2},   Sm120Tile{32, 64, 2, 2},   Sm120Tile{128, 32, 4, 1},
    Sm120Tile{32, 128, 1, 4},  Sm120Tile{64, 64, 2, 2},   Sm120Tile{64, 128, 2, 2},
    Sm120Tile{128, 64, 2, 2},  Sm120Tile{128, 128, 4, 2}, Sm120Tile{128, 256, 2, 4},
    Sm120Tile{256, 128, 4, 2},
};

const Sm120Tile& sm120_tile(const DesignPoint& point) {
  const Shape3 tile = shape_in_code(point, Role::tile);
  return *std::find_if(kSm120Menu.begin(), kSm120Menu.end(),
                       [&](const Sm120Tile& each) { return each.m == tile.m && each.n == tile.n; });
}

std::vector<Shape3> sm120_tile_shapes() {
  std::vector<Shape3> shapes;
  for (const int k : {64, 128, 256}) {
    for (const Sm120Tile& tile : kSm120Menu)
      shapes.push_back({tile.m, tile.n, k});
  }
  return shapes;
}

bool sm120_multiplies(const DesignPoint& point) {
  return dtype_bits(point.dtype(Role::a_dtype)) == dtype_bits(point.dtype(Role::b_dtype));
}

// MXFP8, MXFP4 and NVFP4.
bool sm120_block_fits(const DesignPoint& point) {
  return sm120_block(point) == 32 || point.dtype(Role::a_dtype) == Dtype::e2m1;
}

// Rows of 64 or 128 bytes, with whole words of four scales.
bool sm120_rows_fit(const DesignPoint& point) {
  const int k = point.shape(Role::tile).k;
  const int bytes = k * dtype_bits(point.dtype(Role::a_dtype)) / 8;
  return (bytes == 64 || bytes == 128) && (sm120_block(point) == 0 || k >= 128);
}

// Conversion of the results to fp8 takes registers, and so do scales beside addresses of bytes.
bool sm120_registers_fit(const DesignPoint& point) {
  const Shape3 tile = point.shape(Role::tile);
  const bool scaled_bytes = sm120_block(point) > 0 && is_fp8(point.dtype(Role::a_dtype));
  return tile.m * tile.n <= 128 * 128 || !(scaled_bytes || is_fp8(point.dtype(Role::out_dtype)));
}

// Copies of 4 bytes take an address each.
bool sm120_copies_fit(const DesignPoint& point) {
  const Shape3 tile = point.shape(Role::tile);
  return tile.m * tile.n <= 128 * 128 ||
         (point.integer(Role::a_alignment) == 16 && point.integer(Role::b_alignment) == 16);
}

bool sm120_stages_fit(const DesignPoint& point) {
  const Shape3 tile = point.shape(Role::tile);
  Sm120GemmConfig config{};
  config.a = config.b = abi_type(point.dtype(Role::a_dtype));
  config.block = sm120_block(point);
  config.tile_m = tile.m;
  config.tile_n = tile.n;
  config.tile_k = tile.k;
  return point.integer(Role::stages) * config.stage_bytes() <= core::architecture(120).shared_bytes;
}

}  // namespace

int sm120_block(const DesignPoint& point) {
  if (point.space().find("blocks") < 0) return 0;
  return point.value("blocks").numbers[0] == 0 ? 32 : 16;
}

Sm120GemmConfig sm120_config(const DesignPoint& point) {
  const Sm120Tile& tile = sm120_tile(point);
  Sm120GemmConfig config{.a = abi_type(point.dtype(Role::a_dtype)),
                         .b = abi_type(point.dtype(Role::b_dtype)),
                         .out = abi_type(point.dtype(Role::out_dtype)),
                         .block = sm120_block(point),
                         .tile_m = tile.m,
                         .tile_n = tile.n,
                         .tile_k = point.shape(Role::tile).k,
                         .warps_m = tile.warps_m,
                         .warps_n = tile.warps_n,
                         .stages = point.integer(Role::stages),
                         .a_copy = point.integer(Role::a_alignment),
                         .b_copy = point.integer(Role::b_alignment),
                         .out_vectors = point.integer(Role::out_alignment) == 16};
  if (is_column_major(point)) {
    std::swap(config.a, config.b);
    std::swap(config.a_copy, config.b_copy);
  }
  return config;
}

std::shared_ptr<const DesignSpace> make_sm120_space(bool scaled) {
  DesignSpace::Builder builder;
  const std::vector<Dtype> plain{Dtype::e4m3, Dtype::e5m2};
  const std::vector<Dtype> with_e2m1{Dtype::e4m3, Dtype::e5m2, Dtype::e2m1};
  const std::vector<Dtype> floats{Dtype::f32, Dtype::f16, Dtype::bf16};
  const std::vector<Dtype> and_narrow{Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::e4m3,
                                      Dtype::e5m2};
  builder.dtypes(Role::a_dtype, scaled ? with_e2m1 : plain)
      .dtypes(Role::b_dtype, scaled ? with_e2m1 : plain)
      .dtypes(Role::accumulator_type, {Dtype::f32})
      .dtypes(Role::out_dtype, scaled ? floats : and_narrow)
      .layouts({"tnt", "tnn"})
      .alignments(Role::a_alignment, {16, 4})
      .alignments(Role::b_alignment, {16, 4})
      .alignments(Role::out_alignment, {16, 1})
      .shapes(Role::tile, sm120_tile_shapes())
      .integers(Role::stages, {2, 3, 4, 5, 6})
      .require({"align_a", "align_b", "tile"}, sm120_copies_fit);
  if (!scaled) {
    return builder.require({"a", "tile"}, sm120_rows_fit)
        .require({"a", "tile", "stages"}, sm120_stages_fit)
        .require({"a", "out", "tile"}, sm120_registers_fit)
        .build_lazily();
  }
  return builder.choices("blocks", {"1x32", "1x16"})
      .require({"a", "b"}, sm120_multiplies)
      .require({"a", "blocks"}, sm120_block_fits)
      .require({"a", "tile", "blocks"}, sm120_rows_fit)
      .require({"a", "tile", "stages", "blocks"}, sm120_stages_fit)
      .require({"a", "out", "tile", "blocks"}, sm120_registers_fit)
      .build_lazily();
}

}  // namespace estoc::cuda
