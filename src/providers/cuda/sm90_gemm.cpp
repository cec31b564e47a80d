// Kernel class sm90_gemm: TMA, wgmma, warp-specialised and persistent.
#include "providers/cuda/sm90_gemm.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "estoc/arguments.hpp"
#include "operations/gemm/dequantised.h"
#include "providers/cuda/copied_operands.h"
#include "providers/cuda/gemm_class.h"
#include "providers/cuda/prepare.h"
#include "providers/cuda/sm90_cost.h"
#include "providers/cuda/sm90_epilogue.h"
#include "providers/cuda/sm90_launch.h"
#include "providers/cuda/sm90_scales.h"
#include "providers/cuda/sm90_space.h"
#include "providers/cuda/tails.h"
#include "providers/cuda/tma_operand.h"

namespace estoc::cuda {
namespace {

using abi::Sm90GemmConfig;
using abi::Sm90GemmParameters;

constexpr std::array kTargets{Target::sm(90, true)};
// Of extents and of tiles, so that coordinates and counts are 32-bit numbers.
constexpr std::int64_t kMaxCoordinate = (std::int64_t{1} << 28) - 1;

/// Tables have swapped kernels for outputs of so many rows; with reductions, those of more are
/// outdone. Wide tiles are outdone by others where one of these has all rows.
bool is_untried(const Sm90GemmConfig& config, const cost::Work& work) {
  constexpr double kTried = 1024;
  constexpr double kTriedWide = 1280;
  constexpr double kTriedBoxes = 256;
  constexpr double kOutdone = 64;
  constexpr double kReduced = 32;
  if (config.out_m_major && config.tile_n < kWideSwapped) return work.n > kTriedBoxes;
  if (config.out_m_major) return work.n <= kOutdone || work.n > kTriedWide;
  return work.n > (work.reduces ? kReduced : kTried);
}

/// Rows of out beyond which kernels that convert B for every tile were not timed.
constexpr double kMaxConverted = 64;

class Sm90Gemm final : public ConfiguredGemm<Sm90GemmConfig, Sm90GemmParameters> {
 public:
  explicit Sm90Gemm(Sm90Kind kind)
      : ConfiguredGemm("sm90_gemm", "Sm90Gemm"), kind_(kind), space_(make_sm90_space(kind)) {}

  std::string_view name() const override {
    constexpr std::array<std::string_view, 12> kNames{"sm90_gemm",
                                                      "sm90_fast_gemm",
                                                      "sm90_swapped_gemm",
                                                      "sm90_prepared_gemm",
                                                      "sm90_bf16x6_gemm",
                                                      "sm90_scaled_gemm",
                                                      "sm90_dequantised_gemm",
                                                      "sm90_swapped_dequantised_gemm",
                                                      "sm90_quantised_gemm",
                                                      "sm90_scaled_quantised_gemm",
                                                      "sm90_swapped_scaled_gemm",
                                                      "sm90_swapped_fast_gemm"};
    return kNames[static_cast<std::size_t>(kind_)];
  }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override { return kTargets; }
  bool takes_block_scales() const override {
    return scales_sums() || kind_ == Sm90Kind::dequantised || converts();
  }
  bool takes_pairs() const override { return kind_ == Sm90Kind::plain || kind_ == Sm90Kind::fast; }
  bool quantises() const override {
    return kind_ == Sm90Kind::quantised || kind_ == Sm90Kind::scaled_quantised;
  }

 protected:
  Sm90GemmConfig config_of(const DesignPoint& point) const override { return sm90_config(point); }
  Sm90GemmConfig widest_config(const DesignPoint& point, const Alignments& widest) const override {
    Sm90GemmConfig config = sm90_config(point);
    config.tma_store = config.tma_store || widest.out == 16;
    return config;
  }
  Alignments widest(const DesignPoint& /*point*/, const Alignments& own,
                    const GemmProblem& problem) const override {
    Alignments widest = own;
    // D that is kept is aligned whatever out is.
    if (!quantises() && sm90_takes_tma_stores(problem)) widest.out = 16;
    return widest;
  }
  Sm90GemmConfig fused(const Sm90GemmConfig& config, const EpilogueGraph& epilogue,
                       bool transposed) const override {
    return fused_config(config, epilogue, transposed, is_swapped());
  }
  bool is_transposed(const DesignPoint& point) const override {
    return is_column_major(point) != (is_swapped() || converts());
  }

  GemmLimits limits() const override {
    // Products of planes have six times as many terms.
    const std::int64_t most = kind_ == Sm90Kind::planes ? kMaxCoordinate / 8 : kMaxCoordinate;
    return {.extent = most,
            .batches = kMaxCoordinate,
            .tiles = kMaxCoordinate,
            .all_tiles = kMaxCoordinate};
  }

  Status check_controls(const PerformanceControls& controls) const override {
    if (kind_ == Sm90Kind::planes && !controls.allow_bf16x6) {
      return Status::fail(Reason::controls,
                          "controls.allow_bf16x6: expected true, for products of bf16 parts, got "
                          "false");
    }
    if (!sums_fast() || controls.fast_accumulation) return Status::success();
    return Status::fail(Reason::controls,
                        "controls.fast_accumulation: expected true, for sums of few bits, got "
                        "false");
  }

  Status check_any(const GemmArguments& gemm) const override {
    if (scales_sums()) return sm90_check_scales(gemm.a(), gemm.b());
    if (kind_ == Sm90Kind::dequantised) return operations::check_dequantised_as_bf16(gemm);
    if (converts()) return sm90_check_converted(gemm);
    return kind_ == Sm90Kind::prepared ? check_any_copied(gemm) : Status::success();
  }
  bool looks_at_operands_alone(Target /*target*/) const override {
    return !scales_sums() && !converts();
  }
  Status check(const DesignPoint& point, const GemmArguments& gemm,
               Target /*target*/) const override {
    if (scales_sums()) {
      Status scales = sm90_check_scales(point, gemm.a(), gemm.b());
      if (!scales.ok()) return scales;
    }
    const OperandPlanes planes = operand_planes(point, gemm);
    if (kind_ == Sm90Kind::planes) return check_sm90_out(point, planes.out);
    if (kind_ == Sm90Kind::dequantised) {
      Status scales = check_any(gemm);
      return scales.ok() ? check_sm90_out(point, planes.out) : scales;
    }
    if (converts()) return sm90_check_converted(point, gemm);
    Status a = is_copied(point, 0) ? check_copied(gemm, false) : check_tma_strides(planes.a);
    if (!a.ok()) return a;
    Status b = is_copied(point, 1) ? check_copied(gemm, true) : check_tma_strides(planes.b);
    if (b.ok() && gemm.pairs() != AccumulatorPairs::none) b = check_tma_pairs(point, gemm);
    return b.ok() ? check_sm90_out(point, planes.out) : b;
  }

  Status check_epilogue(const Decoded& kernel, Target /*target*/) const override {
    return check_room(kernel.config, *kernel.epilogue, kernel.transposed);
  }

  void add_cost(const Sm90GemmConfig& config, const GemmProblem& problem,
                const PerformanceControls& controls, const cost::DeviceModel& device,
                cost::Plan& plan) const override {
    if (config.planes) count_planes(plan.work);
    if (kind_ == Sm90Kind::dequantised) count_dequantised(plan.work);
    if (converts()) count_converted(problem, plan.work);
    plan.family = cost::Family::sm90;
    plan.design = sm90_design(as_stored(config, problem), plan.work);
    plan.design.untried = (is_swapped() && is_untried(config, plan.work)) ||
                          (converts() && plan.work.n > kMaxConverted) ||
                          (config.planes && config.cluster_size() == 1);
    Knobs knobs = sm90_knobs(config, plan.work, plan.design);
    knobs.zigzag = !controls.keeps_order() && !config.planes;
    cost::set_knobs(plan, knobs);
    if (controls.batch_invariant || config.planes) return;
    const Sm90SplitSearch search(SplitLimits::of(config, plan.work.fused), plan.work, plan.design,
                                 device);
    if (quantises() || problem.paired()) return set_split(plan, search.in_clusters());
    set_fastest_split(config, search, controls, plan);
  }

  /// What a swapped kernel whose epilogue leaves by TMA stores as.
  Sm90GemmConfig as_stored(const Sm90GemmConfig& config, const GemmProblem& problem) const {
    Sm90GemmConfig stored = config;
    if (is_swapped() && problem.epilogue != nullptr &&
        has_16_bit_matrices(*problem.epilogue->graph) && sm90_takes_tma_stores(problem, true))
      stored.tma_store = stored.out_m_major = true;
    return stored;
  }

  OperandCopies copies(const DesignPoint& point, const GemmProblem& problem) const override {
    if (kind_ == Sm90Kind::planes) return OperandCopies::planes_of(problem);
    if (kind_ == Sm90Kind::dequantised) return OperandCopies::dequantised(problem);
    if (converts()) return OperandCopies::converted(problem);
    if (kind_ != Sm90Kind::prepared) return {};
    const bool transposed = problem.transposed;
    return {problem, is_copied(point, transposed ? 1 : 0), is_copied(point, transposed ? 0 : 1)};
  }

  std::vector<std::string> shared_headers() const override {
    if (quantises()) return {device_name(), "quantise"};
    if (!is_prepared()) return ConfiguredGemm::shared_headers();
    const bool dequantises = kind_ == Sm90Kind::dequantised || converts();
    return {device_name(), dequantises ? "dequantise" : "prepare"};
  }

  bool copies_operands() const override { return is_prepared(); }

  void add_entries(const DesignPoint& point, const EpilogueGraph* epilogue,
                   CudaCode& code) const override {
    const Sm90GemmConfig config = kernel_of(point, epilogue).config;
    const bool reduces = epilogue != nullptr && !epilogue->reduced.empty();
    if (quantises()) return add_quantise_entry(point.dtype(Role::out_dtype), reduces, code);
    if (!reduces && (config.has_tails() || is_prepared())) {
      code.source += sums_source("sm90", type_name(), epilogue);
      code.entries.emplace_back("estoc_sum_parts");
    }
    if (kind_ == Sm90Kind::dequantised) {
      add_dequantise_entry(point, is_transposed(point), code);
    } else if (converts()) {
      add_converted_entry(point, code);
    } else if (is_prepared()) {
      add_prepare_entry(point, kind_ == Sm90Kind::planes, code);
    }
  }

  Sm90GemmParameters parameters(const Sm90GemmConfig& config,
                                const GemmLaunch& launch) const override {
    const GemmProblem& problem = launch.problem;
    Sm90GemmParameters p = sm90_operands(config, launch);
    p.tiles_m = static_cast<int>(ceil_div(p.m, config.cluster_rows()));
    p.tiles_n = static_cast<int>(ceil_div(p.n, config.cluster_columns()));
    p.along_n = launch.knobs.raster == Knobs::Raster::along_n;
    p.group = std::clamp<int>(launch.knobs.swizzle, 1, p.along_n ? p.tiles_n : p.tiles_m);
    p.zigzag = launch.knobs.zigzag && !launch.gemm.controls().keeps_order() && !config.planes;
    p.parts = static_cast<unsigned char>(parts_of_k(config, launch, p));
    const Tail tail = tail_of(config, launch.gemm, problem, launch.knobs);
    add_tail(config, tail, cluster_tiles(config, problem), launch.workspace, p);
    if (config.scaled()) {
      p.a_scales = sm90_scales(problem.a.scales);
      p.b_scales = sm90_scales(problem.b.scales);
    }
    if (config.a_scale_k > 0) p.a_scales = sm90_code_scales(problem.a.scales);
    return p;
  }

  CudaGeometry geometry(const Sm90GemmConfig& config, const Sm90GemmParameters& p,
                        const PlanDevice& device) const override {
    const int together = config.cluster_size() * p.parts;
    const auto size = static_cast<unsigned>(together);
    // A CTA of a cluster that sums up a tile has one part of one tile.
    const unsigned room =
        p.parts > 1 ? p.items : static_cast<unsigned>(device.clusters_at_once(together));
    return {.grid = {std::min(p.items, room) * size, 1, 1},
            .block = {static_cast<unsigned>(config.threads()), 1, 1},
            .shared_bytes = static_cast<unsigned>(config.shared_bytes()),
            .cluster = {size, 1, 1}};
  }

  std::size_t sums_workspace(const Sm90GemmConfig& config, const GemmArguments& gemm,
                             const GemmProblem& problem, const Knobs& knobs) const override {
    return static_cast<std::size_t>(tail_bytes(config, tail_of(config, gemm, problem, knobs)));
  }
  bool add_sums(const Sm90GemmConfig& config, const Sm90GemmParameters& p,
                LaunchPlan& plan) const override {
    return add_sums_kernel(config, p, plan);
  }

  PartCounts part_counts(const Sm90GemmConfig& config, std::int64_t m,
                         std::int64_t n) const override {
    return tile_part_counts(config, m, n);
  }
  void add_epilogue(const Sm90GemmConfig& config, const EpilogueView& view, const PartCounts& parts,
                    const Workspace& workspace, bool empty, LaunchPlan& plan) const override {
    add_mapped_epilogue(config, view, parts, workspace, empty, plan);
  }

  std::string sums_of(const DesignPoint& point) const override {
    // Each product of an instruction is of 32 bytes of K, whatever the tile.
    if (kind_ == Sm90Kind::planes) {
      return "wgmma bf16 x bf16 of six pairs of parts, added to f32 every 64 or 256 of K";
    }
    if (kind_ == Sm90Kind::dequantised) return "wgmma bf16 x bf16";
    // Which elements are neighbours in an instruction depends on their bits alone.
    if (converts()) return "wgmma bf16 x bf16, four runs of 32 bytes of B side by side";
    const Sm90GemmConfig config = sm90_config(point);
    const std::string_view sums = sums_fast()       ? ", sums of few bits"
                                  : config.scaled() ? ", scaled every 128 of K"
                                  : config.promote  ? ", added to f32 every 128 of K"
                                  : config.accumulator == abi::Type::f16 ? " in f16"
                                                                         : "";
    return fmt::format("wgmma {} x {}{}", dtype_name(point.dtype(Role::a_dtype)),
                       dtype_name(point.dtype(Role::b_dtype)), sums);
  }
  std::string fused_entry() const override { return sm90_fused_entry(device_name(), type_name()); }

 private:
  bool is_prepared() const {
    return kind_ == Sm90Kind::prepared || kind_ == Sm90Kind::planes ||
           kind_ == Sm90Kind::dequantised || converts();
  }
  bool converts() const { return kind_ == Sm90Kind::converted; }
  bool sums_fast() const { return kind_ == Sm90Kind::fast || kind_ == Sm90Kind::swapped_fast; }
  bool is_swapped() const {
    return kind_ == Sm90Kind::swapped || kind_ == Sm90Kind::swapped_scaled ||
           kind_ == Sm90Kind::swapped_fast;
  }
  bool scales_sums() const {
    return kind_ == Sm90Kind::scaled || kind_ == Sm90Kind::scaled_quantised ||
           kind_ == Sm90Kind::swapped_scaled;
  }

  /// Has the work be that of six products of planes.
  static void count_planes(cost::Work& work) {
    const double inputs = (work.m + work.n) * work.k * work.l;
    work.compulsory += inputs * (3 * 2 - work.element_bytes);
    work.k *= 6;
    work.element_bytes = 2;
  }

  /// CTAs that sum up a tile: as many as the knob says and the kernel, K and the grid allow.
  static int parts_of_k(const Sm90GemmConfig& config, const GemmLaunch& launch,
                        const Sm90GemmParameters& p) {
    constexpr std::int64_t kMaxTiles = 1 << 24;
    const bool many = std::int64_t{p.tiles_m} * p.tiles_n > kMaxTiles / p.l;
    if (launch.gemm.controls().batch_invariant || many || !config.splits_k()) return 1;
    if (launch.knobs.split_tiles > 0) return 1;
    const std::int64_t k_tiles = ceil_div(launch.problem.k, config.tile_k());
    return static_cast<int>(std::clamp<std::int64_t>(
        std::min<std::int64_t>(launch.knobs.split, k_tiles), 1, Sm90GemmConfig::kMaxParts));
  }

  Sm90Kind kind_;
  std::shared_ptr<const DesignSpace> space_;
};

}  // namespace

std::shared_ptr<const KernelClass> make_sm90_gemm() {
  return std::make_shared<Sm90Gemm>(Sm90Kind::plain);
}

std::shared_ptr<const KernelClass> make_sm90_fast_gemm() {
  return std::make_shared<Sm90Gemm>(Sm90Kind::fast);
}

std::shared_ptr<const KernelClass> make_sm90_swapped_gemm() {
  return std::make_shared<Sm90Gemm>(Sm90Kind::swapped);
}

std::shared_ptr<const KernelClass> make_sm90_swapped_fast_gemm() {
  return std::make_shared<Sm90Gemm>(Sm90Kind::swapped_fast);
}

std::shared_ptr<const KernelClass> make_sm90_prepared_gemm() {
  return std::make_shared<Sm90Gemm>(Sm90Kind::prepared);
}

std::shared_ptr<const KernelClass> make_sm90_bf16x6_gemm() {
  return std::make_shared<Sm90Gemm>(Sm90Kind::planes);
}

std::shared_ptr<const KernelClass> make_sm90_dequantised_gemm() {
  return std::make_shared<Sm90Gemm>(Sm90Kind::dequantised);
}

std::shared_ptr<const KernelClass> make_sm90_swapped_dequantised_gemm() {
  return std::make_shared<Sm90Gemm>(Sm90Kind::converted);
}

std::shared_ptr<const KernelClass> make_sm90_scaled_gemm() {
  return std::make_shared<Sm90Gemm>(Sm90Kind::scaled);
}

std::shared_ptr<const KernelClass> make_sm90_swapped_scaled_gemm() {
  return std::make_shared<Sm90Gemm>(Sm90Kind::swapped_scaled);
}

std::shared_ptr<const KernelClass> make_sm90_quantised_gemm() {
  return std::make_shared<Sm90Gemm>(Sm90Kind::quantised);
}

std::shared_ptr<const KernelClass> make_sm90_scaled_quantised_gemm() {
  return std::make_shared<Sm90Gemm>(Sm90Kind::scaled_quantised);
}

}  // namespace estoc::cuda
