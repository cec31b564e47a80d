// From arguments to the kernels of a class: signature, sub-space, then the class's own word.
#include "discovery/matching.h"

#include <fmt/format.h>

#include <algorithm>

#include "discovery/device_target.h"
#include "discovery/fit.h"
#include "discovery/guard.h"
#include "discovery/summation.h"
#include "model/key_numbers.h"
#include "model/same_dimensions.h"

namespace estoc::discovery {
namespace {

using KernelStates = std::vector<const KernelAccess::State*>;

/// Whether kernels of a class can have the epilogue of a query, if it has one. The class says so
/// once of kernels that are alike in what that depends on.
class EpilogueChecks {
 public:
  EpilogueChecks(const KernelClass& kernel_class, const ClassQuery& class_query)
      : kernel_class_(kernel_class), class_query_(class_query) {
    if (class_query.epilogue != nullptr)
      dimensions_.add_all(kernel_class.epilogue_support_depends_on());
  }

  bool operator()(const DesignPoint& point) {
    if (class_query_.epilogue == nullptr) return true;
    const auto values = dimensions_.of(point);
    const std::uint32_t number = numbers_.number_of({values[0], values[1], 0});
    if (number == answers_.size()) {
      answers_.push_back(
          kernel_class_.supports_epilogue(point, *class_query_.epilogue, class_query_.target).ok());
    }
    return answers_[number];
  }

 private:
  const KernelClass& kernel_class_;
  const ClassQuery& class_query_;
  model::ChosenDimensions dimensions_;
  model::KeyNumbers numbers_{64};
  std::vector<bool> answers_;
};

Candidates select_kernels(const ClassEntry& entry, const ClassQuery& class_query) {
  const auto info = entry.info();
  std::vector<DesignPoint> points;
  auto selection = select(*info, class_query.signature);
  if (selection && drop_misaligned(*info, class_query.signature, *selection)) {
    const bool look = has_misaligned(*info, class_query.signature, *selection);
    AlignedKernels aligned(*info, class_query.signature);
    EpilogueChecks takes_epilogue(entry.kernel_class(), class_query);
    points.reserve(256);
    info->space->visit(*selection, [&](const DesignPoint& point) {
      if ((!look || aligned.contains(point)) && takes_epilogue(point)) points.push_back(point);
      return true;
    });
  }
  return std::make_shared<const KernelGroup>(info, points, class_query.epilogue);
}

/// Why the first kernel of fitting values does not fit all the same; success when there is none.
Status why_none_fits(const ClassEntry& entry, const ClassQuery& class_query) {
  const auto info = entry.info();
  Status status = Status::success();
  if (const auto selection = select(*info, class_query.signature)) {
    info->space->visit(*selection, [&](const DesignPoint& point) {
      status = check_alignments(*info, point, class_query.signature);
      if (status.ok() && class_query.epilogue != nullptr) {
        status = entry.kernel_class().supports_epilogue(point, *class_query.epilogue,
                                                        class_query.target);
      }
      return false;
    });
  }
  return status;
}

void note(std::optional<Status>& rejection, Status status) {
  if (!rejection) rejection = std::move(status);
}

Status check_kernel(const KernelClass& kernel_class, const DesignPoint& point,
                    const ClassQuery& class_query) {
  if (needs_summation(class_query.arguments)) {
    Status status = check_summation(kernel_class, point, class_query);
    if (!status.ok()) return status;
  }
  return kernel_class.supports(point, class_query.arguments, class_query.target);
}

KernelStates supported_kernels(const ClassEntry& entry, const ClassQuery& class_query,
                               ClassCandidates& found) {
  KernelStates supported;
  if (Status extras = check_extras(*entry.info(), class_query.signature); !extras.ok()) {
    note(found.rejection, std::move(extras));
    return supported;
  }
  if (Status any = entry.kernel_class().supports_any(class_query.arguments); !any.ok()) {
    note(found.rejection, std::move(any));
    return supported;
  }
  found.kernels = fitting_kernels(entry, class_query);
  const auto& fitting = found.kernels->states;
  if (fitting.empty()) {
    if (Status status = why_none_fits(entry, class_query); !status.ok()) {
      note(found.rejection, std::move(status));
    }
  }
  supported.reserve(fitting.size());
  const KernelClass& kernel_class = entry.kernel_class();
  const bool each = needs_summation(class_query.arguments);
  model::SameInDimensions same;
  if (!each)
    same.add_all(kernel_class.support_depends_on(class_query.arguments, class_query.target));
  bool ok = false;
  for (const KernelAccess::State& state : fitting) {
    // A kernel that equals the one before it in these dimensions has the same status.
    if (each || !same(state.point)) {
      Status status = check_kernel(kernel_class, state.point, class_query);
      ok = status.ok();
      if (!ok) note(found.rejection, std::move(status));
    }
    if (ok) supported.push_back(&state);
  }
  return supported;
}

void predict(const KernelClass& kernel_class, const KernelStates& kernels,
             const ClassQuery& class_query, ClassCandidates& found) {
  std::vector<const DesignPoint*> points(kernels.size());
  std::ranges::transform(kernels, points.begin(),
                         [](const KernelAccess::State* state) { return &state->point; });
  const auto predictions =
      kernel_class.predict_all(points, class_query.arguments, class_query.target);
  if (!class_query.arguments.controls().workspace_limit && predictions.size() >= kernels.size()) {
    found.candidates.resize(kernels.size());
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      found.candidates[i].state = kernels[i];
      found.candidates[i].prediction = predictions[i];
    }
    return;
  }
  found.candidates.reserve(kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const KernelAccess::State* const state = kernels[i];
    const auto& prediction = predictions.at(i);
    const Knobs knobs = prediction ? prediction->knobs : Knobs{};
    Status status = check_workspace(*state, knobs, class_query.arguments);
    if (status.ok()) {
      found.candidates.push_back({state, prediction});
    } else {
      note(found.rejection, std::move(status));
    }
  }
}

}  // namespace

Target query_target(const RuntimeArguments& arguments, std::optional<Target> target) {
  if (!target) target = target_of(arguments.device());
  if (target) return *target;
  throw Error(ErrorKind::driver, fmt::format("target: no CUDA device is there for operands on {}; "
                                             "name the target to look kernels up for",
                                             arguments.device().name()));
}

Candidates fitting_kernels(const ClassEntry& entry, const ClassQuery& class_query) {
  // Only what is said of an epilogue depends on the target.
  const CandidateKey key{class_query.signature.key(), class_query.epilogue.get(),
                         class_query.epilogue != nullptr ? class_query.target : Target::cpu()};
  if (Candidates remembered = entry.cache().find(key)) return remembered;
  return entry.cache().insert(key, select_kernels(entry, class_query), class_query.epilogue);
}

bool applies_to(const KernelClass& kernel_class, const ClassQuery& class_query) {
  if (kernel_class.operation() != class_query.signature.operation()) return false;
  if (!check_presence(kernel_class, class_query.target)) return false;
  return covers(kernel_class.targets(), class_query.target);
}

ClassEntries classes_for(ClassEntries classes, const ClassQuery& class_query,
                         const KernelQuery& query, std::vector<DiscoveryFailure>& failures) {
  std::erase_if(classes, [&](const auto& entry) {
    bool left_out = true;
    query_guarded(*entry, failures, [&] {
      const KernelClass& kernel_class = entry->kernel_class();
      left_out =
          (query.portable && kernel_class.needs_device()) || !applies_to(kernel_class, class_query);
    });
    return left_out;
  });
  return classes;
}

ClassCandidates query_class(const ClassEntry& entry, const ClassQuery& class_query,
                            const MetadataFilter& filter, std::vector<DiscoveryFailure>& failures) {
  ClassCandidates found;
  KernelStates kernels;
  const bool succeeded = query_guarded(
      entry, failures, [&] { kernels = supported_kernels(entry, class_query, found); });
  if (!succeeded) return {};
  if (!filter.accepts_all()) {
    found.filtered_out =
        std::erase_if(kernels, [&](const auto* state) { return !filter(state->metadata()); });
  }
  if (!query_guarded(entry, failures,
                     [&] { predict(entry.kernel_class(), kernels, class_query, found); }))
    return {};
  return found;
}

}  // namespace estoc::discovery
