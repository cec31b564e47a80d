// One product again and again: a plan finds and compiles its kernel once, and takes new operands.
#include <cstdio>
#include <vector>

#include "estoc/estoc.hpp"

int main() {
  using namespace estoc;
  constexpr std::int64_t kRows = 4, kSize = 32;
  constexpr int kSteps = 3;
  std::vector<float> weights(kSize * kSize, 0.0F), bias(kSize, 1.0F);
  for (std::int64_t i = 0; i < kSize; ++i)
    weights[static_cast<std::size_t>(i * kSize + i)] = 2;
  std::vector<float> state(kRows * kSize, 1.0F), next(kRows * kSize);

  const auto view = [](std::vector<float>& data, std::int64_t rows) {
    return TensorView::row_major(data.data(), Dtype::f32, {rows, kSize});
  };
  const GemmArguments step(
      view(state, kRows), view(weights, kSize), view(next, kRows), Dtype::f32, {},
      {"D = accum + bias", {{"bias", TensorView::row_major(bias.data(), Dtype::f32, {kSize})}}});
  Plan layer = plan(step);
  for (int i = 0; i < kSteps; ++i) {
    layer.run();  // next = 2 * state + 1
    state.swap(next);
    layer.rebind(state.data(), weights.data(), next.data());
  }
  std::printf("%g after %d steps\n", state[0], kSteps);
  return state[0] == 15 ? 0 : 1;
}
