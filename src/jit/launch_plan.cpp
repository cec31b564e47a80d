// Fills in the steps of a launch and their parameters.
#include <fmt/core.h>

#include <algorithm>

#include "estoc/cuda_kernel_class.hpp"
#include "estoc/status.hpp"

namespace estoc {
namespace {

[[noreturn]] void throw_full(std::string_view what, std::size_t most) {
  throw Error(ErrorKind::value, fmt::format("launch plan: expected at most {} {}", most, what));
}

}  // namespace

int PlanDevice::clusters_at_once(int size) const {
  const int known = resident_clusters != nullptr ? resident_clusters(index, size) : 0;
  return std::max(known > 0 ? known : multiprocessors / size, 1);
}

LaunchPlan::Step& LaunchPlan::next_step() {
  if (steps_used_ == kMaxSteps) throw_full("steps", kMaxSteps);
  Step& step = steps_[steps_used_++];
  step = Step{};
  return step;
}

void LaunchPlan::begin_kernel(std::size_t entry, const CudaGeometry& geometry) {
  Step& step = next_step();
  step.geometry = geometry;
  step.entry = entry;
  step.first_parameter = parameters_used_;
}

std::byte* LaunchPlan::room_for_parameter(std::size_t bytes, std::size_t alignment) {
  const std::size_t offset = (bytes_used_ + alignment - 1) / alignment * alignment;
  if (parameters_used_ == kMaxParameters) throw_full("parameters", kMaxParameters);
  if (offset + bytes > kMaxParameterBytes) throw_full("bytes of parameters", kMaxParameterBytes);
  offsets_[parameters_used_++] = static_cast<std::uint16_t>(offset);
  ++steps_[steps_used_ - 1].parameters;
  bytes_used_ = offset + bytes;
  return &bytes_[offset];
}

void LaunchPlan::launch_programmatically() {
  if (steps_used_ == 0 || steps_[steps_used_ - 1].address != nullptr) {
    throw Error(ErrorKind::value,
                "launch plan: expected a kernel to launch programmatically, got none");
  }
  steps_[steps_used_ - 1].programmatic = true;
}

void LaunchPlan::fill(void* address, std::uint8_t value, std::size_t bytes) {
  if (bytes == 0) return;
  if (address == nullptr) {
    throw Error(ErrorKind::value, "launch plan: expected an address to fill, got null");
  }
  Step& step = next_step();
  step.address = address;
  step.value = value;
  step.bytes = bytes;
}

void LaunchPlan::parameters_of(const Step& step, void** addresses) const {
  for (std::size_t i = 0; i < step.parameters; ++i) {
    // The driver only reads them.
    addresses[i] = const_cast<std::byte*>(&bytes_[offsets_[step.first_parameter + i]]);
  }
}

}  // namespace estoc
