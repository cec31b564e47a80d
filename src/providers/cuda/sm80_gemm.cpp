// Kernel class sm80_gemm: cp.async, ldmatrix and mma.sync.
#include "providers/cuda/sm80_gemm.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cost/gemm_work.h"
#include "estoc/arguments.hpp"
#include "providers/cuda/config_text.h"
#include "providers/cuda/epilogue_launch.h"
#include "providers/cuda/gemm_class.h"
#include "providers/cuda/operand_plane.h"
#include "providers/cuda/sm80_space.h"

namespace estoc::cuda {
namespace {

using abi::Sm80GemmConfig;
using abi::Sm80GemmParameters;

constexpr std::int64_t kMostExtent = std::int64_t{1} << 27;
constexpr std::int64_t kMostTiles = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostBatchCtas = 65535;

/// Multiply-adds of a multiprocessor in one clock, by mma.sync on whole tiles.
double products_per_clock(const Sm80GemmConfig& config, const cost::DeviceModel& device) {
  // wgmma alone reaches what the data sheets of Hopper and later say.
  const double f16 = device.f16_products;
  double rate = f16;
  if (config.accumulator == abi::Type::f64) rate = device.f64_products;
  if (config.a == abi::Type::tf32) rate = f16 / 2;
  if (config.accumulator == abi::Type::i32) rate = 2 * f16;
  const int bytes = abi::type_bytes(config.a);
  // Fragments that are gathered element by element.
  const int gathered = (config.a_m_major ? 1 : 0) + (config.b_n_major ? 1 : 0);
  if (bytes == 1 && gathered > 0) rate /= 2.5 * gathered;
  if (config.a == abi::Type::tf32 && gathered > 0) rate /= 1.15 * gathered;
  const int area = config.tile_m * config.tile_n;
  const double reached = area >= 128 * 128 ? 0.8 : area >= 64 * 128 ? 0.65 : 0.5;
  const double copied = std::min(config.a_copy, config.b_copy) == 16 ? 1.0 : 0.7;
  return rate * reached * copied;
}

/// Gives the configuration the copies and stores that the operands allow; whether it had others.
bool use_widest_copies(Sm80GemmConfig& config, const DesignPoint& point,
                       const GemmArguments& gemm) {
  const bool transposed = sm80_transposed(point);
  const MatrixView& first = transposed ? gemm.b_matrix() : gemm.a_matrix();
  const MatrixView& second = transposed ? gemm.a_matrix() : gemm.b_matrix();
  const int a = std::max(config.a_copy, std::min(first.alignment, 16));
  const int b = std::max(config.b_copy, std::min(second.alignment, 16));
  const bool out = config.out_vectors || gemm.out_matrix().alignment >= 16;
  const bool had = config.a_copy == a && config.b_copy == b && config.out_vectors == out;
  config.a_copy = a;
  config.b_copy = b;
  config.out_vectors = out;
  return !had;
}

/// Whether sm90_gemm has kernels for such operands.
bool has_wgmma_kernel(const Sm80GemmConfig& config, Target target) {
  if (target.cc() != 90 || config.accumulator == abi::Type::f64) return false;
  const bool k_major = !config.a_m_major && !config.b_n_major;
  return std::min(config.a_copy, config.b_copy) == 16 &&
         (k_major || abi::type_bytes(config.a) == 2);
}

/// CTAs that a multiprocessor holds: by shared memory, and by registers as the compiler gives them.
int ctas_of(const Sm80GemmConfig& config, const cost::DeviceModel& device) {
  constexpr int kRegisters = 65536;
  const int sums =
      config.warp_rows() * config.warp_columns() / 32 * (abi::type_bytes(config.accumulator) / 4);
  const int registers = std::min(sums + 80, 255) * config.threads();
  const int shared = shared_bytes_of(device.target) / config.shared_bytes();
  return std::max(std::min(shared, kRegisters / registers), 1);
}

cost::Design design_of(const Sm80GemmConfig& config, const cost::Work& work,
                       const cost::DeviceModel& device) {
  const double area = static_cast<double>(config.tile_m) * config.tile_n;
  cost::Design design;
  design.tile_m = config.tile_m;
  design.tile_n = config.tile_n;
  design.tile_k = config.tile_k;
  design.stages = config.stages;
  design.ctas_per_multiprocessor = ctas_of(config, device);
  design.stage_clocks = area * config.tile_k / products_per_clock(config, device);
  design.start_clocks = 2000;
  design.store_clocks = area * (work.out_bytes / 48 + work.epilogue_clocks);
  design.integers = config.accumulator == abi::Type::i32;
  design.a_m_major = config.a_m_major;
  design.b_n_major = config.b_n_major;
  design.plain_stores = !config.out_vectors;
  design.copy_bytes = std::min(config.a_copy, config.b_copy);
  return design;
}

/// The configuration with an epilogue or without.
Sm80GemmConfig config_with(const DesignPoint& point, bool fused) {
  Sm80GemmConfig config = sm80_config(point);
  config.fused = fused;
  return config;
}

PartCounts part_counts(const Sm80GemmConfig& config, const GemmExtents& e, bool transposed) {
  const std::int64_t tiles_m = ceil_div(transposed ? e.n : e.m, config.tile_m);
  const std::int64_t tiles_n = ceil_div(transposed ? e.m : e.n, config.tile_n);
  return {.row = tiles_n * config.warps_n,
          .column = tiles_m * config.warps_m,
          .all = tiles_m * tiles_n * config.warps_m * config.warps_n};
}

// What the loop over a tile's rows takes beside sums, inputs and outputs.
constexpr int kCodeRegisters = 56;
constexpr int kMostRegisters = 255;

constexpr std::string_view kPlainEntry =
    R"(extern "C" __global__ void __launch_bounds__(kConfig.threads(), 1)
estoc_kernel(const __grid_constant__ Sm80GemmParameters parameters) {
  estoc::sm80_gemm<kConfig>(parameters, estoc::epilogue::Identity{});
}
)";
constexpr std::string_view kFusedEntry =
    R"(extern "C" __global__ void __launch_bounds__(kConfig.threads(), 1)
estoc_kernel(const __grid_constant__ Sm80GemmParameters parameters,
             const __grid_constant__ Epilogue::Parameters epilogue) {
  estoc::sm80_gemm<kConfig>(parameters, estoc::epilogue::Fused<Epilogue>{epilogue});
}
)";

class Sm80Gemm final : public GemmClass {
 public:
  Sm80Gemm() : GemmClass("sm80_gemm") {}

  std::string_view name() const override { return "sm80_gemm"; }
  Operation operation() const override { return Operation::gemm; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }

  Status supports(const DesignPoint& point, const RuntimeArguments& arguments,
                  Target target) const override {
    const GemmExtents& e = static_cast<const GemmArguments&>(arguments).extents();
    const Shape3 tile = point.shape(Role::tile);
    if (std::max({e.m, e.n, e.k}) >= kMostExtent || e.l > kMostTiles ||
        ceil_div(e.m, tile.m) * ceil_div(e.n, tile.n) > kMostTiles) {
      return Status::fail(Reason::shape, fmt::format("out.shape: expected extents below 2^27 and "
                                                     "at most 2^31 tiles, got m={} n={} k={} l={}",
                                                     e.m, e.n, e.k, e.l));
    }
    const OperandPlanes planes =
        operand_planes(point, static_cast<const GemmArguments&>(arguments));
    Status status = check_row_alignment(planes.a, point.integer(Role::a_alignment));
    if (status.ok()) status = check_row_alignment(planes.b, point.integer(Role::b_alignment));
    if (status.ok()) status = check_row_alignment(planes.out, point.integer(Role::out_alignment));
    return status.ok() && !holds_every_kernel(target) ? check_shared(sm80_config(point), target)
                                                      : status;
  }

  Status supports_epilogue(const DesignPoint& point, const EpilogueGraph& epilogue,
                           Target target) const override {
    if (Status status = check_epilogue_forms(epilogue); !status.ok()) return status;
    const Sm80GemmConfig c = config_with(point, true);
    if (Status status = check_shared(c, target); !status.ok()) return status;
    const int sums = c.warp_rows() * c.warp_columns() / 32 * (abi::type_bytes(c.accumulator) / 4);
    return check_epilogue_registers(epilogue, epilogue_registers(epilogue, sm80_transposed(point)),
                                    kMostRegisters - kCodeRegisters - sums);
  }

  std::size_t workspace_size(const DesignPoint& point, const Knobs& /*knobs*/,
                             const RuntimeArguments& arguments) const override {
    const auto& gemm = static_cast<const GemmArguments&>(arguments);
    if (gemm.epilogue_binding() == nullptr) return 0;
    const bool transposed = sm80_transposed(point);
    return epilogue_workspace(gemm, transposed,
                              part_counts(sm80_config(point), gemm.extents(), transposed));
  }

  cost::Plan cost_plan(const DesignPoint& point, const GemmArguments& gemm,
                       const cost::DeviceModel& device) const override {
    Sm80GemmConfig config = sm80_config(point);
    cost::Plan plan;
    plan.family = cost::Family::sm80;
    plan.work = cost::work_of(gemm, sm80_transposed(point), epilogue_traffic(gemm));
    const bool narrower = use_widest_copies(config, point, gemm);
    plan.design = design_of(config, plan.work, device);
    plan.design.narrower = narrower;
    plan.design.older_instructions = has_wgmma_kernel(config, device.target);
    Knobs knobs;
    knobs.swizzle = 8;
    cost::set_knobs(plan, knobs);
    return plan;
  }

  void plan(const DesignPoint& point, const Knobs& knobs, const RuntimeArguments& arguments,
            const Workspace& workspace, LaunchPlan& plan) const override {
    const auto& gemm = static_cast<const GemmArguments&>(arguments);
    const GemmExtents& e = gemm.extents();
    const bool fused = gemm.epilogue_binding() != nullptr;
    const Sm80GemmConfig config = config_with(point, fused);
    const bool transposed = sm80_transposed(point);
    const bool empty = e.m == 0 || e.n == 0 || e.l == 0;
    if (!empty) add_gemm(config, transposed, knobs, gemm, plan);
    if (!fused) return;
    const EpilogueView view(gemm, transposed);
    const PartCounts parts = part_counts(config, e, transposed);
    if (!empty) add_epilogue(view, parts, workspace, nullptr, plan);
    add_finish(view, parts, workspace, empty, false, plan);
  }

 protected:
  std::string sums_of(const DesignPoint& point) const override {
    // Behind the end of K there are zeros up to the end of a tile.
    return fmt::format("mma.sync {} x {}, K in tiles of {}", dtype_name(point.dtype(Role::a_dtype)),
                       dtype_name(point.dtype(Role::b_dtype)), point.shape(Role::tile).k);
  }
  bool is_transposed(const DesignPoint& point) const override { return sm80_transposed(point); }

  std::string source(const DesignPoint& point, const EpilogueGraph* epilogue) const override {
    const Sm80GemmConfig c = config_with(point, epilogue != nullptr);
    const bool transposed = sm80_transposed(point);
    const Dtype a = point.dtype(transposed ? Role::b_dtype : Role::a_dtype);
    const Dtype b = point.dtype(transposed ? Role::a_dtype : Role::b_dtype);
    return fmt::format(
        R"(#include <estoc/kernels/sm80_gemm.cuh>

using namespace estoc::abi;
namespace {{
constexpr Sm80GemmConfig kConfig{{
    .a = {},
    .b = {},
    .accumulator = {},
    .out = {},
    .a_m_major = {},
    .b_n_major = {},
    .tile_m = {},
    .tile_n = {},
    .tile_k = {},
    .warps_m = {},
    .warps_n = {},
    .stages = {},
    .a_copy = {},
    .b_copy = {},
    .out_vectors = {},{}
}};
static_assert(kConfig.threads() == {} && kConfig.shared_bytes() == {});
static_assert(sizeof(Sm80GemmParameters) == {});
}}  // namespace
{}
{})",
        type_text(a), type_text(b), type_text(point.dtype(Role::accumulator_type)),
        type_text(point.dtype(Role::out_dtype)), c.a_m_major, c.b_n_major, c.tile_m, c.tile_n,
        c.tile_k, c.warps_m, c.warps_n, c.stages, c.a_copy, c.b_copy, c.out_vectors,
        c.fused ? "\n    .fused = true," : "", c.threads(), c.shared_bytes(),
        sizeof(Sm80GemmParameters), epilogue_source(epilogue, transposed),
        epilogue == nullptr ? kPlainEntry : kFusedEntry);
  }

 private:
  /// The design space ends with the shared memory of an H100.
  static bool holds_every_kernel(Target target) {
    return shared_bytes_of(target) >= shared_bytes_of(Target::sm(90, true));
  }

  static Status check_shared(const Sm80GemmConfig& config, Target target) {
    const int needed = config.shared_bytes();
    if (needed <= shared_bytes_of(target)) return Status::success();
    return Status::fail(Reason::resource,
                        fmt::format("shared memory: expected at most {} bytes on {}, got {}",
                                    shared_bytes_of(target), target.name(), needed));
  }

  static void add_gemm(const Sm80GemmConfig& config, bool transposed, const Knobs& knobs,
                       const GemmArguments& gemm, LaunchPlan& plan) {
    const GemmExtents& e = gemm.extents();
    Sm80GemmParameters p{};
    p.a = device_matrix(transposed ? gemm.b_matrix() : gemm.a_matrix(), transposed);
    p.b = device_matrix(transposed ? gemm.a_matrix() : gemm.b_matrix(), transposed);
    p.out = device_matrix(gemm.out_matrix(), transposed);
    p.m = static_cast<int>(transposed ? e.n : e.m);
    p.n = static_cast<int>(transposed ? e.m : e.n);
    p.k = static_cast<int>(e.k);
    p.l = static_cast<int>(e.l);
    p.tiles_m = static_cast<unsigned>(ceil_div(p.m, config.tile_m));
    p.tiles_n = static_cast<unsigned>(ceil_div(p.n, config.tile_n));
    p.group = std::clamp(static_cast<unsigned>(std::max<int>(knobs.swizzle, 1)), 1U, p.tiles_m);
    const CudaGeometry geometry{
        .grid = {p.tiles_m * p.tiles_n, 1, static_cast<unsigned>(std::min(e.l, kMostBatchCtas))},
        .block = {static_cast<unsigned>(config.threads()), 1, 1},
        .shared_bytes = static_cast<unsigned>(config.shared_bytes())};
    plan.kernel(geometry, p);
  }

  std::shared_ptr<const DesignSpace> space_ = make_sm80_space();
};

}  // namespace

std::shared_ptr<const KernelClass> make_sm80_gemm() {
  return std::make_shared<Sm80Gemm>();
}

}  // namespace estoc::cuda
