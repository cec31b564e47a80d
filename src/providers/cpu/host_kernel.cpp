// What the kernel classes for the host processor have in common.
#include "providers/cpu/host_kernel.h"

#include <algorithm>

#include "providers/cpu/isa.h"
#include "providers/cpu/thread_pool.h"

namespace estoc::cpu {

std::span<const Target> host_targets() {
  static constexpr Target kTargets[] = {Target::cpu()};
  return kTargets;
}

Status processor_status() {
  if (active_products() != nullptr) return Status::success();
  return Status::fail(Reason::target, "processor: expected one with SSE4.2, got one without");
}

int launch_threads(const BindOptions& options) {
  return options.threads > 0 ? options.threads : available_threads();
}

}  // namespace estoc::cpu
