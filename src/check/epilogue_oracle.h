// The reference for epilogues: a plain interpreter in float64 that bounds the rounding error of
// each value.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "check/reference.h"
#include "check/rounding.h"
#include "estoc/arguments.hpp"

namespace estoc::check {

/// The expected value of a node, and how far from it the value of a correct program may be.
struct Estimate {
  double value = 0;
  double slack = 0;
  /// Any value is correct: the root of a value that may be negative, a quotient by one that may be
  /// 0.
  bool any = false;
};

/// Evaluates the graph of a binding, element by element. One object a thread.
class EpilogueOracle {
 public:
  /// The operands must have data on the host.
  explicit EpilogueOracle(const EpilogueBinding& binding);

  /// The accumulator of an element, or its pair.
  using Accumulators = std::array<Expectation, 2>;

  /// All nodes at element number `index` of the output, counted in rows, whose accumulators are as
  /// expected; `offsets` says which element of each tensor is read there.
  void evaluate(std::span<const std::int64_t> offsets, std::int64_t index,
                const Accumulators& accumulators);

  const Estimate& node(std::uint16_t index) const { return values_[index]; }
  /// The value of a node that is stored without conversion.
  Estimate stored(std::uint16_t index) const;

 private:
  Estimate leaf(const EpilogueNode& node, const Accumulators& accumulators) const;
  Estimate operation(const EpilogueNode& node) const;
  Estimate whole_operation(const EpilogueNode& node) const;
  Estimate comparison(const EpilogueNode& node) const;
  Estimate logical(const EpilogueNode& node) const;
  Estimate select(const EpilogueNode& node) const;
  Estimate cast(const EpilogueNode& node) const;
  Estimate dropout(const EpilogueNode& node) const;
  Estimate arithmetic(const EpilogueNode& node) const;
  Estimate extreme(const EpilogueNode& node) const;
  Estimate curve(const EpilogueNode& node) const;
  Estimate power(const EpilogueNode& node) const;
  Estimate bent(const EpilogueNode& node) const;

  const Estimate& input(const EpilogueNode& node, std::size_t i) const {
    return values_[node.inputs[i]];
  }
  Estimate rounded(double value, double slack) const;
  Estimate sum(double value, double slack) const;
  Estimate finished(Estimate estimate) const;
  template <class Function>
  Estimate monotone(const Estimate& x, Function function, double ulps, double scale) const;

  const EpilogueBinding& binding_;
  const EpilogueGraph& graph_;
  std::vector<Estimate> values_;
  std::vector<double> scalars_;
  std::span<const std::int64_t> offsets_;
  std::int64_t index_ = 0;
  Dtype floating_ = Dtype::f32;
  double epsilon_ = 0;
  double tiny_ = 0;  ///< the error of a result that underflows
};

/// One element of a reduced output while it is summed up.
class FoldEstimate {
  static constexpr double kNone = std::numeric_limits<double>::infinity();

 public:
  void include(EpilogueReduction reduction, EpilogueType type, const Estimate& estimate);
  void merge(const FoldEstimate& other);

  /// The expected output, before it is converted to its dtype.
  Estimate result(EpilogueReduction reduction, EpilogueType type) const;

 private:
  double sum_ = 0;
  double magnitude_ = 0;
  double slack_ = 0;
  /// The least and the largest of: values less their slack, values, values and their slack.
  std::array<double, 3> least_{kNone, kNone, kNone};
  std::array<double, 3> most_{-kNone, -kNone, -kNone};
  std::uint64_t whole_ = 0;
  std::int64_t count_ = 0;
  VectorFacts facts_;
  bool any_ = false;
  bool nan_ = false;
};

}  // namespace estoc::check
