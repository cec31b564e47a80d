// Fits boosted trees to samples.
#include "boost.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace estoc::ranking {
namespace {

// Thresholds of a feature at most, so that a bin is a byte and a scan short.
constexpr std::size_t kMaxThresholds = 63;
constexpr std::size_t kBins = kMaxThresholds + 1;
// Features whose sums are made together: additions to one bin wait for each other.
constexpr std::size_t kTogether = 6;

/// The number that its text in a source has.
float rounded(double value) {
  return std::stof(fmt::format("{:.6g}", value));
}

/// A feature's thresholds, in the middle between values, and the bin of each sample: how many
/// thresholds are not above it.
struct Binned {
  std::vector<float> thresholds;
  std::vector<std::uint8_t> bins;
};

std::vector<float> thresholds_of(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  std::vector<float> distinct = values;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<float> ends;  // the first values of bins
  if (distinct.size() <= kMaxThresholds + 1) {
    ends.assign(distinct.begin() + (distinct.empty() ? 0 : 1), distinct.end());
  } else {
    for (std::size_t i = 1; i <= kMaxThresholds; ++i) {
      const float value = values[values.size() * i / (kMaxThresholds + 1)];
      if (value > values.front() && (ends.empty() || value > ends.back())) ends.push_back(value);
    }
  }
  std::vector<float> thresholds;
  for (const float end : ends) {
    const float before = *std::prev(std::lower_bound(distinct.begin(), distinct.end(), end));
    thresholds.push_back(rounded((static_cast<double>(before) + end) / 2));
  }
  return thresholds;
}

std::vector<Binned> bin(std::span<const BoostSample> samples) {
  std::vector<Binned> all(cost::kFeatures);
  for (std::size_t feature = 0; feature < all.size(); ++feature) {
    std::vector<float> values;
    values.reserve(samples.size());
    for (const BoostSample& sample : samples)
      values.push_back((*sample.features)[feature]);
    Binned& binned = all[feature];
    binned.thresholds = thresholds_of(values);
    for (const float value : values) {
      const auto above =
          std::upper_bound(binned.thresholds.begin(), binned.thresholds.end(), value);
      binned.bins.push_back(static_cast<std::uint8_t>(above - binned.thresholds.begin()));
    }
  }
  return all;
}

/// Sums over samples.
struct Sums {
  double errors = 0;  ///< times weights
  double weights = 0;

  Sums& operator+=(const Sums& other) {
    errors += other.errors;
    weights += other.weights;
    return *this;
  }
  double gain(double ridge) const { return errors * errors / (weights + ridge); }
};

/// Where a level divides the leaves.
struct Split {
  std::size_t feature = 0;
  std::size_t threshold = 0;
  double gain = -1;
};

/// Grows one tree after the other on what is left of the samples' wanted values.
class Booster {
 public:
  Booster(std::span<const BoostSample> samples, const BoostOptions& options)
      : samples_(samples),
        options_(options),
        binned_(bin(samples)),
        leaf_(samples.size()),
        chosen_bins_(cost::kFeatures) {
    for (const BoostSample& sample : samples)
      left_.push_back(sample.wanted);
    for (std::size_t feature = 0; feature < binned_.size(); ++feature) {
      if (!binned_[feature].thresholds.empty()) varying_.push_back(feature);
    }
    compared_ = std::max<std::size_t>(
        static_cast<std::size_t>(options.features * static_cast<double>(varying_.size())),
        std::min<std::size_t>(varying_.size(), 1));
    fitted_.depth = options.depth;
  }

  FittedTrees run() {
    for (int tree = 0; tree < options_.trees; ++tree) {
      choose_samples();
      choose_features();
      grow();
      put_leaves();
    }
    return std::move(fitted_);
  }

 private:
  void choose_samples() {
    chosen_.clear();
    chosen_sums_.clear();
    const auto limit = static_cast<std::uint32_t>(options_.share * 1000);
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      if (random_() % 1000 >= limit) continue;
      chosen_.push_back(i);
      chosen_sums_.push_back({left_[i] * samples_[i].weight, samples_[i].weight});
    }
    for (std::size_t feature = 0; feature < binned_.size(); ++feature) {
      std::vector<std::uint8_t>& bins = chosen_bins_[feature];
      bins.resize(chosen_.size());
      for (std::size_t i = 0; i < chosen_.size(); ++i)
        bins[i] = binned_[feature].bins[chosen_[i]];
    }
  }

  /// Moves some features, chosen at random, to the front of those that vary.
  void choose_features() {
    for (std::size_t i = 0; i < compared_; ++i)
      std::swap(varying_[i], varying_[i + random_() % (varying_.size() - i)]);
  }

  void grow() {
    std::fill(leaf_.begin(), leaf_.end(), 0);
    chosen_leaf_.assign(chosen_.size(), 0);
    for (int level = 0; level < options_.depth; ++level) {
      Split best;
      for (std::size_t first = 0; first < compared_; first += kTogether)
        consider(first, std::size_t{1} << level, best);
      const Binned& binned = binned_[best.feature];
      fitted_.features.push_back(static_cast<std::uint8_t>(best.feature));
      // Where all samples are alike, they are all below.
      fitted_.thresholds.push_back(binned.thresholds.empty()
                                       ? rounded(std::numeric_limits<float>::max())
                                       : binned.thresholds[best.threshold]);
      set_bits(binned.bins, best.threshold, level, leaf_);
      set_bits(chosen_bins_[best.feature], best.threshold, level, chosen_leaf_);
    }
  }

  static void set_bits(const std::vector<std::uint8_t>& bins, std::size_t threshold, int level,
                       std::vector<std::uint8_t>& leaf) {
    for (std::size_t i = 0; i < leaf.size(); ++i)
      leaf[i] =
          static_cast<std::uint8_t>(leaf[i] | static_cast<unsigned>(bins[i] > threshold) << level);
  }

  /// Takes the best threshold of some features, from `first` on, where it is better than `best`.
  void consider(std::size_t first, std::size_t leaves, Split& best) {
    const std::size_t count = std::min(kTogether, compared_ - first);
    for (std::size_t i = 0; i < count; ++i)
      sums_[i].assign(leaves * kBins, {});
    if (count == kTogether) {
      sum_up<kTogether>(first);
    } else {
      for (std::size_t i = 0; i < count; ++i)
        sum_up<1>(first + i, i);
    }
    for (std::size_t i = 0; i < count; ++i)
      choose(varying_[first + i], sums_[i], leaves, best);
  }

  /// Adds the chosen samples to the sums of their leaves and bins, of `count` features at once.
  template <std::size_t count>
  void sum_up(std::size_t first, std::size_t place = 0) {
    std::array<const std::uint8_t*, count> bins;
    std::array<Sums*, count> sums;
    for (std::size_t i = 0; i < count; ++i) {
      bins[i] = chosen_bins_[varying_[first + i]].data();
      sums[i] = sums_[place + i].data();
    }
    for (std::size_t sample = 0; sample < chosen_.size(); ++sample) {
      const std::size_t leaf = chosen_leaf_[sample] * kBins;
      for (std::size_t i = 0; i < count; ++i)
        sums[i][leaf + bins[i][sample]] += chosen_sums_[sample];
    }
  }

  void choose(std::size_t feature, std::span<const Sums> sums, std::size_t leaves, Split& best) {
    const std::size_t bins = binned_[feature].thresholds.size() + 1;
    gains_.assign(bins - 1, 0);
    for (std::size_t leaf = 0; leaf < leaves; ++leaf)
      add_gains(sums.subspan(leaf * kBins, bins));
    const auto most = std::max_element(gains_.begin(), gains_.end());
    if (*most <= best.gain) return;
    best = {feature, static_cast<std::size_t>(most - gains_.begin()), *most};
  }

  void add_gains(std::span<const Sums> bins) {
    Sums all;
    for (const Sums& each : bins)
      all += each;
    if (all.weights == 0) return;
    Sums below;
    for (std::size_t i = 0; i + 1 < bins.size(); ++i) {
      below += bins[i];
      const Sums above{all.errors - below.errors, all.weights - below.weights};
      gains_[i] += below.gain(options_.ridge) + above.gain(options_.ridge);
    }
  }

  void put_leaves() {
    std::vector<Sums> sums(std::size_t{1} << options_.depth);
    for (std::size_t i = 0; i < chosen_.size(); ++i)
      sums[chosen_leaf_[i]] += chosen_sums_[i];
    std::vector<double> values;
    for (const Sums& each : sums)
      values.push_back(options_.rate * each.errors / (each.weights + options_.ridge));
    double most = 0;
    for (const double value : values)
      most = std::max(most, std::abs(value));
    const float unit = rounded(most / cost::kLeafSteps);
    const std::size_t first = fitted_.units.size() << options_.depth;
    fitted_.units.push_back(unit);
    fitted_.leaves.resize((first + values.size() + 1) / 2);
    for (std::size_t leaf = 0; leaf < values.size(); ++leaf)
      put_leaf(first + leaf, unit > 0 ? std::lround(values[leaf] / unit) : 0);
    for (std::size_t i = 0; i < left_.size(); ++i) {
      left_[i] -=
          static_cast<double>(unit) * cost::leaf_steps(fitted_.leaves.data(), first + leaf_[i]);
    }
  }

  void put_leaf(std::size_t leaf, long steps) {
    std::uint8_t& pair = fitted_.leaves[leaf / 2];
    pair = static_cast<std::uint8_t>(pair | (steps + cost::kLeafSteps + 1) << leaf % 2 * 4);
  }

  std::span<const BoostSample> samples_;
  BoostOptions options_;
  std::vector<Binned> binned_;
  std::vector<std::size_t> varying_;  ///< features with a threshold
  std::size_t compared_ = 0;          ///< of those, the first, by the tree that grows
  std::vector<double> left_;          ///< of each sample's wanted value
  std::vector<std::uint8_t> leaf_;    ///< of the tree that grows, of each sample
  std::vector<std::size_t> chosen_;
  // Of these samples, side by side:
  std::vector<Sums> chosen_sums_;                       ///< of each alone
  std::vector<std::vector<std::uint8_t>> chosen_bins_;  ///< by feature
  std::vector<std::uint8_t> chosen_leaf_;
  std::array<std::vector<Sums>, kTogether> sums_;  ///< by leaf and bin
  std::vector<double> gains_;
  std::mt19937 random_{1};
  FittedTrees fitted_;
};

}  // namespace

FittedTrees boost(std::span<const BoostSample> samples, const BoostOptions& options) {
  if (samples.empty()) return {};
  return Booster(samples, options).run();
}

}  // namespace estoc::ranking
