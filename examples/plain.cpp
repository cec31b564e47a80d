// A product by the library's best kernel, checked against float64.
#include <cstdio>
#include <vector>

#include "estoc/estoc.hpp"

int main() {
  using namespace estoc;
  std::vector<float> a(64 * 32), b(32 * 16), out(64 * 16);
  const TensorView a_view = TensorView::row_major(a.data(), Dtype::f32, {64, 32});
  const TensorView b_view = TensorView::row_major(b.data(), Dtype::f32, {32, 16});
  const TensorView out_view = TensorView::row_major(out.data(), Dtype::f32, {64, 16});
  fill_random(a_view, 1);
  fill_random(b_view, 2);

  matmul(a_view, b_view, out_view);

  const CheckResult result = check_output(GemmArguments(a_view, b_view, out_view, Dtype::f32));
  std::printf("error %.1e, bound %.1e\n", result.error, result.bound);
  return result.passed ? 0 : 1;
}
