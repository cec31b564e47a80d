// Implements the interpreter; docs/checking.md states its rules.
#include "check/epilogue_oracle.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "estoc/numeric.hpp"

namespace estoc::check {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double wrap(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(whole)));
}

double larger(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return kNan;
  return std::max(x, y);
}
double smaller(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return kNan;
  return std::min(x, y);
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
double softplus(double x) {
  return x > 40 ? x : std::log1p(std::exp(x));
}
double gelu_tanh(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

/// The first word that Philox4x32-10 makes of a counter, written out as in its paper.
std::uint32_t philox(std::uint64_t counter, std::uint32_t key) {
  std::array<std::uint64_t, 4> c{counter & 0xFFFFFFFFU, counter >> 32, 0, 0};
  std::array<std::uint64_t, 2> k{key, 0};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = 0xD2511F53U * c[0];
    const std::uint64_t second = 0xCD9E8D57U * c[2];
    c = {(second >> 32) ^ c[1] ^ k[0], second & 0xFFFFFFFFU, (first >> 32) ^ c[3] ^ k[1],
         first & 0xFFFFFFFFU};
    k = {(k[0] + 0x9E3779B9U) & 0xFFFFFFFFU, (k[1] + 0xBB67AE85U) & 0xFFFFFFFFU};
  }
  return static_cast<std::uint32_t>(c[0]);
}

double scalar_value(Dtype dtype, const EpilogueScalarValue& scalar) {
  if (scalar.data != nullptr) return load_element(dtype, scalar.data, 0);
  if (dtype == Dtype::i32) return wrap(static_cast<double>(scalar.integer));
  return is_float(dtype) ? round_to(dtype, scalar.value)
                         : round_to(dtype, static_cast<double>(scalar.integer));
}

bool is_uncertain(const Estimate& condition) {
  return condition.any || condition.slack > 0;
}

const Estimate kAnything{0, 0, true};
const Estimate kUncertain{0, 1, false};

}  // namespace

EpilogueOracle::EpilogueOracle(const EpilogueBinding& binding)
    : binding_(binding), graph_(*binding.graph), values_(graph_.nodes.size()) {
  for (std::size_t i = 0; i < graph_.scalars.size(); ++i)
    scalars_.push_back(scalar_value(graph_.scalars[i].dtype, binding_.scalars[i]));
  const bool wide = std::ranges::any_of(
      graph_.nodes, [](const EpilogueNode& node) { return node.type == EpilogueType::f64; });
  floating_ = wide ? Dtype::f64 : Dtype::f32;
  epsilon_ = epsilon(floating_);
  tiny_ = wide ? 0x1p-1022 : 0x1p-126;
}

void EpilogueOracle::evaluate(std::span<const std::int64_t> offsets, std::int64_t index,
                              const Accumulators& accumulators) {
  offsets_ = offsets;
  index_ = index;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const EpilogueNode& node = graph_.nodes[i];
    values_[i] = finished(node.input_count == 0 ? leaf(node, accumulators) : operation(node));
  }
}

Estimate EpilogueOracle::leaf(const EpilogueNode& node, const Accumulators& accumulators) const {
  switch (node.op) {
    case EpilogueOp::accumulator: {
      const Expectation& accumulator = accumulators[node.slot];
      return {accumulator.value, accumulator.slack, accumulator.may_overflow};
    }
    case EpilogueOp::tensor:
      return {operand_value(node.dtype, binding_.tensors[node.slot].data, offsets_[node.slot])};
    case EpilogueOp::scalar:
      return {scalars_[node.slot]};
    default:
      return {node.value};
  }
}

/// What passes the type's range becomes infinite.
Estimate EpilogueOracle::finished(Estimate estimate) const {
  if (estimate.any) return kAnything;
  if (std::isnan(estimate.slack)) return kAnything;
  if (!std::isfinite(estimate.value)) {
    return std::isinf(estimate.slack) ? kAnything : Estimate{estimate.value};
  }
  const double most = max_finite(floating_);
  if (std::abs(estimate.value) - estimate.slack > most) {
    return {std::copysign(kInfinity, estimate.value)};
  }
  return std::abs(estimate.value) + estimate.slack > most ? kAnything : estimate;
}

/// A value that has been rounded to the floating type once.
Estimate EpilogueOracle::rounded(double value, double slack) const {
  if (slack == 0 && floating_ == Dtype::f32 && round_to(Dtype::f32, value) == value) return {value};
  return {value, slack + epsilon_ * (std::abs(value) + slack) + tiny_ * epsilon_};
}

/// A sum is rounded correctly; one of exact numbers is known to the bit.
Estimate EpilogueOracle::sum(double value, double slack) const {
  return slack == 0 ? Estimate{round_to(floating_, value)} : rounded(value, slack);
}

/// A product is rounded correctly where it is stored; in a sum it may be fused with that.
Estimate EpilogueOracle::stored(std::uint16_t index) const {
  const EpilogueNode& node = graph_.nodes[index];
  if (node.op != EpilogueOp::mul || node.type < EpilogueType::f32) return values_[index];
  const Estimate& x = input(node, 0);
  const Estimate& y = input(node, 1);
  if (x.any || y.any || x.slack > 0 || y.slack > 0) return values_[index];
  return finished({round_to(floating_, x.value * y.value)});
}

Estimate EpilogueOracle::operation(const EpilogueNode& node) const {
  switch (node.op) {
    case EpilogueOp::select:
      return select(node);
    case EpilogueOp::cast:
      return cast(node);
    case EpilogueOp::dropout:
      return dropout(node);
    case EpilogueOp::logical_and:
    case EpilogueOp::logical_or:
    case EpilogueOp::logical_not:
      return logical(node);
    default:
      break;
  }
  if (node.type == EpilogueType::boolean) return comparison(node);
  for (std::size_t i = 0; i < node.input_count; ++i) {
    if (input(node, i).any) return kAnything;
  }
  if (node.type == EpilogueType::i32) return whole_operation(node);
  switch (node.op) {
    case EpilogueOp::maximum:
    case EpilogueOp::minimum:
    case EpilogueOp::clamp:
    case EpilogueOp::relu:
      return extreme(node);
    case EpilogueOp::pow:
      return power(node);
    case EpilogueOp::gelu:
    case EpilogueOp::gelu_tanh:
    case EpilogueOp::silu:
    case EpilogueOp::mish:
    case EpilogueOp::hardswish:
    case EpilogueOp::leaky_relu:
    case EpilogueOp::elu:
      return bent(node);
    default:
      return node.input_count == 1 && node.op != EpilogueOp::neg && node.op != EpilogueOp::abs
                 ? curve(node)
                 : arithmetic(node);
  }
}

Estimate EpilogueOracle::whole_operation(const EpilogueNode& node) const {
  const Estimate& x = input(node, 0);
  const Estimate& y = input(node, 1);
  const Estimate& z = input(node, 2);
  double slack = x.slack;
  double value = 0;
  switch (node.op) {
    case EpilogueOp::add:
      value = x.value + y.value;
      slack += y.slack;
      break;
    case EpilogueOp::sub:
      value = x.value - y.value;
      slack += y.slack;
      break;
    case EpilogueOp::mul:
    case EpilogueOp::fma: {
      const auto product = static_cast<std::uint64_t>(static_cast<std::int64_t>(x.value)) *
                           static_cast<std::uint64_t>(static_cast<std::int64_t>(y.value));
      value = static_cast<std::int32_t>(static_cast<std::uint32_t>(product));
      slack = std::abs(x.value) * y.slack + std::abs(y.value) * x.slack + x.slack * y.slack;
      if (node.op == EpilogueOp::mul) break;
      value += z.value;
      slack += z.slack;
      break;
    }
    case EpilogueOp::neg:
      value = -x.value;
      break;
    case EpilogueOp::abs:
      value = std::abs(x.value);
      break;
    default:
      return extreme(node);
  }
  const double wrapped = wrap(value);
  // Where slack meets the end of the range, the result may be at the other.
  if (slack > 0 && (wrapped != value || std::abs(value) + slack > 2147483647.0)) return kAnything;
  return {wrapped, slack};
}

Estimate EpilogueOracle::comparison(const EpilogueNode& node) const {
  const Estimate& x = input(node, 0);
  const Estimate& y = input(node, 1);
  const double slack = x.slack + y.slack;
  if (x.any || y.any) return kUncertain;
  if (slack > 0 && std::abs(x.value - y.value) <= slack) return kUncertain;
  switch (node.op) {
    case EpilogueOp::equal:
      return {x.value == y.value ? 1.0 : 0.0};
    case EpilogueOp::not_equal:
      return {x.value != y.value ? 1.0 : 0.0};
    case EpilogueOp::less:
      return {x.value < y.value ? 1.0 : 0.0};
    case EpilogueOp::less_equal:
      return {x.value <= y.value ? 1.0 : 0.0};
    case EpilogueOp::greater:
      return {x.value > y.value ? 1.0 : 0.0};
    default:
      return {x.value >= y.value ? 1.0 : 0.0};
  }
}

Estimate EpilogueOracle::logical(const EpilogueNode& node) const {
  const Estimate& x = input(node, 0);
  if (node.op == EpilogueOp::logical_not) return is_uncertain(x) ? x : Estimate{1 - x.value};
  const Estimate& y = input(node, 1);
  const double decisive = node.op == EpilogueOp::logical_or ? 1 : 0;
  for (const Estimate* side : {&x, &y}) {
    if (!is_uncertain(*side) && side->value == decisive) return {decisive};
  }
  return is_uncertain(x) || is_uncertain(y) ? kUncertain : Estimate{1 - decisive};
}

Estimate EpilogueOracle::select(const EpilogueNode& node) const {
  const Estimate& condition = input(node, 0);
  const Estimate& x = input(node, 1);
  const Estimate& y = input(node, 2);
  if (!is_uncertain(condition)) return condition.value != 0 ? x : y;
  if (x.any || y.any || !std::isfinite(x.value) || !std::isfinite(y.value)) return kAnything;
  return {x.value, std::abs(x.value - y.value) + x.slack + y.slack};
}

Estimate EpilogueOracle::cast(const EpilogueNode& node) const {
  const Estimate& x = input(node, 0);
  if (x.any) return kAnything;
  const double value = round_to(node.dtype, x.value);
  if (node.dtype == Dtype::boolean && x.slack > 0) {
    return std::abs(x.value) <= x.slack ? kUncertain : Estimate{1};
  }
  if (x.slack == 0 || std::isnan(value)) return {value};
  const double low = round_to(node.dtype, x.value - x.slack);
  const double high = round_to(node.dtype, x.value + x.slack);
  if (low == high) return {value};
  if (!std::isfinite(low) || !std::isfinite(high)) return kAnything;
  return {value, std::max(value - low, high - value)};
}

Estimate EpilogueOracle::dropout(const EpilogueNode& node) const {
  const Estimate& x = input(node, 0);
  const Estimate& p = input(node, 1);
  if (x.any || p.any || input(node, 2).slack > 0 || input(node, 3).slack > 0) return kAnything;
  const auto bits = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(input(node, i).value));
  };
  const std::uint32_t word = philox(bits(3) + static_cast<std::uint64_t>(index_), bits(2));
  const double uniform = static_cast<double>(word >> 8) * 0x1p-24;
  if (p.slack > 0 && std::abs(uniform - p.value) <= p.slack) return kAnything;
  if (!(uniform >= p.value)) return {0};
  const double left = 1 - p.value;
  if (p.slack >= left) return kAnything;
  const double value = x.value / left;
  return {value, (x.slack + std::abs(value) * p.slack) / (left - p.slack) +
                     2 * epsilon_ * (std::abs(value) + x.slack / left) + tiny_};
}

Estimate EpilogueOracle::arithmetic(const EpilogueNode& node) const {
  const Estimate& x = input(node, 0);
  const Estimate& y = input(node, 1);
  const Estimate& z = input(node, 2);
  const double product_slack =
      std::abs(x.value) * y.slack + std::abs(y.value) * x.slack + x.slack * y.slack;
  switch (node.op) {
    case EpilogueOp::add:
      return sum(x.value + y.value, x.slack + y.slack);
    case EpilogueOp::sub:
      return sum(x.value - y.value, x.slack + y.slack);
    case EpilogueOp::mul:
      return rounded(x.value * y.value, product_slack);
    case EpilogueOp::fma: {
      Estimate result = rounded(std::fma(x.value, y.value, z.value), product_slack + z.slack);
      // In float64 the reference rounds its own product and sum.
      if (floating_ == Dtype::f64) result.slack += epsilon_ * std::abs(x.value * y.value);
      return result;
    }
    case EpilogueOp::div: {
      if (y.slack > 0 && std::abs(y.value) <= y.slack) return kAnything;
      const double value = x.value / y.value;
      if (!std::isfinite(value) || std::isinf(y.value)) return {value};
      return rounded(value, (x.slack + std::abs(value) * y.slack) / (std::abs(y.value) - y.slack));
    }
    case EpilogueOp::neg:
      return {-x.value, x.slack};
    default:
      return {std::abs(x.value), x.slack};
  }
}

Estimate EpilogueOracle::extreme(const EpilogueNode& node) const {
  const auto pick = [](const Estimate& x, const Estimate& y, bool largest) {
    const double value = largest ? larger(x.value, y.value) : smaller(x.value, y.value);
    if (std::isnan(value)) return Estimate{value};
    const double low = largest ? std::max(x.value - x.slack, y.value - y.slack)
                               : std::min(x.value - x.slack, y.value - y.slack);
    const double high = largest ? std::max(x.value + x.slack, y.value + y.slack)
                                : std::min(x.value + x.slack, y.value + y.slack);
    if (!std::isfinite(value)) return Estimate{value};
    return Estimate{value, std::max(value - low, high - value)};
  };
  const Estimate& x = input(node, 0);
  switch (node.op) {
    case EpilogueOp::maximum:
      return pick(x, input(node, 1), true);
    case EpilogueOp::minimum:
      return pick(x, input(node, 1), false);
    case EpilogueOp::clamp:
      return pick(pick(x, input(node, 1), true), input(node, 2), false);
    default:
      return pick(x, Estimate{0}, true);
  }
}

/// A function that rises or falls all the way: its ends are those of the input.
template <class Function>
Estimate EpilogueOracle::monotone(const Estimate& x, Function function, double ulps,
                                  double scale) const {
  const double value = function(x.value);
  double slack = 0;
  if (x.slack > 0) {
    const double low = function(x.value - x.slack);
    const double high = function(x.value + x.slack);
    if (std::isnan(low) || std::isnan(high) || !std::isfinite(value)) return kAnything;
    slack = std::max(std::abs(low - value), std::abs(high - value));
  }
  if (!std::isfinite(value)) return {value};
  return {value, slack + ulps * epsilon_ * (scale + slack) + tiny_};
}

Estimate EpilogueOracle::curve(const EpilogueNode& node) const {
  const Estimate& x = input(node, 0);
  const auto at = [&](auto function, double ulps) {
    return monotone(x, function, ulps, std::abs(function(x.value)));
  };
  switch (node.op) {
    case EpilogueOp::sqrt:
      return at([](double v) { return std::sqrt(v); }, 1);
    case EpilogueOp::rsqrt:
      return at([](double v) { return 1 / std::sqrt(v); }, 2);
    case EpilogueOp::exp:
      return at([](double v) { return std::exp(v); }, 4);
    case EpilogueOp::exp2:
      return at([](double v) { return std::exp2(v); }, 4);
    case EpilogueOp::log:
      return at([](double v) { return std::log(v); }, 4);
    case EpilogueOp::reciprocal:
      if (x.slack > 0 && std::abs(x.value) <= x.slack) return kAnything;
      return at([](double v) { return 1 / v; }, 1);
    case EpilogueOp::sigmoid:
      return at(sigmoid, 8);
    case EpilogueOp::tanh:
      return at([](double v) { return std::tanh(v); }, 8);
    case EpilogueOp::softplus:
      return at(softplus, 8);
    default:
      return kAnything;
  }
}

Estimate EpilogueOracle::power(const EpilogueNode& node) const {
  const Estimate& x = input(node, 0);
  const Estimate& y = input(node, 1);
  const double value = std::pow(x.value, y.value);
  double slack = 0;
  if (x.slack > 0 || y.slack > 0) {
    if (x.value - x.slack <= 0) return kAnything;
    for (const double base : {x.value - x.slack, x.value + x.slack}) {
      for (const double exponent : {y.value - y.slack, y.value + y.slack})
        slack = std::max(slack, std::abs(std::pow(base, exponent) - value));
    }
  }
  if (!std::isfinite(value)) return slack > 0 ? kAnything : Estimate{value};
  return {value, slack + 16 * epsilon_ * (std::abs(value) + slack) + tiny_};
}

/// Functions with a minimum or a kink: an error of the input grows by the steepest slope at most.
Estimate EpilogueOracle::bent(const EpilogueNode& node) const {
  const Estimate& x = input(node, 0);
  const Estimate& y = input(node, 1);
  if (x.value == -kInfinity && node.input_count == 1) return kAnything;
  double value = 0;
  double slope = 1;
  double slack = 0;
  double ulps = 8;
  double scale = std::abs(x.value);
  switch (node.op) {
    case EpilogueOp::gelu:
      value = x.value / 2 * std::erfc(-x.value * M_SQRT1_2);
      slope = 1.13;
      break;
    case EpilogueOp::gelu_tanh:
      value = gelu_tanh(x.value);
      slope = 1.13;
      break;
    case EpilogueOp::silu:
      value = x.value * sigmoid(x.value);
      slope = 1.1;
      scale = std::abs(value);
      break;
    case EpilogueOp::mish:
      value = x.value * std::tanh(softplus(x.value));
      slope = 1.1;
      ulps = 16;
      scale = std::abs(value);
      break;
    case EpilogueOp::hardswish:
      value = x.value * smaller(larger(x.value + 3, 0), 6) / 6;
      slope = 1.5;
      ulps = 4;
      break;
    case EpilogueOp::leaky_relu:
      value = x.value > 0 ? x.value : y.value * x.value;
      slope = std::max(1.0, std::abs(y.value) + y.slack);
      slack = std::abs(x.value) * y.slack;
      ulps = 1;
      scale = x.value > 0 && x.slack == 0 ? 0 : std::abs(value);
      break;
    default:
      value = x.value > 0 ? x.value : y.value * std::expm1(x.value);
      slope = std::max(1.0, std::abs(y.value) + y.slack);
      slack = y.slack;
      scale = x.value > 0 && x.slack == 0 ? 0 : std::max(std::abs(x.value), std::abs(y.value));
      break;
  }
  if (!std::isfinite(value)) return x.slack > 0 ? kAnything : Estimate{value};
  slack += slope * x.slack;
  const double lost = scale == 0 ? 0 : tiny_ * (1 + std::abs(x.value));
  return {value, slack + ulps * epsilon_ * (scale + slack) + lost};
}

// ---------------------------------------------------------------------------- reductions

void FoldEstimate::include(EpilogueReduction reduction, EpilogueType type,
                           const Estimate& estimate) {
  any_ = any_ || estimate.any;
  nan_ = nan_ || (!estimate.any && std::isnan(estimate.value));
  double value = estimate.value;
  double slack = estimate.slack;
  if (reduction == EpilogueReduction::absmax) value = std::abs(value);
  if (reduction == EpilogueReduction::sum_of_squares) {
    const double unit = type == EpilogueType::f64 ? 0x1p-52 : 0x1p-23;
    slack = 2 * std::abs(value) * slack + slack * slack;
    value *= value;
    if (estimate.slack > 0) slack += unit * value;
  }
  if (type == EpilogueType::i32) {
    const auto whole = static_cast<std::uint64_t>(static_cast<std::int64_t>(estimate.value));
    whole_ += reduction == EpilogueReduction::sum_of_squares ? whole * whole : whole;
  }
  ++count_;
  if (estimate.any || std::isnan(value)) return;
  const std::array<double, 3> ends{value - slack, value, value + slack};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    least_[i] = std::min(least_[i], ends[i]);
    most_[i] = std::max(most_[i], ends[i]);
  }
  sum_ += value;
  magnitude_ += std::abs(value);
  slack_ += slack;
  if (std::isfinite(value)) facts_.include(value);
}

void FoldEstimate::merge(const FoldEstimate& other) {
  any_ = any_ || other.any_;
  nan_ = nan_ || other.nan_;
  whole_ += other.whole_;
  count_ += other.count_;
  sum_ += other.sum_;
  magnitude_ += other.magnitude_;
  slack_ += other.slack_;
  facts_.lowest_bit = std::min(facts_.lowest_bit, other.facts_.lowest_bit);
  for (std::size_t i = 0; i < least_.size(); ++i) {
    least_[i] = std::min(least_[i], other.least_[i]);
    most_[i] = std::max(most_[i], other.most_[i]);
  }
}

Estimate FoldEstimate::result(EpilogueReduction reduction, EpilogueType type) const {
  const bool is_integer = type <= EpilogueType::i32;
  const bool is_sum =
      reduction == EpilogueReduction::sum || reduction == EpilogueReduction::sum_of_squares;
  if (any_) return kAnything;
  if (nan_) return {kNan};
  if (!is_sum) {
    if (count_ == 0) {
      if (reduction == EpilogueReduction::absmax) return {0};
      const double low = is_integer ? -2147483648.0 : -kInfinity;
      const double high = is_integer ? 2147483647.0 : kInfinity;
      return {reduction == EpilogueReduction::max ? low : high};
    }
    const auto& ends = reduction == EpilogueReduction::min ? least_ : most_;
    if (!std::isfinite(ends[1])) return {ends[1]};
    return {ends[1], std::max(ends[1] - ends[0], ends[2] - ends[1])};
  }
  if (is_integer) {
    const double total = static_cast<std::int32_t>(static_cast<std::uint32_t>(whole_));
    return slack_ > 0 ? kAnything : Estimate{total};
  }
  if (!std::isfinite(sum_)) return {sum_};
  const int bits = type == EpilogueType::f64 ? 53 : 24;
  const double unit = std::ldexp(1.0, -bits);
  const bool exact = slack_ == 0 && facts_.lowest_bit > -1000 &&
                     magnitude_ <= std::ldexp(1.0, std::min(facts_.lowest_bit, 900) + bits);
  if (exact) return {sum_};
  const double steps = 2 * std::sqrt(static_cast<double>(count_)) + 8;
  const double largest = max_finite(type == EpilogueType::f64 ? Dtype::f64 : Dtype::f32);
  const double slack = slack_ + steps * unit * magnitude_;
  if (magnitude_ + slack > largest) return kAnything;
  return {sum_, slack};
}

}  // namespace estoc::check
