// Ranking by predicted time and energy.
#include "discovery/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "discovery/guard.h"

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
  Place(const Prediction& prediction, const Candidate& of, const ClassCandidates& in)
      : seconds(prediction.seconds), joules(joules_of(prediction)), candidate(&of), found(&in) {}

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
void add_handle(const Place& place, const std::optional<Prediction>& prediction, Target target,
                std::vector<Kernel>& kernels) {
  kernels.push_back(
      KernelAccess::make(shared_state(place.found->kernels, *place.candidate->state)));
  KernelAccess::set_target(kernels.back(), target);
  if (is_usable(prediction)) KernelAccess::set_prediction(kernels.back(), *prediction);
}

/// A place among the first, with the closer prediction where its class has one.
struct Finalist {
  Place place;
  Prediction prediction;

  void take(const Prediction& closer) {
    prediction = {.seconds = closer.seconds, .knobs = prediction.knobs, .joules = closer.joules};
    place = Place(prediction, *place.candidate, *place.found);
  }
};

/// Has the class of `found` predict those of its kernels that are among the finalists.
void predict_closely(const ClassCandidates& found, const ClassQuery& class_query,
                     std::span<Finalist> finalists, std::vector<DiscoveryFailure>& failures) {
  std::vector<Finalist*> own;
  std::vector<const DesignPoint*> points;
  for (Finalist& finalist : finalists) {
    if (finalist.place.found != &found) continue;
    own.push_back(&finalist);
    points.push_back(&finalist.place.candidate->state->point);
  }
  if (own.empty()) return;
  std::vector<std::optional<Prediction>> closer;
  const ClassInfo& info = own.front()->place.candidate->state->info();
  const bool answered = query_guarded(info.provider, info.name, failures, [&] {
    closer = info.kernel_class->predict_closely(points, class_query.arguments, class_query.target);
  });
  if (!answered || closer.size() != own.size()) return;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (is_usable(closer[i])) own[i]->take(*closer[i]);
  }
}

}  // namespace

std::vector<Kernel> rank(std::span<const ClassCandidates> classes, const ClassQuery& class_query,
                         std::vector<DiscoveryFailure>& failures) {
  std::size_t count = 0;
  for (const ClassCandidates& found : classes)
    count += found.candidates.size();
  std::vector<Place> places;
  std::vector<Place> unpredicted;
  places.reserve(count);
  for (const ClassCandidates& found : classes) {
    for (const Candidate& candidate : found.candidates) {
      if (is_usable(candidate.prediction)) {
        places.emplace_back(*candidate.prediction, candidate, found);
      } else {
        unpredicted.emplace_back(Prediction{}, candidate, found);
      }
    }
  }
  std::sort(places.begin(), places.end());
  std::vector<Finalist> finalists;
  const std::size_t close = std::min(places.size(), kCloselyPredicted);
  finalists.reserve(close);
  for (const Place& place : std::span(places).first(close))
    finalists.push_back({place, *place.candidate->prediction});
  for (const ClassCandidates& found : classes)
    predict_closely(found, class_query, finalists, failures);
  std::sort(finalists.begin(), finalists.end(),
            [](const Finalist& left, const Finalist& right) { return left.place < right.place; });
  std::vector<Kernel> kernels;
  kernels.reserve(count);
  for (const Finalist& finalist : finalists)
    add_handle(finalist.place, finalist.prediction, class_query.target, kernels);
  for (const Place& place : std::span(places).subspan(close))
    add_handle(place, place.candidate->prediction, class_query.target, kernels);
  for (const Place& place : unpredicted)
    add_handle(place, std::nullopt, class_query.target, kernels);
  return kernels;
}

}  // namespace estoc::discovery
