// Kernel class simt_gemm: every dtype, strides, alignment and size, on the ordinary units.
#include "providers/cuda/simt_gemm.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cost/gemm_work.h"
#include "estoc/abi/simt_gemm.cuh"
#include "estoc/arguments.hpp"
#include "providers/cuda/config_text.h"
#include "providers/cuda/epilogue_launch.h"
#include "providers/cuda/gemm_class.h"
#include "providers/cuda/operand_plane.h"

namespace estoc::cuda {
namespace {

constexpr std::int64_t kMostTiles = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostBatchCtas = 65535;

bool is_narrow_float(Dtype dtype) {
  return dtype == Dtype::f16 || dtype == Dtype::bf16 || dtype == Dtype::e4m3 ||
         dtype == Dtype::e5m2;
}

bool is_byte(Dtype dtype) {
  return dtype == Dtype::i8 || dtype == Dtype::u8;
}

// The accumulator of a pair of operand types; boolean stands for "no such product".
Dtype accumulator_of(Dtype a, Dtype b) {
  if (is_narrow_float(a) && is_narrow_float(b)) return Dtype::f32;
  if (is_byte(a) && is_byte(b)) return Dtype::i32;
  if (a != b) return Dtype::boolean;
  if (a == Dtype::f32 || a == Dtype::tf32) return Dtype::f32;
  return a == Dtype::f64 ? Dtype::f64 : Dtype::boolean;
}

bool stores(Dtype accumulator, Dtype out) {
  switch (accumulator) {
    case Dtype::f64:
      return out == Dtype::f64 || out == Dtype::f32;
    case Dtype::i32:
      return out == Dtype::i32 || out == Dtype::f32 || is_byte(out);
    default:
      return out == Dtype::f64 || out == Dtype::f32 || is_narrow_float(out);
  }
}

int alignment_for(char layout) {
  return layout == 'x' ? 1 : 16;
}

bool alignments_follow_layouts(const DesignPoint& p) {
  const std::string& letters = p.value(Role::layouts).text;
  return p.integer(Role::a_alignment) == alignment_for(letters[0]) &&
         p.integer(Role::b_alignment) == alignment_for(letters[1]) &&
         p.integer(Role::out_alignment) == (letters[2] == 't' ? 16 : 1);
}

std::shared_ptr<const DesignSpace> make_space() {
  const auto operands = {Dtype::f64,  Dtype::f32,  Dtype::tf32, Dtype::f16, Dtype::bf16,
                         Dtype::e4m3, Dtype::e5m2, Dtype::i8,   Dtype::u8};
  return DesignSpace::Builder{}
      .dtypes(Role::a_dtype, operands)
      .dtypes(Role::b_dtype, operands)
      .dtypes(Role::accumulator_type, {Dtype::f64, Dtype::f32, Dtype::i32})
      .dtypes(Role::out_dtype, {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::e4m3,
                                Dtype::e5m2, Dtype::i32, Dtype::i8, Dtype::u8})
      .layouts({"ttt", "tnt", "ntt", "nnt", "ttn", "tnn", "ntn", "nnn", "xxx"})
      .alignments(Role::a_alignment, {16, 1})
      .alignments(Role::b_alignment, {16, 1})
      .alignments(Role::out_alignment, {16, 1})
      .shapes(Role::tile, {{128, 128, 16}, {64, 64, 16}, {32, 32, 16}})
      .require({"a", "b", "acc"},
               [](const DesignPoint& p) {
                 return accumulator_of(p.dtype(Role::a_dtype), p.dtype(Role::b_dtype)) ==
                        p.dtype(Role::accumulator_type);
               })
      .require({"acc", "out"},
               [](const DesignPoint& p) {
                 return stores(p.dtype(Role::accumulator_type), p.dtype(Role::out_dtype));
               })
      .require({"layouts", "align_a", "align_b", "align_out"}, alignments_follow_layouts)
      // A thread holds 4 x 4 sums in f64, so the largest tile would need too many threads.
      .require({"acc", "tile"},
               [](const DesignPoint& p) {
                 return p.dtype(Role::accumulator_type) != Dtype::f64 ||
                        p.shape(Role::tile).m <= 64;
               })
      .build_lazily();
}

abi::SimtGemmConfig config_of(const DesignPoint& point) {
  const std::string& layouts = point.value(Role::layouts).text;
  const Shape3 tile = point.shape(Role::tile);
  const Dtype accumulator = point.dtype(Role::accumulator_type);
  const int thread = accumulator == Dtype::f64 || tile.m < 64 ? 4 : 8;
  auto vectors = [](char letter) {
    return letter == 't'   ? abi::Vectors::last
           : letter == 'n' ? abi::Vectors::next_to_last
                           : abi::Vectors::none;
  };
  return {.a = abi_type(point.dtype(Role::a_dtype)),
          .b = abi_type(point.dtype(Role::b_dtype)),
          .accumulator = abi_type(accumulator),
          .out = abi_type(point.dtype(Role::out_dtype)),
          .a_vectors = vectors(layouts[0]),
          .b_vectors = vectors(layouts[1]),
          .out_vectors = layouts[2] == 't',
          .tile_m = tile.m,
          .tile_n = tile.n,
          .tile_k = tile.k,
          .thread_m = thread,
          .thread_n = thread};
}

std::string_view vectors_text(abi::Vectors vectors) {
  switch (vectors) {
    case abi::Vectors::last:
      return "Vectors::last";
    case abi::Vectors::next_to_last:
      return "Vectors::next_to_last";
    case abi::Vectors::none:
      break;
  }
  return "Vectors::none";
}

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

cost::Design design_of(const abi::SimtGemmConfig& config, const cost::Work& work,
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

PartCounts part_counts(const abi::SimtGemmConfig& config, const GemmExtents& e) {
  const std::int64_t tiles_m = ceil_div(e.m, config.tile_m);
  const std::int64_t tiles_n = ceil_div(e.n, config.tile_n);
  return {.row = tiles_n * config.warps_n(),
          .column = tiles_m * (config.warps() / config.warps_n()),
          .all = tiles_m * tiles_n * config.warps()};
}

// What the loop over a tile's rows takes beside sums, inputs and outputs.
constexpr int kCodeRegisters = 64;
constexpr int kMostRegisters = 255;

constexpr std::string_view kPlainEntry =
    R"(extern "C" __global__ void __launch_bounds__(kConfig.threads(), kConfig.ctas())
estoc_kernel(const __grid_constant__ SimtGemmParameters parameters) {
  estoc::simt_gemm<kConfig>(parameters, estoc::epilogue::Identity{});
}
)";
constexpr std::string_view kFusedEntry =
    R"(extern "C" __global__ void __launch_bounds__(kConfig.threads(), 1)
estoc_kernel(const __grid_constant__ SimtGemmParameters parameters,
             const __grid_constant__ Epilogue::Parameters epilogue) {
  estoc::simt_gemm<kConfig>(parameters, estoc::epilogue::Fused<Epilogue>{epilogue});
}
)";

class SimtGemm final : public GemmClass {
 public:
  SimtGemm() : GemmClass("simt_gemm") {}

  std::string_view name() const override { return "simt_gemm"; }
  Operation operation() const override { return Operation::gemm; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }

  Status supports(const DesignPoint& point, const RuntimeArguments& arguments,
                  Target /*target*/) const override {
    const auto& extents = static_cast<const GemmArguments&>(arguments).extents();
    const Shape3 tile = point.shape(Role::tile);
    if (ceil_div(extents.m, tile.m) <=
        kMostTiles / std::max<std::int64_t>(ceil_div(extents.n, tile.n), 1)) {
      return Status::success();
    }
    return Status::fail(Reason::shape,
                        fmt::format("out.shape: expected at most {} tiles of {} x {}, got {} x {}",
                                    kMostTiles, tile.m, tile.n, extents.m, extents.n));
  }

  Status supports_epilogue(const DesignPoint& point, const EpilogueGraph& epilogue,
                           Target /*target*/) const override {
    if (Status status = check_epilogue_forms(epilogue); !status.ok()) return status;
    // The smallest tile takes every epilogue, if need be through local memory.
    if (point.shape(Role::tile).m == 32) return Status::success();
    const abi::SimtGemmConfig c = config_of(point);
    const int sums = c.thread_m * c.thread_n * (abi::type_bytes(c.accumulator) / 4);
    return check_epilogue_registers(epilogue, epilogue_registers(epilogue, false),
                                    kMostRegisters - kCodeRegisters - sums);
  }

  std::size_t workspace_size(const DesignPoint& point, const Knobs& /*knobs*/,
                             const RuntimeArguments& arguments) const override {
    const auto& gemm = static_cast<const GemmArguments&>(arguments);
    if (gemm.epilogue_binding() == nullptr) return 0;
    return epilogue_workspace(gemm, false, part_counts(config_of(point), gemm.extents()));
  }

  cost::Plan cost_plan(const DesignPoint& point, const GemmArguments& gemm,
                       const cost::DeviceModel& device) const override {
    const cost::Work work = cost::work_of(gemm, false, epilogue_traffic(gemm));
    return {cost::Family::simt, work, design_of(config_of(point), work, device), {}};
  }

  void plan(const DesignPoint& point, const Knobs& /*knobs*/, const RuntimeArguments& arguments,
            const Workspace& workspace, LaunchPlan& plan) const override {
    const auto& gemm = static_cast<const GemmArguments&>(arguments);
    const GemmExtents& e = gemm.extents();
    const abi::SimtGemmConfig config = config_of(point);
    const bool empty = e.m == 0 || e.n == 0 || e.l == 0;
    if (!empty) add_gemm(config, gemm, plan);
    if (gemm.epilogue_binding() == nullptr) return;
    const EpilogueView view(gemm, false);
    const PartCounts parts = part_counts(config, e);
    if (!empty) add_epilogue(view, parts, workspace, nullptr, plan);
    add_finish(view, parts, workspace, empty, false, plan);
  }

 protected:
  std::string sums_of(const DesignPoint& point) const override {
    return fmt::format("fma {} x {}", dtype_name(point.dtype(Role::a_dtype)),
                       dtype_name(point.dtype(Role::b_dtype)));
  }

  std::string source(const DesignPoint& point, const EpilogueGraph* epilogue) const override {
    const abi::SimtGemmConfig c = config_of(point);
    return fmt::format(
        R"(#include <estoc/kernels/simt_gemm.cuh>

using namespace estoc::abi;
namespace {{
constexpr SimtGemmConfig kConfig{{
    .a = {},
    .b = {},
    .accumulator = {},
    .out = {},
    .a_vectors = {},
    .b_vectors = {},
    .out_vectors = {},
    .tile_m = {},
    .tile_n = {},
    .tile_k = {},
    .thread_m = {},
    .thread_n = {},
}};
static_assert(kConfig.threads() == {} && kConfig.shared_bytes() == {});
static_assert(sizeof(SimtGemmParameters) == {});
}}  // namespace
{}
{})",
        type_text(point.dtype(Role::a_dtype)), type_text(point.dtype(Role::b_dtype)),
        type_text(point.dtype(Role::accumulator_type)), type_text(point.dtype(Role::out_dtype)),
        vectors_text(c.a_vectors), vectors_text(c.b_vectors), c.out_vectors, c.tile_m, c.tile_n,
        c.tile_k, c.thread_m, c.thread_n, c.threads(), c.shared_bytes(),
        sizeof(abi::SimtGemmParameters), epilogue_source(epilogue, false),
        epilogue == nullptr ? kPlainEntry : kFusedEntry);
  }

 private:
  static void add_gemm(const abi::SimtGemmConfig& config, const GemmArguments& gemm,
                       LaunchPlan& plan) {
    const GemmExtents& e = gemm.extents();
    const auto tiles_m = static_cast<unsigned>(ceil_div(e.m, config.tile_m));
    const auto tiles_n = static_cast<unsigned>(ceil_div(e.n, config.tile_n));
    const abi::SimtGemmParameters parameters{.a = device_matrix(gemm.a_matrix()),
                                             .b = device_matrix(gemm.b_matrix()),
                                             .out = device_matrix(gemm.out_matrix()),
                                             .m = e.m,
                                             .n = e.n,
                                             .k = e.k,
                                             .l = e.l,
                                             .tiles_m = tiles_m,
                                             .tiles_n = tiles_n,
                                             .group = 8};
    const CudaGeometry geometry{
        .grid = {tiles_m * tiles_n, 1, static_cast<unsigned>(std::min(e.l, kMostBatchCtas))},
        .block = {static_cast<unsigned>(config.threads()), 1, 1},
        .shared_bytes = static_cast<unsigned>(config.shared_bytes())};
    plan.kernel(geometry, parameters);
  }

  std::shared_ptr<const DesignSpace> space_ = make_space();
};

}  // namespace

std::shared_ptr<const KernelClass> make_simt_gemm() {
  return std::make_shared<SimtGemm>();
}

}  // namespace estoc::cuda
