// Kernel classes simt_gemm, simt_quantised_gemm, simt_grouped_gemm, simt_gathered_gemm and
// simt_pointer_gemm: every dtype, strides, alignment and size, on the ordinary units.
#include "providers/cuda/simt_gemm.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/architectures.h"
#include "estoc/abi/simt_gathered_gemm.cuh"
#include "estoc/abi/simt_grouped_gemm.cuh"
#include "estoc/abi/simt_pointer_gemm.cuh"
#include "estoc/arguments.hpp"
#include "providers/cuda/gemm_class.h"
#include "providers/cuda/groups.h"
#include "providers/cuda/product_types.h"

namespace estoc::cuda {
namespace {

int alignment_for(char layout) {
  return layout == 'x' ? 1 : 16;
}

bool alignments_follow_layouts(const DesignPoint& p) {
  const std::string& letters = p.value(Role::layouts).text;
  return p.integer(Role::a_alignment) == alignment_for(letters[0]) &&
         p.integer(Role::b_alignment) == alignment_for(letters[1]) &&
         p.integer(Role::out_alignment) == (letters[2] == 't' ? 16 : 1);
}

/// What the classes differ in.
enum class SimtKind : std::uint8_t { plain, grouped, gathered, quantised };

bool stores_result(const DesignPoint& p) {
  return p.dtype(Role::accumulator_type) != Dtype::f64;
}

std::shared_ptr<const DesignSpace> make_space(SimtKind kind) {
  const bool quantised = kind == SimtKind::quantised;
  const auto operands = {Dtype::f64,  Dtype::f32,  Dtype::tf32, Dtype::f16, Dtype::bf16,
                         Dtype::e4m3, Dtype::e5m2, Dtype::i8,   Dtype::u8};
  using Layouts = std::vector<std::string_view>;
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, operands)
      .dtypes(Role::b_dtype, operands)
      .dtypes(Role::accumulator_type, {Dtype::f64, Dtype::f32, Dtype::i32})
      .dtypes(Role::out_dtype,
              quantised ? std::vector{Dtype::e4m3, Dtype::e5m2, Dtype::e2m1}
                        : std::vector{Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::e4m3,
                                      Dtype::e5m2, Dtype::i32, Dtype::i8, Dtype::u8})
      .layouts(kind == SimtKind::gathered
                   ? Layouts{"ttt", "tnt", "ttn", "tnn", "xxx"}
                   : Layouts{"ttt", "tnt", "ntt", "nnt", "ttn", "tnn", "ntn", "nnn", "xxx"})
      .alignments(Role::a_alignment, {16, 1})
      .alignments(Role::b_alignment, {16, 1})
      .alignments(Role::out_alignment, {16, 1})
      .shapes(Role::tile, {{128, 128, 16}, {64, 64, 16}, {32, 32, 16}})
      .require({"a", "b", "acc"}, accumulates)
      .require({"acc", "out"}, quantised ? stores_result : stores_accumulator)
      .require({"layouts", "align_a", "align_b", "align_out"}, alignments_follow_layouts)
      // A thread holds 4 x 4 sums in f64, so the largest tile would need too many threads.
      .require({"acc", "tile"}, [](const DesignPoint& p) {
        return p.dtype(Role::accumulator_type) != Dtype::f64 || p.shape(Role::tile).m <= 64;
      });
  if (quantised) builder.require({"out", "layouts"}, packed_rows_are_contiguous);
  if (kind != SimtKind::grouped && kind != SimtKind::gathered) return builder.build_lazily();
  // Finding the group takes registers that the largest tile needs.
  builder.require({"tile"}, [](const DesignPoint& p) { return p.shape(Role::tile).m <= 64; });
  return builder.build_lazily();
}

}  // namespace

abi::SimtGemmConfig simt_config(const DesignPoint& point) {
  const auto& letters = point.value(Role::layouts).numbers;
  const Shape3 tile = point.shape(Role::tile);
  const Dtype accumulator = point.dtype(Role::accumulator_type);
  const int thread = accumulator == Dtype::f64 || tile.m < 64 ? 4 : 8;
  auto vectors = [](int letter) {
    return letter == 't'   ? abi::Vectors::last
           : letter == 'n' ? abi::Vectors::next_to_last
                           : abi::Vectors::none;
  };
  return {.a = abi_type(point.dtype(Role::a_dtype)),
          .b = abi_type(point.dtype(Role::b_dtype)),
          .accumulator = abi_type(accumulator),
          .out = abi_type(point.dtype(Role::out_dtype)),
          .a_vectors = vectors(letters[0]),
          .b_vectors = vectors(letters[1]),
          .out_vectors = letters[2] == 't',
          .tile_m = tile.m,
          .tile_n = tile.n,
          .tile_k = tile.k,
          .thread_m = thread,
          .thread_n = thread};
}

namespace {

// What the loop over a tile's rows takes beside sums, inputs and outputs.
constexpr int kCodeRegisters = 64;

/// Sustained multiply-adds of a multiprocessor in one clock, read off the H200.
double products_per_clock(const abi::SimtGemmConfig& config, const cost::DeviceModel& device) {
  const double full = config.accumulator == abi::Type::f64   ? device.f64_products / 2
                      : config.accumulator == abi::Type::i32 ? device.f32_products / 2
                                                             : device.f32_products;
  const double reached = config.tile_m == 128 ? 0.65 : config.tile_m == 64 ? 0.5 : 0.3;
  const bool strided =
      config.a_vectors == abi::Vectors::none && config.b_vectors == abi::Vectors::none;
  return full * reached / (strided ? 1.5 : 1);
}

}  // namespace

cost::Design simt_design(const abi::SimtGemmConfig& config, const cost::Work& work,
                         const cost::DeviceModel& device) {
  const double area = static_cast<double>(config.tile_m) * config.tile_n;
  cost::Design design;
  design.tile_m = config.tile_m;
  design.tile_n = config.tile_n;
  design.tile_k = config.tile_k;
  design.ctas_per_multiprocessor = config.ctas();
  design.stage_clocks = area * config.tile_k / products_per_clock(config, device);
  design.start_clocks = 2000;
  design.store_clocks = area * (work.out_bytes / 48 + work.epilogue_clocks);
  design.integers = config.accumulator == abi::Type::i32;
  design.a_m_major = config.a_vectors == abi::Vectors::next_to_last;
  design.b_n_major = config.b_vectors == abi::Vectors::last;
  design.plain_stores = !config.out_vectors;
  design.copy_bytes = config.a_vectors == abi::Vectors::none ? 1 : 16;
  return design;
}

Status check_simt_epilogue(const abi::SimtGemmConfig& c, const EpilogueGraph& epilogue,
                           Target target) {
  // The smallest tile takes every epilogue, if need be through local memory.
  if (c.tile_m == 32) return Status::success();
  const int sums =
      c.thread_m * c.thread_n * (abi::type_bytes(c.accumulator) / 4) * (c.paired ? 2 : 1);
  return check_epilogue_registers(
      epilogue, epilogue_registers(epilogue, false),
      core::architecture(target.cc()).registers_per_thread - kCodeRegisters - sums);
}

PartCounts simt_part_counts(const abi::SimtGemmConfig& config, std::int64_t m, std::int64_t n) {
  const std::int64_t tiles_m = ceil_div(m, config.tile_m);
  const std::int64_t tiles_n = ceil_div(n, config.tile_n);
  return {.row = tiles_n * config.warps_n(),
          .column = tiles_m * (config.warps() / config.warps_n()),
          .all = tiles_m * tiles_n * config.warps()};
}

namespace {

/// What both classes have in common.
template <typename Parameters>
class SimtClass : public ConfiguredGemm<abi::SimtGemmConfig, Parameters> {
 public:
  using Decoded = GemmKernel<abi::SimtGemmConfig>;

  SimtClass(std::string_view device_name, std::string_view type_name, SimtKind kind)
      : ConfiguredGemm<abi::SimtGemmConfig, Parameters>(device_name, type_name),
        kind_(kind),
        space_(make_space(kind)) {}

  bool quantises() const override { return kind_ == SimtKind::quantised; }
  bool takes_pairs() const override { return !quantises(); }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }

 protected:
  abi::SimtGemmConfig config_of(const DesignPoint& point) const override {
    abi::SimtGemmConfig config = simt_config(point);
    if (quantises()) config.out = abi::Type::f32;
    return config;
  }
  abi::SimtGemmConfig fused(const abi::SimtGemmConfig& config, const EpilogueGraph& epilogue,
                            bool /*transposed*/) const override {
    abi::SimtGemmConfig own = config;
    own.paired = epilogue.pairs != AccumulatorPairs::none;
    return own;
  }
  void add_entries(const DesignPoint& point, const EpilogueGraph* epilogue,
                   CudaCode& code) const override {
    if (!quantises()) return;
    const bool reduces = epilogue != nullptr && !epilogue->reduced.empty();
    add_quantise_entry(point.dtype(Role::out_dtype), reduces, code);
  }
  GemmLimits limits() const override { return {}; }

  Status check(const DesignPoint& point, const GemmArguments& gemm,
               Target /*target*/) const override {
    return gemm.pairs() != AccumulatorPairs::none ? check_pairs(point, gemm) : Status::success();
  }

  Status check_epilogue(const Decoded& kernel, Target target) const override {
    return check_simt_epilogue(kernel.config, *kernel.epilogue, target);
  }

  void add_cost(const abi::SimtGemmConfig& config, const GemmProblem& /*problem*/,
                const PerformanceControls& /*controls*/, const cost::DeviceModel& device,
                cost::Plan& plan) const override {
    plan.family = cost::Family::simt;
    plan.design = simt_design(config, plan.work, device);
    plan.design.copies_by_threads = kind_ == SimtKind::plain && config.a == abi::Type::f32 &&
                                    config.b == abi::Type::f32 && device.target.cc() >= 80;
  }

  static abi::SimtGemmParameters product_parameters(const abi::SimtGemmConfig& config,
                                                    const GemmProblem& problem) {
    return tile_parameters<abi::SimtGemmParameters>(config, problem, kSimtGroup);
  }

  PartCounts part_counts(const abi::SimtGemmConfig& config, std::int64_t m,
                         std::int64_t n) const override {
    return simt_part_counts(config, m, n);
  }

  std::string sums_of(const DesignPoint& point) const override {
    return fmt::format("fma {} x {}", dtype_name(point.dtype(Role::a_dtype)),
                       dtype_name(point.dtype(Role::b_dtype)));
  }
  std::string_view least_ctas(bool fused) const override { return fused ? "1" : "kConfig.ctas()"; }

 private:
  /// Columns of both accumulators must lie as vectors do.
  static Status check_pairs(const DesignPoint& point, const GemmArguments& gemm) {
    const std::int64_t bytes = gemm.pair_distance() * dtype_bits(gemm.b().tensor().dtype()) / 8;
    const bool vectors = point.value(Role::layouts).numbers[1] == 't';
    if (!vectors || (gemm.pairs() == AccumulatorPairs::halves && bytes % 16 == 0)) {
      return Status::success();
    }
    return Status::fail(
        Reason::layout,
        "B.layout: expected a kernel of any strides (x) where a row's columns for first or for "
        "second accumulators are no vectors of 16 bytes, got one of t");
  }

  SimtKind kind_;
  std::shared_ptr<const DesignSpace> space_;
};

class SimtGemm final : public SimtClass<abi::SimtGemmParameters> {
 public:
  explicit SimtGemm(SimtKind kind) : SimtClass("simt_gemm", "SimtGemm", kind) {}

  std::string_view name() const override {
    return quantises() ? "simt_quantised_gemm" : "simt_gemm";
  }

 protected:
  std::vector<std::string> shared_headers() const override {
    if (!quantises()) return SimtClass::shared_headers();
    return {"simt_gemm", "quantise"};
  }
  bool looks_at_operands_alone(Target /*target*/) const override { return true; }
  abi::SimtGemmParameters parameters(const abi::SimtGemmConfig& config,
                                     const GemmLaunch& launch) const override {
    return product_parameters(config, launch.problem);
  }
};

class SimtGroupedGemm final : public SimtClass<abi::SimtGroupedGemmParameters> {
 public:
  SimtGroupedGemm() : SimtClass("simt_grouped_gemm", "SimtGroupedGemm", SimtKind::grouped) {}

  std::string_view name() const override { return "simt_grouped_gemm"; }
  Operation operation() const override { return Operation::grouped_gemm; }

 protected:
  std::vector<std::string> shared_headers() const override { return {"simt_grouped_gemm"}; }

  Status check_groups(const DesignPoint& point, const RuntimeArguments& arguments) const override {
    const GemmProblem problem =
        operations::lower_product(arguments, operations::Orientation::as_given);
    if (Status status = check_vectors(point, problem.mapping); !status.ok()) return status;
    return check_simt_groups(point, problem);
  }

  abi::SimtGroupedGemmParameters parameters(const abi::SimtGemmConfig& config,
                                            const GemmLaunch& launch) const override {
    const GemmProblem& problem = launch.problem;
    abi::SimtGroupedGemmParameters p{product_parameters(config, problem), {}};
    p.groups = device_groups(problem);
    set_grouped_tiles(problem, config, p.tiles_m, p.tiles_n);
    return p;
  }

 private:
  /// Groups begin anywhere, so that no vector may lie along the mode that they divide.
  static Status check_vectors(const DesignPoint& point, operations::Mapping mapping) {
    const std::string& letters = point.value(Role::layouts).text;
    struct Rule {
      operations::Mapping mapping;
      std::size_t operand;
      char letter;
      const char* name;
    };
    using operations::Mapping;
    constexpr Rule kRules[] = {
        {Mapping::rows, 0, 'n', "A"},      {Mapping::columns, 1, 't', "B"},
        {Mapping::columns, 2, 't', "out"}, {Mapping::reduction, 0, 't', "A"},
        {Mapping::reduction, 1, 'n', "B"},
    };
    for (const Rule& rule : kRules) {
      if (rule.mapping != mapping || letters[rule.operand] != rule.letter) continue;
      return Status::fail(Reason::layout,
                          fmt::format("{}.layout: expected a kernel of any strides (x) where the "
                                      "contiguous mode is divided, got one of {}",
                                      rule.name, rule.letter));
    }
    return Status::success();
  }
};

class SimtGatheredGemm final : public SimtClass<abi::SimtGatheredGemmParameters> {
 public:
  SimtGatheredGemm() : SimtClass("simt_gathered_gemm", "SimtGatheredGemm", SimtKind::gathered) {}

  std::string_view name() const override { return "simt_gathered_gemm"; }
  Operation operation() const override { return Operation::grouped_gemm; }
  TakesRows takes_rows() const override { return TakesRows::only; }

 protected:
  std::vector<std::string> shared_headers() const override { return {"simt_gathered_gemm"}; }

  Status check_groups(const DesignPoint& point, const RuntimeArguments& arguments) const override {
    return check_simt_groups(
        point, operations::lower_product(arguments, operations::Orientation::as_given));
  }

  abi::SimtGatheredGemmParameters parameters(const abi::SimtGemmConfig& config,
                                             const GemmLaunch& launch) const override {
    const GemmProblem& problem = launch.problem;
    abi::SimtGatheredGemmParameters p{{product_parameters(config, problem), {}}, {}};
    p.groups = device_groups(problem);
    p.rows = device_rows(problem);
    if (p.rows.count == 0) p.k = 0;
    set_grouped_tiles(problem, config, p.tiles_m, p.tiles_n);
    return p;
  }
};

class SimtPointerGemm final : public SimtClass<abi::SimtPointerGemmParameters> {
 public:
  SimtPointerGemm() : SimtClass("simt_pointer_gemm", "SimtPointerGemm", SimtKind::grouped) {}

  std::string_view name() const override { return "simt_pointer_gemm"; }
  Operation operation() const override { return Operation::grouped_gemm; }
  TakesPointers takes_pointers() const override { return TakesPointers::only; }

 protected:
  std::vector<std::string> shared_headers() const override { return {"simt_pointer_gemm"}; }

  Status check_groups(const DesignPoint& point, const RuntimeArguments& arguments) const override {
    return check_pointed_layout(
        point, operations::lower_product(arguments, operations::Orientation::as_given));
  }
  Status check_epilogue(const Decoded& /*kernel*/, Target /*target*/) const override {
    return no_epilogue_by_pointers();
  }

  abi::SimtPointerGemmParameters parameters(const abi::SimtGemmConfig& config,
                                            const GemmLaunch& launch) const override {
    return {product_parameters(config, launch.problem), device_table(launch.problem)};
  }
};

}  // namespace

void set_grouped_tiles(const GemmProblem& problem, const abi::SimtGemmConfig& config,
                       unsigned& tiles_m, unsigned& tiles_n) {
  if (problem.mapping == operations::Mapping::rows) {
    tiles_m = static_cast<unsigned>(most_group_tiles(problem.groups, config.tile_m));
  }
  if (problem.mapping == operations::Mapping::columns) {
    tiles_n = static_cast<unsigned>(most_group_tiles(problem.groups, config.tile_n));
  }
}

Status check_simt_groups(const DesignPoint& point, const GemmProblem& problem) {
  const Shape3 tile = point.shape(Role::tile);
  return check_divided_out(problem, tile.m, tile.n, std::numeric_limits<std::int32_t>::max());
}

std::shared_ptr<const KernelClass> make_simt_gemm() {
  return std::make_shared<SimtGemm>(SimtKind::plain);
}

std::shared_ptr<const KernelClass> make_simt_quantised_gemm() {
  return std::make_shared<SimtGemm>(SimtKind::quantised);
}

std::shared_ptr<const KernelClass> make_simt_grouped_gemm() {
  return std::make_shared<SimtGroupedGemm>();
}

std::shared_ptr<const KernelClass> make_simt_gathered_gemm() {
  return std::make_shared<SimtGatheredGemm>();
}

std::shared_ptr<const KernelClass> make_simt_pointer_gemm() {
  return std::make_shared<SimtPointerGemm>();
}

}  // namespace estoc::cuda
