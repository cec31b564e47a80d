// Random expert layers and their reference: plain loops in float64.
#include "support/moe_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "estoc/numeric.hpp"

namespace estoc::testing_support {
namespace {

constexpr std::uint32_t kPattern = 0x5a5a5a5a;

double activated(MoeActivation activation, double x) {
  switch (activation) {
    case MoeActivation::swiglu:
    case MoeActivation::silu:
      return x / (1 + std::exp(-x));
    case MoeActivation::geglu:
    case MoeActivation::gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    default:
      return std::max(x, 0.0);
  }
}

/// Ids that no expert has.
std::int32_t absent(std::uint64_t number, std::int64_t experts) {
  switch (number % 4) {
    case 0:
      return -1;
    case 1:
      return static_cast<std::int32_t>(experts);
    case 2:
      return std::numeric_limits<std::int32_t>::min();
    default:
      return std::numeric_limits<std::int32_t>::max();
  }
}

}  // namespace

MoeProblem::MoeProblem(const MoeShape& shape, std::uint64_t seed) : shape_(shape) {
  const MoeExtents& e = shape_.extents;
  const auto scale_of = [](std::int64_t k) { return 1 / std::sqrt(static_cast<double>(k) + 1); };
  fill(gate_up_, e.experts * e.hidden * gate_up_columns(), seed + 1, 2 * scale_of(e.hidden));
  fill(down_, e.experts * e.inner * e.hidden, seed + 2, 2 * scale_of(e.inner));
  draw(seed);
  poison();
}

std::int64_t MoeProblem::gate_up_columns() const {
  return is_gated(shape_.options.activation) ? 2 * shape_.extents.inner : shape_.extents.inner;
}

void MoeProblem::fill(std::vector<std::uint32_t>& to, std::int64_t elements, std::uint64_t seed,
                      double scale) const {
  to.assign(static_cast<std::size_t>(elements) + 1, 0);
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal(0, scale);
  for (std::int64_t i = 0; i < elements; ++i)
    store_element(shape_.dtype, to.data(), i, normal(engine));
}

void MoeProblem::draw(std::uint64_t seed) {
  const MoeExtents& e = shape_.extents;
  fill(x_, e.tokens * row_stride(), seed + 3, 1);
  std::mt19937_64 engine(seed + 4);
  std::uniform_real_distribution<float> weight(0, 1);
  ids_.resize(static_cast<std::size_t>(e.slots()));
  weights_.resize(ids_.size());
  for (std::size_t slot = 0; slot < ids_.size(); ++slot) {
    const bool is_dropped = e.experts == 0 || static_cast<int>(engine() % 16) < shape_.dropped;
    // Squared, so that experts differ in load.
    const double position = std::pow(static_cast<double>(engine() % 4096) / 4096, 2);
    ids_[slot] = is_dropped ? absent(engine(), e.experts)
                            : static_cast<std::int32_t>(position * static_cast<double>(e.experts));
    weights_[slot] = is_dropped ? std::numeric_limits<float>::quiet_NaN() : weight(engine);
  }
}

void MoeProblem::poison() {
  out_.assign(static_cast<std::size_t>(shape_.extents.tokens * row_stride()) + 1, kPattern);
}

MoeOperands MoeProblem::operands() {
  const MoeExtents& e = shape_.extents;
  const std::int64_t columns = gate_up_columns();
  const auto weights = [&](std::vector<std::uint32_t>& data, std::int64_t k, std::int64_t n) {
    return shape_.k_major ? TensorView(data.data(), shape_.dtype, {e.experts, k, n}, {k * n, 1, k})
                          : TensorView(data.data(), shape_.dtype, {e.experts, k, n}, {k * n, n, 1});
  };
  const auto rows = [&](std::vector<std::uint32_t>& data) {
    return TensorView(data.data(), shape_.dtype, {e.tokens, e.hidden}, {row_stride(), 1});
  };
  return {.x = rows(x_),
          .expert_ids = TensorView::row_major(ids_.data(), Dtype::i32, {e.tokens, e.top_k}),
          .weights = TensorView::row_major(weights_.data(), Dtype::f32, {e.tokens, e.top_k}),
          .w_gate_up = weights(gate_up_, e.hidden, columns),
          .w_down = weights(down_, e.inner, e.hidden),
          .out = rows(out_)};
}

double MoeProblem::at(const std::vector<std::uint32_t>& from, std::int64_t index) const {
  return load_element(shape_.dtype, from.data(), index);
}

double MoeProblem::gate_up(std::int64_t expert, std::int64_t k, std::int64_t n) const {
  const std::int64_t columns = gate_up_columns();
  const std::int64_t hidden = shape_.extents.hidden;
  const std::int64_t inside = shape_.k_major ? n * hidden + k : k * columns + n;
  return at(gate_up_, expert * hidden * columns + inside);
}

double MoeProblem::down(std::int64_t expert, std::int64_t k, std::int64_t n) const {
  const auto& [tokens, hidden, inner, experts, top_k] = shape_.extents;
  const std::int64_t inside = shape_.k_major ? n * inner + k : k * hidden + n;
  return at(down_, expert * hidden * inner + inside);
}

MoeProblem::Expected MoeProblem::inner(std::int64_t token, std::int64_t expert,
                                       std::int64_t feature) const {
  const MoeExtents& e = shape_.extents;
  const auto [activation, interleaved, controls, threads] = shape_.options;
  const auto dot = [&](std::int64_t column) {
    Expected sum;
    for (std::int64_t k = 0; k < e.hidden; ++k) {
      const double summand = at(x_, token * row_stride() + k) * gate_up(expert, k, column);
      sum.value += summand;
      sum.magnitude += std::abs(summand);
    }
    return sum;
  };
  const Expected gate = dot(interleaved && is_gated(activation) ? 2 * feature : feature);
  if (!is_gated(activation)) return {activated(activation, gate.value), gate.magnitude};
  const Expected up = dot(interleaved ? 2 * feature + 1 : e.inner + feature);
  return {activated(activation, gate.value) * up.value, gate.magnitude * up.magnitude};
}

std::vector<MoeProblem::Expected> MoeProblem::expert_row(std::int64_t token,
                                                         std::int64_t expert) const {
  const MoeExtents& e = shape_.extents;
  std::vector<Expected> row(static_cast<std::size_t>(e.hidden));
  for (std::int64_t i = 0; i < e.inner; ++i) {
    const auto [value, magnitude] = inner(token, expert, i);
    for (std::int64_t h = 0; h < e.hidden; ++h) {
      const double weight = down(expert, i, h);
      row[static_cast<std::size_t>(h)].value += value * weight;
      row[static_cast<std::size_t>(h)].magnitude += magnitude * std::abs(weight);
    }
  }
  return row;
}

std::vector<MoeProblem::Expected> MoeProblem::reference() const {
  const MoeExtents& e = shape_.extents;
  std::vector<Expected> out(static_cast<std::size_t>(e.tokens * e.hidden));
  for (std::int64_t slot = 0; slot < e.slots(); ++slot) {
    const std::int32_t expert = ids_[static_cast<std::size_t>(slot)];
    if (expert < 0 || expert >= e.experts) continue;
    const std::int64_t token = slot / e.top_k;
    const double weight = static_cast<double>(weights_[static_cast<std::size_t>(slot)]);
    const std::vector<Expected> row = expert_row(token, expert);
    for (std::int64_t h = 0; h < e.hidden; ++h) {
      const Expected& each = row[static_cast<std::size_t>(h)];
      Expected& sum = out[static_cast<std::size_t>(token * e.hidden + h)];
      sum.value += weight * each.value;
      sum.magnitude += std::abs(weight) * each.magnitude;
    }
  }
  return out;
}

std::string MoeProblem::problem() const {
  const MoeExtents& e = shape_.extents;
  const std::vector<Expected> expected = reference();
  const std::vector<std::uint32_t> untouched(out_.size(), kPattern);
  const double bound = (shape_.dtype == Dtype::f32 ? 16 : 2) * epsilon(shape_.dtype);
  double errors = 0;
  double squares = 0;
  for (std::int64_t token = 0; token < e.tokens; ++token) {
    for (std::int64_t h = 0; h < row_stride(); ++h) {
      const double value = at(out_, token * row_stride() + h);
      if (h >= e.hidden) {
        if (value == at(untouched, token * row_stride() + h)) continue;
        return fmt::format("out: {} was written beyond row {}", value, token);
      }
      const auto& [target, magnitude] = expected[static_cast<std::size_t>(token * e.hidden + h)];
      const double error = std::abs(value - target);
      if (!(error <= bound * magnitude)) {
        return fmt::format("out[{}, {}]: expected {:.9g}, got {:.9g}", token, h, target, value);
      }
      errors += error * error;
      squares += target * target;
    }
  }
  constexpr std::int64_t kMany = 64;  // elements, among which those that cancel do not matter
  if (e.tokens * e.hidden < kMany || std::sqrt(errors) <= 2 * bound * std::sqrt(squares)) return "";
  return fmt::format("out: error {:.3g} of norm {:.3g}", std::sqrt(errors), std::sqrt(squares));
}

}  // namespace estoc::testing_support
