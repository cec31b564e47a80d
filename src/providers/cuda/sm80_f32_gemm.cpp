// Kernel class sm80_f32_gemm: multiply-adds of f32, fed by cp.async.
#include "providers/cuda/sm80_f32_gemm.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "core/architectures.h"
#include "estoc/abi/sm80_f32_gemm.cuh"
#include "estoc/arguments.hpp"
#include "providers/cuda/gemm_class.h"

namespace estoc::cuda {
namespace {

using abi::Sm80F32GemmConfig;

constexpr std::int64_t kMaxF32Extent = (std::int64_t{1} << 27) - 1;

// What the loop over a tile's rows takes beside inputs and outputs; sums lie in shared memory.
constexpr int kRowRegisters = 72;

std::shared_ptr<const DesignSpace> make_f32_space() {
  return DesignSpace::Builder{}
      .dtypes(Role::a_dtype, {Dtype::f32})
      .dtypes(Role::b_dtype, {Dtype::f32})
      .dtypes(Role::accumulator_type, {Dtype::f32})
      .dtypes(Role::out_dtype, {Dtype::f32, Dtype::f16, Dtype::bf16})
      .layouts({"tnt", "ttt", "ntt", "nnt", "tnn", "ttn", "ntn", "nnn"})
      .alignments(Role::a_alignment, {16})
      .alignments(Role::b_alignment, {16})
      .alignments(Role::out_alignment, {16, 1})
      .shapes(Role::tile, {{64, 64, 64},
                           {64, 128, 32},
                           {128, 64, 32},
                           {128, 128, 32},
                           {128, 256, 32},
                           {256, 128, 32}})
      .integers(Role::stages, {3})
      .build();
}

/// Sustained multiply-adds of a multiprocessor in one clock, read off the H200. A CTA of four warps
/// by itself leaves its schedulers idle.
double f32_products_per_clock(const Sm80F32GemmConfig& config, double tiles,
                              const cost::DeviceModel& device) {
  const double by_layout = config.a_m_major != config.b_n_major ? 0.65 : 0.73;
  const int area = config.tile_m * config.tile_n;
  const double by_tile = area > 128 * 128    ? 1
                         : area == 128 * 128 ? 0.98
                         : area > 64 * 64    ? 0.92
                                             : 0.86;
  const bool alone = config.threads() <= 128 && tiles <= device.multiprocessors;
  return device.f32_products * by_layout * by_tile * (alone ? 0.45 : 1);
}

/// CTAs that a multiprocessor holds.
int live_ctas(const Sm80F32GemmConfig& config, const cost::DeviceModel& device) {
  const int shared = core::architecture(device.target.cc()).shared_bytes;
  return std::clamp(shared / config.shared_bytes(), 1, config.ctas());
}

class Sm80F32Gemm final : public ConfiguredGemm<Sm80F32GemmConfig, abi::Sm80F32GemmParameters> {
 public:
  Sm80F32Gemm() : ConfiguredGemm("sm80_f32_gemm", "Sm80F32Gemm") {}

  std::string_view name() const override { return "sm80_f32_gemm"; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }

 protected:
  Sm80F32GemmConfig config_of(const DesignPoint& point) const override {
    const Majors majors = majors_of(point);
    const Shape3 tile = shape_in_code(point, Role::tile);
    return {.out = abi_type(point.dtype(Role::out_dtype)),
            .a_m_major = majors.a_m_major,
            .b_n_major = majors.b_n_major,
            .tile_m = tile.m,
            .tile_n = tile.n,
            .tile_k = tile.k,
            // Four warps at least share a tile.
            .slices = std::max(4 * 64 * 64 / (tile.m * tile.n), 1),
            .stages = point.integer(Role::stages),
            .out_vectors = point.integer(Role::out_alignment) == 16};
  }
  bool is_transposed(const DesignPoint& point) const override { return is_column_major(point); }

  GemmLimits limits() const override {
    return {.extent = kMaxF32Extent, .batches = GemmLimits{}.tiles};
  }

  Status check(const DesignPoint& point, const GemmArguments& gemm, Target target) const override {
    const OperandPlanes planes = operand_planes(point, gemm);
    Status status = check_row_alignment(planes.a, point.integer(Role::a_alignment));
    if (status.ok()) status = check_row_alignment(planes.b, point.integer(Role::b_alignment));
    if (status.ok()) status = check_row_alignment(planes.out, point.integer(Role::out_alignment));
    return status.ok() ? check_room(config_of(point), target) : status;
  }

  Status check_epilogue(const Decoded& kernel, Target target) const override {
    return check_epilogue_registers(
        *kernel.epilogue, epilogue_registers(*kernel.epilogue, kernel.transposed),
        core::architecture(target.cc()).registers_per_thread - kRowRegisters);
  }

  void add_cost(const Sm80F32GemmConfig& config, const GemmProblem& problem,
                const PerformanceControls& /*controls*/, const cost::DeviceModel& device,
                cost::Plan& plan) const override {
    const double area = static_cast<double>(config.tile_m) * config.tile_n;
    const double tiles = static_cast<double>(ceil_div(problem.m, config.tile_m) *
                                             ceil_div(problem.n, config.tile_n) * problem.l);
    plan.family = cost::Family::f32;
    plan.design.tile_m = config.tile_m;
    plan.design.tile_n = config.tile_n;
    plan.design.tile_k = config.tile_k;
    plan.design.stages = config.stages;
    plan.design.ctas_per_multiprocessor = live_ctas(config, device);
    plan.design.stage_clocks = area * config.tile_k / f32_products_per_clock(config, tiles, device);
    plan.design.start_clocks = 2000;
    plan.design.store_clocks = area * (plan.work.out_bytes / 48 + plan.work.epilogue_clocks);
    plan.design.a_m_major = config.a_m_major;
    plan.design.b_n_major = config.b_n_major;
    plan.design.plain_stores = !config.out_vectors;
    plan.design.narrower = !config.out_vectors && problem.out.view.alignment >= 16;
    Knobs knobs;
    knobs.swizzle = 8;
    cost::set_knobs(plan, knobs);
  }

  abi::Sm80F32GemmParameters parameters(const Sm80F32GemmConfig& config,
                                        const GemmLaunch& launch) const override {
    return tile_parameters<abi::Sm80F32GemmParameters>(config, launch);
  }

  PartCounts part_counts(const Sm80F32GemmConfig& config, std::int64_t m,
                         std::int64_t n) const override {
    const std::int64_t tiles_m = ceil_div(m, config.tile_m);
    const std::int64_t tiles_n = ceil_div(n, config.tile_n);
    return {.row = tiles_n,
            .column = tiles_m * config.warps(),
            .all = tiles_m * tiles_n * config.warps()};
  }

  std::string sums_of(const DesignPoint& point) const override {
    // Behind the end of K there are zeros up to the end of a tile.
    const Sm80F32GemmConfig config = config_of(point);
    return fmt::format("fma f32 x f32 K in {} slices and tiles of {}", config.slices,
                       config.tile_k);
  }
  std::string_view least_ctas(bool /*fused*/) const override { return "kConfig.ctas()"; }

 private:
  static Status check_room(const Sm80F32GemmConfig& config, Target target) {
    const int needed = config.shared_bytes();
    const int available = core::architecture(target.cc()).shared_bytes;
    if (needed <= available) return Status::success();
    return Status::fail(Reason::resource,
                        fmt::format("shared memory: expected at most {} bytes on {}, got {}",
                                    available, target.name(), needed));
  }

  std::shared_ptr<const DesignSpace> space_ = make_f32_space();
};

}  // namespace

std::shared_ptr<const KernelClass> make_sm80_f32_gemm() {
  return std::make_shared<Sm80F32Gemm>();
}

}  // namespace estoc::cuda
