// An expert layer with random operands on the host, and what float64 says of its output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "estoc/moe.hpp"

namespace estoc::testing_support {

struct MoeShape {
  MoeExtents extents{};
  Dtype dtype = Dtype::f32;
  MoeOptions options{};
  /// Of x's and out's rows, in elements more than H.
  std::int64_t pad = 0;
  /// Weights are contiguous along the mode that is summed over.
  bool k_major = false;
  /// Of 16 slots so many are dropped.
  int dropped = 0;
};

class MoeProblem {
 public:
  MoeProblem(const MoeShape& shape, std::uint64_t seed);

  const MoeShape& shape() const { return shape_; }
  /// Draws other ids, weights and tokens.
  void draw(std::uint64_t seed);
  /// Fills the output, gaps between its rows included, with a pattern.
  void poison();

  MoeOperands operands();
  std::vector<std::int32_t>& ids() { return ids_; }
  std::vector<float>& weights() { return weights_; }

  /// What is wrong with the output and the gaps; empty where nothing is. Errors are of the size of
  /// the dtype's steps, which results are rounded to four times on their way: those of a row
  /// relative to what it is a sum of, those of a larger output to the norm of the reference.
  std::string problem() const;

 private:
  /// An element of out, and the sum of the magnitudes of its summands.
  struct Expected {
    double value = 0;
    double magnitude = 0;
  };
  std::vector<Expected> reference() const;
  std::vector<Expected> expert_row(std::int64_t token, std::int64_t expert) const;
  Expected inner(std::int64_t token, std::int64_t expert, std::int64_t feature) const;
  double at(const std::vector<std::uint32_t>& from, std::int64_t index) const;
  double gate_up(std::int64_t expert, std::int64_t k, std::int64_t n) const;
  double down(std::int64_t expert, std::int64_t k, std::int64_t n) const;
  void fill(std::vector<std::uint32_t>& to, std::int64_t elements, std::uint64_t seed,
            double scale) const;
  std::int64_t gate_up_columns() const;
  std::int64_t row_stride() const { return shape_.extents.hidden + shape_.pad; }

  MoeShape shape_;
  std::vector<std::uint32_t> x_, gate_up_, down_, out_;  // elements of any dtype
  std::vector<std::int32_t> ids_;
  std::vector<float> weights_;
};

}  // namespace estoc::testing_support
