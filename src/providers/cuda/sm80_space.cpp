// The design space of sm80_gemm, and what a point of it means.
#include "providers/cuda/sm80_space.h"

#include <algorithm>
#include <vector>

#include "core/architectures.h"
#include "providers/cuda/config_text.h"
#include "providers/cuda/operand_plane.h"
#include "providers/cuda/product_types.h"

namespace estoc::cuda {
namespace {

using abi::Sm80GemmConfig;

/// A tile and the warps that share it.
struct MenuTile {
  int m;
  int n;
  int warps_m;
  int warps_n;
};
constexpr MenuTile kMenu[] = {
    {64, 64, 2, 2},   {64, 128, 2, 2},  {128, 64, 2, 2},
    {128, 128, 2, 2}, {128, 256, 2, 4}, {256, 128, 4, 2},
};
// A sum of f64 takes two registers, so more warps share a tile.
constexpr MenuTile kF64Menu[] = {
    {64, 64, 2, 2},
    {64, 128, 2, 4},
    {128, 64, 4, 2},
    {128, 128, 2, 4},
};

bool stores_tile(const DesignPoint& point) {
  return stores_accumulator(point) && (point.dtype(Role::out_dtype) != Dtype::f64 ||
                                       point.dtype(Role::accumulator_type) == Dtype::f64);
}

std::vector<Shape3> tile_shapes() {
  std::vector<Shape3> shapes;
  for (const int k : {32, 64, 16, 128}) {
    for (const MenuTile& tile : kMenu)
      shapes.push_back({tile.m, tile.n, k});
  }
  return shapes;
}

/// The menu's tile that the code computes; null when there is none for the dtype.
const MenuTile* menu_tile(const DesignPoint& point) {
  const Shape3 tile = shape_in_code(point, Role::tile);
  const bool f64 = point.dtype(Role::a_dtype) == Dtype::f64;
  const std::span<const MenuTile> menu =
      f64 ? std::span<const MenuTile>(kF64Menu) : std::span<const MenuTile>(kMenu);
  const auto found = std::find_if(menu.begin(), menu.end(), [&](const MenuTile& each) {
    return each.m == tile.m && each.n == tile.n;
  });
  return found != menu.end() ? &*found : nullptr;
}

/// What the code multiplies.
Dtype multiplied_a(const DesignPoint& point) {
  return dequantises(point) ? Dtype::bf16 : point.dtype(Role::a_dtype);
}

bool tile_fits(const DesignPoint& point) {
  const Dtype a = multiplied_a(point);
  const int row_bytes = point.shape(Role::tile).k * dtype_bits(a) / 8;
  const bool f64 = a == Dtype::f64;
  if (f64 ? row_bytes != 128 && row_bytes != 256 : row_bytes != 64 && row_bytes != 128) {
    return false;
  }
  return menu_tile(point) != nullptr;
}

// What leaves a kernel without registers on some target: large tiles of bytes whose fragments are
// put together one by one, converted, or fetched far ahead, and conversion of the results to fp8.
bool registers_fit(const DesignPoint& point) {
  const Shape3 tile = point.shape(Role::tile);
  const Majors majors = majors_of(point);
  const Dtype a = multiplied_a(point);
  const bool gathered = majors.a_m_major || majors.b_n_major;
  const int area = tile.m * tile.n;
  if (a == Dtype::f64 && tile.k == 32 && point.dtype(Role::out_dtype) != a) return false;
  if (dtype_bits(a) == 8 && (gathered || tile.k == 128)) return area <= 64 * 128;
  return area <= 128 * 128 || !(is_fp8(a) || is_fp8(point.dtype(Role::out_dtype)));
}

// Small copies take registers too.
bool copies_fit(const DesignPoint& point) {
  const Shape3 tile = point.shape(Role::tile);
  const bool f64 = point.dtype(Role::a_dtype) == Dtype::f64;
  const bool large = tile.m * tile.n > 128 * 128 || (f64 && tile.k == 32);
  return !large ||
         (point.integer(Role::a_alignment) == 16 && point.integer(Role::b_alignment) == 16);
}

bool stages_fit(const DesignPoint& point) {
  const Shape3 tile = point.shape(Role::tile);
  const int row_bytes = tile.k * dtype_bits(multiplied_a(point)) / 8;
  const int bytes = point.integer(Role::stages) * (tile.m + tile.n) * row_bytes;
  return bytes <= core::architecture(90).shared_bytes;
}

}  // namespace

Sm80GemmConfig sm80_config(const DesignPoint& point, const Alignments& alignments) {
  const Majors majors = majors_of(point);
  const MenuTile& tile = *menu_tile(point);
  Sm80GemmConfig config{.a = abi_type(point.dtype(Role::a_dtype)),
                        .b = abi_type(point.dtype(Role::b_dtype)),
                        .accumulator = abi_type(point.dtype(Role::accumulator_type)),
                        .out = abi_type(point.dtype(Role::out_dtype)),
                        .a_m_major = majors.a_m_major,
                        .b_n_major = majors.b_n_major,
                        .tile_m = tile.m,
                        .tile_n = tile.n,
                        .tile_k = point.shape(Role::tile).k,
                        .warps_m = tile.warps_m,
                        .warps_n = tile.warps_n,
                        .stages = point.integer(Role::stages),
                        .a_copy = alignments.a,
                        .b_copy = alignments.b,
                        .out_vectors = alignments.out == 16};
  if (has_dimension(point, "result")) {
    config.out = abi::Type::f32;
    config.out_vectors = true;
  }
  if (dequantises(point)) {
    config.a = config.b = abi::Type::bf16;
    config.a_copy = config.b_copy = 16;
  }
  if (majors.transposed) {
    std::swap(config.a, config.b);
    std::swap(config.a_copy, config.b_copy);
  }
  return config;
}

std::shared_ptr<const DesignSpace> make_sm80_space() {
  const auto operands = {Dtype::f16,  Dtype::bf16, Dtype::tf32, Dtype::e4m3,
                         Dtype::e5m2, Dtype::i8,   Dtype::u8,   Dtype::f64};
  return DesignSpace::Builder{}
      .dtypes(Role::a_dtype, operands)
      .dtypes(Role::b_dtype, operands)
      .dtypes(Role::accumulator_type, {Dtype::f32, Dtype::i32, Dtype::f64, Dtype::f16})
      .dtypes(Role::out_dtype, {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::e4m3, Dtype::e5m2,
                                Dtype::i32, Dtype::i8, Dtype::u8, Dtype::f64})
      .layouts({"tnt", "ttt", "ntt", "nnt", "tnn", "ttn", "ntn", "nnn"})
      .alignments(Role::a_alignment, {16, 8, 4})
      .alignments(Role::b_alignment, {16, 8, 4})
      .alignments(Role::out_alignment, {16, 1})
      .shapes(Role::tile, tile_shapes())
      .integers(Role::stages, {3, 4, 5})
      .require({"a", "b", "acc"}, accumulates_in_tensor_cores)
      .require({"acc", "out"}, stores_tile)
      .require({"a", "align_a", "align_b"},
               [](const DesignPoint& p) {
                 const int least = std::max(4, dtype_bits(p.dtype(Role::a_dtype)) / 8);
                 return p.integer(Role::a_alignment) >= least &&
                        p.integer(Role::b_alignment) >= least;
               })
      .require({"a", "layouts", "tile"}, tile_fits)
      .require({"a", "tile", "stages"}, stages_fit)
      .require({"a", "layouts", "out", "tile"}, registers_fit)
      .require({"a", "align_a", "align_b", "tile"}, copies_fit)
      .build_lazily();
}

std::shared_ptr<const DesignSpace> make_sm80_dequantised_space() {
  return DesignSpace::Builder{}
      .dtypes(Role::a_dtype, kDequantised)
      .dtypes(Role::b_dtype, kDequantised)
      .dtypes(Role::accumulator_type, {Dtype::f32})
      .dtypes(Role::out_dtype, {Dtype::f32, Dtype::f16, Dtype::bf16})
      .layouts({"xxt", "xxn"})
      .alignments(Role::a_alignment, {1})
      .alignments(Role::b_alignment, {1})
      .alignments(Role::out_alignment, {16, 1})
      .shapes(Role::tile, tile_shapes())
      .integers(Role::stages, {3, 4, 5})
      .choices("as", {"bf16"})
      .require({"a", "layouts", "tile"}, tile_fits)
      .require({"a", "tile", "stages"}, stages_fit)
      .build_lazily();
}

std::shared_ptr<const DesignSpace> make_sm80_quantised_space() {
  const auto operands = {Dtype::f16,  Dtype::bf16, Dtype::tf32, Dtype::e4m3,
                         Dtype::e5m2, Dtype::i8,   Dtype::u8};
  return DesignSpace::Builder{}
      .dtypes(Role::a_dtype, operands)
      .dtypes(Role::b_dtype, operands)
      .dtypes(Role::accumulator_type, {Dtype::f32, Dtype::i32})
      .dtypes(Role::out_dtype, {Dtype::e4m3, Dtype::e5m2, Dtype::e2m1})
      .layouts({"tnt", "ttt", "ntt", "nnt", "tnn", "ttn", "ntn", "nnn"})
      .alignments(Role::a_alignment, {16, 4})
      .alignments(Role::b_alignment, {16, 4})
      .alignments(Role::out_alignment, {1})
      .shapes(Role::tile, tile_shapes())
      .integers(Role::stages, {3, 4})
      .choices("result", {"f32"})
      .require({"a", "b", "acc"}, accumulates_in_tensor_cores)
      .require({"out", "layouts"}, packed_rows_are_contiguous)
      .require({"a", "layouts", "tile"}, tile_fits)
      .require({"a", "tile", "stages"}, stages_fit)
      .require({"a", "align_a", "align_b", "tile"}, copies_fit)
      // Whatever stores it, the sums of larger tiles leave too few registers.
      .require({"tile"},
               [](const DesignPoint& point) {
                 const Shape3 tile = point.shape(Role::tile);
                 return tile.m * tile.n <= 128 * 128;
               })
      .require({"a", "layouts", "out", "tile"}, registers_fit)
      .build_lazily();
}

namespace {

std::shared_ptr<const DesignSpace> grouped_space(std::initializer_list<std::string_view> layouts) {
  const auto operands = {Dtype::f16,  Dtype::bf16, Dtype::tf32, Dtype::e4m3,
                         Dtype::e5m2, Dtype::i8,   Dtype::u8};
  return DesignSpace::Builder{}
      .dtypes(Role::a_dtype, operands)
      .dtypes(Role::b_dtype, operands)
      .dtypes(Role::accumulator_type, {Dtype::f32, Dtype::i32})
      .dtypes(Role::out_dtype, {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::i32})
      .layouts(layouts)
      .alignments(Role::a_alignment, {16})
      .alignments(Role::b_alignment, {16})
      .alignments(Role::out_alignment, {16, 1})
      .shapes(Role::tile, tile_shapes())
      .integers(Role::stages, {3, 4})
      .require({"a", "b", "acc"}, accumulates_in_tensor_cores)
      .require({"acc", "out"}, stores_tile)
      .require({"a", "layouts", "tile"}, tile_fits)
      .require({"a", "tile", "stages"}, stages_fit)
      .require({"a", "layouts", "out", "tile"}, registers_fit)
      // Finding groups takes registers that larger tiles need.
      .require({"tile"},
               [](const DesignPoint& point) {
                 const Shape3 tile = point.shape(Role::tile);
                 return tile.m * tile.n <= 128 * 128;
               })
      .build_lazily();
}

}  // namespace

std::shared_ptr<const DesignSpace> make_sm80_grouped_space() {
  return grouped_space({"tnt", "ttt", "ntt", "nnt"});
}

std::shared_ptr<const DesignSpace> make_sm80_gathered_space() {
  return grouped_space({"tnt", "ttt"});
}

std::shared_ptr<const DesignSpace> make_sm80_pointer_space() {
  return grouped_space({"tnt", "ttt", "ntt", "nnt", "tnn", "ttn", "ntn", "nnn"});
}

std::shared_ptr<const DesignSpace> make_sm80_scaled_space() {
  const auto operands = {Dtype::e4m3, Dtype::e5m2, Dtype::i8};
  return DesignSpace::Builder{}
      .dtypes(Role::a_dtype, operands)
      .dtypes(Role::b_dtype, operands)
      .dtypes(Role::accumulator_type, {Dtype::f32})
      .dtypes(Role::out_dtype, {Dtype::f32, Dtype::f16, Dtype::bf16})
      .layouts({"tnt", "tnn"})
      .alignments(Role::a_alignment, {16, 4})
      .alignments(Role::b_alignment, {16, 4})
      .alignments(Role::out_alignment, {16, 1})
      .shapes(Role::tile, {{64, 64, 128}, {64, 128, 128}, {128, 64, 128}})
      .integers(Role::stages, {3, 4})
      .require({"a", "b"},
               [](const DesignPoint& point) {
                 return is_fp8(point.dtype(Role::a_dtype)) == is_fp8(point.dtype(Role::b_dtype));
               })
      // With more rows the scales of a warp take too many registers.
      .require({"layouts", "tile"},
               [](const DesignPoint& point) { return shape_in_code(point, Role::tile).m == 64; })
      .build_lazily();
}

}  // namespace estoc::cuda
