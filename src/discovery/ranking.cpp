// Ranking by predicted time and energy.
#include "discovery/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace estoc::discovery {
namespace {

bool is_usable(const std::optional<Prediction>& prediction) {
  return prediction && std::isfinite(prediction->seconds) && prediction->seconds >= 0;
}

/// The energy to compare: unknown and impossible ones are behind those that are known.
double joules_of(const Prediction& prediction) {
  return std::isfinite(prediction.joules) && prediction.joules > 0
             ? prediction.joules
             : std::numeric_limits<double>::infinity();
}

/// By name, which no order of registration or enumeration changes.
bool is_named_before(const KernelAccess::State& left, const KernelAccess::State& right) {
  if (left.group == right.group) return left.name_key < right.name_key;
  return left.info().name < right.info().name;
}

/// A candidate as it is sorted: small, since all that is needed as a rule is the time.
struct Place {
  double seconds;
  double joules;
  const Candidate* candidate;
  const ClassCandidates* found;

  bool operator<(const Place& other) const {
    if (seconds != other.seconds) return seconds < other.seconds;
    if (joules != other.joules) return joules < other.joules;
    return is_named_before(*candidate->state, *other.candidate->state);
  }
};

/// Adds the candidate's handle, made in place: there are hundreds in a list.
void add_handle(const ClassCandidates& found, const Candidate& candidate, Target target,
                std::vector<Kernel>& kernels) {
  kernels.push_back(KernelAccess::make(shared_state(found.kernels, *candidate.state)));
  KernelAccess::set_target(kernels.back(), target);
  if (is_usable(candidate.prediction)) {
    KernelAccess::set_prediction(kernels.back(), *candidate.prediction);
  }
}

}  // namespace

std::vector<Kernel> rank(std::span<const ClassCandidates> classes, Target target) {
  std::size_t count = 0;
  for (const ClassCandidates& found : classes)
    count += found.candidates.size();
  std::vector<Place> places;
  std::vector<Place> unpredicted;
  places.reserve(count);
  for (const ClassCandidates& found : classes) {
    for (const Candidate& candidate : found.candidates) {
      if (is_usable(candidate.prediction)) {
        const Prediction& prediction = *candidate.prediction;
        places.push_back({prediction.seconds, joules_of(prediction), &candidate, &found});
      } else {
        unpredicted.push_back({0, 0, &candidate, &found});
      }
    }
  }
  std::sort(places.begin(), places.end());
  places.insert(places.end(), unpredicted.begin(), unpredicted.end());
  std::vector<Kernel> kernels;
  kernels.reserve(count);
  for (const Place& place : places)
    add_handle(*place.found, *place.candidate, target, kernels);
  return kernels;
}

}  // namespace estoc::discovery
