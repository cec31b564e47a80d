// Fits the residual of a family of kernels to tables, by weighted ridge regression and boosted
// trees.
#include "fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <future>
#include <numeric>

namespace estoc::ranking {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr double kRidge = 1;
// Of what a band of waves adds to the coefficients: bands have fewer samples.
constexpr double kBandRidge = 100;
constexpr double kWeightPower = -4;
constexpr double kMinDeviation = 1e-5;
// Of an error that all kernels of a problem share, so much is forgiven: it changes no order. One of
// the library's kernels decides between them and ours.
constexpr double kForgiven = 0.95;
constexpr double kForgivenOfLibrary = 0.5;
// Trees follow the noise of fewer.
constexpr std::size_t kFewestForTrees = 5000;
// The weight of a sample of another device: it gave the least regret. Where that device has more
// samples, each weighs less, so that together they weigh no more than this share of one's own.
constexpr double kWeightOfOtherDevices = 0.3;
// Samples that are added to the normal equations at once.
constexpr Eigen::Index kBlock = 512;

std::vector<const Sample*> samples_of(const SampledTable& table, cost::Family family) {
  std::vector<const Sample*> chosen;
  for (const Sample& sample : table.samples) {
    if (sample.family == family) chosen.push_back(&sample);
  }
  return chosen;
}

/// The features that vary, with their means and deviations.
Fitted standardise(const std::vector<const Sample*>& samples) {
  Fitted fitted;
  for (std::size_t i = 0; i < cost::kFeatures; ++i) {
    double sum = 0;
    double squares = 0;
    for (const Sample* sample : samples) {
      sum += sample->features[i];
      squares += static_cast<double>(sample->features[i]) * sample->features[i];
    }
    const auto count = static_cast<double>(samples.size());
    const double mean = sum / count;
    const double deviation = std::sqrt(std::max(squares / count - mean * mean, 0.0));
    if (deviation < kMinDeviation) continue;
    fitted.features.push_back(static_cast<std::uint8_t>(i));
    fitted.means.push_back(static_cast<float>(mean));
    fitted.scales.push_back(static_cast<float>(1 / deviation));
  }
  return fitted;
}

/// Few kernels of simt_gemm were timed: more terms than a line follow their noise.
bool takes_products(cost::Family family) {
  return family != cost::Family::simt;
}

Eigen::Index count_terms(std::size_t features, cost::Family family) {
  const std::size_t products = takes_products(family) ? features * (features + 1) / 2 : 0;
  return static_cast<Eigen::Index>(1 + features + products);
}

/// 1, the features, and the products of each two, in the order of Residual::coefficients.
void put_terms(const Fitted& space, const Sample& sample, Matrix& block, Eigen::Index column) {
  const std::size_t count = space.features.size();
  std::vector<double> z(count);
  for (std::size_t i = 0; i < count; ++i)
    z[i] = (sample.features[space.features[i]] - space.means[i]) * space.scales[i];
  Eigen::Index at = 0;
  block(at++, column) = 1;
  for (std::size_t i = 0; i < count; ++i)
    block(at++, column) = z[i];
  if (!takes_products(sample.family)) return;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i; j < count; ++j)
      block(at++, column) = z[i] * z[j];
  }
}

/// Weighted samples, a column each: terms and wanted value, times the root of the weight.
struct Block {
  Matrix terms;
  Vector wanted;
  Eigen::Index used = 0;

  explicit Block(Eigen::Index count) : terms(count, kBlock), wanted(kBlock) {}

  bool is_full() const { return used == kBlock; }
};

struct NormalEquations {
  Matrix matrix;
  Vector vector;

  explicit NormalEquations(Eigen::Index terms)
      : matrix(Matrix::Zero(terms, terms)), vector(Vector::Zero(terms)) {}

  /// Adds the block, times a factor, and empties it.
  void take(Block& block, double factor) {
    if (block.used == 0) return;
    const auto terms = block.terms.leftCols(block.used);
    matrix.selfadjointView<Eigen::Lower>().rankUpdate(terms, factor);
    vector += factor * (terms * block.wanted.head(block.used));
    block.used = 0;
  }

  /// `start`, and what the ridge pulls towards 0.
  Vector solve(double ridge, const Vector& start) const {
    Matrix ridged = matrix;
    ridged.diagonal().array() += ridge;
    const Vector left = vector - matrix.selfadjointView<Eigen::Lower>() * start;
    return start + ridged.selfadjointView<Eigen::Lower>().ldlt().solve(left);
  }
};

/// Coefficients fitted to all parts, and to all but one.
struct Solutions {
  Vector all;
  std::vector<Vector> without;
};

/// A row's samples summed up in one of their weighted mean with the weight of all.
class Mean {
 public:
  explicit Mean(Eigen::Index terms) : terms_(Vector::Zero(terms)) {}

  /// The last sample of the block.
  void add(const Block& block, double weight) {
    terms_ += std::sqrt(weight) * block.terms.col(block.used - 1);
    wanted_ += std::sqrt(weight) * block.wanted(block.used - 1);
    weight_ += weight;
  }

  void put(Block& block) const {
    block.terms.col(block.used) = terms_ / std::sqrt(weight_);
    block.wanted(block.used++) = wanted_ / std::sqrt(weight_);
  }

 private:
  Vector terms_;
  double wanted_ = 0;
  double weight_ = 0;
};

double weight_of(const Sample& sample) {
  return std::pow(sample.over_best, kWeightPower);
}

double wanted_of(const Sample& sample) {
  // Copies that are predicted too slow leave the kernel at least a part of the time.
  constexpr double kLeast = 0.25;
  return std::log(std::max(sample.seconds - sample.before, kLeast * sample.seconds) /
                  sample.physical);
}

/// Returns the sample's weight.
double put_sample(const Fitted& space, const Sample& sample, Block& block) {
  const double weight = weight_of(sample);
  put_terms(space, sample, block.terms, block.used);
  block.terms.col(block.used) *= std::sqrt(weight);
  block.wanted(block.used++) = std::sqrt(weight) * wanted_of(sample);
  return weight;
}

/// Of samples of which those of a row follow each other.
NormalEquations equations_of(const Fitted& space, Eigen::Index terms,
                             const std::vector<const Sample*>& samples) {
  const bool library = samples.empty() || samples.front()->family == cost::Family::library;
  const double forgiven = library ? kForgivenOfLibrary : kForgiven;
  NormalEquations equations(terms);
  Block errors(terms);
  Block shared(terms);
  for (std::size_t at = 0; at < samples.size();) {
    Mean mean(terms);
    const int row = samples[at]->row;
    for (; at < samples.size() && samples[at]->row == row; ++at) {
      if (errors.is_full()) equations.take(errors, 1);
      mean.add(errors, put_sample(space, *samples[at], errors));
    }
    if (shared.is_full()) equations.take(shared, -forgiven);
    mean.put(shared);
  }
  equations.take(errors, 1);
  equations.take(shared, -forgiven);
  return equations;
}

std::vector<float> floats_of(const Vector& vector) {
  return {vector.data(), vector.data() + vector.size()};
}

std::vector<const Sample*> samples_of_band(const std::vector<const Sample*>& samples, int band) {
  std::vector<const Sample*> chosen;
  for (const Sample* sample : samples) {
    if (cost::band_of(sample->features) == band) chosen.push_back(sample);
  }
  return chosen;
}

int part_of(const SampledTable& table, const Sample& sample) {
  return ranking::part_of(table.shapes[static_cast<std::size_t>(sample.row)]);
}

/// What `start` leaves, fitted to the samples of all parts and of all but one.
Solutions solve(const SampledTable& table, const Fitted& space,
                const std::vector<const Sample*>& samples, double ridge, const Solutions& start) {
  std::vector<std::vector<const Sample*>> parts(kParts);
  for (const Sample* sample : samples) {
    parts[static_cast<std::size_t>(part_of(table, *sample))].push_back(sample);
  }
  const Eigen::Index terms = start.all.size();
  NormalEquations whole(terms);
  std::vector<NormalEquations> equations;
  for (const auto& part : parts) {
    equations.push_back(equations_of(space, terms, part));
    whole.matrix += equations.back().matrix;
    whole.vector += equations.back().vector;
  }
  Solutions solutions{whole.solve(ridge, start.all), {}};
  for (std::size_t i = 0; i < kParts; ++i) {
    equations[i].matrix = whole.matrix - equations[i].matrix;
    equations[i].vector = whole.vector - equations[i].vector;
    solutions.without.push_back(equations[i].solve(ridge, start.without[i]));
  }
  return solutions;
}

/// A sample that trees are fitted to.
struct Grown {
  BoostSample sample;
  int part = 0;
};

/// Adds the table's samples of the family, their weights times a factor.
void add_samples(const SampledTable& table, cost::Family family, double factor,
                 std::vector<Grown>& grown) {
  for (const Sample* sample : samples_of(table, family)) {
    grown.push_back({{&sample->features, wanted_of(*sample), factor * weight_of(*sample)},
                     part_of(table, *sample)});
  }
}

/// Trees fitted to the samples that are not of the part; to all without one.
FittedTrees grow_trees(const std::vector<Grown>& samples, std::optional<int> left_out) {
  std::vector<BoostSample> chosen;
  for (const Grown& each : samples) {
    if (each.part != left_out) chosen.push_back(each.sample);
  }
  return boost(chosen, {});
}

void fit_trees(const std::vector<Grown>& samples, FamilyFit& fit) {
  std::vector<std::future<FittedTrees>> without;
  for (int part = 0; part < kParts; ++part)
    without.push_back(
        std::async(std::launch::async, [&, part] { return grow_trees(samples, part); }));
  fit.all.trees = grow_trees(samples, std::nullopt);
  for (std::size_t part = 0; part < kParts; ++part)
    fit.without[part].trees = without[part].get();
}

}  // namespace

int part_of(std::uint32_t shape) {
  return static_cast<int>((shape * 2654435761U >> 16) % kParts);
}

FamilyFit fit_family(const SampledTable& table, cost::Family family,
                     std::span<const SampledTable> all) {
  FamilyFit fit;
  fit.without.resize(kParts);
  const std::vector<const Sample*> samples = samples_of(table, family);
  if (samples.empty()) return fit;
  fit.all = standardise(samples);
  fit.without.assign(kParts, fit.all);
  const Eigen::Index terms = count_terms(fit.all.features.size(), family);
  const Solutions none{Vector::Zero(terms), std::vector<Vector>(kParts, Vector::Zero(terms))};
  const Solutions whole = solve(table, fit.all, samples, kRidge, none);
  for (int band = 0; band < cost::kBands; ++band) {
    const auto of_band = samples_of_band(samples, band);
    const Solutions found =
        takes_products(family) ? solve(table, fit.all, of_band, kBandRidge, whole) : whole;
    fit.all.coefficients[static_cast<std::size_t>(band)] = floats_of(found.all);
    for (std::size_t i = 0; i < kParts; ++i)
      fit.without[i].coefficients[static_cast<std::size_t>(band)] = floats_of(found.without[i]);
  }
  if (samples.size() < kFewestForTrees) return fit;
  std::vector<Grown> grown;
  add_samples(table, family, 1, grown);
  for (const SampledTable& other : all) {
    if (other.model == table.model) continue;
    const auto more = static_cast<double>(samples_of(other, family).size());
    const double share = static_cast<double>(samples.size()) / std::max(more, 1.0);
    add_samples(other, family, kWeightOfOtherDevices * std::min(share, 1.0), grown);
  }
  fit_trees(grown, fit);
  return fit;
}

}  // namespace estoc::ranking
