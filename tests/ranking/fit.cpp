// Fits the residual of a family of kernels to tables, by weighted ridge regression.
#include "fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace estoc::ranking {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr double kRidge = 1;
constexpr double kWeightPower = -4;
constexpr double kLeastDeviation = 1e-5;
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
    if (deviation < kLeastDeviation) continue;
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

struct NormalEquations {
  Matrix matrix;
  Vector vector;

  explicit NormalEquations(Eigen::Index terms)
      : matrix(Matrix::Zero(terms, terms)), vector(Vector::Zero(terms)) {}

  void add(const Fitted& space, const std::vector<const Sample*>& samples) {
    for (std::size_t begin = 0; begin < samples.size(); begin += kBlock) {
      const auto columns = std::min(kBlock, static_cast<Eigen::Index>(samples.size() - begin));
      Matrix block(matrix.rows(), columns);
      Vector wanted(columns);
      for (Eigen::Index i = 0; i < columns; ++i) {
        const Sample& sample = *samples[begin + static_cast<std::size_t>(i)];
        put_terms(space, sample, block, i);
        const double root = std::pow(sample.over_best, kWeightPower / 2);
        block.col(i) *= root;
        wanted(i) = root * std::log(sample.seconds / sample.physical);
      }
      matrix.selfadjointView<Eigen::Lower>().rankUpdate(block);
      vector += block * wanted;
    }
  }

  std::vector<float> solve() const {
    Matrix ridged = matrix;
    ridged.diagonal().array() += kRidge;
    const Vector solution = ridged.selfadjointView<Eigen::Lower>().ldlt().solve(vector);
    return {solution.data(), solution.data() + solution.size()};
  }
};

}  // namespace

int part_of(int shape) {
  // A multiplicative hash spreads shapes that follow each other in a table.
  return static_cast<int>((static_cast<std::uint32_t>(shape) * 2654435761U >> 16) % kParts);
}

FamilyFit fit_family(const SampledTable& table, cost::Family family) {
  FamilyFit fit;
  fit.without.resize(kParts);
  const std::vector<const Sample*> samples = samples_of(table, family);
  if (samples.empty()) return fit;
  fit.all = standardise(samples);
  const Eigen::Index terms = count_terms(fit.all.features.size(), family);
  std::vector<std::vector<const Sample*>> parts(kParts);
  for (const Sample* sample : samples) {
    const int shape = table.shapes[static_cast<std::size_t>(sample->row)];
    parts[static_cast<std::size_t>(part_of(shape))].push_back(sample);
  }
  std::vector<NormalEquations> equations(kParts, NormalEquations(terms));
  NormalEquations whole(terms);
  for (std::size_t i = 0; i < kParts; ++i) {
    equations[i].add(fit.all, parts[i]);
    whole.matrix += equations[i].matrix;
    whole.vector += equations[i].vector;
  }
  for (std::size_t i = 0; i < kParts; ++i) {
    equations[i].matrix = whole.matrix - equations[i].matrix;
    equations[i].vector = whole.vector - equations[i].vector;
    fit.without[i] = fit.all;
    fit.without[i].coefficients = equations[i].solve();
  }
  fit.all.coefficients = whole.solve();
  return fit;
}

}  // namespace estoc::ranking
