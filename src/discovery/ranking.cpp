// Ranking by predicted time.
#include "discovery/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "discovery/kernel_state.h"

namespace estoc::discovery {
namespace {

double sort_key(const Candidate& candidate) {
  return candidate.prediction ? candidate.prediction->seconds
                              : std::numeric_limits<double>::infinity();
}

void drop_unusable(Candidate& candidate) {
  if (!candidate.prediction) return;
  const double seconds = candidate.prediction->seconds;
  if (!std::isfinite(seconds) || seconds < 0) candidate.prediction.reset();
}

}  // namespace

std::vector<Kernel> rank(std::vector<Candidate> candidates, const RankObserver& observer) {
  std::for_each(candidates.begin(), candidates.end(), drop_unusable);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& left, const Candidate& right) {
                     return sort_key(left) < sort_key(right);
                   });
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
