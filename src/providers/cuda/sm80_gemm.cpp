// Kernel class sm80_gemm: cp.async, ldmatrix and mma.sync.
#include "providers/cuda/sm80_gemm.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "estoc/arguments.hpp"
#include "providers/cuda/built_in_class.h"
#include "providers/cuda/config_text.h"
#include "providers/cuda/device_model.h"
#include "providers/cuda/operand_plane.h"
#include "providers/cuda/sm80_space.h"

namespace estoc::cuda {
namespace {

using abi::Sm80GemmConfig;
using abi::Sm80GemmParameters;

constexpr std::int64_t kMostExtent = std::int64_t{1} << 27;
constexpr std::int64_t kMostTiles = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostBatchCtas = 65535;

/// Sustained multiply-adds of a multiprocessor in one clock, by mma.sync on whole tiles.
double products_per_clock(const Sm80GemmConfig& config, Target target) {
  const bool large = target.cc() == 80 || target.cc() >= 90;
  const double f16 = large ? 1024 : 512;
  double rate = f16;
  if (config.accumulator == abi::Type::f64) rate = target.cc() == 80 ? 64 : large ? 110 : 2;
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

class Sm80Gemm final : public BuiltInClass {
 public:
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
    const int needed = sm80_config(point).shared_bytes();
    if (!status.ok() || needed <= shared_bytes_of(target)) return status;
    return Status::fail(Reason::resource,
                        fmt::format("shared memory: expected at most {} bytes on {}, got {}",
                                    shared_bytes_of(target), target.name(), needed));
  }

  std::optional<Prediction> predict(const DesignPoint& point, const RuntimeArguments& arguments,
                                    Target target) const override {
    const auto& gemm = static_cast<const GemmArguments&>(arguments);
    const GemmExtents& e = gemm.extents();
    const DeviceModel device = device_model(target);
    const Sm80GemmConfig config = sm80_config(point);
    const Shape3 tile = point.shape(Role::tile);
    const double tiles = static_cast<double>(ceil_div(e.m, tile.m)) *
                         static_cast<double>(ceil_div(e.n, tile.n)) * static_cast<double>(e.l);
    // Small tiles run several to a multiprocessor.
    const double together = std::max(
        1.0, std::floor(static_cast<double>(shared_bytes_of(target)) / config.shared_bytes()));
    const double waves = std::ceil(tiles / device.multiprocessors / together) * together;
    const double k = static_cast<double>(ceil_div(e.k, tile.k)) * tile.k;
    const double clocks = waves * (2000 / together + static_cast<double>(tile.m) * tile.n * k /
                                                         products_per_clock(config, target));
    const double bytes = static_cast<double>(gemm.a().tensor().span_bytes()) +
                         static_cast<double>(gemm.b().tensor().span_bytes()) +
                         static_cast<double>(gemm.out().span_bytes());
    const double seconds = std::max(clocks / device.clock_hz, bytes / device.memory_bytes_per_s);
    Knobs knobs;
    knobs.swizzle = 8;
    return Prediction{device.launch_seconds + seconds, knobs};
  }

  void plan(const DesignPoint& point, const Knobs& knobs, const RuntimeArguments& arguments,
            const Workspace& /*workspace*/, LaunchPlan& plan) const override {
    const auto& gemm = static_cast<const GemmArguments&>(arguments);
    const GemmExtents& e = gemm.extents();
    if (e.m == 0 || e.n == 0 || e.l == 0) return;
    const Sm80GemmConfig config = sm80_config(point);
    const bool transposed = sm80_transposed(point);
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
    p.group = static_cast<unsigned>(std::max<int>(knobs.swizzle, 1));
    const CudaGeometry geometry{
        .grid = {p.tiles_m * p.tiles_n, 1, static_cast<unsigned>(std::min(e.l, kMostBatchCtas))},
        .block = {static_cast<unsigned>(config.threads()), 1, 1},
        .shared_bytes = static_cast<unsigned>(config.shared_bytes())};
    plan.kernel(geometry, p);
  }

 protected:
  std::string source(const DesignPoint& point) const override {
    const Sm80GemmConfig c = sm80_config(point);
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
    .out_vectors = {},
}};
static_assert(kConfig.threads() == {} && kConfig.shared_bytes() == {});
static_assert(sizeof(Sm80GemmParameters) == {});
}}  // namespace

extern "C" __global__ void __launch_bounds__(kConfig.threads(), 1)
estoc_kernel(const __grid_constant__ Sm80GemmParameters parameters) {{
  estoc::sm80_gemm<kConfig>(parameters, estoc::epilogue::Identity{{}});
}}
)",
        type_text(a), type_text(b), type_text(point.dtype(Role::accumulator_type)),
        type_text(point.dtype(Role::out_dtype)), c.a_m_major, c.b_n_major, c.tile_m, c.tile_n,
        c.tile_k, c.warps_m, c.warps_n, c.stages, c.a_copy, c.b_copy, c.out_vectors, c.threads(),
        c.shared_bytes(), sizeof(Sm80GemmParameters));
  }

 private:
  std::shared_ptr<const DesignSpace> space_ = make_sm80_space();
};

}  // namespace

std::shared_ptr<const KernelClass> make_sm80_gemm() {
  return std::make_shared<Sm80Gemm>();
}

}  // namespace estoc::cuda
