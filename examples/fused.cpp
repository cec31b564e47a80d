// A linear layer in one kernel: out = gelu(x weights^T + bias), and the largest |out| of each row.
#include <cstdio>
#include <vector>

#include "estoc/estoc.hpp"

int main() {
  using namespace estoc;
  constexpr std::int64_t kRows = 64, kInputs = 32, kOutputs = 48;
  std::vector<float> x(kRows * kInputs), weights(kOutputs * kInputs), bias(kOutputs);
  std::vector<float> out(kRows * kOutputs), largest(kRows);
  const TensorView x_view = TensorView::row_major(x.data(), Dtype::f32, {kRows, kInputs});
  // Stored as (outputs, inputs), as frameworks do: column-major for the product.
  const TensorView weights_view =
      TensorView::column_major(weights.data(), Dtype::f32, {kInputs, kOutputs});
  const TensorView bias_view = TensorView::row_major(bias.data(), Dtype::f32, {kOutputs});
  const TensorView out_view = TensorView::row_major(out.data(), Dtype::f32, {kRows, kOutputs});
  fill_random(x_view, 1);
  fill_random(weights_view, 2);
  fill_random(bias_view, 3);

  const GemmArguments layer(
      x_view, weights_view, out_view, Dtype::f32, {},
      {"D = gelu(accum + bias); largest = absmax(D)",
       {{"bias", bias_view},
        {"largest", TensorView::row_major(largest.data(), Dtype::f32, {kRows, 1})}}});
  const KernelList kernels = get_kernels(layer);  // the one to use comes first
  kernels.front().run(layer);

  const CheckResult result = check_output(layer);
  std::printf("%s\nerror %.1e, bound %.1e\n", kernels.front().name().c_str(), result.error,
              result.bound);
  return result.passed ? 0 : 1;
}
