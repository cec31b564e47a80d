// Names of scale modes, and what each mode requires of a scale.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "estoc/tensor.hpp"
#include "model/fail.h"

namespace estoc {
namespace {

using model::fail;
using model::fail_value;

/// What a mode fixes: the scale's dtype, elements along K and along the other mode that share a
/// scale (0: all of them).
struct ModeRule {
  ScaleMode mode;
  std::string_view name;
  Dtype scale_dtype;
  std::int64_t k_block;
  std::int64_t other_block;
};

constexpr std::array<ModeRule, 6> kModeRules{{
    {ScaleMode::tensorwise, "tensorwise", Dtype::f32, 0, 0},
    {ScaleMode::rowwise, "rowwise", Dtype::f32, 0, 1},
    {ScaleMode::blockwise_1x16, "blockwise_1x16", Dtype::e4m3, 16, 1},
    {ScaleMode::blockwise_1x32, "blockwise_1x32", Dtype::e8m0, 32, 1},
    {ScaleMode::blockwise_1x128, "blockwise_1x128", Dtype::f32, 128, 1},
    {ScaleMode::blockwise_128x128, "blockwise_128x128", Dtype::f32, 128, 128},
}};

const ModeRule& rule_of(ScaleMode mode) {
  return kModeRules[static_cast<std::size_t>(mode)];
}

std::int64_t blocks(std::int64_t extent, std::int64_t block) {
  return block == 0 ? 1 : extent / block + (extent % block != 0 ? 1 : 0);
}

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  const std::int64_t count = blocks(value, multiple);
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  // No tensor is that large, so that it is told from what is expected.
  return count > kMax / multiple ? kMax : count * multiple;
}

bool is_quantised(Dtype dtype) {
  return dtype_bits(dtype) <= 8 && dtype != Dtype::e8m0 && dtype != Dtype::boolean;
}

bool data_dtype_fits(ScaleMode mode, Dtype dtype) {
  if (mode == ScaleMode::blockwise_1x16) return dtype == Dtype::e2m1;
  if (mode == ScaleMode::blockwise_1x32) {
    return dtype == Dtype::e4m3 || dtype == Dtype::e5m2 || dtype == Dtype::e2m1;
  }
  return is_quantised(dtype);
}

std::string_view expected_data(ScaleMode mode) {
  if (mode == ScaleMode::blockwise_1x16) return "e2m1";
  if (mode == ScaleMode::blockwise_1x32) return "e4m3, e5m2 or e2m1";
  return "a quantised type (e4m3, e5m2, e2m1, i8, u8, i4 or u4)";
}

std::string in_parentheses(std::span<const std::int64_t> values) {
  return fmt::format("({})", fmt::join(values, ", "));
}

/// The blocked order goes by tiles of 128 rows and 4 scales along K; part tiles are filled up.
std::vector<std::int64_t> expected_shape(const ScaledTensor& scaled, std::size_t k_mode) {
  const ModeRule& rule = rule_of(scaled.mode);
  const auto shape = scaled.data.shape();
  std::vector<std::int64_t> expected(shape.begin(), shape.end());
  const std::size_t other_mode = 2 * expected.size() - 3 - k_mode;
  expected[k_mode] = blocks(expected[k_mode], rule.k_block);
  expected[other_mode] = blocks(expected[other_mode], rule.other_block);
  if (scaled.swizzle == ScaleSwizzle::swizzle_32x4x4) {
    expected[k_mode] = round_up(expected[k_mode], 4);
    expected[other_mode] = round_up(expected[other_mode], 128);
  }
  return expected;
}

void check_shape(const ScaledTensor& scaled, const char* what, std::size_t k_mode) {
  if (scaled.mode == ScaleMode::tensorwise) {
    if (scaled.scale.elements() == 1) return;
    fail_value("{}.scale.shape: expected () (tensorwise), got {}", what,
               in_parentheses(scaled.scale.shape()));
  }
  const std::vector<std::int64_t> expected = expected_shape(scaled, k_mode);
  if (!std::ranges::equal(expected, scaled.scale.shape())) {
    fail_value("{}.scale.shape: expected {} ({}), got {}", what, in_parentheses(expected),
               scale_mode_name(scaled.mode), in_parentheses(scaled.scale.shape()));
  }
}

void check_swizzle(const ScaledTensor& scaled, const char* what) {
  if (scaled.swizzle == ScaleSwizzle::none) return;
  if (scaled.mode != ScaleMode::blockwise_1x16 && scaled.mode != ScaleMode::blockwise_1x32) {
    fail_value("{}.swizzle: expected none with mode {}, got {}", what, scale_mode_name(scaled.mode),
               scale_swizzle_name(scaled.swizzle));
  }
}

/// A blocked order is no matter of strides: the memory must be in one piece.
void check_contiguous(const ScaledTensor& scaled, const char* what) {
  if (scaled.swizzle == ScaleSwizzle::none) return;
  const TensorView& scale = scaled.scale;
  if (scale.span_bytes() != storage_bytes(scale.dtype(), scale.elements())) {
    fail_value("{}.scale.strides: expected contiguous memory with {}, got strides {}", what,
               scale_swizzle_name(scaled.swizzle), in_parentheses(scale.strides()));
  }
}

}  // namespace

std::string_view scale_mode_name(ScaleMode mode) {
  return rule_of(mode).name;
}

std::string_view scale_swizzle_name(ScaleSwizzle swizzle) {
  return swizzle == ScaleSwizzle::none ? "none" : "swizzle_32x4x4";
}

void ScaledTensor::validate(const char* what, int k_mode) const {
  const int rank = data.rank();
  if (rank < 2) fail_value("{}.shape: expected at least 2 modes, got {}", what, rank);
  if (k_mode != rank - 1 && k_mode != rank - 2) {
    fail_value("{}: expected K to be one of the last two of {} modes, got mode {}", what, rank,
               k_mode);
  }
  check_swizzle(*this, what);
  check_shape(*this, what, static_cast<std::size_t>(k_mode));
  if (!data_dtype_fits(mode, data.dtype())) {
    fail(ErrorKind::type, "{}.dtype: expected {} with mode {}, got {}", what, expected_data(mode),
         scale_mode_name(mode), dtype_name(data.dtype()));
  }
  if (scale.dtype() != rule_of(mode).scale_dtype) {
    fail(ErrorKind::type, "{}.scale.dtype: expected {} ({}), got {}", what,
         dtype_name(rule_of(mode).scale_dtype), scale_mode_name(mode), dtype_name(scale.dtype()));
  }
  if (scale.device() != data.device()) {
    fail_value("{}.scale.device: expected {} like the data, got {}", what, data.device().name(),
               scale.device().name());
  }
  check_contiguous(*this, what);
}

}  // namespace estoc
