// Kernel classes sm80_gemm, sm80_dequantised_gemm, sm80_scaled_gemm, sm80_grouped_gemm and those
// like it: cp.async, ldmatrix and mma.sync.
#include "providers/cuda/sm80_gemm.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/architectures.h"
#include "estoc/abi/sm80_gathered_gemm.cuh"
#include "estoc/abi/sm80_grouped_gemm.cuh"
#include "estoc/abi/sm80_pointer_gemm.cuh"
#include "estoc/abi/sm80_scaled_gemm.cuh"
#include "estoc/arguments.hpp"
#include "operations/gemm/dequantised.h"
#include "providers/cuda/copied_operands.h"
#include "providers/cuda/gemm_class.h"
#include "providers/cuda/groups.h"
#include "providers/cuda/sm80_space.h"

namespace estoc::cuda {
namespace {

using abi::Sm80GemmConfig;
using abi::Sm80GemmParameters;

constexpr std::int64_t kMaxExtent = (std::int64_t{1} << 27) - 1;

/// Multiply-adds of a multiprocessor in one clock, by mma.sync on whole tiles.
double products_per_clock(const Sm80GemmConfig& config, const cost::DeviceModel& device) {
  // wgmma alone reaches what the data sheets of Hopper and later say.
  const double f16 = device.f16_products;
  double rate = f16;
  if (config.accumulator == abi::Type::f64) rate = device.f64_products;
  if (config.a == abi::Type::tf32) rate = f16 / 2;
  if (config.accumulator == abi::Type::i32) rate = 2 * f16;
  if (config.accumulator == abi::Type::f32) rate *= device.f32_sums;
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

/// Copies and stores as wide as the operands allow.
Alignments widest_copies(const Alignments& own, const GemmProblem& problem) {
  const bool transposed = problem.transposed;
  const int a = (transposed ? problem.b : problem.a).view.alignment;
  const int b = (transposed ? problem.a : problem.b).view.alignment;
  return {std::max(own.a, std::min(a, 16)), std::max(own.b, std::min(b, 16)),
          problem.out.view.alignment >= 16 ? 16 : own.out};
}

/// Whether sm90_gemm, sm100_gemm or sm120_gemm has kernels for such operands. Those of f64 are
/// ahead of these by their predictions.
bool has_newer_kernel(const Sm80GemmConfig& config, Target target) {
  const bool sm100 = target.cc() == 100 || target.cc() == 103;
  if (target.cc() == 120 || target.cc() == 121) {
    const bool fp8 = config.a == abi::Type::e4m3 || config.a == abi::Type::e5m2;
    return fp8 && config.accumulator == abi::Type::f32 && !config.a_m_major && !config.b_n_major &&
           std::min(config.a_copy, config.b_copy) >= 4;
  }
  if (sm100 && config.accumulator != abi::Type::f32) return false;
  if ((target.cc() != 90 && !sm100) || config.accumulator == abi::Type::f64) return false;
  const bool k_major = !config.a_m_major && !config.b_n_major;
  return std::min(config.a_copy, config.b_copy) == 16 &&
         (k_major || abi::type_bytes(config.a) == 2);
}

/// Whether sm90_f64_gemm has such kernels, which took 0.75 to 0.95 of the time on an H200.
bool is_outdone(const Sm80GemmConfig& config, Target target) {
  return target.cc() == 90 && config.accumulator == abi::Type::f64 &&
         std::min(config.a_copy, config.b_copy) == 16;
}

/// CTAs that a multiprocessor holds: by shared memory, and by registers as the compiler gives them.
int ctas_of(const Sm80GemmConfig& config, const cost::DeviceModel& device) {
  const core::Architecture& architecture = core::architecture(device.target.cc());
  const int registers =
      std::min(config.sum_registers() + 80, architecture.registers_per_thread) * config.threads();
  const int shared = architecture.shared_bytes / config.shared_bytes();
  return std::max(std::min(shared, architecture.registers / registers), 1);
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

// What the loop over a tile's rows takes beside sums, inputs and outputs.
constexpr int kCodeRegisters = 56;

Status check_shared(const Sm80GemmConfig& config, Target target) {
  const int needed = config.shared_bytes();
  const int available = core::architecture(target.cc()).shared_bytes;
  if (needed <= available) return Status::success();
  return Status::fail(Reason::resource,
                      fmt::format("shared memory: expected at most {} bytes on {}, got {}",
                                  available, target.name(), needed));
}

Sm80GemmConfig with_epilogue(Sm80GemmConfig config) {
  config.fused = true;
  return config;
}

/// Whether chunks of B hold columns of one accumulator of pairs, and a warp 16 of B.
Status check_pairs(const GemmKernel<Sm80GemmConfig>& kernel) {
  const Sm80GemmConfig& c = kernel.config;
  if (!c.paired) return Status::success();
  if (kernel.transposed) {
    return Status::fail(
        Reason::epilogue,
        "epilogue: expected accum alone in a kernel for the transposed product, got "
        "accumulators in pairs");
  }
  const bool fits = !c.b_n_major || abi::type_bytes(c.b) >= 2;
  if (fits && c.warp_columns() % 16 == 0) return Status::success();
  return Status::fail(
      Reason::epilogue,
      fmt::format("epilogue: expected accum alone with 16 bytes of {} columns of B, "
                  "{} of them a warp, got accumulators in pairs",
                  16 / abi::type_bytes(c.b), c.warp_columns()));
}

/// Whether vectors of B hold columns of one accumulator of pairs.
Status check_paired_columns(const DesignPoint& point, const GemmArguments& gemm) {
  if (gemm.pairs() == AccumulatorPairs::none) return Status::success();
  const std::int64_t bytes = gemm.pair_distance() * dtype_bits(gemm.b().tensor().dtype()) / 8;
  const bool n_major = point.value(Role::layouts).numbers[1] == 't';
  const bool contiguous = !n_major || gemm.pairs() == AccumulatorPairs::halves;
  if (contiguous && bytes % point.integer(Role::b_alignment) == 0) return Status::success();
  return Status::fail(Reason::layout,
                      fmt::format("B.layout: expected columns of first and of second accumulators "
                                  "in vectors of {} bytes, got others",
                                  point.integer(Role::b_alignment)));
}

/// `more` registers than others take.
Status check_registers(const GemmKernel<Sm80GemmConfig>& kernel, Target target, int more = 0) {
  const Sm80GemmConfig& c = kernel.config;
  if (Status status = check_shared(c, target); !status.ok()) return status;
  return check_epilogue_registers(*kernel.epilogue,
                                  epilogue_registers(*kernel.epilogue, kernel.transposed),
                                  core::architecture(target.cc()).registers_per_thread -
                                      kCodeRegisters - more - c.sum_registers());
}

/// The design and the knobs that kernels have in common.
void add_design(const Sm80GemmConfig& config, const cost::DeviceModel& device, cost::Plan& plan) {
  plan.family = cost::Family::sm80;
  plan.design = design_of(config, plan.work, device);
  plan.design.narrower = is_outdone(config, device.target);
  plan.design.older_instructions = has_newer_kernel(config, device.target);
  Knobs knobs;
  knobs.swizzle = 8;
  cost::set_knobs(plan, knobs);
}

PartCounts counts_of(const Sm80GemmConfig& config, std::int64_t m, std::int64_t n) {
  const std::int64_t tiles_m = ceil_div(m, config.tile_m);
  const std::int64_t tiles_n = ceil_div(n, config.place_columns());
  return {.row = tiles_n * config.warps_n,
          .column = tiles_m * config.warps_m,
          .all = tiles_m * tiles_n * config.warps_m * config.warps_n};
}

/// Of A, B and out, for the alignments of the kernel.
Status check_alignments(const DesignPoint& point, const GemmArguments& gemm, bool inputs) {
  const OperandPlanes planes = operand_planes(point, gemm);
  if (inputs) {
    const int a = point.integer(Role::a_alignment);
    const int b = point.integer(Role::b_alignment);
    if (!planes.a.is_aligned(a)) return misaligned_rows(planes.a, a);
    if (!planes.b.is_aligned(b)) return misaligned_rows(planes.b, b);
  }
  return check_row_alignment(planes.out, point.integer(Role::out_alignment));
}

/// Whether the target has room for every kernel: the design space ends with the shared memory of an
/// H100.
bool holds_all(Target target) {
  return core::architecture(target.cc()).shared_bytes >= core::architecture(90).shared_bytes;
}

/// What all classes of such kernels have in common.
template <typename Parameters>
class Sm80Class : public ConfiguredGemm<Sm80GemmConfig, Parameters> {
 public:
  using Decoded = GemmKernel<Sm80GemmConfig>;

 protected:
  using ConfiguredGemm<Sm80GemmConfig, Parameters>::ConfiguredGemm;

  Sm80GemmConfig config_of(const DesignPoint& point) const override {
    return sm80_config(point, alignments_of(point));
  }
  Sm80GemmConfig fused(const Sm80GemmConfig& config, const EpilogueGraph& epilogue,
                       bool /*transposed*/) const override {
    Sm80GemmConfig own = with_epilogue(config);
    own.paired = epilogue.pairs != AccumulatorPairs::none;
    return own;
  }

  Alignments widest(const DesignPoint& /*point*/, const Alignments& own,
                    const GemmProblem& problem) const override {
    return widest_copies(own, problem);
  }
  Sm80GemmConfig widest_config(const DesignPoint& point, const Alignments& widest) const override {
    return sm80_config(point, widest);
  }

  GemmLimits limits() const override {
    return {.extent = kMaxExtent, .batches = GemmLimits{}.tiles};
  }
  Status check_epilogue(const Decoded& kernel, Target target) const override {
    Status pairs = check_pairs(kernel);
    return pairs.ok() ? check_registers(kernel, target) : pairs;
  }
  PartCounts part_counts(const Sm80GemmConfig& config, std::int64_t m,
                         std::int64_t n) const override {
    return counts_of(config, m, n);
  }
};

/// What the code multiplies: operands as they are, or copies of quantised ones as bf16; and what
/// becomes of D: it is stored, or kept and quantised.
enum class Sm80Kind : std::uint8_t { plain, dequantised, quantised };

std::shared_ptr<const DesignSpace> space_of(Sm80Kind kind) {
  if (kind == Sm80Kind::quantised) return make_sm80_quantised_space();
  return kind == Sm80Kind::dequantised ? make_sm80_dequantised_space() : make_sm80_space();
}

class Sm80Gemm final : public Sm80Class<Sm80GemmParameters> {
 public:
  explicit Sm80Gemm(Sm80Kind kind)
      : Sm80Class("sm80_gemm", "Sm80Gemm"),
        dequantises_(kind == Sm80Kind::dequantised),
        quantises_(kind == Sm80Kind::quantised),
        space_(space_of(kind)) {}

  std::string_view name() const override {
    if (quantises_) return "sm80_quantised_gemm";
    return dequantises_ ? "sm80_dequantised_gemm" : "sm80_gemm";
  }
  bool quantises() const override { return quantises_; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  bool takes_block_scales() const override { return dequantises_; }
  bool takes_pairs() const override { return !dequantises_ && !quantises_; }

 protected:
  std::vector<std::string> shared_headers() const override {
    if (!dequantises_ && !quantises_) return ConfiguredGemm::shared_headers();
    return {device_name(), dequantises_ ? "dequantise" : "quantise"};
  }
  bool copies_operands() const override { return dequantises_; }
  OperandCopies copies(const DesignPoint& /*point*/, const GemmProblem& problem) const override {
    return dequantises_ ? OperandCopies::dequantised(problem) : OperandCopies();
  }
  void add_entries(const DesignPoint& point, const EpilogueGraph* epilogue,
                   CudaCode& code) const override {
    if (dequantises_) add_dequantise_entry(point, is_transposed(point), code);
    const bool reduces = epilogue != nullptr && !epilogue->reduced.empty();
    if (quantises_) add_quantise_entry(point.dtype(Role::out_dtype), reduces, code);
  }

  Status check_any(const GemmArguments& gemm) const override {
    return dequantises_ ? operations::check_dequantised_as_bf16(gemm) : Status::success();
  }
  bool is_transposed(const DesignPoint& point) const override { return is_column_major(point); }

  Alignments widest(const DesignPoint& /*point*/, const Alignments& own,
                    const GemmProblem& problem) const override {
    Alignments widest = widest_copies(own, problem);
    // Copies of operands, and D that is kept, are aligned whatever A, B and out are.
    if (dequantises_) widest = {own.a, own.b, widest.out};
    if (quantises_) widest.out = own.out;
    return widest;
  }

  bool looks_at_operands_alone(Target target) const override { return holds_all(target); }
  Status check(const DesignPoint& point, const GemmArguments& gemm, Target target) const override {
    if (Status status = check_any(gemm); !status.ok()) return status;
    Status status = check_alignments(point, gemm, !dequantises_);
    if (status.ok()) status = check_paired_columns(point, gemm);
    if (!status.ok() || holds_all(target)) return status;
    return check_shared(kernel_of(point, graph_of(gemm)).config, target);
  }

  void add_cost(const Sm80GemmConfig& config, const GemmProblem& /*problem*/,
                const PerformanceControls& /*controls*/, const cost::DeviceModel& device,
                cost::Plan& plan) const override {
    if (dequantises_) count_dequantised(plan.work);
    add_design(config, device, plan);
  }

  Sm80GemmParameters parameters(const Sm80GemmConfig& config,
                                const GemmLaunch& launch) const override {
    return tile_parameters<Sm80GemmParameters>(config, launch);
  }

  std::string sums_of(const DesignPoint& point) const override {
    // Behind the end of K there are zeros up to the end of a tile.
    const bool half = point.dtype(Role::accumulator_type) == Dtype::f16;
    if (dequantises_) {
      return fmt::format("mma.sync bf16 x bf16, K in tiles of {}", point.shape(Role::tile).k);
    }
    return fmt::format(
        "mma.sync {} x {}{}, K in tiles of {}", dtype_name(point.dtype(Role::a_dtype)),
        dtype_name(point.dtype(Role::b_dtype)), half ? " in f16" : "", point.shape(Role::tile).k);
  }

 private:
  bool dequantises_;
  bool quantises_;
  std::shared_ptr<const DesignSpace> space_;
};

// What scaling the sums of a stage takes beside its products.
constexpr double kScalingClocks = 0.05;  // of each sum

class Sm80ScaledGemm final : public Sm80Class<abi::Sm80ScaledGemmParameters> {
 public:
  Sm80ScaledGemm() : Sm80Class("sm80_scaled_gemm", "Sm80ScaledGemm") {}

  std::string_view name() const override { return "sm80_scaled_gemm"; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  bool takes_block_scales() const override { return true; }

 protected:
  bool is_transposed(const DesignPoint& point) const override { return is_column_major(point); }
  Status check_any(const GemmArguments& gemm) const override {
    return operations::check_blocks_of_128(gemm);
  }
  Status check(const DesignPoint& point, const GemmArguments& gemm, Target target) const override {
    Status status = check_any(gemm);
    if (status.ok()) status = check_alignments(point, gemm, true);
    return status.ok() ? check_shared(kernel_of(point, graph_of(gemm)).config, target) : status;
  }
  void add_cost(const Sm80GemmConfig& config, const GemmProblem& /*problem*/,
                const PerformanceControls& /*controls*/, const cost::DeviceModel& device,
                cost::Plan& plan) const override {
    add_design(config, device, plan);
    plan.design.stage_clocks += kScalingClocks * config.tile_m * config.tile_n;
    // sm100_gemm takes no scales of blocks.
    if (device.target.cc() != 90) plan.design.older_instructions = false;
  }

  abi::Sm80ScaledGemmParameters parameters(const Sm80GemmConfig& config,
                                           const GemmLaunch& launch) const override {
    auto p = tile_parameters<abi::Sm80ScaledGemmParameters>(config, launch);
    p.a_scales = device_scales(launch.problem.a.scales);
    p.b_scales = device_scales(launch.problem.b.scales);
    return p;
  }
  std::string sums_of(const DesignPoint& point) const override {
    return fmt::format("mma.sync {} x {}, scaled every 128 of K",
                       dtype_name(point.dtype(Role::a_dtype)),
                       dtype_name(point.dtype(Role::b_dtype)));
  }

 private:
  std::shared_ptr<const DesignSpace> space_ = make_sm80_scaled_space();
};

std::string plain_sums_of(const DesignPoint& point) {
  return fmt::format("mma.sync {} x {}, K in tiles of {}", dtype_name(point.dtype(Role::a_dtype)),
                     dtype_name(point.dtype(Role::b_dtype)), point.shape(Role::tile).k);
}

/// What classes of products in groups have in common.
template <typename Parameters>
class Sm80Groups : public Sm80Class<Parameters> {
 public:
  std::string_view name() const override { return this->device_name(); }
  Operation operation() const override { return Operation::grouped_gemm; }
  bool takes_pairs() const override { return true; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }

 protected:
  Sm80Groups(std::string_view device_name, std::string_view type_name,
             std::shared_ptr<const DesignSpace> space)
      : Sm80Class<Parameters>(device_name, type_name), space_(std::move(space)) {}

  std::vector<std::string> shared_headers() const override { return {this->device_name()}; }
  Status check(const DesignPoint& point, const GemmArguments& gemm, Target target) const override {
    Status status = check_paired_columns(point, gemm);
    if (!status.ok()) return status;
    return check_shared(this->kernel_of(point, this->graph_of(gemm)).config, target);
  }
  Status check_groups(const DesignPoint& point, const RuntimeArguments& arguments) const override {
    const GemmProblem problem =
        operations::lower_product(arguments, operations::Orientation::as_given);
    Status status = check_vectors(point, problem.mapping);
    const Shape3 tile = point.shape(Role::tile);
    if (status.ok())
      status = check_divided_out(problem, tile.m, tile.n, static_cast<int>(kMaxExtent));
    const auto& letters = point.value(Role::layouts).numbers;
    if (status.ok()) status = check_row_alignment({problem.a, letters[0] == 'n'}, 16);
    if (status.ok()) status = check_row_alignment({problem.b, letters[1] == 'n'}, 16);
    if (!status.ok()) return status;
    return check_row_alignment({problem.out, false}, point.integer(Role::out_alignment));
  }
  void add_cost(const Sm80GemmConfig& config, const GemmProblem& /*problem*/,
                const PerformanceControls& /*controls*/, const cost::DeviceModel& device,
                cost::Plan& plan) const override {
    add_design(config, device, plan);
  }

  Parameters parameters(const Sm80GemmConfig& config, const GemmLaunch& launch) const override {
    auto p = tile_parameters<Parameters>(config, launch);
    const GemmProblem& problem = launch.problem;
    p.groups = device_groups(problem);
    if (p.groups.mode == abi::GroupedMode::rows) {
      p.tiles_m = static_cast<unsigned>(most_group_tiles(problem.groups, config.tile_m));
    }
    if (p.groups.mode == abi::GroupedMode::columns) {
      p.tiles_n = static_cast<unsigned>(most_group_tiles(problem.groups, config.tile_n));
    }
    return p;
  }
  std::string sums_of(const DesignPoint& point) const override { return plain_sums_of(point); }

 private:
  /// Groups begin anywhere, so that no vector may lie along the mode that they divide.
  static Status check_vectors(const DesignPoint& point, operations::Mapping mapping) {
    using operations::Mapping;
    const auto& letters = point.value(Role::layouts).numbers;
    const bool fit = mapping == Mapping::rows ? letters[0] == 't'
                     : mapping == Mapping::columns
                         ? letters[1] == 'n' && point.integer(Role::out_alignment) == 1
                     : mapping == Mapping::reduction ? letters[0] == 'n' && letters[1] == 't'
                                                     : true;
    return fit ? Status::success() : divided_is_contiguous();
  }

  std::shared_ptr<const DesignSpace> space_;
};

class Sm80GroupedGemm final : public Sm80Groups<abi::Sm80GroupedGemmParameters> {
 public:
  Sm80GroupedGemm()
      : Sm80Groups("sm80_grouped_gemm", "Sm80GroupedGemm", make_sm80_grouped_space()) {}
};

class Sm80GatheredGemm final : public Sm80Groups<abi::Sm80GatheredGemmParameters> {
 public:
  Sm80GatheredGemm()
      : Sm80Groups("sm80_gathered_gemm", "Sm80GatheredGemm", make_sm80_gathered_space()) {}

  TakesRows takes_rows() const override { return TakesRows::only; }

 protected:
  Status check_epilogue(const Decoded& kernel, Target target) const override {
    // A thread keeps which rows it copies.
    constexpr int kOthers = 8;
    const Sm80GemmConfig& c = kernel.config;
    const int rows = c.a_bytes() / 16 / c.threads();
    return check_registers(kernel, target, rows + kOthers);
  }
  void add_cost(const Sm80GemmConfig& config, const GemmProblem& problem,
                const PerformanceControls& controls, const cost::DeviceModel& device,
                cost::Plan& plan) const override {
    Sm80Groups::add_cost(config, problem, controls, device, plan);
    plan.design.older_instructions = false;  // newer ones do not gather faster
  }
  abi::Sm80GatheredGemmParameters parameters(const Sm80GemmConfig& config,
                                             const GemmLaunch& launch) const override {
    auto p = Sm80Groups::parameters(config, launch);
    p.rows = device_rows(launch.problem);
    if (p.rows.count == 0) p.k = 0;
    return p;
  }
};

class Sm80PointerGemm final : public Sm80Class<abi::Sm80PointerGemmParameters> {
 public:
  Sm80PointerGemm() : Sm80Class("sm80_pointer_gemm", "Sm80PointerGemm") {}

  std::string_view name() const override { return "sm80_pointer_gemm"; }
  Operation operation() const override { return Operation::grouped_gemm; }
  TakesPointers takes_pointers() const override { return TakesPointers::only; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }

 protected:
  std::vector<std::string> shared_headers() const override { return {"sm80_pointer_gemm"}; }
  bool is_transposed(const DesignPoint& point) const override { return is_column_major(point); }
  Status check(const DesignPoint& point, const GemmArguments& gemm, Target target) const override {
    const Status status = check_alignments(point, gemm, true);
    return status.ok() ? check_shared(kernel_of(point, graph_of(gemm)).config, target) : status;
  }
  Status check_groups(const DesignPoint& point, const RuntimeArguments& arguments) const override {
    return check_pointed_layout(
        point, operations::lower_product(arguments, operations::Orientation::as_given));
  }
  Status check_epilogue(const Decoded& /*kernel*/, Target /*target*/) const override {
    return no_epilogue_by_pointers();
  }

  void add_cost(const Sm80GemmConfig& config, const GemmProblem& /*problem*/,
                const PerformanceControls& /*controls*/, const cost::DeviceModel& device,
                cost::Plan& plan) const override {
    add_design(config, device, plan);
    // Of tcgen05 there are none that take pointers.
    if (device.target.cc() != 90) plan.design.older_instructions = false;
  }

  abi::Sm80PointerGemmParameters parameters(const Sm80GemmConfig& config,
                                            const GemmLaunch& launch) const override {
    auto p = tile_parameters<abi::Sm80PointerGemmParameters>(config, launch);
    p.table = device_table(launch.problem);
    return p;
  }
  std::string sums_of(const DesignPoint& point) const override { return plain_sums_of(point); }

 private:
  std::shared_ptr<const DesignSpace> space_ = make_sm80_pointer_space();
};

}  // namespace

std::shared_ptr<const KernelClass> make_sm80_pointer_gemm() {
  return std::make_shared<Sm80PointerGemm>();
}

std::shared_ptr<const KernelClass> make_sm80_gathered_gemm() {
  return std::make_shared<Sm80GatheredGemm>();
}

std::shared_ptr<const KernelClass> make_sm80_grouped_gemm() {
  return std::make_shared<Sm80GroupedGemm>();
}

std::shared_ptr<const KernelClass> make_sm80_scaled_gemm() {
  return std::make_shared<Sm80ScaledGemm>();
}

std::shared_ptr<const KernelClass> make_sm80_gemm() {
  return std::make_shared<Sm80Gemm>(Sm80Kind::plain);
}

std::shared_ptr<const KernelClass> make_sm80_dequantised_gemm() {
  return std::make_shared<Sm80Gemm>(Sm80Kind::dequantised);
}

std::shared_ptr<const KernelClass> make_sm80_quantised_gemm() {
  return std::make_shared<Sm80Gemm>(Sm80Kind::quantised);
}

}  // namespace estoc::cuda
