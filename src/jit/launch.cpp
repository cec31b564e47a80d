// Starting the steps of a plan on a stream.
#include "jit/launch.h"

#include <utility>

#include "jit/resident_clusters.h"

namespace estoc::jit {
namespace {

using Step = LaunchPlan::Step;

// From CUDA 12.3 on graphs can capture launches that overlap.
constexpr int kMinProgrammaticVersion = 12030;

CUresult start_kernel(const DriverTable& table, const LaunchPlan& plan, const Step& step,
                      CUkernel kernel, CUstream stream, bool programmatic) {
  const CudaGeometry& g = step.geometry;
  std::array<CUlaunchAttribute, 2> attributes;
  unsigned count = 0;
  if (g.cluster != std::array<unsigned, 3>{1, 1, 1}) {
    attributes[count].id = kLaunchAttributeClusterDimension;
    attributes[count++].value.cluster = {g.cluster[0], g.cluster[1], g.cluster[2]};
  }
  if (programmatic) {
    attributes[count].id = kLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].value.programmatic_serialization = 1;
  }
  const CUlaunchConfig config{.grid_x = g.grid[0],
                              .grid_y = g.grid[1],
                              .grid_z = g.grid[2],
                              .block_x = g.block[0],
                              .block_y = g.block[1],
                              .block_z = g.block[2],
                              .shared_bytes = g.shared_bytes,
                              .stream = stream,
                              .attributes = attributes.data(),
                              .attribute_count = count};
  std::array<void*, LaunchPlan::kMaxParameters> parameters;
  plan.parameters_of(step, parameters.data());
  return table.launch_kernel_ex(&config, kernel, parameters.data(), nullptr);
}

CUresult start_fill(const DriverTable& table, const Step& step, CUstream stream) {
  const auto address = static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(step.address));
  return table.memset_d8_async(address, step.value, step.bytes, stream);
}

/// Whether prepare_plan has nothing to do for a plan after it has done it for another.
bool is_prepared_like(const LaunchPlan& plan, const LaunchPlan& prepared) {
  if (plan.size() != prepared.size()) return false;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const Step& step = plan.step(i);
    const Step& other = prepared.step(i);
    if ((step.address == nullptr) != (other.address == nullptr)) return false;
    if (step.address != nullptr) continue;
    if (step.entry != other.entry || step.geometry.cluster != other.geometry.cluster ||
        step.geometry.shared_bytes > other.geometry.shared_bytes)
      return false;
  }
  return true;
}

}  // namespace

bool prepare_plan(const LaunchPlan& plan, LoadedUnit& unit, int device, CUcontext context) {
  bool learnt = false;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const Step& step = plan.step(i);
    if (step.address != nullptr) continue;
    unit.prepare(step.entry, device, context, step.geometry.shared_bytes);
    const int size = cluster_size(step.geometry);
    if (size == 1 || resident_clusters(device, size) != 0) continue;
    const DeviceInfo& info = devices()[static_cast<std::size_t>(device)];
    learnt |= learn_resident_clusters(driver(), info, unit.entry(step.entry), step.geometry);
  }
  return learnt;
}

void start_plan(const DriverTable& table, const LaunchPlan& plan, const LoadedUnit& unit,
                CUstream stream, bool programmatic) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const Step& step = plan.step(i);
    if (step.address == nullptr) {
      const bool overlaps =
          (programmatic || step.programmatic) && table.version >= kMinProgrammaticVersion;
      table.check(start_kernel(table, plan, step, unit.entry(step.entry), stream, overlaps),
                  "cuLaunchKernelEx");
    } else {
      table.check(start_fill(table, step, stream), "cuMemsetD8Async");
    }
  }
}

BoundPlan::BoundPlan(const LaunchPlan& plan, const LoadedUnit& unit, CUcontext context,
                     const BoundStream& stream, WorkspaceLease workspace, bool programmatic)
    : table_(driver()),
      unit_(unit),
      context_(context),
      stream_(stream),
      workspace_(std::move(workspace)),
      programmatic_(programmatic),
      plans_{plan, std::nullopt} {}

void BoundPlan::launch(void* stream) {
  const auto target = static_cast<CUstream>(stream);
  stream_.require(table_, target);
  CUcontext current = nullptr;
  table_.check(table_.ctx_get_current(&current), "cuCtxGetCurrent");
  if (current == context_) {
    start(target);
    return;
  }
  const ContextScope scope(context_);
  start(target);
}

void BoundPlan::start(CUstream stream) const {
  const WorkspaceUse use(workspace_, stream);
  start_plan(table_, *plans_[current_], unit_, stream, programmatic_);
}

LaunchPlan& BoundPlan::next() {
  return plans_[1 - current_].emplace(plans_[current_]->device());
}

bool BoundPlan::take_next() {
  const std::optional<LaunchPlan>& next = plans_[1 - current_];
  if (!next || !is_prepared_like(*next, *plans_[current_])) return false;
  current_ = 1 - current_;
  return true;
}

}  // namespace estoc::jit
