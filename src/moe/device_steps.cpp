// The steps of an expert layer on a GPU: kernels of a unit for dtype and activation.
#include <fmt/format.h>

#include <algorithm>

#include "jit/compile.h"
#include "jit/driver.h"
#include "jit/launch.h"
#include "jit/plan_device.h"
#include "moe/device_steps.h"

namespace estoc::experts {
namespace {

// One CTA sorts so many slots in about the time that it takes to start another kernel.
constexpr std::int64_t kSlotsOfOneCta = 16384;
constexpr std::int64_t kSlotsPerCta = 4096;
constexpr std::int64_t kMaxRouteCtas = 64;
constexpr std::int64_t kWarp = 32;
// Of shared memory for counters, which every GPU has.
constexpr std::int64_t kCounterBytes = 65536;

// The entries of the unit.
constexpr std::size_t kCount = 0;
constexpr std::size_t kPlace = 1;
constexpr std::size_t kGather = 2;
constexpr std::size_t kCombine = 3;
constexpr std::size_t kActivate = 4;

std::int64_t divided_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

std::string entry_text(std::string_view entry, std::string_view parameters,
                       std::string_view threads, std::string_view call) {
  return fmt::format(R"(
extern "C" __global__ void __launch_bounds__({})
{}(const __grid_constant__ abi::{} parameters) {{
  {}(parameters);
}}
)",
                     threads, entry, parameters, call);
}

std::vector<std::string> entries_of(const StepOptions& options) {
  std::vector<std::string> entries{"estoc_moe_count", "estoc_moe_place", "estoc_moe_gather",
                                   "estoc_moe_combine"};
  if (is_gated(options.activation)) entries.emplace_back("estoc_moe_activate");
  return entries;
}

CudaGeometry route_geometry(const StepParameters& parameters) {
  const abi::MoeRoute& p = parameters.route;
  const std::int64_t most =
      std::clamp<std::int64_t>(kCounterBytes / 4 / p.experts, 1, abi::kMoeRouteWarps);
  const std::int64_t useful =
      std::max(divided_up(std::min(p.slots, p.slots_per_cta), kWarp), divided_up(p.experts, kWarp));
  const std::int64_t warps = std::min(most, useful);
  return {.grid = {static_cast<unsigned>(parameters.route_ctas), 1, 1},
          .block = {static_cast<unsigned>(warps * kWarp), 1, 1},
          .shared_bytes = static_cast<unsigned>(4 * warps * (p.experts + 1))};
}

/// One CTA for each row and each piece of it.
CudaGeometry row_geometry(std::int64_t rows, std::int64_t columns, Dtype dtype) {
  const std::int64_t width = abi::kMoeThreads * abi::kMoeVectorBytes / (dtype_bits(dtype) / 8);
  return {
      .grid = {static_cast<unsigned>(rows), static_cast<unsigned>(divided_up(columns, width)), 1},
      .block = {abi::kMoeThreads, 1, 1}};
}

jit::LoadedUnit& load_unit(const StepOptions& options, Device device) {
  const auto unit = jit::compile_unit(steps_unit(options, jit::device_target(device.index)));
  return jit::LoadedUnit::of(*unit, entries_of(options));
}

class DeviceSteps final : public Steps {
 public:
  DeviceSteps(const StepOptions& options, Device device)
      : options_(options), device_(device), unit_(load_unit(options, device)) {}

  void gather(const StepParameters& parameters, void* stream) const override {
    LaunchPlan plan(jit::plan_device(device_.index));
    const CudaGeometry route = route_geometry(parameters);
    if (parameters.route_ctas > 1) plan.kernel(kCount, route, parameters.route);
    plan.kernel(kPlace, route, parameters.route);
    const abi::MoeGather& p = parameters.gather;
    plan.kernel(kGather, row_geometry(parameters.tokens, p.columns, options_.dtype), p);
    start(plan, stream);
  }

  void activate(const StepParameters& parameters, void* stream) const override {
    LaunchPlan plan(jit::plan_device(device_.index));
    const abi::MoeGate& p = parameters.gate;
    plan.kernel(kActivate, row_geometry(parameters.route.slots, p.columns, options_.dtype), p);
    start(plan, stream);
  }

  void combine(const StepParameters& parameters, void* stream) const override {
    LaunchPlan plan(jit::plan_device(device_.index));
    const abi::MoeCombine& p = parameters.combine;
    plan.kernel(kCombine, row_geometry(parameters.tokens, p.columns, options_.dtype), p);
    start(plan, stream);
  }

 private:
  /// The context of the stream is current. Every kernel waits for those ahead of it, so that it may
  /// be launched before they have ended.
  void start(const LaunchPlan& plan, void* stream) const {
    jit::CUcontext context = nullptr;
    const jit::DriverTable& table = jit::driver();
    table.check(table.ctx_get_current(&context), "cuCtxGetCurrent");
    jit::prepare_plan(plan, unit_, device_.index, context);
    jit::start_plan(table, plan, unit_, static_cast<jit::CUstream>(stream), true);
  }

  StepOptions options_;
  Device device_;
  jit::LoadedUnit& unit_;
};

}  // namespace

RouteCut RouteCut::of(std::int64_t slots) {
  const auto whole_warps = [](std::int64_t count) {
    return static_cast<int>(divided_up(count, kWarp) * kWarp);
  };
  if (slots <= kSlotsOfOneCta) return {1, whole_warps(slots)};
  const int per_cta = whole_warps(std::max(kSlotsPerCta, divided_up(slots, kMaxRouteCtas)));
  return {static_cast<int>(divided_up(slots, per_cta)), per_cta};
}

jit::UnitRequest steps_unit(const StepOptions& options, Target target) {
  const std::string type = fmt::format("Type::{}", dtype_name(options.dtype));
  std::string source = fmt::format(
      R"(#include <estoc/moe/route.cuh>
#include <estoc/moe/rows.cuh>

using namespace estoc;
static_assert(sizeof(abi::MoeRoute) == {} && sizeof(abi::MoeGather) == {} &&
              sizeof(abi::MoeGate) == {} && sizeof(abi::MoeCombine) == {});
)",
      sizeof(abi::MoeRoute), sizeof(abi::MoeGather), sizeof(abi::MoeGate), sizeof(abi::MoeCombine));
  const std::string route_threads = "32 * abi::kMoeRouteWarps";
  const std::string row_threads = "abi::kMoeThreads";
  source += entry_text("estoc_moe_count", "MoeRoute", route_threads, "experts::count");
  source += entry_text("estoc_moe_place", "MoeRoute", route_threads, "experts::place");
  source += entry_text("estoc_moe_gather", "MoeGather", row_threads,
                       fmt::format("experts::gather<{}>", type));
  source += entry_text("estoc_moe_combine", "MoeCombine", row_threads,
                       fmt::format("experts::combine<{}>", type));
  if (is_gated(options.activation)) {
    const char* const gate = options.activation == MoeActivation::swiglu ? "silu" : "gelu";
    source += entry_text("estoc_moe_activate", "MoeGate", row_threads,
                         fmt::format("experts::activate<{}, experts::Gate::{}, {}>", type, gate,
                                     options.interleaved));
  }
  return {.name = fmt::format("moe_{}", moe_activation_name(options.activation)),
          .source = std::move(source),
          .target = target};
}

std::unique_ptr<const Steps> device_steps(const StepOptions& options, Device device) {
  return std::make_unique<DeviceSteps>(options, device);
}

}  // namespace estoc::experts
