// Kernel class sm90_pointer_gemm: the skeleton of sm90_gemm over tiles of groups whose matrices a
// table tells. A kernel ahead makes tensor maps of them, in workspace.
#include "providers/cuda/sm90_pointer_gemm.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "estoc/abi/sm90_pointer_gemm.cuh"
#include "estoc/arguments.hpp"
#include "providers/cuda/gemm_class.h"
#include "providers/cuda/groups.h"
#include "providers/cuda/sm90_cost.h"
#include "providers/cuda/sm90_space.h"
#include "providers/cuda/tma_operand.h"

namespace estoc::cuda {
namespace {

using abi::Sm90PointerGemmConfig;
using abi::Sm90PointerGemmParameters;

constexpr std::array kTargets{Target::sm(90, true)};
// Of extents and of tiles, so that coordinates and counts are 32-bit numbers.
constexpr std::int64_t kMaxPointed = (std::int64_t{1} << 28) - 1;
// A CTA of the kernel ahead reads all entries before its own.
constexpr std::int64_t kMaxGroups = 65536;
constexpr std::int64_t kMapBytes = 2 * sizeof(abi::TensorMap);
// The entry of the kernel ahead.
constexpr std::size_t kMapsEntry = 1;

/// A map of which those of groups are made: boxes as the kernel loads them, of a matrix at
/// `address` with the largest extents.
abi::TensorMap map_like(const PlanDevice& device, std::uintptr_t address, const OperandPlane& plane,
                        abi::Type type, bool mn_major, int tile, int tile_k) {
  TensorMapSpec spec = tma_load_spec(plane, type, mn_major, tile, 1, tile_k);
  const std::uint64_t row_bytes = spec.extents[0] * static_cast<unsigned>(abi::type_bytes(type));
  spec.address = address;
  spec.extents[2] = 1;
  spec.stride_bytes[0] = (row_bytes + 15) / 16 * 16;
  spec.stride_bytes[1] = 16;
  return encode_tensor_map(device, spec);
}

class Sm90PointerGemm final
    : public ConfiguredGemm<Sm90PointerGemmConfig, Sm90PointerGemmParameters> {
 public:
  Sm90PointerGemm() : ConfiguredGemm("sm90_pointer_gemm", "Sm90PointerGemm") {}

  std::string_view name() const override { return "sm90_pointer_gemm"; }
  Operation operation() const override { return Operation::grouped_gemm; }
  TakesPointers takes_pointers() const override { return TakesPointers::only; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override { return kTargets; }

 protected:
  Sm90PointerGemmConfig config_of(const DesignPoint& point) const override {
    Sm90PointerGemmConfig config = sm90_config(point);
    config.pointed = true;
    return config;
  }
  bool is_transposed(const DesignPoint& point) const override { return sm90_is_transposed(point); }

  GemmLimits limits() const override {
    return {.extent = kMaxPointed,
            .batches = kMaxPointed,
            .tiles = kMaxPointed,
            .all_tiles = kMaxPointed};
  }
  Status check(const DesignPoint& point, const GemmArguments& gemm,
               Target /*target*/) const override {
    const OperandPlanes planes = operand_planes(point, gemm);
    Status status = check_row_alignment(planes.a, 16);
    if (status.ok()) status = check_row_alignment(planes.b, 16);
    if (!status.ok()) return status;
    return check_row_alignment(planes.out, point.integer(Role::out_alignment));
  }
  Status check_groups(const DesignPoint& point, const RuntimeArguments& arguments) const override {
    const GemmProblem problem =
        operations::lower_product(arguments, operations::Orientation::as_given);
    if (problem.l > kMaxGroups) {
      return Status::fail(
          Reason::shape,
          fmt::format("offsets.shape: expected at most {} groups, got {}", kMaxGroups, problem.l));
    }
    return check_pointed_layout(point, problem);
  }
  Status check_epilogue(const Decoded& /*kernel*/, Target /*target*/) const override {
    return no_epilogue_by_pointers();
  }

  void add_cost(const Sm90PointerGemmConfig& config, const GemmProblem& /*problem*/,
                const PerformanceControls& /*controls*/, const cost::DeviceModel& device,
                cost::Plan& plan) const override {
    plan.family = cost::Family::sm90;
    plan.design = sm90_design(config, plan.work);
    plan.seconds_before += device.second_kernel_seconds;
    cost::set_knobs(plan, sm90_knobs(config, plan.work, plan.design));
  }

  void add_entries(const DesignPoint& /*point*/, const EpilogueGraph* /*epilogue*/,
                   CudaCode& code) const override {
    code.source += fmt::format(R"(
extern "C" __global__ void __launch_bounds__({})
estoc_group_maps(const __grid_constant__ {}Parameters parameters) {{
  estoc::group_maps<kConfig>(parameters);
}}
)",
                               abi::kMapThreads, type_name());
    code.entries.emplace_back("estoc_group_maps");
  }

  bool has_kernel_ahead() const override { return true; }
  std::size_t sums_workspace(const Sm90PointerGemmConfig& /*config*/, const GemmArguments& /*gemm*/,
                             const GemmProblem& problem, const Knobs& /*knobs*/) const override {
    constexpr std::int64_t kBytes = kMapBytes + sizeof(abi::PointedTiles);
    return static_cast<std::size_t>(problem.l * kBytes);
  }
  void add_kernel_ahead(const Sm90PointerGemmParameters& p, LaunchPlan& plan) const override {
    plan.kernel(kMapsEntry,
                {.grid = {static_cast<unsigned>(ceil_div(p.l, abi::kMapGroups)), 1, 1},
                 .block = {abi::kMapThreads, 1, 1}},
                p);
  }

  Sm90PointerGemmParameters parameters(const Sm90PointerGemmConfig& config,
                                       const GemmLaunch& launch) const override {
    const GemmProblem& problem = launch.problem;
    const auto workspace = reinterpret_cast<std::uintptr_t>(launch.workspace.data);
    Sm90PointerGemmParameters p{};
    if (problem.k > 0) {
      p.a = map_like(launch.device, workspace, {problem.a, config.a_m_major}, config.a,
                     config.a_m_major, config.tile_m, config.tile_k());
      p.b = map_like(launch.device, workspace, {problem.b, !config.b_n_major}, config.b,
                     config.b_n_major, config.tile_n, config.tile_k());
    }
    p.out_raw = device_matrix(problem.out.view);
    p.out_raw.column_stride = 1;  // in every group
    p.m = static_cast<int>(problem.m);
    p.n = static_cast<int>(problem.n);
    p.k = static_cast<int>(problem.k);
    p.l = static_cast<int>(problem.l);
    p.tiles_m = static_cast<int>(ceil_div(p.m, config.tile_m));
    p.tiles_n = static_cast<int>(ceil_div(p.n, config.tile_n));
    p.along_n = launch.knobs.raster == Knobs::Raster::along_n;
    p.group = std::clamp<int>(launch.knobs.swizzle, 1, p.along_n ? p.tiles_n : p.tiles_m);
    p.parts = 1;
    p.tail_parts = 1;
    p.items = static_cast<unsigned>(problem.l * p.tiles_m * p.tiles_n);
    p.undivided = p.items;
    p.table = device_table(problem);
    p.a_address = device_matrix(problem.a.view).address;
    p.b_address = device_matrix(problem.b.view).address;
    p.maps = workspace;
    p.groups = workspace + static_cast<std::uintptr_t>(problem.l * kMapBytes);
    return p;
  }
  CudaGeometry geometry(const Sm90PointerGemmConfig& config, const Sm90PointerGemmParameters& p,
                        const PlanDevice& device) const override {
    const auto room = static_cast<unsigned>(device.clusters_at_once(1));
    return {.grid = {std::min(p.items, room), 1, 1},
            .block = {static_cast<unsigned>(config.threads()), 1, 1},
            .shared_bytes = static_cast<unsigned>(config.shared_bytes())};
  }

  PartCounts part_counts(const Sm90PointerGemmConfig& /*config*/, std::int64_t /*m*/,
                         std::int64_t /*n*/) const override {
    return {};
  }
  std::string sums_of(const DesignPoint& point) const override {
    return fmt::format("wgmma {} x {}{}", dtype_name(point.dtype(Role::a_dtype)),
                       dtype_name(point.dtype(Role::b_dtype)),
                       sm90_config(point).promote ? ", added to f32 every 128 of K" : "");
  }

 private:
  std::shared_ptr<const DesignSpace> space_ = make_sm90_space(Sm90Kind::pointed);
};

}  // namespace

std::shared_ptr<const KernelClass> make_sm90_pointer_gemm() {
  return std::make_shared<Sm90PointerGemm>();
}

}  // namespace estoc::cuda
