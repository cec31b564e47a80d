// From arguments to the kernels of a class: signature, sub-space, then the class's own word.
#include "discovery/matching.h"

#include <fmt/format.h>

#include <algorithm>

#include "discovery/device_target.h"
#include "discovery/fit.h"
#include "discovery/guard.h"
#include "discovery/summation.h"

namespace estoc::discovery {
namespace {

using KernelStates = std::vector<const KernelAccess::State*>;

/// Whether the class can have the epilogue, if there is one.
bool takes_epilogue(const ClassEntry& entry, const DesignPoint& point, const Question& question) {
  return question.epilogue == nullptr ||
         entry.kernel_class().supports_epilogue(point, *question.epilogue, question.target).ok();
}

Candidates select_kernels(const ClassEntry& entry, const Question& question) {
  const auto info = entry.info();
  std::vector<DesignPoint> points;
  auto selection = select(*info, question.signature);
  if (selection && drop_misaligned(*info, question.signature, *selection)) {
    const bool look = has_misaligned(*info, question.signature, *selection);
    info->space->visit(*selection, [&](const DesignPoint& point) {
      const bool aligned = !look || misaligned(*info, point, question.signature) == nullptr;
      if (aligned && takes_epilogue(entry, point, question)) points.push_back(point);
      return true;
    });
  }
  return std::make_shared<const KernelGroup>(info, points, question.epilogue);
}

/// Why the first kernel of fitting values does not fit all the same; success when there is none.
Status why_none_fits(const ClassEntry& entry, const Question& question) {
  const auto info = entry.info();
  Status status = Status::success();
  if (const auto selection = select(*info, question.signature)) {
    info->space->visit(*selection, [&](const DesignPoint& point) {
      status = check_alignments(*info, point, question.signature);
      if (status.ok() && question.epilogue != nullptr) {
        status = entry.kernel_class().supports_epilogue(point, *question.epilogue, question.target);
      }
      return false;
    });
  }
  return status;
}

void note(std::optional<Status>& rejection, Status status) {
  if (!rejection) rejection = std::move(status);
}

KernelStates supported_kernels(const ClassEntry& entry, const Question& question, Offer& offer) {
  KernelStates supported;
  if (Status extras = check_extras(question.signature); !extras.ok()) {
    note(offer.rejection, std::move(extras));
    return supported;
  }
  offer.kernels = fitting_kernels(entry, question);
  const auto& fitting = offer.kernels->states;
  if (fitting.empty()) {
    if (Status status = why_none_fits(entry, question); !status.ok()) {
      note(offer.rejection, std::move(status));
    }
  }
  supported.reserve(fitting.size());
  for (const KernelAccess::State& state : fitting) {
    Status status = check_summation(entry.kernel_class(), state.point, question);
    if (status.ok()) {
      status = entry.kernel_class().supports(state.point, question.arguments, question.target);
    }
    if (status.ok()) {
      supported.push_back(&state);
    } else {
      note(offer.rejection, std::move(status));
    }
  }
  return supported;
}

void predict(const KernelClass& kernel_class, const KernelStates& kernels, const Question& question,
             Offer& offer) {
  offer.candidates.reserve(kernels.size());
  for (const KernelAccess::State* const state : kernels) {
    const auto prediction = kernel_class.predict(state->point, question.arguments, question.target);
    const Knobs knobs = prediction ? prediction->knobs : Knobs{};
    Status status = check_workspace(*state, knobs, question.arguments);
    if (status.ok()) {
      offer.candidates.push_back({state, prediction});
    } else {
      note(offer.rejection, std::move(status));
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

Candidates fitting_kernels(const ClassEntry& entry, const Question& question) {
  // Only what is said of an epilogue depends on the target.
  const CandidateKey key{question.signature.key(), question.epilogue.get(),
                         question.epilogue != nullptr ? question.target : Target::cpu()};
  if (Candidates remembered = entry.cache().find(key)) return remembered;
  return entry.cache().insert(key, select_kernels(entry, question), question.epilogue);
}

bool is_asked(const KernelClass& kernel_class, const Question& question) {
  if (kernel_class.operation() != question.signature.operation()) return false;
  if (!check_presence(kernel_class, question.target)) return false;
  return covers(kernel_class.targets(), question.target);
}

ClassEntries asked_classes(ClassEntries classes, const Question& question, const KernelQuery& query,
                           std::vector<DiscoveryFailure>& failures) {
  std::erase_if(classes, [&](const auto& entry) {
    bool left_out = true;
    ask_guarded(*entry, failures, [&] {
      const KernelClass& kernel_class = entry->kernel_class();
      left_out =
          (query.portable && kernel_class.needs_device()) || !is_asked(kernel_class, question);
    });
    return left_out;
  });
  return classes;
}

Offer ask_class(const ClassEntry& entry, const Question& question, const MetadataFilter& filter,
                std::vector<DiscoveryFailure>& failures) {
  Offer offer;
  KernelStates kernels;
  const bool answered =
      ask_guarded(entry, failures, [&] { kernels = supported_kernels(entry, question, offer); });
  if (!answered) return {};
  if (!filter.accepts_all()) {
    offer.filtered_out =
        std::erase_if(kernels, [&](const auto* state) { return !filter(state->metadata()); });
  }
  if (!ask_guarded(entry, failures,
                   [&] { predict(entry.kernel_class(), kernels, question, offer); }))
    return {};
  return offer;
}

}  // namespace estoc::discovery
