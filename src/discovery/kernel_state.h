// What the copies of a kernel handle share, and the library's own access to handles.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "discovery/class_info.h"
#include "discovery/compile_cache.h"
#include "discovery/signature.h"
#include "estoc/kernel.hpp"

namespace estoc {

struct Kernel::State {
  State(std::shared_ptr<const discovery::ClassInfo> class_info, const DesignPoint& design_point,
        std::shared_ptr<const EpilogueGraph> graph = nullptr)
      : info(std::move(class_info)), point(design_point), epilogue(std::move(graph)) {}

  /// Made at the first call: its texts are dear, and most kernels are never asked.
  const KernelMetadata& metadata() const;

  const std::shared_ptr<const discovery::ClassInfo> info;
  const DesignPoint point;
  const std::shared_ptr<const EpilogueGraph> epilogue;  ///< null when out is the accumulator
  mutable discovery::CompileCache compiled;

 private:
  mutable std::once_flag metadata_made_;
  mutable std::unique_ptr<const KernelMetadata> metadata_;
};

/// Makes and opens handles inside the library.
struct KernelAccess {
  using State = Kernel::State;

  static Kernel make(std::shared_ptr<const State> state, std::optional<Target> target) {
    Kernel kernel(std::move(state));
    kernel.target_ = target;
    return kernel;
  }
  static const State& state(const Kernel& kernel) { return *kernel.state_; }
  static void set_prediction(Kernel& kernel, const Prediction& prediction) {
    kernel.knobs_ = prediction.knobs;
    kernel.predicted_seconds_ = prediction.seconds;
  }
};

namespace discovery {

using KernelStates = std::vector<std::shared_ptr<const KernelAccess::State>>;

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
}  // namespace estoc
