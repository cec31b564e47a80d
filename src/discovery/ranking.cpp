// Ranking by predicted time and energy.
#include "discovery/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "discovery/kernel_state.h"

namespace estoc::discovery {
namespace {

/// The energy to compare: unknown and impossible ones are behind those that are known.
double joules_of(const Prediction& prediction) {
  return std::isfinite(prediction.joules) && prediction.joules > 0
             ? prediction.joules
             : std::numeric_limits<double>::infinity();
}

/// By name, which no order of registration or enumeration changes.
bool is_named_before(const Kernel& left, const Kernel& right) {
  const KernelAccess::State& first = KernelAccess::state(left);
  const KernelAccess::State& second = KernelAccess::state(right);
  if (first.info == second.info) return first.info->is_named_before(first.point, second.point);
  return first.info->name < second.info->name;
}

bool ranks_before(const Candidate& left, const Candidate& right) {
  if (!left.prediction || !right.prediction) return left.prediction && !right.prediction;
  if (left.prediction->seconds != right.prediction->seconds) {
    return left.prediction->seconds < right.prediction->seconds;
  }
  const double first = joules_of(*left.prediction);
  const double second = joules_of(*right.prediction);
  return first != second ? first < second : is_named_before(left.kernel, right.kernel);
}

void drop_unusable(Candidate& candidate) {
  if (!candidate.prediction) return;
  const double seconds = candidate.prediction->seconds;
  if (!std::isfinite(seconds) || seconds < 0) candidate.prediction.reset();
}

}  // namespace

std::vector<Kernel> rank(std::vector<Candidate> candidates, const RankObserver& observer) {
  std::for_each(candidates.begin(), candidates.end(), drop_unusable);
  std::stable_sort(candidates.begin(), candidates.end(), ranks_before);
  std::vector<Kernel> kernels;
  kernels.reserve(candidates.size());
  for (Candidate& candidate : candidates) {
    if (candidate.prediction) KernelAccess::set_prediction(candidate.kernel, *candidate.prediction);
    if (observer) observer(candidate);
    kernels.push_back(std::move(candidate.kernel));
  }
  return kernels;
}

}  // namespace estoc::discovery
