// The design space of sm90_gemm, and what a point of it means.
#include "providers/cuda/sm90_space.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
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

using abi::Schedule;
using abi::Sm90GemmConfig;

constexpr int kSharedBytes = core::architecture(90).shared_bytes;
constexpr int kMaxStages = 8;
constexpr int kMaxSwappedStages = 16;
constexpr int kMinStages = 3;
// The choice of "scales" behind the pairs of blocks.
constexpr int kRowScales = 4;

struct MenuTile {
  int m;
  int n;
};
// Rows and columns of the tiles that at least one schedule can compute.
constexpr MenuTile kMenu[] = {
    {64, 16},   {64, 32},   {64, 64},   {64, 96},   {64, 128},  {64, 192},  {64, 256},  {128, 32},
    {128, 64},  {128, 80},  {128, 96},  {128, 112}, {128, 128}, {128, 144}, {128, 160}, {128, 176},
    {128, 192}, {128, 224}, {128, 256}, {256, 64},  {256, 96},  {256, 128}, {256, 160}, {256, 192},
};

// Those of swapped kernels: few columns, which are rows of the problem. Tiles of 256 rows were
// seldom the best on an H200 and an H100.
constexpr MenuTile kSwappedMenu[] = {
    {64, 8},  {64, 16},  {64, 32},  {64, 48},  {64, 64},
    {128, 8}, {128, 16}, {128, 32}, {128, 48}, {128, 64},
};
// Those of swapped kernels that store by TMA, for rows of the problem between multiples of 64.
// Tiles of 64 x 192 and 64 x 224 were seldom the best
// (docs/notes/2026-11-28_wide_swapped_tiles.md).
constexpr MenuTile kWideSwappedMenu[] = {
    {64, 80},   {64, 96},   {64, 112},  {64, 144},  {64, 160},  {128, 80},  {128, 96},
    {128, 112}, {128, 144}, {128, 160}, {128, 192}, {128, 224}, {192, 80},  {192, 96},
    {192, 112}, {192, 128}, {192, 144}, {192, 160}, {192, 176}, {192, 192},
};
// Those of swapped kernels with groups or scales.
constexpr MenuTile kSwappedPowersMenu[] = {
    {64, 16}, {64, 32}, {64, 64}, {128, 16}, {128, 32}, {128, 64},
};

// Those of swapped kernels that convert: 256 rows have four consumers.
constexpr MenuTile kConvertedMenu[] = {
    {64, 16}, {64, 32}, {64, 64}, {128, 16}, {128, 32}, {128, 64}, {256, 16}, {256, 32},
};

// Those of kernels with a step ahead or behind, which are for products large enough to pay for it:
// tiles that were the fastest of their size on an H200.
constexpr MenuTile kPreparedMenu[] = {
    {64, 32},   {64, 64},   {64, 128},  {64, 256},  {128, 64},
    {128, 128}, {128, 192}, {128, 256}, {256, 128}, {256, 192},
};

// Those of grouped kernels: the largest for groups of many rows, the others for few.
constexpr MenuTile kGroupedMenu[] = {
    {64, 64}, {64, 128}, {64, 256}, {128, 64}, {128, 128}, {128, 192}, {128, 256}, {256, 128},
};

// Those of planes, whose promoted sums take twice the registers.
constexpr MenuTile kPlanesMenu[] = {
    {64, 64}, {64, 128}, {64, 192}, {128, 64}, {128, 96}, {128, 128}, {128, 192}, {256, 96},
};

// Those of scaled kernels, whose added sums take twice the registers.
constexpr MenuTile kScaledMenu[] = {
    {64, 32},  {64, 64},   {64, 128},  {64, 192},  {128, 64},
    {128, 96}, {128, 128}, {128, 160}, {128, 192}, {256, 64},
};

bool is_scaled(Sm90Kind kind) {
  return kind == Sm90Kind::scaled || kind == Sm90Kind::scaled_quantised ||
         kind == Sm90Kind::swapped_scaled || kind == Sm90Kind::scaled_grouped ||
         kind == Sm90Kind::swapped_scaled_grouped;
}

bool is_quantised(Sm90Kind kind) {
  return kind == Sm90Kind::quantised || kind == Sm90Kind::scaled_quantised;
}

bool has_groups(Sm90Kind kind) {
  return kind == Sm90Kind::grouped || kind == Sm90Kind::swapped_grouped ||
         kind == Sm90Kind::scaled_grouped || kind == Sm90Kind::swapped_scaled_grouped ||
         kind == Sm90Kind::gathered;
}

bool swaps_operands(Sm90Kind kind) {
  return kind == Sm90Kind::swapped || kind == Sm90Kind::swapped_fast ||
         kind == Sm90Kind::swapped_scaled || kind == Sm90Kind::swapped_grouped ||
         kind == Sm90Kind::swapped_scaled_grouped || kind == Sm90Kind::converted;
}

std::span<const MenuTile> menu_of(Sm90Kind kind) {
  if (kind == Sm90Kind::converted) return kConvertedMenu;
  if (kind == Sm90Kind::swapped) return kSwappedMenu;
  if (kind == Sm90Kind::swapped_fast) return kWideSwappedMenu;
  if (swaps_operands(kind)) return kSwappedPowersMenu;
  if (is_scaled(kind)) return kScaledMenu;
  if (kind == Sm90Kind::planes) return kPlanesMenu;
  if (kind == Sm90Kind::grouped || kind == Sm90Kind::gathered || kind == Sm90Kind::pointed)
    return kGroupedMenu;
  const bool few =
      kind == Sm90Kind::prepared || kind == Sm90Kind::dequantised || kind == Sm90Kind::quantised;
  return few ? std::span<const MenuTile>(kPreparedMenu) : kMenu;
}

bool is_converted(const DesignPoint& point) {
  return has_dimension(point, "scales_b");
}

/// D is kept in f32, in workspace.
bool is_quantised(const DesignPoint& point) {
  return has_dimension(point, "result");
}

Shape3 in_code(const DesignPoint& point, Role role) {
  return shape_in_code(point, role, sm90_is_transposed(point));
}

Majors majors_in_code(const DesignPoint& point) {
  return majors_of(point, sm90_is_transposed(point));
}

int tile_k_of(Dtype dtype) {
  return 128 * 8 / dtype_bits(dtype);
}

std::vector<Shape3> tile_shapes(Sm90Kind kind) {
  std::vector<Shape3> shapes;
  if (swaps_operands(kind)) {
    const bool converted = kind == Sm90Kind::converted;
    for (const int k : converted ? std::vector{256, 128} : std::vector{64, 128, 32}) {
      for (const MenuTile& tile : menu_of(kind))
        shapes.push_back({tile.n, tile.m, k});
      if (kind != Sm90Kind::swapped) continue;
      for (const MenuTile& tile : kWideSwappedMenu)
        shapes.push_back({tile.n, tile.m, k});
    }
    return shapes;
  }
  for (const int k : {64, 128, 32}) {
    for (const MenuTile& tile : menu_of(kind)) {
      for (const Shape3 shape : {Shape3{tile.m, tile.n, k}, Shape3{tile.n, tile.m, k}}) {
        if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) shapes.push_back(shape);
      }
    }
  }
  return shapes;
}

/// The dimensions of no role that a configuration is read of, found once for all of it.
struct OtherDimensions {
  bool converted = false, dequantises = false, fast = false, swapped = false, scaled = false;
  bool quantised = false, grouped = false;

  explicit OtherDimensions(const DesignPoint& point) {
    if (!point.space().has_others()) return;
    for (const Dimension& dimension : point.space().dimensions()) {
      if (dimension.role != Role::other) continue;
      converted = converted || dimension.key == "scales_b";
      dequantises = dequantises || dimension.key == "as";
      fast = fast || dimension.key == "sums";
      swapped = swapped || dimension.key == "orientation";
      scaled = scaled || dimension.key == "scales";
      quantised = quantised || dimension.key == "result";
      grouped = grouped || dimension.key == "along";
    }
  }
};

/// What tensor cores multiply: planes of bf16 for f32, and dequantised copies as bf16.
Dtype multiplied(const DesignPoint& point, Role role, const OtherDimensions& others) {
  const Dtype dtype = point.dtype(role);
  if (others.converted && role == Role::b_dtype) return dtype;
  return dtype == Dtype::f32 || others.dequantises ? Dtype::bf16 : dtype;
}
Dtype multiplied(const DesignPoint& point, Role role) {
  return multiplied(point, role, OtherDimensions(point));
}

/// Sums are added to f32 registers after every 128 of K: what tensor cores add up of 8-bit floats
/// has few bits, and what they add up of planes is truncated. A space with a dimension "sums"
/// leaves them as they are, and so do accumulators of f16.
bool is_promoted(const DesignPoint& point, const OtherDimensions& others) {
  if (others.converted) return false;
  return point.dtype(Role::a_dtype) == Dtype::f32 ||
         (is_fp8(multiplied(point, Role::a_dtype, others)) && !others.fast &&
          point.dtype(Role::accumulator_type) != Dtype::f16);
}
bool is_promoted(const DesignPoint& point) {
  return is_promoted(point, OtherDimensions(point));
}

bool layouts_fit(const DesignPoint& point) {
  const Majors majors = majors_in_code(point);
  return dtype_bits(point.dtype(Role::a_dtype)) == 16 || (!majors.a_m_major && !majors.b_n_major);
}

Schedule schedule_of(const DesignPoint& point) {
  constexpr std::array kSchedules{Schedule::cooperative, Schedule::pingpong, Schedule::single};
  return kSchedules[static_cast<std::size_t>(point.integer(Role::schedule))];
}

/// Whether a tile, as the code sees it, is in the menu of its kernels.
bool is_listed(const DesignPoint& point, const Shape3& tile) {
  const bool swapped = is_swapped(point);
  const bool wide = swapped && tile.n >= kWideSwapped;
  const auto menu = is_converted(point) ? std::span<const MenuTile>(kConvertedMenu)
                    : wide              ? std::span<const MenuTile>(kWideSwappedMenu)
                    : swapped           ? std::span<const MenuTile>(kSwappedMenu)
                                        : std::span(kMenu);
  return std::any_of(menu.begin(), menu.end(),
                     [&](const MenuTile& each) { return each.m == tile.m && each.n == tile.n; });
}

bool tile_fits_schedule(const DesignPoint& point) {
  const Role narrow = is_converted(point) ? Role::b_dtype : Role::a_dtype;
  if (point.shape(Role::tile).k != tile_k_of(multiplied(point, narrow))) return false;
  const Shape3 tile = in_code(point, Role::tile);
  if (!is_listed(point, tile)) return false;
  const bool swapped = is_swapped(point);
  // Four consumers have too few registers for more sums beside 4-bit codes.
  if (tile.m == 256 && tile.n > 16 && swapped && dtype_bits(point.dtype(narrow)) == 4) return false;
  // Sums of f16 share registers.
  if (point.dtype(Role::accumulator_type) == Dtype::f16 && tile.n % 16 != 0) return false;
  const bool promote = is_promoted(point);
  const bool cooperative = schedule_of(point) == Schedule::cooperative;
  // Three consumers have too few registers for two sets of sums.
  if (tile.m == 192 && (!cooperative || promote)) return false;
  const int rows = !cooperative ? tile.m : tile.m == 192 ? 64 : std::max(tile.m / 2, 1);
  if (rows % 64 != 0) return false;
  // Beyond these the sums and what else a thread needs do not fit its registers.
  const int sums = rows / 64 * tile.n / 2;
  if (promote) return sums <= 96;
  if (schedule_of(point) == Schedule::single) return tile.m == 64;
  if (swapped) return cooperative;
  return sums <= 192 && tile.n >= 64;
}

bool tile_fits_types(const DesignPoint& point) {
  const Dtype a = point.dtype(Role::a_dtype);
  const Shape3 tile = in_code(point, Role::tile);
  // B is N-major in blocks of 64 columns.
  if (majors_in_code(point).b_n_major && tile.n % 64 != 0) return false;
  return !is_byte(a) || tile.n % 16 == 0;
}

bool cluster_fits(const DesignPoint& point) {
  const Shape3 cluster = in_code(point, Role::cluster);
  const Shape3 tile = in_code(point, Role::tile);
  // Each sharer loads whole blocks of 64, or at least 32 rows in whole patterns of 8. Widths of
  // which 32 is a factor are cut into parts of which it is one: beside other parts ptxas spills.
  const bool swapped = is_swapped(point);
  // Swapped kernels gained by clusters where tiles were large (docs/notes).
  const bool large = tile.m == 192 && tile.n >= 128;
  if (swapped && !large && cluster.m * cluster.n > 1) return false;
  const int least = swapped ? 8 : 32;
  const int k_major_unit = tile.n % 32 == 0 ? least : 8;
  const int b_unit = majors_in_code(point).b_n_major ? 64 : k_major_unit;
  return tile.n % (b_unit * cluster.m) == 0 && tile.n >= least * cluster.m &&
         tile.m % (64 * cluster.n) == 0;
}

/// A configuration of that shape, of any types: what its shared memory takes depends on no more.
Sm90GemmConfig shape_of(const DesignPoint& point, int stages) {
  const Shape3 tile = in_code(point, Role::tile);
  Sm90GemmConfig config{};
  if (is_converted(point)) {
    config.a = abi_type(point.dtype(Role::b_dtype));
    config.b = abi::Type::bf16;
    config.a_scale_k = converted_scale_k(point);
  }
  config.tile_m = tile.m;
  config.tile_n = tile.n;
  config.stages = stages;
  config.schedule = schedule_of(point);
  config.tma_store = is_quantised(point) || point.integer(Role::out_alignment) == 16;
  config.out_m_major = is_swapped(point) && config.tma_store;
  if (is_grouped(point)) config.groups = abi::GroupedMode::rows;  // or any other
  if (has_dimension(point, "scales")) config.a_scale_rows = config.b_scale_columns = 1;
  return config;
}

// As many stages as fit: fewer were never faster.
bool has_the_stages_that_fit(const DesignPoint& point) {
  int stages = is_swapped(point) ? kMaxSwappedStages : kMaxStages;
  while (stages >= kMinStages && shape_of(point, stages).shared_bytes() > kSharedBytes)
    --stages;
  return point.integer(Role::stages) == stages;
}

bool scale_fits_codes(const DesignPoint& point) {
  return converted_scale_k(point) != 16 || point.dtype(Role::b_dtype) == Dtype::e2m1;
}

/// Scales of single columns take registers, so that a tile of them has at most 128 columns, or a
/// multiple of 128.
bool tile_fits_scales(const DesignPoint& point) {
  const int columns = in_code(point, Role::tile).n;
  const bool blocks = scale_block(point, sm90_is_transposed(point) ? 0 : 1) == 128;
  return columns % 128 == 0 || 128 % columns == 0 || blocks;
}

/// Blocks of columns are counted from the first column of B, and groups of columns begin anywhere.
/// Batches have scales of rows too, but as factors of the epilogue.
bool groups_fit_scales(const DesignPoint& point) {
  const bool transposed = sm90_is_transposed(point);
  const abi::GroupedMode groups = groups_in_code(point, transposed);
  if (has_row_scales(point))
    return groups == abi::GroupedMode::rows || groups == abi::GroupedMode::columns;
  return groups != abi::GroupedMode::columns || scale_block(point, transposed ? 0 : 1) == 1;
}

/// D is quantised from f32, whatever its sums are.
bool stores_any(const DesignPoint& /*point*/) {
  return true;
}

bool store_rows_fit(const DesignPoint& point) {
  if (is_quantised(point)) return true;
  const int columns = in_code(point, Role::tile).n;
  if (is_swapped(point)) {
    if (point.integer(Role::out_alignment) != 16) return columns < kWideSwapped;
    // A box has 16 columns.
    return columns % 16 == 0 && dtype_bits(point.dtype(Role::out_dtype)) == 16;
  }
  // Each kernel makes a query longer, and none of these widths whose threads store was timed.
  if (columns % 32 != 0 && point.integer(Role::out_alignment) != 16) return false;
  return columns * dtype_bits(point.dtype(Role::out_dtype)) / 8 % 32 == 0;
}

/// What dimensions of no role say of a configuration.
void add_others(const DesignPoint& point, const OtherDimensions& others, bool transposed,
                Sm90GemmConfig& config) {
  if (others.scaled) {
    config.a_scale_rows = scale_block(point, 0);
    config.b_scale_columns = scale_block(point, 1);
    config.group_row_scales = has_row_scales(point);
  }
  if (others.quantised) {
    config.out = abi::Type::f32;
    config.tma_store = true;
  }
  if (others.converted) config.a_scale_k = converted_scale_k(point);
  if (others.grouped) config.groups = groups_in_code(point, transposed);
}

}  // namespace

int converted_scale_k(const DesignPoint& point) {
  constexpr std::array kBlocks{16, 32, 0};
  return kBlocks[static_cast<std::size_t>(point.value("scales_b").numbers[0])];
}

bool has_row_scales(const DesignPoint& point) {
  return has_dimension(point, "scales") && point.value("scales").numbers[0] == kRowScales;
}

int scale_block(const DesignPoint& point, std::size_t operand) {
  if (!has_dimension(point, "scales") || has_row_scales(point)) return 0;
  const int pair = point.value("scales").numbers[0];
  return (operand == 0 ? pair / 2 : pair % 2) == 0 ? 1 : 128;
}

bool sm90_is_transposed(const DesignPoint& point) {
  return is_column_major(point) != is_swapped(point);
}

abi::Sm90GemmConfig sm90_config(const DesignPoint& point) {
  const OtherDimensions others(point);
  const bool transposed = is_column_major(point) != others.swapped;
  const Majors majors = majors_of(point, transposed);
  const Shape3 tile = point.shape(Role::tile);
  const Shape3 cluster = point.shape(Role::cluster);
  Sm90GemmConfig config{.a = abi_type(multiplied(point, Role::a_dtype, others)),
                        .b = abi_type(multiplied(point, Role::b_dtype, others)),
                        .accumulator = abi_type(point.dtype(Role::accumulator_type)),
                        .out = abi_type(point.dtype(Role::out_dtype)),
                        .a_m_major = majors.a_m_major,
                        .b_n_major = majors.b_n_major,
                        .tile_m = tile.m,
                        .tile_n = tile.n,
                        .stages = point.integer(Role::stages),
                        .cluster_m = cluster.m,
                        .cluster_n = cluster.n,
                        .schedule = schedule_of(point),
                        .promote = is_promoted(point, others),
                        .tma_store = point.integer(Role::out_alignment) == 16,
                        .planes = point.dtype(Role::a_dtype) == Dtype::f32,
                        .out_m_major = others.swapped && point.integer(Role::out_alignment) == 16};
  add_others(point, others, transposed, config);
  if (majors.transposed) {
    std::swap(config.a, config.b);
    std::swap(config.a_scale_rows, config.b_scale_columns);
    std::swap(config.tile_m, config.tile_n);
    std::swap(config.cluster_m, config.cluster_n);
  }
  return config;
}

std::shared_ptr<const DesignSpace> make_sm90_space(Sm90Kind kind) {
  static constexpr std::array kAll{Dtype::f16,  Dtype::bf16, Dtype::tf32, Dtype::e4m3,
                                   Dtype::e5m2, Dtype::i8,   Dtype::u8};
  static constexpr std::array kNarrow{Dtype::e4m3, Dtype::e5m2};
  static constexpr std::array kF32{Dtype::f32};
  const bool scaled = is_scaled(kind);
  static constexpr std::array kActivations{Dtype::e4m3, Dtype::e5m2, Dtype::e2m1, Dtype::bf16};
  const bool converted = kind == Sm90Kind::converted;
  const bool dequantised = kind == Sm90Kind::dequantised || converted;
  const bool fast = kind == Sm90Kind::fast || kind == Sm90Kind::swapped_fast;
  const bool narrow = fast || scaled;
  const std::span<const Dtype> operands = dequantised ? std::span<const Dtype>(kDequantised)
                                          : narrow    ? std::span<const Dtype>(kNarrow)
                                          : kind == Sm90Kind::planes ? std::span<const Dtype>(kF32)
                                                                     : std::span<const Dtype>(kAll);
  const bool grouped = has_groups(kind);
  const bool pointed = kind == Sm90Kind::pointed;
  const bool swapped = swaps_operands(kind);
  const std::vector<Shape3> tiles = tile_shapes(kind);
  std::vector<Shape3> clusters{{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {2, 2, 1}};
  std::vector<std::string_view> layouts{"tnt", "ttt", "ntt", "nnt", "tnn", "ttn", "ntn", "nnn"};
  std::vector<int> alignments{16};
  std::vector<int> stages(swapped ? kMaxSwappedStages - kMinStages + 1
                                  : kMaxStages - kMinStages + 1);
  std::iota(stages.begin(), stages.end(), kMinStages);
  std::vector<int> out_alignments{16, 1};
  if (pointed) clusters.resize(1);
  if (swapped) {
    clusters = {{1, 1, 1}, {1, 2, 1}};
    layouts.resize(4);
    if (kind == Sm90Kind::swapped_fast)
      out_alignments = {16};
    else if (kind != Sm90Kind::swapped)
      out_alignments = {1};
  }
  if (kind == Sm90Kind::grouped) clusters.resize(3);
  if (kind == Sm90Kind::gathered) {
    clusters.resize(2);  // rows are loaded one by one, for one CTA each
    layouts = {"tnt", "ttt"};
  }
  if (kind == Sm90Kind::prepared) {
    layouts = {"xnt", "xtt", "txt", "nxt", "xxt", "xnn", "xtn", "txn", "nxn", "xxn"};
    alignments.push_back(1);
  }
  std::vector<Dtype> outs{Dtype::f32,  Dtype::f16, Dtype::bf16, Dtype::e4m3,
                          Dtype::e5m2, Dtype::i32, Dtype::i8,   Dtype::u8};
  if (scaled) {
    outs.resize(3);
    layouts = {"tnt", "tnn"};
    clusters.resize(std::min<std::size_t>(clusters.size(), 3));
    if (swapped) layouts.resize(1);
  }
  if (kind == Sm90Kind::planes || dequantised) {
    outs.resize(3);
    layouts = {"xxt", "xxn"};
    alignments = {1};
  }
  if (converted) {
    layouts = {"xnt"};
    alignments.push_back(16);
  }
  if (is_quantised(kind)) {
    outs = {Dtype::e4m3, Dtype::e5m2, Dtype::e2m1};
    out_alignments = {1};
  }
  if ((grouped && !scaled) || pointed) outs = {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::i32};
  std::vector<Dtype> accumulators{Dtype::f32, Dtype::i32};
  if (!grouped && !pointed && !narrow && !dequantised && !is_quantised(kind) &&
      kind != Sm90Kind::planes)
    accumulators.push_back(Dtype::f16);
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, converted ? std::span<const Dtype>(kActivations) : operands)
      .dtypes(Role::b_dtype, operands)
      .dtypes(Role::accumulator_type, accumulators)
      .dtypes(Role::out_dtype, outs)
      .layouts(layouts)
      .alignments(Role::a_alignment, alignments)
      .alignments(Role::b_alignment, alignments)
      .alignments(Role::out_alignment, out_alignments)
      .choices(Role::schedule, {"cooperative", "pingpong", "single"})
      .shapes(Role::tile, tiles)
      .shapes(Role::cluster, clusters)
      .integers(Role::stages, stages)
      .require({"a", "b", "acc"},
               [](const DesignPoint& point) {
                 return dequantises(point) ? point.dtype(Role::accumulator_type) == Dtype::f32
                                           : accumulates_in_tensor_cores(point);
               })
      .require({"acc", "out"}, is_quantised(kind) ? stores_any : stores_accumulator)
      .require({"a", "layouts"}, layouts_fit)
      .require({"layouts", "align_a", "align_b"}, copied_alignments_fit)
      .require({converted ? "b" : "a", "acc", "layouts", "tile", "schedule"}, tile_fits_schedule)
      .require({"a", "layouts", "tile"}, tile_fits_types)
      .require({"layouts", "tile", "cluster"}, cluster_fits)
      .require({"layouts", "out", "align_out", "tile"}, store_rows_fit);
  if (converted) {
    builder.choices("scales_b", {"1x16", "1x32", "none"})
        .require({"b", "scales_b"}, scale_fits_codes)
        .require({"b", "layouts", "align_out", "tile", "stages", "schedule", "scales_b"},
                 has_the_stages_that_fit);
  } else {
    builder.require({"layouts", "align_out", "tile", "stages", "schedule"},
                    has_the_stages_that_fit);
  }
  if (fast) builder.choices("sums", {"fast"});
  if (swapped) builder.choices("orientation", {"swapped"});
  if (grouped) {
    if (kind == Sm90Kind::gathered) {
      builder.choices("along", {"m"});
    } else if (swapped) {
      builder.choices("along", {"m", "l"});
    } else {
      builder.choices("along", {"m", "n", "k", "l"});
    }
    builder.require({"layouts", "align_out", "along"}, [](const DesignPoint& point) {
      return boxes_fit_groups(point, sm90_is_transposed(point));
    });
  }
  if (dequantised) builder.choices("as", {"bf16"});
  if (is_quantised(kind)) {
    builder.choices("result", {"f32"}).require({"out", "layouts"}, packed_rows_are_contiguous);
  }
  if (scaled) {
    std::vector<std::string_view> scales{"1x128.1x128", "1x128.128x128", "128x128.1x128",
                                         "128x128.128x128"};
    if (grouped) scales.emplace_back("row");
    builder.choices("scales", scales).require({"layouts", "tile", "scales"}, tile_fits_scales);
    if (grouped) builder.require({"layouts", "along", "scales"}, groups_fit_scales);
  }
  return builder.build_lazily();
}

}  // namespace estoc::cuda
