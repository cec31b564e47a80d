// The factors of many kernels: eight side by side where the processor has AVX2, whose sums and
// products are those of the scalar form in the same order.
#include "cost/factor_batch.h"

#include <algorithm>
#include <cmath>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace estoc::cost {
namespace {

using Block = FactorBatch::Block;
constexpr std::size_t kLanes = FactorBatch::kLanes;
using Sums = std::array<float, kLanes>;

/// Values of the form and of the trees for the plans of a block; those of trees before their clamp.
struct Values {
  alignas(32) Sums form{};
  alignas(32) Sums trees{};
};

void evaluate_one_by_one(const Block& block, Values& values_of_plans) {
  for (std::size_t lane = 0; lane < block.count; ++lane) {
    Features features;  // NOLINT: written next
    for (std::size_t i = 0; i < kFeatures; ++i)
      features[i] = block.values[i][lane];
    take_logarithms(features);
    values_of_plans.form[lane] = evaluate(*block.forms[lane], features);
    if (block.trees != nullptr) values_of_plans.trees[lane] = evaluate(*block.trees, features);
  }
}

#if defined(__x86_64__)
#define ESTOC_AVX2 __attribute__((target("avx2")))

/// log_of() of numbers of which float has the nearest.
ESTOC_AVX2 inline __m256 log_of(__m256 value) {
  const __m256i bits = _mm256_castps_si256(value);
  const __m256 exponent =
      _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_srli_epi32(bits, 23), _mm256_set1_epi32(127)));
  const __m256 m = _mm256_castsi256_ps(_mm256_or_si256(
      _mm256_and_si256(bits, _mm256_set1_epi32(0x007fffff)), _mm256_set1_epi32(0x3f800000)));
  __m256 sum = _mm256_set1_ps(kLogarithm.back());
  for (std::size_t i = kLogarithm.size() - 1; i-- > 0;)
    sum = _mm256_add_ps(_mm256_set1_ps(kLogarithm[i]), _mm256_mul_ps(m, sum));
  return _mm256_add_ps(exponent, sum);
}

ESTOC_AVX2 inline __m256 product(float coefficient, const Sums& z) {
  return _mm256_mul_ps(_mm256_set1_ps(coefficient), _mm256_load_ps(z.data()));
}

/// How far a quadratic form has been added up.
struct Progress {
  __m256 sum;
  const float* linear;
  const float* row;
  const Sums* from;
};

/// Adds the last `length` features' products with the first of them, where the form has so many, as
/// row_sum() does: in four sums, those beyond whole fours in the first. The length is a constant,
/// so that loops are unrolled.
template <std::size_t length>
ESTOC_AVX2 inline void add_row(std::size_t count, Progress& at) {
  if (length > count) return;
  constexpr std::size_t kWhole = length / 4 * 4;
  __m256 first = _mm256_set1_ps(*at.linear);
  __m256 second = _mm256_setzero_ps();
  __m256 third = _mm256_setzero_ps();
  __m256 fourth = _mm256_setzero_ps();
  for (std::size_t j = 0; j < kWhole; j += 4) {
    first = _mm256_add_ps(first, product(at.row[j], at.from[j]));
    second = _mm256_add_ps(second, product(at.row[j + 1], at.from[j + 1]));
    third = _mm256_add_ps(third, product(at.row[j + 2], at.from[j + 2]));
    fourth = _mm256_add_ps(fourth, product(at.row[j + 3], at.from[j + 3]));
  }
  for (std::size_t j = kWhole; j < length; ++j)
    first = _mm256_add_ps(first, product(at.row[j], at.from[j]));
  const __m256 parts = _mm256_add_ps(_mm256_add_ps(first, second), _mm256_add_ps(third, fourth));
  at.sum = _mm256_add_ps(at.sum, _mm256_mul_ps(_mm256_load_ps(at.from->data()), parts));
  ++at.linear;
  ++at.from;
  at.row += length;
}

/// `skipped` are features that a form may lack.
template <std::size_t... skipped>
ESTOC_AVX2 inline void add_rows(std::size_t count, Progress& at,
                                std::index_sequence<skipped...> /*features*/) {
  (add_row<kFeatures - skipped>(count, at), ...);
}

/// evaluate() of a form.
ESTOC_AVX2 void evaluate_form(const Residual& form, const Block& block, Sums& values_of_plans) {
  const std::size_t count = form.features.size();
  if (count == 0) return;
  const __m256 most = _mm256_set1_ps(kMaxDeviations);
  const __m256 least = _mm256_set1_ps(-kMaxDeviations);
  alignas(32) std::array<Sums, kFeatures> z;  // NOLINT: the first `count` are written next
  for (std::size_t i = 0; i < count; ++i) {
    const __m256 value = _mm256_load_ps(block.values[form.features[i]].data());
    const __m256 deviation = _mm256_mul_ps(_mm256_sub_ps(value, _mm256_set1_ps(form.means[i])),
                                           _mm256_set1_ps(form.scales[i]));
    _mm256_store_ps(z[i].data(), _mm256_min_ps(most, _mm256_max_ps(least, deviation)));
  }
  const float* const linear = form.coefficients.data() + 1;
  __m256 sum = _mm256_set1_ps(form.coefficients[0]);
  if (form.coefficients.size() == 1 + count) {
    for (std::size_t i = 0; i < count; ++i)
      sum = _mm256_add_ps(sum, product(linear[i], z[i]));
  } else {
    Progress at{sum, linear, linear + count, z.data()};
    add_rows(count, at, std::make_index_sequence<kFeatures>());
    sum = at.sum;
  }
  _mm256_store_ps(values_of_plans.data(), sum);
}

/// evaluate() of trees, from the last level, which has the highest bit, to the first.
template <std::size_t known_depth>
ESTOC_AVX2 inline void evaluate_trees(const Trees& trees, const Block& block,
                                      Sums& values_of_plans) {
  // A constant, where it is known, has the loop over levels unrolled.
  const std::size_t depth = known_depth > 0 ? known_depth : static_cast<std::size_t>(trees.depth);
  const std::uint8_t* features = trees.features.data();
  const float* thresholds = trees.thresholds.data();
  __m256 sum = _mm256_setzero_ps();
  for (std::size_t tree = 0; tree < trees.units.size(); ++tree) {
    __m256i leaf = _mm256_setzero_si256();
    for (std::size_t level = depth; level-- > 0;) {
      const __m256 value = _mm256_load_ps(block.values[features[level]].data());
      const __m256 set = _mm256_cmp_ps(value, _mm256_set1_ps(thresholds[level]), _CMP_GE_OQ);
      // Where it is set, the comparison is -1.
      leaf = _mm256_sub_epi32(_mm256_add_epi32(leaf, leaf), _mm256_castps_si256(set));
    }
    features += depth;
    thresholds += depth;
    alignas(32) std::array<std::uint32_t, kLanes> numbers;  // NOLINT: written next
    _mm256_store_si256(reinterpret_cast<__m256i*>(numbers.data()), leaf);
    alignas(32) Sums leaves{};
    const std::size_t first = tree << depth;
    for (std::size_t lane = 0; lane < block.count; ++lane)
      leaves[lane] = static_cast<float>(leaf_steps(trees.leaves.data(), first + numbers[lane]));
    sum = _mm256_add_ps(sum, product(trees.units[tree], leaves));
  }
  _mm256_store_ps(values_of_plans.data(), sum);
}

ESTOC_AVX2 void evaluate_together(Block& block, Values& values_of_plans) {
  for (std::size_t i = 0; i < kFeatures; ++i) {
    if (!kIsLogarithm[i]) continue;
    float* const values = block.values[i].data();
    _mm256_store_ps(values, log_of(_mm256_load_ps(values)));
  }
  const Residual* evaluated = nullptr;
  Values own;
  for (std::size_t lane = 0; lane < block.count; ++lane) {
    if (block.forms[lane] != evaluated) {
      evaluated = block.forms[lane];
      own.form.fill(0);
      evaluate_form(*evaluated, block, own.form);
    }
    values_of_plans.form[lane] = std::clamp(own.form[lane], -kMaxResidual, kMaxResidual);
  }
  constexpr int kDepth = 8;  // of those that the library has
  if (block.trees == nullptr) return;
  if (block.trees->depth == kDepth) {
    evaluate_trees<kDepth>(*block.trees, block, values_of_plans.trees);
  } else {
    evaluate_trees<0>(*block.trees, block, values_of_plans.trees);
  }
}
#undef ESTOC_AVX2

bool has_avx2() {
  static const bool known = __builtin_cpu_supports("avx2") != 0;
  return known;
}
#else
void evaluate_together(Block& block, Values& values_of_plans) {
  evaluate_one_by_one(block, values_of_plans);
}
bool has_avx2() {
  return false;
}
#endif

}  // namespace

FactorBatch::FactorBatch(const DeviceModel& device, bool closely, std::size_t most)
    : device_(device), closely_(closely) {
  factors_.reserve(most);
}

void FactorBatch::add(const Plan& plan, const Execution& execution) {
  factors_.push_back(1);
  if (plan.design.older_instructions) return;
  const int band = band_of(execution);
  const Residual& form = residual_of(device_, plan.family, band);
  if ((band == 0 ? form : residual_of(device_, plan.family, 0)).features.empty()) return;
  const Trees* used = closely_ ? &trees_of(device_, plan.family) : nullptr;
  if (used != nullptr && used->empty()) used = nullptr;
  const bool with_trees = used != nullptr;
  Block& block = blocks_[with_trees ? 0 : static_cast<std::size_t>(band)];
  if (block.count > 0 && (block.trees != used || (!with_trees && block.forms[0] != &form)))
    flush(block);
  block.trees = used;
  block.forms[block.count] = &form;
  write_features<kLanes>(plan, execution, device_, block.values.front().data() + block.count);
  block.numbers[block.count++] = factors_.size() - 1;
  if (block.count == kLanes) flush(block);
}

const std::vector<double>& FactorBatch::finish() {
  for (Block& block : blocks_)
    flush(block);
  return factors_;
}

void FactorBatch::flush(Block& block) {
  if (block.count == 0) return;
  constexpr std::size_t kWorthLanes = 3;
  Values values_of_plans;
  if (block.count >= kWorthLanes && has_avx2()) {
    evaluate_together(block, values_of_plans);
  } else {
    evaluate_one_by_one(block, values_of_plans);
  }
  for (std::size_t lane = 0; lane < block.count; ++lane) {
    const float form = values_of_plans.form[lane];
    double factor = std::exp(static_cast<double>(form));
    if (closely_) {
      const float more = block.trees != nullptr ? closer_by(form, values_of_plans.trees[lane]) : 0;
      factor *= std::exp(static_cast<double>(more));
    }
    factors_[block.numbers[lane]] = factor;
  }
  block.count = 0;
}

}  // namespace estoc::cost
