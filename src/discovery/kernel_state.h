// What the copies of a kernel handle share, and the library's own access to handles.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "discovery/class_info.h"
#include "discovery/compile_cache.h"
#include "discovery/signature.h"
#include "estoc/kernel.hpp"

namespace estoc {

namespace discovery {
struct KernelGroup;
}

/// Small, because a query makes hundreds of them.
struct Kernel::State {
  State(const discovery::KernelGroup& of, const DesignPoint& design_point,
        const discovery::NameKey& key)
      : group(&of), point(design_point), name_key(key) {}
  /// For a vector that grows, before anybody else sees the state.
  State(State&& other) noexcept
      : group(other.group), point(other.point), name_key(other.name_key) {}
  ~State();

  const discovery::ClassInfo& info() const;
  /// Null when out is the accumulator.
  const std::shared_ptr<const EpilogueGraph>& epilogue() const;
  const KernelMetadata& metadata() const { return on_demand().metadata; }
  discovery::CompileCache& compiled() const { return on_demand().compiled; }
  /// As KernelClass::summation.
  const std::string& summation() const { return on_demand().summation; }
  /// The point, with what the class decoded of it once the kernel was requested.
  const DesignPoint& decoded() const {
    const OnDemand* const known = on_demand_.load(std::memory_order_acquire);
    return known != nullptr ? known->point : point;
  }

  const discovery::KernelGroup* const group;
  const DesignPoint point;
  const discovery::NameKey name_key;

 private:
  /// Made at the first call: its texts cost time, and those of most kernels are never read.
  struct OnDemand {
    KernelMetadata metadata;
    discovery::CompileCache compiled;
    std::string summation;
    DesignPoint point;
  };
  OnDemand& on_demand() const;

  mutable std::atomic<OnDemand*> on_demand_ = nullptr;
};

// Inline, because a list has hundreds of handles.
inline Kernel::Kernel(std::shared_ptr<const State> state) : state_(std::move(state)) {}

/// Makes and opens handles inside the library.
struct KernelAccess {
  using State = Kernel::State;

  static Kernel make(std::shared_ptr<const State> state) { return Kernel(std::move(state)); }
  static void set_target(Kernel& kernel, std::optional<Target> target) { kernel.target_ = target; }
  static void set_prediction(Kernel& kernel, const Prediction& prediction) {
    kernel.knobs_ = prediction.knobs;
    kernel.predicted_seconds_ = prediction.seconds;
  }
  static void set_tuned(Kernel& kernel, const Knobs& knobs, double seconds) {
    kernel.knobs_ = knobs;
    kernel.tuned_seconds_ = seconds;
  }
  static const State& state(const Kernel& kernel) { return *kernel.state_; }
};

namespace discovery {

/// Kernels of one class with one epilogue, in the order of the space. They live as long as a handle
/// of any of them.
struct KernelGroup {
  KernelGroup(std::shared_ptr<const ClassInfo> class_info, std::span<const DesignPoint> points,
              std::shared_ptr<const EpilogueGraph> graph = nullptr);
  KernelGroup(const KernelGroup&) = delete;
  KernelGroup& operator=(const KernelGroup&) = delete;

  const std::shared_ptr<const ClassInfo> info;
  const std::shared_ptr<const EpilogueGraph> epilogue;
  std::vector<KernelAccess::State> states;
};

/// The kernel's state as its handles refer to it, by way of the group.
inline std::shared_ptr<const KernelAccess::State> shared_state(
    const std::shared_ptr<const KernelGroup>& group, const KernelAccess::State& state) {
  return {group, &state};
}

/// The state of a kernel that was not found together with others.
std::shared_ptr<const KernelAccess::State> single_state(
    std::shared_ptr<const ClassInfo> info, const DesignPoint& point,
    std::shared_ptr<const EpilogueGraph> epilogue = nullptr);

/// True when both are absent or say the same.
bool same_epilogue(const EpilogueGraph* first, const EpilogueGraph* second);

/// Fails when the kernel's epilogue is not that of the arguments.
Status check_epilogue(const KernelAccess::State& state, const RuntimeArguments& arguments);

/// The checks beyond the design space: the target, then the class's own. Passes on what the class
/// throws.
Status check_beyond_space(const KernelAccess::State& state, const RuntimeArguments& arguments,
                          Target target);

/// Fails when the kernel with these knobs needs more workspace than the arguments allow.
Status check_workspace(const KernelAccess::State& state, const Knobs& knobs,
                       const RuntimeArguments& arguments);

}  // namespace discovery

inline const discovery::ClassInfo& Kernel::State::info() const {
  return *group->info;
}
inline const std::shared_ptr<const EpilogueGraph>& Kernel::State::epilogue() const {
  return group->epilogue;
}

}  // namespace estoc
