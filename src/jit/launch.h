// Starting the steps of a plan on a stream.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

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
/// `programmatic`: each step may begin before what is ahead of it has ended.
void start_plan(const DriverTable& table, const LaunchPlan& plan, const LoadedUnit& unit,
                CUstream stream, bool programmatic);

/// A plan bound to one device context.
class BoundPlan {
 public:
  /// `context` is the current one and the plan prepared for it; `workspace` is what it uses.
  BoundPlan(const LaunchPlan& plan, const LoadedUnit& unit, CUcontext context,
            const BoundStream& stream, WorkspaceLease workspace, bool programmatic);

  void launch(void* stream);

  const Workspace& workspace() const { return workspace_.workspace(); }

  /// Makes the plan's context current: tensor maps are encoded in one.
  ContextScope enter() const { return ContextScope(context_); }

  /// An empty plan for the same device, to be filled and then given to take_next().
  LaunchPlan& next();

  /// Has later launches start the steps of next(). False, with nothing changed, where these are not
  /// prepared: they start other entries, or with more shared memory or other clusters.
  bool take_next();

 private:
  void start(CUstream stream) const;

  const DriverTable& table_;
  const LoadedUnit& unit_;
  CUcontext context_;
  BoundStream stream_;
  WorkspaceLease workspace_;
  bool programmatic_;
  /// The one in use, and the one that next() gives: plans are large, so none is copied.
  std::array<std::optional<LaunchPlan>, 2> plans_;
  std::size_t current_ = 0;
};

}  // namespace estoc::jit
