// Multiplies two small matrices with the installed library and compares with the known product.
#include <array>
#include <cstdio>
#include <estoc/estoc.hpp>

int main() {
  std::array<float, 6> a = {1, 2, 3, 4, 5, 6};     // (2, 3)
  std::array<float, 6> b = {7, 8, 9, 10, 11, 12};  // (3, 2)
  std::array<float, 4> out = {};                   // (2, 2)
  const estoc::GemmArguments arguments(
      estoc::TensorView::row_major(a.data(), estoc::Dtype::f32, {2, 3}),
      estoc::TensorView::row_major(b.data(), estoc::Dtype::f32, {3, 2}),
      estoc::TensorView::row_major(out.data(), estoc::Dtype::f32, {2, 2}), estoc::Dtype::f32);

  const estoc::KernelList kernels = estoc::get_kernels(arguments);
  if (kernels.empty()) {
    std::puts("no kernel found");
    return 1;
  }
  kernels.front().run(arguments);

  std::printf("%s: %g %g %g %g\n", kernels.front().name().c_str(), out[0], out[1], out[2], out[3]);
  const std::array<float, 4> expected = {58, 64, 139, 154};
  return out == expected ? 0 : 1;
}
