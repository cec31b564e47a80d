// Kernel class sm90_gemm: TMA, wgmma, warp-specialised and persistent.
#include "providers/cuda/sm90_gemm.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "estoc/arguments.hpp"
#include "providers/cuda/config_text.h"
#include "providers/cuda/epilogue_launch.h"
#include "providers/cuda/gemm_class.h"
#include "providers/cuda/operand_plane.h"
#include "providers/cuda/sm90_cost.h"
#include "providers/cuda/sm90_epilogue.h"
#include "providers/cuda/sm90_space.h"
#include "providers/cuda/tensor_map.h"

namespace estoc::cuda {
namespace {

using abi::Schedule;
using abi::Sm90GemmConfig;
using abi::Sm90GemmParameters;

constexpr std::array kTargets{Target::sm(90, true)};
// Of extents and of tiles, so that coordinates and counts are 32-bit numbers.
constexpr std::int64_t kMost = (std::int64_t{1} << 28) - 1;
constexpr std::int64_t kMostStride = std::int64_t{1} << 40;

/// TMA steps from row to row and from batch to batch by positive strides; a mode of one element
/// may have any.
Status check_strides(const OperandPlane& plane) {
  const std::int64_t most = kMostStride / (dtype_bits(plane.view->dtype) / 8);
  const std::int64_t row = plane.outer() > 1 ? plane.outer_stride() : 0;
  const std::int64_t batch = plane.view->batches > 1 ? plane.view->batch_stride : 0;
  if (std::max(row, batch) >= most) {
    return Status::fail(Reason::layout, fmt::format("{}.strides: expected less than 2^40 bytes, "
                                                    "got {} elements",
                                                    plane.name, std::max(row, batch)));
  }
  if (plane.outer() > 1 && plane.outer_stride() < plane.inner()) {
    return Status::fail(Reason::layout,
                        fmt::format("{}.strides: expected rows that do not overlap (at least {}), "
                                    "got {}",
                                    plane.name, plane.inner(), plane.outer_stride()));
  }
  return check_row_alignment(plane, 16);
}

/// A TMA store writes whole chunks of 16 bytes, also where the last of a row reaches beyond the
/// tensor's extent (seen on an H200; loads do stop at the element).
Status check_stored_rows(const OperandPlane& plane) {
  const std::int64_t bytes = plane.inner() * (dtype_bits(plane.view->dtype) / 8);
  if (bytes % 16 == 0) return Status::success();
  return Status::fail(Reason::shape,
                      fmt::format("{}.shape: expected rows of a multiple of 16 bytes for stores by "
                                  "TMA, got {} bytes",
                                  plane.name, bytes));
}

/// Whether a kernel that stores by TMA, and else is the same, carries out the problem too.
bool takes_tma_stores(const DesignPoint& point, const GemmArguments& gemm) {
  const OperandPlane out = operand_planes(point, gemm).out;
  const std::int64_t row_bytes = out.inner() * (dtype_bits(out.view->dtype) / 8);
  return out.view->alignment >= 16 && row_bytes % 16 == 0;
}

bool is_batched(const MatrixView& view) {
  return view.batches > 1 && view.batch_stride != 0;
}

std::uint64_t stride_bytes(std::int64_t stride, std::int64_t extent, std::int64_t bytes) {
  // A mode of one element is never stepped along; any legal stride will do.
  return static_cast<std::uint64_t>(extent > 1 ? stride * bytes : 16);
}

TensorMapSpec map_spec(const OperandPlane& plane, abi::Type type, std::uint32_t box_inner,
                       std::uint32_t box_outer, int swizzle_bytes) {
  const MatrixView& view = *plane.view;
  const std::int64_t bytes = dtype_bits(view.dtype) / 8;
  const std::int64_t batches = is_batched(view) ? view.batches : 1;
  return {
      .operand = plane.name,
      .type = type,
      .address = reinterpret_cast<std::uintptr_t>(view.data),
      .extents = {static_cast<std::uint64_t>(plane.inner()),
                  static_cast<std::uint64_t>(plane.outer()), static_cast<std::uint64_t>(batches)},
      .stride_bytes = {stride_bytes(plane.outer_stride(), plane.outer(), bytes),
                       stride_bytes(view.batch_stride, batches, bytes)},
      .box = {box_inner, box_outer, 1},
      .swizzle_bytes = swizzle_bytes};
}

/// The box of an operand's loads: 128 bytes of the contiguous mode; K-major, a sharer's part of
/// the tile's rows, MN-major, the tile's K.
TensorMapSpec load_spec(const OperandPlane& plane, abi::Type type, bool mn_major, int tile,
                        int sharers, int tile_k) {
  const int inner = 128 / abi::type_bytes(type);
  return map_spec(plane, type, static_cast<std::uint32_t>(inner),
                  static_cast<std::uint32_t>(mn_major ? tile_k : tile / sharers), 128);
}

std::string_view schedule_text(Schedule schedule) {
  switch (schedule) {
    case Schedule::single:
      return "Schedule::single";
    case Schedule::cooperative:
      return "Schedule::cooperative";
    case Schedule::pingpong:
      break;
  }
  return "Schedule::pingpong";
}

std::string shape_text(const abi::Sm90EpilogueShape& s) {
  if (s.columns == 0) return {};
  return fmt::format(
      "\n    .epilogue = {{.columns = {}, .load_bytes = {}, .load_depth = {}, "
      ".store_bytes = {}, .store_depth = {}, .value_bytes = {}, .rolled = {}}},",
      s.columns, s.load_bytes, s.load_depth, s.store_bytes, s.store_depth, s.value_bytes, s.rolled);
}

constexpr std::string_view kPlainEntry =
    R"(extern "C" __global__ void __launch_bounds__(kConfig.threads(), 1)
estoc_kernel(const __grid_constant__ Sm90GemmParameters parameters) {
  estoc::sm90_gemm<kConfig>(parameters, estoc::epilogue::Identity{});
}
)";
constexpr std::string_view kFusedEntry =
    R"(using FusedMaps = estoc::epilogue::TileLayout<kConfig, Epilogue>::Maps;
extern "C" __global__ void __launch_bounds__(kConfig.threads(), 1)
estoc_kernel(const __grid_constant__ Sm90GemmParameters parameters,
             const __grid_constant__ Epilogue::Parameters epilogue,
             const __grid_constant__ FusedMaps maps) {
  estoc::sm90_gemm<kConfig>(parameters,
                            estoc::epilogue::FusedTile<kConfig, Epilogue>{epilogue, maps});
}
)";

class Sm90Gemm final : public GemmClass {
 public:
  explicit Sm90Gemm(bool fast)
      : GemmClass("sm90_gemm"), fast_(fast), space_(make_sm90_space(fast)) {}

  std::string_view name() const override { return fast_ ? "sm90_fast_gemm" : "sm90_gemm"; }
  Operation operation() const override { return Operation::gemm; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override { return kTargets; }

  Status supports(const DesignPoint& point, const RuntimeArguments& arguments,
                  Target /*target*/) const override {
    const auto& gemm = static_cast<const GemmArguments&>(arguments);
    if (fast_ && !gemm.controls().fast_accumulation) {
      return Status::fail(Reason::controls,
                          "controls.fast_accumulation: expected true, for sums of few bits, got "
                          "false");
    }
    const GemmExtents& e = gemm.extents();
    const Shape3 tile = point.shape(Role::tile);
    // Extents first: of a K of 0 the others may be of any size.
    const bool small = std::max({e.m, e.n, e.k, e.l}) <= kMost;
    const std::int64_t tiles = small ? ceil_div(e.m, tile.m) * ceil_div(e.n, tile.n) : 0;
    if (!small || (tiles > 0 && e.l > kMost / tiles)) {
      return Status::fail(Reason::shape,
                          fmt::format("out.shape: expected less than 2^28 tiles and extents, got "
                                      "m={} n={} k={} l={}",
                                      e.m, e.n, e.k, e.l));
    }
    const OperandPlanes planes = operand_planes(point, gemm);
    Status status = check_strides(planes.a);
    if (status.ok()) status = check_strides(planes.b);
    if (point.integer(Role::out_alignment) != 16) return status;
    if (status.ok()) status = check_strides(planes.out);
    return status.ok() ? check_stored_rows(planes.out) : status;
  }

  Status supports_epilogue(const DesignPoint& point, const EpilogueGraph& epilogue,
                           Target /*target*/) const override {
    return sm90_supports_epilogue(point, epilogue);
  }

  std::size_t workspace_size(const DesignPoint& point, const Knobs& /*knobs*/,
                             const RuntimeArguments& arguments) const override {
    const auto& gemm = static_cast<const GemmArguments&>(arguments);
    if (gemm.epilogue_binding() == nullptr) return 0;
    const bool transposed = sm90_transposed(point);
    return epilogue_workspace(gemm, transposed,
                              sm90_part_counts(sm90_config(point), gemm.extents(), transposed));
  }

  cost::Plan cost_plan(const DesignPoint& point, const GemmArguments& gemm,
                       const cost::DeviceModel& /*device*/) const override {
    Sm90GemmConfig config = sm90_config(point);
    cost::Plan plan;
    plan.family = cost::Family::sm90;
    plan.work = cost::work_of(gemm, sm90_transposed(point), epilogue_traffic(gemm));
    const bool narrower = !config.tma_store && takes_tma_stores(point, gemm);
    if (narrower) config.tma_store = true;
    plan.design = sm90_design(config, plan.work);
    plan.design.narrower = narrower;
    Knobs knobs = sm90_knobs(config, plan.work);
    knobs.zigzag = !gemm.controls().keeps_order();
    cost::set_knobs(plan, knobs);
    return plan;
  }

  void plan(const DesignPoint& point, const Knobs& knobs, const RuntimeArguments& arguments,
            const Workspace& workspace, LaunchPlan& plan) const override {
    const auto& gemm = static_cast<const GemmArguments&>(arguments);
    const GemmExtents& e = gemm.extents();
    const bool empty = e.m == 0 || e.n == 0 || e.l == 0;
    if (gemm.epilogue_binding() == nullptr) {
      if (!empty) add_gemm(point, sm90_config(point), knobs, gemm, plan);
      return;
    }
    const EpilogueView view(gemm, sm90_transposed(point));
    const Sm90GemmConfig config = sm90_fused_config(point, view.graph());
    if (!empty) add_gemm(point, config, knobs, gemm, plan);
    sm90_add_epilogue(config, view, workspace, empty, plan);
  }

 protected:
  std::string sums_of(const DesignPoint& point) const override {
    // Each product of an instruction is of 32 bytes of K, whatever the tile.
    const std::string_view sums = fast_                        ? ", sums of few bits"
                                  : sm90_config(point).promote ? ", added to f32 every 128 of K"
                                                               : "";
    return fmt::format("wgmma {} x {}{}", dtype_name(point.dtype(Role::a_dtype)),
                       dtype_name(point.dtype(Role::b_dtype)), sums);
  }
  bool is_transposed(const DesignPoint& point) const override { return sm90_transposed(point); }

  std::string source(const DesignPoint& point, const EpilogueGraph* epilogue) const override {
    const Sm90GemmConfig c =
        epilogue != nullptr ? sm90_fused_config(point, *epilogue) : sm90_config(point);
    const bool transposed = sm90_transposed(point);
    const Dtype a = point.dtype(transposed ? Role::b_dtype : Role::a_dtype);
    const Dtype b = point.dtype(transposed ? Role::a_dtype : Role::b_dtype);
    return fmt::format(
        R"(#include <estoc/kernels/sm90_gemm.cuh>

using namespace estoc::abi;
namespace {{
constexpr Sm90GemmConfig kConfig{{
    .a = {},
    .b = {},
    .accumulator = {},
    .out = {},
    .a_m_major = {},
    .b_n_major = {},
    .tile_m = {},
    .tile_n = {},
    .stages = {},
    .cluster_m = {},
    .cluster_n = {},
    .schedule = {},
    .promote = {},
    .tma_store = {},{}
}};
static_assert(kConfig.threads() == {} && kConfig.shared_bytes() == {});
static_assert(sizeof(Sm90GemmParameters) == {});
}}  // namespace
{}
{})",
        type_text(a), type_text(b), type_text(point.dtype(Role::accumulator_type)),
        type_text(point.dtype(Role::out_dtype)), c.a_m_major, c.b_n_major, c.tile_m, c.tile_n,
        c.stages, c.cluster_m, c.cluster_n, schedule_text(c.schedule), c.promote, c.tma_store,
        shape_text(c.epilogue), c.threads(), c.shared_bytes(), sizeof(Sm90GemmParameters),
        epilogue_source(epilogue, transposed), epilogue == nullptr ? kPlainEntry : kFusedEntry);
  }

 private:
  static void add_gemm(const DesignPoint& point, const Sm90GemmConfig& config, const Knobs& knobs,
                       const GemmArguments& gemm, LaunchPlan& plan) {
    const Sm90GemmParameters parameters = parameters_of(point, config, knobs, gemm, plan.device());
    const auto clusters =
        static_cast<unsigned>(std::int64_t{parameters.tiles_m} * parameters.tiles_n * parameters.l);
    const auto size = static_cast<unsigned>(config.cluster_size());
    const auto room = static_cast<unsigned>(plan.device().clusters_at_once(config.cluster_size()));
    const CudaGeometry geometry{.grid = {std::min(clusters, room) * size, 1, 1},
                                .block = {static_cast<unsigned>(config.threads()), 1, 1},
                                .shared_bytes = static_cast<unsigned>(config.shared_bytes()),
                                .cluster = {size, 1, 1}};
    plan.kernel(geometry, parameters);
  }

  static Sm90GemmParameters parameters_of(const DesignPoint& point, const Sm90GemmConfig& config,
                                          const Knobs& knobs, const GemmArguments& gemm,
                                          const PlanDevice& device) {
    const bool transposed = sm90_transposed(point);
    OperandPlanes planes = operand_planes(point, gemm);
    if (transposed) std::swap(planes.a, planes.b);
    const GemmExtents& e = gemm.extents();
    Sm90GemmParameters p{};
    if (e.k > 0) {
      p.a = encode_tensor_map(device, load_spec(planes.a, config.a, config.a_m_major, config.tile_m,
                                                config.cluster_n, config.tile_k()));
      p.b = encode_tensor_map(device, load_spec(planes.b, config.b, config.b_n_major, config.tile_n,
                                                config.cluster_m, config.tile_k()));
    }
    if (config.epilogue.columns > 0) {
      p.out = sm90_out_map(device, config, EpilogueView(gemm, transposed));
    } else if (config.tma_store) {
      p.out = encode_tensor_map(device, map_spec(planes.out, config.out,
                                                 static_cast<std::uint32_t>(config.store_columns()),
                                                 64, config.store_row_bytes()));
    }
    p.out_raw = device_matrix(gemm.out_matrix(), transposed);
    p.m = static_cast<int>(transposed ? e.n : e.m);
    p.n = static_cast<int>(transposed ? e.m : e.n);
    p.k = static_cast<int>(e.k);
    p.l = static_cast<int>(e.l);
    p.tiles_m = static_cast<int>(ceil_div(p.m, config.tile_m * config.cluster_m));
    p.tiles_n = static_cast<int>(ceil_div(p.n, config.tile_n * config.cluster_n));
    p.along_n = knobs.raster == Knobs::Raster::along_n;
    p.group = std::clamp<int>(knobs.swizzle, 1, p.along_n ? p.tiles_n : p.tiles_m);
    p.a_batched = is_batched(*planes.a.view);
    p.b_batched = is_batched(*planes.b.view);
    p.zigzag = knobs.zigzag && !gemm.controls().keeps_order();
    return p;
  }

  bool fast_;
  std::shared_ptr<const DesignSpace> space_;
};

}  // namespace

std::shared_ptr<const KernelClass> make_sm90_gemm() {
  return std::make_shared<Sm90Gemm>(false);
}

std::shared_ptr<const KernelClass> make_sm90_fast_gemm() {
  return std::make_shared<Sm90Gemm>(true);
}

}  // namespace estoc::cuda
