// Scales in problems: their text, defaults, and scales described and read.
#include "operations/problem_scale.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "model/fail.h"
#include "model/scale_rules.h"
#include "operations/problem_parts.h"

namespace estoc {
namespace {

using model::fail_value;

constexpr std::array<std::string_view, 6> kModeTexts{"tensor", "row",   "1x16",
                                                     "1x32",   "1x128", "128x128"};

bool is_swizzled(const ScaleSpec& spec) {
  return spec.swizzle != ScaleSwizzle::none;
}

operations::Extents strides_of(const ScaleSpec& spec, const operations::Extents& shape,
                               const char* what) {
  if (!spec.strides.empty()) return spec.strides;
  return operations::strides_of_layout(spec.layout.value_or(Layout::t), shape, what);
}

TensorView one_float(Device device, const char* what) {
  return TensorView::describe(Dtype::f32, {}, {}, device, 256, what);
}

}  // namespace

std::string_view scale_mode_text(ScaleMode mode) {
  return kModeTexts[static_cast<std::size_t>(mode)];
}

ScaledTensor describe_scaled(const ScaleSpec& spec, const TensorView& data, int k_mode,
                             const char* what) {
  const operations::Extents shape = model::scale_shape(data, k_mode, spec.mode, spec.swizzle);
  const Device device = data.device();
  const std::string name = fmt::format("{}.scale", what);
  const Dtype dtype = model::scale_rule(spec.mode).scale_dtype;
  ScaledTensor scaled{data,
                      TensorView::describe(dtype, shape, strides_of(spec, shape, name.c_str()),
                                           device, 256, name.c_str()),
                      spec.mode, spec.swizzle};
  if (spec.tensor_scale) scaled.tensor_scale = one_float(device, what);
  scaled.powers_of_two = spec.powers_of_two;
  return scaled;
}

namespace operations {

void complete_scale(OperandSpec& spec, const char* name) {
  if (!spec.scale) return;
  ScaleSpec& scale = *spec.scale;
  const bool takes_layout = scale.mode != ScaleMode::tensorwise && !is_swizzled(scale);
  if (!takes_layout && (scale.layout || !scale.strides.empty())) {
    fail_value("{}: expected no layout of {} scales, got one", name,
               is_swizzled(scale) ? "swizzled" : "tensor");
  }
  if (scale.layout && !scale.strides.empty()) {
    fail_value("{}: expected a layout letter or strides of its scales, got both", name);
  }
  if (takes_layout && !scale.layout && scale.strides.empty()) scale.layout = Layout::t;
}

bool has_block_scale(const OperandSpec& spec) {
  return spec.scale && spec.scale->mode >= ScaleMode::blockwise_1x16;
}

Operand scaled_operand(const OperandSpec& spec, const TensorView& data, int k_from_end,
                       const char* name) {
  if (!spec.scale) return data;
  return describe_scaled(*spec.scale, data, data.rank() - k_from_end, name);
}

std::optional<ScaleSpec> scale_spec_of(const Operand& operand) {
  const ScaledTensor* const scaled = operand.scaled();
  if (scaled == nullptr) return std::nullopt;
  ScaleSpec spec;
  spec.mode = scaled->mode;
  spec.swizzle = scaled->swizzle;
  spec.tensor_scale = scaled->tensor_scale.has_value();
  spec.powers_of_two = scaled->powers_of_two;
  if (spec.mode == ScaleMode::tensorwise || is_swizzled(spec)) return spec;
  const TensorView& scale = scaled->scale;
  const auto first = static_cast<std::size_t>(scale.rank() > 2 && scale.shape(0) == 1 ? 1 : 0);
  const auto shape = scale.shape().subspan(first);
  const auto strides = scale.strides().subspan(first);
  const OperandSpec tensor = spec_of(scale.dtype(), {shape.begin(), shape.end()},
                                     {strides.begin(), strides.end()}, scale.alignment());
  spec.layout = tensor.layout;
  spec.strides = tensor.strides;
  return spec;
}

std::string scale_text(const ScaleSpec& spec) {
  std::string text(scale_mode_text(spec.mode));
  if (is_swizzled(spec)) text += ":swizzled";
  if (!spec.strides.empty()) {
    text += fmt::format(":[{}]", fmt::join(spec.strides, ","));
  } else if (spec.layout) {
    text += *spec.layout == Layout::t ? ":t" : ":n";
  }
  if (spec.tensor_scale) text += "+tensor";
  return spec.powers_of_two ? fmt::format("{}+{}", text, kPowersOfTwo) : text;
}

}  // namespace operations
}  // namespace estoc
