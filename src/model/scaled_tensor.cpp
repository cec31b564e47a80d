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
#include "model/scale_rules.h"

namespace estoc {
namespace {

using model::fail;
using model::fail_value;

constexpr std::array<model::ScaleRule, 6> kModeRules{{
    {ScaleMode::tensorwise, "tensorwise", Dtype::f32, 0, 0},
    {ScaleMode::rowwise, "rowwise", Dtype::f32, 0, 1},
    {ScaleMode::blockwise_1x16, "blockwise_1x16", Dtype::e4m3, 16, 1},
    {ScaleMode::blockwise_1x32, "blockwise_1x32", Dtype::e8m0, 32, 1},
    {ScaleMode::blockwise_1x128, "blockwise_1x128", Dtype::f32, 128, 1},
    {ScaleMode::blockwise_128x128, "blockwise_128x128", Dtype::f32, 128, 128},
}};

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

void check_shape(const ScaledTensor& scaled, const char* what, int k_mode) {
  if (scaled.mode == ScaleMode::tensorwise) {
    if (scaled.scale.elements() == 1) return;
    fail_value("{}.scale.shape: expected () (tensorwise), got {}", what,
               in_parentheses(scaled.scale.shape()));
  }
  const std::vector<std::int64_t> expected =
      model::scale_shape(scaled.data, k_mode, scaled.mode, scaled.swizzle);
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

void check_scale_device(const ScaledTensor& scaled, const TensorView& scale, const char* what,
                        const char* member) {
  if (scale.device() == scaled.data.device()) return;
  fail_value("{}.{}.device: expected {} like the data, got {}", what, member,
             scaled.data.device().name(), scale.device().name());
}

void check_tensor_scale(const ScaledTensor& scaled, const char* what) {
  if (!scaled.tensor_scale) return;
  const TensorView& scale = *scaled.tensor_scale;
  if (!scaled.has_blocks()) {
    fail_value("{}.tensor_scale: expected none with mode {}, got one", what,
               scale_mode_name(scaled.mode));
  }
  if (scale.elements() != 1) {
    fail_value("{}.tensor_scale.shape: expected (), got {}", what, in_parentheses(scale.shape()));
  }
  if (scale.dtype() != Dtype::f32) {
    fail(ErrorKind::type, "{}.tensor_scale.dtype: expected f32, got {}", what,
         dtype_name(scale.dtype()));
  }
  check_scale_device(scaled, scale, what, "tensor_scale");
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

namespace model {

const ScaleRule& scale_rule(ScaleMode mode) {
  return kModeRules[static_cast<std::size_t>(mode)];
}

/// The blocked order goes by tiles of 128 rows and 4 scales along K; part tiles are filled up.
std::vector<std::int64_t> scale_shape(const TensorView& data, int k_mode, ScaleMode mode,
                                      ScaleSwizzle swizzle) {
  if (mode == ScaleMode::tensorwise) return {};
  const ScaleRule& rule = scale_rule(mode);
  std::vector<std::int64_t> shape(data.shape().begin(), data.shape().end());
  const auto k = static_cast<std::size_t>(k_mode);
  const std::size_t other = 2 * shape.size() - 3 - k;
  shape[k] = blocks(shape[k], rule.k_block);
  shape[other] = blocks(shape[other], rule.other_block);
  if (swizzle == ScaleSwizzle::swizzle_32x4x4) {
    shape[k] = round_up(shape[k], 4);
    shape[other] = round_up(shape[other], 128);
  }
  return shape;
}

}  // namespace model

std::string_view scale_mode_name(ScaleMode mode) {
  return model::scale_rule(mode).name;
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
  check_shape(*this, what, k_mode);
  if (!data_dtype_fits(mode, data.dtype())) {
    fail(ErrorKind::type, "{}.dtype: expected {} with mode {}, got {}", what, expected_data(mode),
         scale_mode_name(mode), dtype_name(data.dtype()));
  }
  if (scale.dtype() != model::scale_rule(mode).scale_dtype) {
    fail(ErrorKind::type, "{}.scale.dtype: expected {} ({}), got {}", what,
         dtype_name(model::scale_rule(mode).scale_dtype), scale_mode_name(mode),
         dtype_name(scale.dtype()));
  }
  check_scale_device(*this, scale, what, "scale");
  check_tensor_scale(*this, what);
  check_contiguous(*this, what);
}

}  // namespace estoc
