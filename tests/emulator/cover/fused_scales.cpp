// Drawing scales that kernels take as an epilogue.
#include <cmath>

#include "draw.h"
#include "estoc/numeric.hpp"
#include "estoc/problem.hpp"
#include "estoc/status.hpp"

namespace estoc::cover {
namespace {

double draw_factor(std::mt19937_64& random) {
  return std::ldexp(1.0, static_cast<int>(random() % 3) - 1);
}

/// Memory for scales that are described.
TensorView allocate(const TensorView& described, std::vector<HostTensor>& tensors) {
  const auto shape = described.shape();
  const auto strides = described.strides();
  tensors.push_back(host_tensor(described.dtype(), {shape.begin(), shape.end()},
                                {strides.begin(), strides.end()}));
  return tensors.back().view;
}

double put_factor(const TensorView& scale, std::int64_t offset, std::mt19937_64& random) {
  const double factor = draw_factor(random);
  store_element(scale.dtype(), const_cast<void*>(scale.data()), offset, factor);
  return factor;
}

Operand with_second_level(ScaledTensor scaled, std::mt19937_64& random,
                          std::vector<HostTensor>& tensors, std::vector<double>& values) {
  if (scaled.mode != ScaleMode::blockwise_1x16)
    throw Error(ErrorKind::value, "scales of these blocks have no second level");
  scaled.tensor_scale = tensors.emplace_back(host_tensor(Dtype::f32, {}, {})).view;
  const double factor = put_factor(*scaled.tensor_scale, 0, random);
  for (double& value : values)
    value *= factor;
  return scaled;
}

}  // namespace

bool takes_fused_scales(const Kernel& kernel) {
  if (kernel.kernel_class().operation() != Operation::gemm) return false;
  const DesignPoint& point = kernel.point();
  const Dtype a = point.dtype(Role::a_dtype);
  const Dtype b = point.space().find(Role::b_dtype) < 0 ? a : point.dtype(Role::b_dtype);
  const auto is_narrow = [](Dtype dtype) {
    return dtype == Dtype::e4m3 || dtype == Dtype::e5m2 || dtype == Dtype::e2m1;
  };
  return is_narrow(a) && is_narrow(b);
}

Operand with_fused_scale(const Operand& operand, bool is_b, std::mt19937_64& random,
                         std::vector<HostTensor>& tensors, std::vector<double>& values) {
  if (operand.is_scaled()) return with_second_level(*operand.scaled(), random, tensors, values);
  const TensorView& data = operand.tensor();
  ScaleSpec spec{.mode = ScaleMode::tensorwise};
  if (random() % 2 == 0) spec = {.mode = ScaleMode::rowwise, .layout = Layout::t};
  const int k_mode = data.rank() - (is_b ? 2 : 1);
  ScaledTensor scaled = describe_scaled(spec, data, k_mode, "scaled");
  scaled.scale = allocate(scaled.scale, tensors);
  const TensorView& scale = scaled.scale;
  if (spec.mode == ScaleMode::tensorwise) {
    const double factor = put_factor(scale, 0, random);
    for (double& value : values)
      value *= factor;
    return scaled;
  }
  const std::int64_t rows = data.shape(data.rank() - 2);
  const std::int64_t columns = data.shape(data.rank() - 1);
  const int other_mode = 2 * data.rank() - 3 - k_mode;
  const std::int64_t batches = data.rank() > 2 ? data.shape(0) : 1;
  const std::int64_t others = scale.shape(other_mode);
  std::vector<double> factors;
  for (std::int64_t l = 0; l < batches; ++l) {
    for (std::int64_t i = 0; i < others; ++i) {
      const std::int64_t offset =
          (data.rank() > 2 ? l * scale.stride(0) : 0) + i * scale.stride(other_mode);
      factors.push_back(put_factor(scale, offset, random));
    }
  }
  for (std::size_t at = 0; at < values.size(); ++at) {
    const auto number = static_cast<std::int64_t>(at);
    const std::int64_t l = batches > 1 ? number / (rows * columns) : 0;
    const std::int64_t other = is_b ? number % columns : number / columns % rows;
    values[at] *= factors[static_cast<std::size_t>(l * others + other)];
  }
  return scaled;
}

}  // namespace estoc::cover
