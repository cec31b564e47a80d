// Kernel classes sm120_gemm and sm120_scaled_gemm: cp.async, ldmatrix, and mma.sync of 8-bit floats
// and of elements whose blocks have scales.
#include "providers/cuda/sm120_gemm.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/architectures.h"
#include "estoc/arguments.hpp"
#include "operations/gemm/dequantised.h"
#include "providers/cuda/gemm_class.h"
#include "providers/cuda/prepare.h"
#include "providers/cuda/sm120_space.h"

namespace estoc::cuda {
namespace {

using abi::Sm120GemmConfig;
using abi::Sm120GemmParameters;

constexpr std::array kSm120Targets{Target::sm(120, true), Target::sm(121, true)};
constexpr std::int64_t kSm120MostExtent = (std::int64_t{1} << 27) - 1;
// What the loop over a tile's rows takes beside sums, inputs and outputs.
constexpr int kSm120CodeRegisters = 80;

/// Multiply-adds of a multiprocessor in one clock. Data sheets: fp8 with sums of f32 is twice as
/// fast as bf16, e2m1 four times as fast as fp8.
double sm120_products_per_clock(const Sm120GemmConfig& config, const cost::DeviceModel& device) {
  const double fp8 = 2 * device.f16_products * device.f32_sums;
  const double rate = config.a == abi::Type::e2m1 ? 4 * fp8 : fp8;
  const int area = config.tile_m * config.tile_n;
  const double reached = area >= 128 * 128 ? 0.8 : area >= 64 * 128 ? 0.65 : 0.5;
  const double copied = std::min(config.a_copy, config.b_copy) == 16 ? 1.0 : 0.7;
  return rate * reached * copied;
}

/// Whether the operands allow wider copies or stores than the configuration has.
bool is_narrower(const Sm120GemmConfig& config, const GemmProblem& problem) {
  const bool a = config.a_copy < 16 && problem.a.view.alignment >= 16;
  const bool b = config.b_copy < 16 && problem.b.view.alignment >= 16;
  return a || b || (!config.out_vectors && problem.out.view.alignment >= 16);
}

cost::Design sm120_design(const Sm120GemmConfig& config, const cost::Work& work,
                          const cost::DeviceModel& device) {
  const core::Architecture& architecture = core::architecture(device.target.cc());
  const double area = static_cast<double>(config.tile_m) * config.tile_n;
  const int registers = config.threads() * std::min(config.moved().sum_registers() + 96,
                                                    architecture.registers_per_thread);
  cost::Design design;
  design.tile_m = config.tile_m;
  design.tile_n = config.tile_n;
  design.tile_k = config.tile_k;
  design.stages = config.stages;
  design.ctas_per_multiprocessor =
      std::max(1, std::min(architecture.shared_bytes / config.shared_bytes(),
                           architecture.registers / registers));
  design.stage_clocks = area * config.tile_k / sm120_products_per_clock(config, device);
  design.start_clocks = 2000;
  design.store_clocks = area * (work.out_bytes / 48 + work.epilogue_clocks);
  design.plain_stores = !config.out_vectors;
  design.copy_bytes = std::min(config.a_copy, config.b_copy);
  design.untried = true;
  return design;
}

/// Elements of an operand that share a scale; 0: its scales are not of blocks along K.
int block_of(const Operand& operand) {
  const ScaledTensor* const scaled = operand.scaled();
  if (scaled == nullptr || !scaled->has_blocks()) return 0;
  return scaled->mode == ScaleMode::blockwise_1x16 ? 16 : 32;
}

/// The block that an instruction has to have for the operands; 0: they differ.
int common_block(const GemmArguments& gemm) {
  const int a = block_of(gemm.a());
  const int b = block_of(gemm.b());
  if (a != 0 && b != 0 && a != b) return 0;
  const int block = std::max(a, b);
  return block == 0 ? 32 : block;
}

class Sm120Gemm final : public ConfiguredGemm<Sm120GemmConfig, Sm120GemmParameters> {
 public:
  explicit Sm120Gemm(bool scaled)
      : ConfiguredGemm("sm120_gemm", "Sm120Gemm"),
        scaled_(scaled),
        space_(make_sm120_space(scaled)) {}

  std::string_view name() const override { return scaled_ ? "sm120_scaled_gemm" : "sm120_gemm"; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override { return kSm120Targets; }
  bool takes_block_scales() const override { return scaled_; }

 protected:
  Sm120GemmConfig config_of(const DesignPoint& point) const override { return sm120_config(point); }
  Sm120GemmConfig fused(const Sm120GemmConfig& config, const EpilogueGraph& /*epilogue*/,
                        bool /*transposed*/) const override {
    Sm120GemmConfig result = config;
    result.fused = true;
    return result;
  }
  bool is_transposed(const DesignPoint& point) const override { return is_column_major(point); }
  GemmLimits limits() const override {
    return {.extent = kSm120MostExtent, .batches = GemmLimits{}.tiles};
  }

  Status check_any(const GemmArguments& gemm) const override {
    if (!scaled_) return Status::success();
    Status status = operations::check_dequantised_as_bf16(gemm);
    if (!status.ok() || common_block(gemm) != 0) return status;
    return Status::fail(Reason::dtype,
                        fmt::format("B.scale: expected blocks of {} along K, as A has, got {}",
                                    block_of(gemm.a()), block_of(gemm.b())));
  }
  Status check(const DesignPoint& point, const GemmArguments& gemm,
               Target /*target*/) const override {
    if (scaled_) {
      if (Status status = check_any(gemm); !status.ok()) return status;
      if (common_block(gemm) != sm120_block(point)) {
        // Most kernels of a search fail here: nothing is formatted.
        return Status::fail(Reason::dtype, "A.scale, B.scale: expected the kernel's blocks");
      }
    }
    const OperandPlanes planes = operand_planes(point, gemm);
    Status status = check_row_alignment(planes.a, point.integer(Role::a_alignment));
    if (status.ok()) status = check_row_alignment(planes.b, point.integer(Role::b_alignment));
    return status.ok() ? check_row_alignment(planes.out, point.integer(Role::out_alignment))
                       : status;
  }

  Status check_epilogue(const Decoded& kernel, Target target) const override {
    const Sm120GemmConfig& config = kernel.config;
    const core::Architecture& architecture = core::architecture(target.cc());
    if (config.shared_bytes() > architecture.shared_bytes) {
      return Status::fail(
          Reason::resource,
          fmt::format("shared memory: expected at most {} bytes on {}, got {}",
                      architecture.shared_bytes, target.name(), config.shared_bytes()));
    }
    return check_epilogue_registers(
        *kernel.epilogue, epilogue_registers(*kernel.epilogue, kernel.transposed),
        architecture.registers_per_thread - kSm120CodeRegisters - config.moved().sum_registers());
  }

  void add_cost(const Sm120GemmConfig& config, const GemmProblem& problem,
                const PerformanceControls& /*controls*/, const cost::DeviceModel& device,
                cost::Plan& plan) const override {
    plan.family = cost::Family::sm80;
    plan.design = sm120_design(config, plan.work, device);
    plan.design.narrower = is_narrower(config, problem);
    Knobs knobs;
    knobs.swizzle = 8;
    cost::set_knobs(plan, knobs);
  }

  Sm120GemmParameters parameters(const Sm120GemmConfig& config,
                                 const GemmLaunch& launch) const override {
    auto p = tile_parameters<Sm120GemmParameters>(config, launch);
    p.a_scales = device_scales(launch.problem.a.scales);
    p.b_scales = device_scales(launch.problem.b.scales);
    return p;
  }

  PartCounts part_counts(const Sm120GemmConfig& config, std::int64_t m,
                         std::int64_t n) const override {
    const std::int64_t tiles_m = ceil_div(m, config.tile_m);
    const std::int64_t tiles_n = ceil_div(n, config.tile_n);
    return {.row = tiles_n * config.warps_n,
            .column = tiles_m * config.warps_m,
            .all = tiles_m * tiles_n * config.warps_m * config.warps_n};
  }

  std::string sums_of(const DesignPoint& point) const override {
    const int block = sm120_block(point);
    // Behind the end of K there are zeros up to the end of a tile.
    return fmt::format(
        "mma.sync of sm_120a {} x {}{}, K in tiles of {}", dtype_name(point.dtype(Role::a_dtype)),
        dtype_name(point.dtype(Role::b_dtype)),
        block > 0 ? fmt::format(", scaled every {}", block) : "", point.shape(Role::tile).k);
  }

 private:
  bool scaled_;
  std::shared_ptr<const DesignSpace> space_;
};

}  // namespace

std::shared_ptr<const KernelClass> make_sm120_gemm() {
  return std::make_shared<Sm120Gemm>(false);
}

std::shared_ptr<const KernelClass> make_sm120_scaled_gemm() {
  return std::make_shared<Sm120Gemm>(true);
}

}  // namespace estoc::cuda
