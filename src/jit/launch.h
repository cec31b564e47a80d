// Starting the steps of a plan on a stream.
#pragma once

#include "estoc/cuda_kernel_class.hpp"
#include "jit/loaded_unit.h"
#include "jit/stream.h"
#include "jit/workspace.h"

namespace estoc::jit {

/// Prepares every entry that `plan` starts for `device` and `context`, which is current. True when
/// the device's resident clusters turned out to be others than the plan had to assume: made again,
/// it may differ.
bool prepare_plan(const LaunchPlan& plan, LoadedUnit& unit, int device, CUcontext context);

/// Starts the steps in order; the stream's context must be current and the plan prepared for it.
void start_plan(const DriverTable& table, const LaunchPlan& plan, const LoadedUnit& unit,
                CUstream stream, bool programmatic);

/// A plan bound to one device context.
class BoundPlan final : public Launch {
 public:
  /// `context` is the current one and the plan prepared for it; `workspace` is what it uses.
  BoundPlan(const LaunchPlan& plan, const LoadedUnit& unit, CUcontext context,
            const BoundStream& stream, WorkspaceLease workspace, bool programmatic);

  void launch(void* stream) override;

 private:
  void start(CUstream stream) const;

  const DriverTable& table_;
  const LoadedUnit& unit_;
  CUcontext context_;
  BoundStream stream_;
  WorkspaceLease workspace_;
  bool programmatic_;
  LaunchPlan plan_;
};

}  // namespace estoc::jit
