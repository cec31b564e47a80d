// explain: for each class, how many kernels carry out the arguments, or why none does.
#include <fmt/format.h>

#include <utility>

#include "discovery/empty_query.h"
#include "discovery/fit.h"
#include "discovery/guard.h"
#include "discovery/matching.h"
#include "discovery/ranking.h"
#include "discovery/summation.h"
#include "discovery/tuned_first.h"

namespace estoc {
namespace {

using discovery::ClassCandidates;
using discovery::ClassEntry;
using discovery::ClassQuery;

Status join(const Status& first, const Status& second) {
  if (first.ok()) return second;
  if (second.ok()) return first;
  return Status::fail(first.reason(), first.error() + "; " + second.error());
}

/// What is known without a call of the class for its kernels.
Status check_description(const ClassEntry& entry, const ClassQuery& class_query,
                         Explanation& explanation) {
  if (Status status = discovery::check_presence(entry.kernel_class(), class_query.target);
      !status.ok()) {
    return status;
  }
  const auto info = entry.info();
  explanation.described = info->space->size();
  Status status = check_class(*info, class_query.arguments, class_query.signature);
  if (info->operation != class_query.signature.operation()) return status;
  return join(status, check_target(*info, class_query.target));
}

Status why_none(const ClassCandidates& found) {
  if (found.filtered_out > 0) {
    return Status::fail(fmt::format("filter: expected a kernel that passes, got {} that do not",
                                    found.filtered_out));
  }
  return found.rejection.value_or(Status::fail("kernels: expected at least one, got none"));
}

Explanation explain_class(const ClassEntry& entry, const ClassQuery& class_query,
                          const MetadataFilter& filter) {
  Explanation explanation{entry.provider(), entry.name(), 0, 0, Status::success(), {}};
  std::vector<DiscoveryFailure> failures;
  query_guarded(entry, failures,
                [&] { explanation.status = check_description(entry, class_query, explanation); });
  if (failures.empty() && explanation.status.ok()) {
    const ClassCandidates found = query_class(entry, class_query, filter, failures);
    explanation.supported = found.candidates.size();
    if (explanation.supported == 0) {
      explanation.status = why_none(found);
    } else {
      std::vector<Kernel> kernels = discovery::rank(std::span(&found, 1), class_query, failures);
      discovery::put_tuned_first(kernels, class_query);
      explanation.first = kernels.front();
    }
  }
  if (!failures.empty()) {
    explanation.status = Status::fail("the class threw: " + failures.front().message);
  }
  return explanation;
}

/// Whether the class's reason says something of the arguments. Those for other operations and
/// devices do not interest a user who wants a kernel for this one.
bool is_telling(const ClassEntry& entry, const ClassQuery& class_query, const KernelQuery& query) {
  std::vector<DiscoveryFailure> failures;
  bool telling = true;
  query_guarded(entry, failures, [&] {
    const KernelClass& kernel_class = entry.kernel_class();
    const bool left_out = query.portable && kernel_class.needs_device();
    telling = !left_out && applies_to(kernel_class, class_query);
  });
  return telling;
}

}  // namespace

std::string why_none(const RuntimeArguments& arguments, const KernelQuery& query) {
  const auto snapshot = discovery::Registry::instance().snapshot();
  const ClassQuery class_query{arguments, discovery::Signature(arguments),
                               discovery::query_target(arguments, query.target)};
  std::string reasons;
  for (const auto& entry : snapshot->classes(query.providers)) {
    if (!is_telling(*entry, class_query, query)) continue;
    const Explanation explanation = explain_class(*entry, class_query, query.filter);
    if (explanation.status.ok()) continue;
    reasons += fmt::format("; {}: {}", entry->name(), explanation.status.error());
  }
  if (reasons.empty()) {
    reasons = fmt::format("; no class of the query has kernels for {} on {}",
                          operation_name(arguments.operation()), class_query.target.name());
  }
  return "no kernel supports the arguments" + reasons;
}

std::vector<Explanation> explain(const RuntimeArguments& arguments, const KernelQuery& query) {
  discovery::refresh_tuned();
  const auto snapshot = discovery::Registry::instance().snapshot();
  ClassQuery class_query{arguments, discovery::Signature(arguments),
                         discovery::query_target(arguments, query.target)};
  const discovery::ClassEntries classes = snapshot->classes(query.providers);
  std::vector<DiscoveryFailure> failures;  // each is that class's own explanation
  class_query.summation = discovery::choose_summation(
      discovery::classes_for(classes, class_query, query, failures), class_query, query.filter);
  std::vector<Explanation> explanations;
  for (const auto& entry : classes) {
    explanations.push_back(explain_class(*entry, class_query, query.filter));
  }
  return explanations;
}

}  // namespace estoc
