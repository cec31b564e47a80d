// The design space of sm100_gemm, and what a point of it means.
#include "providers/cuda/sm100_space.h"

#include <array>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/architectures.h"
#include "providers/cuda/config_text.h"
#include "providers/cuda/copied_operands.h"
#include "providers/cuda/operand_plane.h"
#include "providers/cuda/product_types.h"
#include "providers/cuda/tma_groups.h"

namespace estoc::cuda {
namespace {

using abi::Sm100GemmConfig;

constexpr int kSm100SharedBytes = core::architecture(100).shared_bytes;
constexpr int kSm100MostStages = 8;
constexpr int kSm100LeastStages = 3;
constexpr int kSm100Columns[] = {16,  32,  48,  64,  80,  96,  112, 128,
                                 144, 160, 176, 192, 208, 224, 240, 256};
constexpr int kSm100IntegerColumns[] = {32, 64, 96, 128, 160, 192, 224, 256};
// Of kernels for products that are large enough to pay for a copy.
constexpr int kSm100CopiedColumns[] = {64, 128, 192, 256};

constexpr int kSm100GroupedColumns[] = {32, 64, 128, 192, 256};
constexpr int kSm100SwappedColumns[] = {16, 32, 64, 128};

Shape3 sm100_in_code(const DesignPoint& point, Role role) {
  return shape_in_code(point, role, sm100_is_transposed(point));
}

Majors sm100_majors(const DesignPoint& point) {
  return majors_of(point, sm100_is_transposed(point));
}

/// What tensor cores multiply: of quantised operands the copies as bf16.
Dtype sm100_multiplied(const DesignPoint& point, Role role) {
  return dequantises(point) ? Dtype::bf16 : point.dtype(role);
}

bool sm100_is_dynamic(const DesignPoint& point) {
  return point.space().find("scheduler") >= 0;
}

int sm100_tile_k(Dtype dtype) {
  return 128 * 8 / dtype_bits(dtype);
}

/// CTAs that compute a tile together.
int sm100_group(const Shape3& cluster) {
  return cluster.m % 2 == 0 ? 2 : 1;
}

bool sm100_sums_fit(const DesignPoint& point) {
  return dequantises(point) || accumulates_in_tensor_cores(point);
}

bool sm100_layouts_fit(const DesignPoint& point) {
  const Majors majors = sm100_majors(point);
  return dtype_bits(point.dtype(Role::a_dtype)) == 16 || (!majors.a_m_major && !majors.b_n_major);
}

bool sm100_tile_fits(const DesignPoint& point) {
  const Shape3 tile = sm100_in_code(point, Role::tile);
  return tile.k == sm100_tile_k(sm100_multiplied(point, Role::a_dtype)) &&
         tile.m == Sm100GemmConfig::kRows;
}

/// A CTA alone, or clusters of pairs, which stand one below the other and share the columns of B.
bool sm100_cluster_fits(const DesignPoint& point) {
  const Shape3 cluster = sm100_in_code(point, Role::cluster);
  const int group = sm100_group(cluster);
  if (group == 1 && cluster.n != 1) return false;
  const Majors majors = sm100_majors(point);
  const int own_columns = sm100_in_code(point, Role::tile).n / group;
  // Instructions of pairs have 32 columns or a multiple, and so has what a group loads of B for
  // others. An operand along M or N is loaded in blocks of 64.
  const int b_unit = majors.b_n_major ? 64 : 16;
  const int b_sharers = cluster.m / group;
  if (own_columns % (b_unit * (majors.b_n_major ? b_sharers : 1)) != 0) return false;
  return !majors.a_m_major || Sm100GemmConfig::kRows / 64 % cluster.n == 0;
}

bool sm100_rows_fit(const DesignPoint& point) {
  return sm100_in_code(point, Role::tile).n * dtype_bits(point.dtype(Role::out_dtype)) / 8 % 32 ==
         0;
}

// As many stages as fit.
bool sm100_has_the_stages(const DesignPoint& point) {
  Sm100GemmConfig config{};
  config.tile_n = sm100_in_code(point, Role::tile).n;
  config.group = sm100_group(sm100_in_code(point, Role::cluster));
  config.tma_store = point.integer(Role::out_alignment) == 16;
  if (is_grouped(point)) config.groups = abi::GroupedMode::reduction;  // takes the most
  config.dynamic = sm100_is_dynamic(point);
  config.stages = kSm100MostStages;
  while (config.stages >= kSm100LeastStages && config.shared_bytes() > kSm100SharedBytes)
    --config.stages;
  return point.integer(Role::stages) == config.stages;
}

std::span<const int> sm100_widths(Sm100Kind kind) {
  if (kind == Sm100Kind::grouped) return kSm100GroupedColumns;
  if (kind == Sm100Kind::swapped_grouped) return kSm100SwappedColumns;
  const bool copied =
      kind == Sm100Kind::prepared || kind == Sm100Kind::dequantised || kind == Sm100Kind::dynamic;
  if (kind == Sm100Kind::integer) return kSm100IntegerColumns;
  return copied ? std::span<const int>(kSm100CopiedColumns) : kSm100Columns;
}

std::vector<Shape3> sm100_clusters(Sm100Kind kind) {
  std::vector<Shape3> clusters{{1, 1, 1}, {2, 1, 1}, {1, 2, 1}};
  if (kind != Sm100Kind::plain && kind != Sm100Kind::dynamic) return clusters;
  for (const Shape3 more : {Shape3{2, 2, 1}, {4, 1, 1}, {1, 4, 1}, {4, 2, 1}, {2, 4, 1}})
    clusters.push_back(more);
  return clusters;
}

std::vector<Shape3> sm100_tile_shapes(Sm100Kind kind) {
  const bool swapped = kind == Sm100Kind::swapped_grouped;
  std::vector<Shape3> shapes;
  for (const int k : {64, 128, 32}) {
    for (const int columns : sm100_widths(kind)) {
      if (swapped) {
        shapes.push_back({columns, Sm100GemmConfig::kRows, k});
        continue;
      }
      shapes.push_back({Sm100GemmConfig::kRows, columns, k});
      if (columns != Sm100GemmConfig::kRows) {
        shapes.push_back({columns, Sm100GemmConfig::kRows, k});
      }
    }
  }
  return shapes;
}

}  // namespace

bool sm100_is_transposed(const DesignPoint& point) {
  return is_column_major(point) != is_swapped(point);
}

abi::Sm100GemmConfig sm100_config(const DesignPoint& point) {
  const Majors majors = sm100_majors(point);
  Sm100GemmConfig config{.a = abi_type(sm100_multiplied(point, Role::a_dtype)),
                         .b = abi_type(sm100_multiplied(point, Role::b_dtype)),
                         .accumulator = abi_type(point.dtype(Role::accumulator_type)),
                         .out = abi_type(point.dtype(Role::out_dtype)),
                         .a_m_major = majors.a_m_major,
                         .b_n_major = majors.b_n_major,
                         .tile_n = sm100_in_code(point, Role::tile).n,
                         .stages = point.integer(Role::stages),
                         .group = sm100_group(sm100_in_code(point, Role::cluster)),
                         .tma_store = point.integer(Role::out_alignment) == 16};
  const Shape3 cluster = sm100_in_code(point, Role::cluster);
  config.places_m = cluster.m / config.group;
  config.places_n = cluster.n;
  config.dynamic = sm100_is_dynamic(point);
  if (is_grouped(point)) config.groups = groups_in_code(point, majors.transposed);
  if (majors.transposed) std::swap(config.a, config.b);
  return config;
}

std::shared_ptr<const DesignSpace> make_sm100_space(Sm100Kind kind) {
  static constexpr std::array kOperands{Dtype::f16, Dtype::bf16, Dtype::tf32, Dtype::e4m3,
                                        Dtype::e5m2};
  static constexpr std::array kIntegers{Dtype::i8, Dtype::u8};
  static constexpr std::array kOuts{Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::e4m3, Dtype::e5m2};
  static constexpr std::array kIntegerOuts{Dtype::i32,  Dtype::f32, Dtype::f16,
                                           Dtype::bf16, Dtype::i8,  Dtype::u8};
  const bool dequantised = kind == Sm100Kind::dequantised;
  const bool integer = kind == Sm100Kind::integer;
  const bool swapped = kind == Sm100Kind::swapped_grouped;
  const bool grouped = kind == Sm100Kind::grouped || swapped;
  const std::span<const Dtype> operands = dequantised ? std::span<const Dtype>(kDequantised)
                                          : integer   ? std::span<const Dtype>(kIntegers)
                                                      : kOperands;
  const std::span<const Dtype> outs =
      integer ? std::span<const Dtype>(kIntegerOuts)
              : std::span<const Dtype>(kOuts).first(dequantised || grouped ? 3 : kOuts.size());
  const std::array accumulators{integer ? Dtype::i32 : Dtype::f32};
  std::vector<std::string_view> layouts{"tnt", "ttt", "ntt", "nnt", "tnn", "ttn", "ntn", "nnn"};
  std::vector<int> alignments{16};
  if (kind == Sm100Kind::prepared) {
    layouts = {"xnt", "xtt", "txt", "nxt", "xxt", "xnn", "xtn", "txn", "nxn", "xxn"};
    alignments.push_back(1);
  } else if (dequantised) {
    layouts = {"xxt", "xxn"};
    alignments = {1};
  }
  std::vector<int> out_alignments{16, 1};
  if (swapped) {
    layouts.resize(4);
    out_alignments = {1};
  }
  std::vector<int> stages(kSm100MostStages - kSm100LeastStages + 1);
  std::iota(stages.begin(), stages.end(), kSm100LeastStages);
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, operands)
      .dtypes(Role::b_dtype, operands)
      .dtypes(Role::accumulator_type, accumulators)
      .dtypes(Role::out_dtype, outs)
      .layouts(layouts)
      .alignments(Role::a_alignment, alignments)
      .alignments(Role::b_alignment, alignments)
      .alignments(Role::out_alignment, out_alignments)
      .shapes(Role::tile, sm100_tile_shapes(kind))
      .shapes(Role::cluster, sm100_clusters(kind))
      .integers(Role::stages, stages)
      .require({"a", "b", "acc"}, sm100_sums_fit)
      .require({"acc", "out"}, stores_accumulator)
      .require({"a", "layouts"}, sm100_layouts_fit)
      .require({"layouts", "align_a", "align_b"}, copied_alignments_fit)
      .require({"a", "layouts", "tile"}, sm100_tile_fits)
      .require({"layouts", "tile", "cluster"}, sm100_cluster_fits)
      .require({"layouts", "out", "tile"}, sm100_rows_fit)
      .require({"layouts", "align_out", "tile", "cluster", "stages"}, sm100_has_the_stages);
  if (dequantised) builder.choices("as", {"bf16"});
  if (kind == Sm100Kind::dynamic) builder.choices("scheduler", {"dynamic"});
  if (swapped) builder.choices("orientation", {"swapped"});
  if (grouped) {
    builder
        .choices("along", swapped ? std::vector<std::string_view>{"m", "l"}
                                  : std::vector<std::string_view>{"m", "n", "k", "l"})
        .require({"layouts", "align_out", "along"}, [](const DesignPoint& point) {
          return boxes_fit_groups(point, sm100_is_transposed(point));
        });
  }
  return builder.build_lazily();
}

}  // namespace estoc::cuda
