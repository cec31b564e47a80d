// Kernel class sm90_f64_gemm: products of f64 by mma.sync, fed by TMA, persistent.
#include "providers/cuda/sm90_f64_gemm.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "estoc/abi/sm90_f64_gemm.cuh"
#include "estoc/arguments.hpp"
#include "providers/cuda/gemm_class.h"
#include "providers/cuda/sm90_cost.h"
#include "providers/cuda/tails.h"
#include "providers/cuda/tma_operand.h"

namespace estoc::cuda {
namespace {

using abi::Sm90F64GemmConfig;
using abi::Sm90F64GemmParameters;

constexpr std::array kF64Targets{Target::sm(90, true)};
// Of extents and of tiles, so that coordinates and counts are 32-bit numbers.
constexpr std::int64_t kMaxF64Coordinate = (std::int64_t{1} << 28) - 1;
// What the loop over a tile's rows takes beside sums, inputs and outputs.
constexpr int kF64CodeRegisters = 56;
// Read off an H100: what a round in which CTAs send their sums costs, and bytes sent in a clock.
constexpr double kF64MeetClocks = 2900;
constexpr double kF64SentPerClock = 21;
// Read off tables of an H100 and an H200: with more rows and columns, arithmetic hides what is
// loaded.
constexpr double kF64FewRows = 128;

Sm90F64GemmConfig f64_config(const DesignPoint& point) {
  const Majors majors = majors_of(point);
  const Shape3 tile = shape_in_code(point, Role::tile);
  // Warps have 64 x 32 elements, or less.
  const int warps = tile.m * tile.n == 128 * 128 ? 8 : 4;
  const int warps_n = std::max(tile.n / 32, 1);
  return {.out = abi_type(point.dtype(Role::out_dtype)),
          .a_m_major = majors.a_m_major,
          .b_n_major = majors.b_n_major,
          .tile_m = tile.m,
          .tile_n = tile.n,
          .warps_m = warps / warps_n,
          .warps_n = warps_n,
          .stages = point.integer(Role::stages),
          .mma_k = point.shape(Role::instruction).k,
          .out_vectors = point.integer(Role::out_alignment) == 16};
}

std::shared_ptr<const DesignSpace> make_f64_space() {
  return DesignSpace::Builder{}
      .dtypes(Role::a_dtype, {Dtype::f64})
      .dtypes(Role::b_dtype, {Dtype::f64})
      .dtypes(Role::accumulator_type, {Dtype::f64})
      .dtypes(Role::out_dtype, {Dtype::f64, Dtype::f32})
      .layouts({"tnt", "ttt", "ntt", "nnt", "tnn", "ttn", "ntn", "nnn"})
      .alignments(Role::a_alignment, {16})
      .alignments(Role::b_alignment, {16})
      .alignments(Role::out_alignment, {16, 1})
      .shapes(Role::tile, {{128, 128, 16},
                           {128, 64, 16},
                           {64, 128, 16},
                           {64, 64, 16},
                           {128, 16, 16},
                           {16, 128, 16}})
      .shapes(Role::instruction, {{16, 8, 8}, {16, 8, 4}})
      .integers(Role::stages, {4, 5, 6})
      // Stages that leave room for as many CTAs as share a multiprocessor.
      .require({"tile", "stages"},
               [](const DesignPoint& point) {
                 const Shape3 tile = point.shape(Role::tile);
                 const int area = tile.m * tile.n;
                 const int most = area == 128 * 128 ? 6 : area <= 64 * 64 ? 5 : 4;
                 return point.integer(Role::stages) <= most;
               })
      .build();
}

/// Multiply-adds of a multiprocessor in one clock, read off an H200's table. Four stages were the
/// fastest of most tiles.
double f64_products_per_clock(const Sm90F64GemmConfig& config, const cost::DeviceModel& device) {
  const int area = config.tile_m * config.tile_n;
  const double by_tile = area == 128 * 128 ? 0.95
                         : area > 64 * 64  ? 0.83
                         : area == 64 * 64 ? 0.93
                                           : 0.7;
  const double by_stages = 1 - 0.005 * (config.stages - 4);
  return device.f64_products * by_tile * by_stages * (config.mma_k == 8 ? 1 : 0.95);
}

class Sm90F64Gemm final : public ConfiguredGemm<Sm90F64GemmConfig, Sm90F64GemmParameters> {
 public:
  Sm90F64Gemm() : ConfiguredGemm("sm90_f64_gemm", "Sm90F64Gemm") {}

  std::string_view name() const override { return "sm90_f64_gemm"; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override { return kF64Targets; }

 protected:
  Sm90F64GemmConfig config_of(const DesignPoint& point) const override { return f64_config(point); }
  Sm90F64GemmConfig fused(const Sm90F64GemmConfig& config, const EpilogueGraph& /*epilogue*/,
                          bool /*transposed*/) const override {
    Sm90F64GemmConfig with_epilogue = config;
    with_epilogue.fused = true;
    return with_epilogue;
  }
  bool is_transposed(const DesignPoint& point) const override { return is_column_major(point); }

  GemmLimits limits() const override {
    return {.extent = kMaxF64Coordinate,
            .batches = kMaxF64Coordinate,
            .tiles = kMaxF64Coordinate,
            .all_tiles = kMaxF64Coordinate};
  }

  bool looks_at_operands_alone(Target /*target*/) const override { return true; }
  Status check(const DesignPoint& point, const GemmArguments& gemm,
               Target /*target*/) const override {
    const OperandPlanes planes = operand_planes(point, gemm);
    Status status = check_tma_strides(planes.a);
    if (status.ok()) status = check_tma_strides(planes.b);
    if (!status.ok()) return status;
    return check_row_alignment(planes.out, point.integer(Role::out_alignment));
  }

  Status check_epilogue(const Decoded& kernel, Target /*target*/) const override {
    const Sm90F64GemmConfig& c = kernel.config;
    return check_epilogue_registers(*kernel.epilogue,
                                    epilogue_registers(*kernel.epilogue, kernel.transposed),
                                    c.consumer_registers() - kF64CodeRegisters - c.sum_registers());
  }

  void add_cost(const Sm90F64GemmConfig& config, const GemmProblem& problem,
                const PerformanceControls& controls, const cost::DeviceModel& device,
                cost::Plan& plan) const override {
    const double area = static_cast<double>(config.tile_m) * config.tile_n;
    plan.family = cost::Family::f64;
    plan.design.tile_m = config.tile_m;
    plan.design.tile_n = config.tile_n;
    plan.design.tile_k = config.tile_k();
    plan.design.stages = config.stages;
    plan.design.ctas_per_multiprocessor = config.ctas();
    plan.design.stage_clocks = area * config.tile_k() / f64_products_per_clock(config, device);
    plan.design.start_clocks = 1500;
    plan.design.store_clocks = area * (plan.work.out_bytes / 48 + plan.work.epilogue_clocks);
    plan.design.a_m_major = config.a_m_major;
    plan.design.b_n_major = config.b_n_major;
    plan.design.plain_stores = !config.out_vectors;
    plan.design.narrower = !config.out_vectors && problem.out.view.alignment >= 16;
    plan.design.gather_clocks = kF64MeetClocks + area * sizeof(double) / kF64SentPerClock;
    plan.design.gathers_in_rounds = true;
    plan.design.sharp = std::min(plan.work.m, plan.work.n) > kF64FewRows;
    plan.design.sum_bytes = sizeof(double);
    plan.design.parts_clocks = 0;
    Knobs knobs;
    knobs.swizzle = 8;
    cost::set_knobs(plan, knobs);
    if (controls.batch_invariant) return;
    const SplitLimits splits{1, config.tile_k(), Sm90F64GemmConfig::kMaxParts,
                             Sm90F64GemmConfig::kMaxTailParts};
    set_fastest_split(config, Sm90SplitSearch(splits, plan.work, plan.design, device), controls,
                      plan);
  }

  void add_entries(const DesignPoint& /*point*/, const EpilogueGraph* epilogue,
                   CudaCode& code) const override {
    if (epilogue != nullptr && !epilogue->reduced.empty()) return;
    code.source += sums_source("sm90", type_name(), epilogue);
    code.entries.emplace_back("estoc_sum_parts");
  }

  std::size_t sums_workspace(const Sm90F64GemmConfig& config, const GemmArguments& gemm,
                             const GemmProblem& problem, const Knobs& knobs) const override {
    return static_cast<std::size_t>(tail_bytes(config, tail_of(config, gemm, problem, knobs)));
  }
  bool add_sums(const Sm90F64GemmConfig& config, const Sm90F64GemmParameters& p,
                LaunchPlan& plan) const override {
    return add_sums_kernel(config, p, plan);
  }

  Sm90F64GemmParameters parameters(const Sm90F64GemmConfig& config,
                                   const GemmLaunch& launch) const override {
    const GemmProblem& problem = launch.problem;
    Sm90F64GemmParameters p{};
    if (problem.k > 0) {
      p.a = encode_tensor_map(launch.device,
                              tma_load_spec({problem.a, config.a_m_major}, abi::Type::f64,
                                            config.a_m_major, config.tile_m, 1, config.tile_k()));
      p.b = encode_tensor_map(launch.device,
                              tma_load_spec({problem.b, !config.b_n_major}, abi::Type::f64,
                                            config.b_n_major, config.tile_n, 1, config.tile_k()));
    }
    p.out = device_matrix(problem.out.view);
    p.m = static_cast<int>(problem.m);
    p.n = static_cast<int>(problem.n);
    p.k = static_cast<int>(problem.k);
    p.l = static_cast<int>(problem.l);
    p.tiles_m = static_cast<unsigned>(ceil_div(problem.m, config.tile_m));
    p.tiles_n = static_cast<unsigned>(ceil_div(problem.n, config.tile_n));
    p.group = std::clamp<unsigned>(static_cast<unsigned>(std::max<int>(launch.knobs.swizzle, 1)), 1,
                                   p.tiles_m);
    add_tail(config, tail_of(config, launch.gemm, problem, launch.knobs),
             cluster_tiles(config, problem), launch.workspace, p);
    p.a_batched = is_batched(problem.a.view);
    p.b_batched = is_batched(problem.b.view);
    p.parts = static_cast<unsigned char>(parts_of_k(config, launch, p));
    return p;
  }

  CudaGeometry geometry(const Sm90F64GemmConfig& config, const Sm90F64GemmParameters& p,
                        const PlanDevice& device) const override {
    // A CTA of a cluster that sums up a tile has one part of one tile. More than half of the shared
    // memory keeps a multiprocessor from taking two of them while others have none.
    const bool divided = p.parts > 1;
    const auto room = static_cast<unsigned>(config.ctas() * device.clusters_at_once(1));
    const int shared =
        std::max(config.shared_bytes(), divided ? Sm90F64GemmConfig::kSharedBytes / 2 : 0);
    return {.grid = {divided ? p.items * p.parts : std::min(p.items, room), 1, 1},
            .block = {static_cast<unsigned>(config.threads()), 1, 1},
            .shared_bytes = static_cast<unsigned>(shared),
            .cluster = {p.parts, 1, 1}};
  }

  PartCounts part_counts(const Sm90F64GemmConfig& config, std::int64_t m,
                         std::int64_t n) const override {
    const std::int64_t tiles_m = ceil_div(m, config.tile_m);
    const std::int64_t tiles_n = ceil_div(n, config.tile_n);
    return {.row = tiles_n * config.warps_n,
            .column = tiles_m * config.warps_m,
            .all = tiles_m * tiles_n * config.warps()};
  }

  std::string sums_of(const DesignPoint& point) const override {
    // Behind the end of K there are zeros up to the end of a tile.
    return fmt::format("mma.sync f64 x f64, {} of K at a time, K in tiles of 16",
                       point.shape(Role::instruction).k);
  }
  std::string_view least_ctas(bool /*fused*/) const override { return "kConfig.ctas()"; }

 private:
  /// CTAs that sum up a tile: as many as the knob says and K and the grid allow.
  static int parts_of_k(const Sm90F64GemmConfig& config, const GemmLaunch& launch,
                        const Sm90F64GemmParameters& p) {
    constexpr unsigned kMaxTiles = 1 << 24;
    if (launch.gemm.controls().batch_invariant || p.items > kMaxTiles) return 1;
    if (launch.knobs.split_tiles > 0) return 1;
    const std::int64_t k_tiles = ceil_div(launch.problem.k, config.tile_k());
    return static_cast<int>(std::clamp<std::int64_t>(
        std::min<std::int64_t>(launch.knobs.split, k_tiles), 1, Sm90F64GemmConfig::kMaxParts));
  }

  std::shared_ptr<const DesignSpace> space_ = make_f64_space();
};

}  // namespace

std::shared_ptr<const KernelClass> make_sm90_f64_gemm() {
  return std::make_shared<Sm90F64Gemm>();
}

}  // namespace estoc::cuda
