// Ranking by predicted time and energy.
#include "discovery/ranking.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

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
  double seconds;
  const Candidate* candidate;
  const ClassCandidates* found;
};

/// By what was predicted of them, which need not be what the candidates say.
bool ranks_before(const Place& left, const Prediction& of_left, const Place& right,
                  const Prediction& of_right) {
  if (of_left.seconds != of_right.seconds) return of_left.seconds < of_right.seconds;
  const double joules = joules_of(of_left);
  const double others = joules_of(of_right);
  if (joules != others) return joules < others;
  return is_named_before(*left.candidate->state, *right.candidate->state);
}

inline bool operator<(const Place& left, const Place& right) {
  if (left.seconds != right.seconds) return left.seconds < right.seconds;
  const KernelAccess::State& state = *left.candidate->state;
  const KernelAccess::State& other = *right.candidate->state;
  // As a rule, kernels of one class that differ in alignments alone.
  if (state.group == other.group &&
      left.candidate->prediction->joules == right.candidate->prediction->joules)
    return state.name_key < other.name_key;
  return ranks_before(left, *left.candidate->prediction, right, *right.candidate->prediction);
}

/// A number that is in the order of times, which are finite and not negative.
std::uint64_t order_of(double seconds) {
  return std::bit_cast<std::uint64_t>(seconds + 0.0);  // -0.0 is 0.0
}

/// Few places one after the other; std::sort takes more instructions for them.
void sort_few(std::span<Place> places) {
  for (std::size_t i = 1; i < places.size(); ++i) {
    const Place place = places[i];
    std::size_t to = i;
    for (; to > 0 && place < places[to - 1]; --to)
      places[to] = places[to - 1];
    places[to] = place;
  }
}

void sort_by_comparing(std::span<Place> places) {
  constexpr std::size_t kFew = 48;
  if (places.size() <= kFew) return sort_few(places);
  std::sort(places.begin(), places.end());
}

/// In buckets, two and more for each place, by the first bits in which their times differ, and by
/// comparisons within a bucket.
void put_in_order(std::vector<Place>& places) {
  constexpr std::size_t kWorthBuckets = 64;
  if (places.size() < kWorthBuckets) return sort_by_comparing(places);
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t most = 0;
  for (const Place& place : places) {
    least = std::min(least, order_of(place.seconds));
    most = std::max(most, order_of(place.seconds));
  }
  const auto bits = static_cast<unsigned>(std::bit_width(places.size())) + 1;
  const auto differing = static_cast<unsigned>(std::bit_width(most - least));
  const unsigned shift = differing > bits ? differing - bits : 0;
  const auto bucket_of = [&](const Place& place) {
    return static_cast<std::size_t>((order_of(place.seconds) - least) >> shift);
  };
  // Where each bucket begins, then where it ends.
  std::vector<std::uint32_t> ends((std::size_t{1} << bits) + 1);
  for (const Place& place : places)
    ++ends[bucket_of(place) + 1];
  for (std::size_t i = 1; i < ends.size(); ++i)
    ends[i] += ends[i - 1];
  std::vector<Place> sorted(places.size());
  for (const Place& place : places)
    sorted[ends[bucket_of(place)]++] = place;
  for (std::size_t begin = 0; begin < sorted.size();) {
    const std::size_t end = ends[bucket_of(sorted[begin])];
    sort_by_comparing(std::span(sorted).subspan(begin, end - begin));
    begin = end;
  }
  places = std::move(sorted);
}

/// Adds places of the candidates with a usable prediction. Runs of them that share the first part
/// of their names come in the order of these: kernels of equal predictions differ in alignments as
/// a rule, and are in order then.
void add_places(const ClassCandidates& found, std::vector<Place>& places) {
  struct Run {
    std::uint64_t key;
    std::span<const Candidate>::iterator begin, end;
  };
  std::vector<Run> runs;
  const std::span<const Candidate> all = found.candidates;
  for (auto candidate = all.begin(); candidate != all.end(); ++candidate) {
    const std::uint64_t key = candidate->state->name_key.front();
    if (runs.empty() || runs.back().key != key) runs.push_back({key, candidate, candidate});
    runs.back().end = candidate + 1;
  }
  std::ranges::sort(runs, {}, &Run::key);
  for (const Run& run : runs) {
    for (auto candidate = run.begin; candidate != run.end; ++candidate) {
      if (is_usable(candidate->prediction))
        places.push_back({candidate->prediction->seconds, &*candidate, &found});
    }
  }
}

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
    const std::size_t before = places.size();
    add_places(found, places);
    if (places.size() - before == found.candidates.size()) continue;
    for (const Candidate& candidate : found.candidates) {
      if (!is_usable(candidate.prediction)) unpredicted.push_back({0, &candidate, &found});
    }
  }
  put_in_order(places);
  std::vector<Finalist> finalists;
  const std::size_t close = std::min(places.size(), kCloselyPredicted);
  finalists.reserve(close);
  for (const Place& place : std::span(places).first(close))
    finalists.push_back({place, *place.candidate->prediction});
  for (const ClassCandidates& found : classes)
    predict_closely(found, class_query, finalists, failures);
  std::sort(finalists.begin(), finalists.end(), [](const Finalist& left, const Finalist& right) {
    return ranks_before(left.place, left.prediction, right.place, right.prediction);
  });
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
