// Starts the kernels that look at offsets of groups.
#include "groups/device_offsets.h"

#include <fmt/format.h>

#include <array>
#include <atomic>

#include "jit/driver.h"
#include "jit/launch.h"
#include "jit/plan_device.h"
#include "jit/stream.h"

namespace estoc::groups {
namespace {

// The entries of the unit.
constexpr std::size_t kCheckOffsets = 0;
constexpr std::size_t kFindRanges = 1;
constexpr std::size_t kCheckIndex = 2;

std::string entry_text(std::string_view entry, std::string_view parameters) {
  return fmt::format(R"(
extern "C" __global__ void __launch_bounds__(abi::kOffsetThreads)
estoc_{0}(const __grid_constant__ abi::{1} parameters) {{
  group_offsets::{0}(parameters);
}}
)",
                     entry, parameters);
}

/// That of a device, loaded once.
jit::LoadedUnit& unit_of(Device device) {
  static std::array<std::atomic<jit::LoadedUnit*>, 64> loaded{};
  const auto place = static_cast<std::size_t>(device.index);
  if (place < loaded.size()) {
    if (jit::LoadedUnit* const known = loaded[place].load()) return *known;
  }
  const auto unit = jit::compile_unit(offsets_unit(jit::device_target(device.index)));
  jit::LoadedUnit& made =
      jit::LoadedUnit::of(*unit, {"estoc_check_offsets", "estoc_find_ranges", "estoc_check_index"});
  if (place < loaded.size()) loaded[place].store(&made);
  return made;
}

CudaGeometry geometry_of(std::int64_t count) {
  const std::int64_t ctas = (count + abi::kOffsetThreads - 1) / abi::kOffsetThreads;
  return {.grid = {static_cast<unsigned>(ctas), 1, 1}, .block = {abi::kOffsetThreads, 1, 1}};
}

/// Launches what `add` puts into a plan.
template <typename Add>
void start(Device device, void* stream, const Add& add) {
  jit::LoadedUnit& unit = unit_of(device);
  const jit::LaunchScope scope(device.index, stream);
  LaunchPlan plan(jit::plan_device(device.index));
  add(plan);
  jit::prepare_plan(plan, unit, device.index, scope.context());
  jit::start_plan(jit::driver(), plan, unit, static_cast<jit::CUstream>(stream), true);
}

}  // namespace

jit::UnitRequest offsets_unit(Target target) {
  std::string source = fmt::format(
      R"(#include <estoc/kernels/group_offsets.cuh>

using namespace estoc;
static_assert(sizeof(abi::OffsetCheck) == {} && sizeof(abi::RowIndex) == {});
)",
      sizeof(abi::OffsetCheck), sizeof(abi::RowIndex));
  source += entry_text("check_offsets", "OffsetCheck");
  source += entry_text("find_ranges", "RowIndex");
  source += entry_text("check_index", "RowIndex");
  return {.name = "group_offsets", .source = std::move(source), .target = target};
}

void start_check(const abi::OffsetCheck& parameters, Device device, void* stream) {
  start(device, stream, [&](LaunchPlan& plan) {
    plan.kernel(kCheckOffsets, geometry_of(parameters.count), parameters);
  });
}

void start_check(const abi::RowIndex& parameters, Device device, void* stream) {
  start(device, stream, [&](LaunchPlan& plan) {
    plan.kernel(kCheckIndex, geometry_of(parameters.rows), parameters);
  });
}

void start_ranges(const abi::RowIndex& parameters, Device device, void* stream) {
  start(device, stream, [&](LaunchPlan& plan) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): parameters are as device code takes them
    void* const ranges = reinterpret_cast<void*>(static_cast<std::uintptr_t>(parameters.ranges));
    plan.fill(ranges, 0, static_cast<std::size_t>(parameters.groups) * 8);
    if (parameters.rows > 0) plan.kernel(kFindRanges, geometry_of(parameters.rows), parameters);
  });
}

}  // namespace estoc::groups
