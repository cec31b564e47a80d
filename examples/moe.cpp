// An expert layer from a router's scores on: the two best of eight experts compute each token, on a
// GPU where there is one, and float64 says whether they are right.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "estoc/estoc.hpp"

namespace {

using Index = std::int64_t;
constexpr Index kTokens = 24, kHidden = 64, kInner = 32, kExperts = 8, kTopK = 2;

std::vector<float> random(Index size, float scale, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> data(static_cast<std::size_t>(size));
  std::generate(data.begin(), data.end(), [&] { return normal(engine); });
  return data;
}

float at(const std::vector<float>& data, Index index) {
  return data[static_cast<std::size_t>(index)];
}

/// For each token the experts of the largest scores, and weights that add up to 1.
struct Routing {
  std::vector<std::int32_t> ids;
  std::vector<float> weights;

  explicit Routing(const std::vector<float>& scores) {
    for (Index token = 0; token < kTokens; ++token) {
      const auto score = [&](std::int32_t e) { return at(scores, token * kExperts + e); };
      std::vector<std::int32_t> order(kExperts);
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](auto a, auto b) { return score(a) > score(b); });
      const float other = 1 / (1 + std::exp(score(order[0]) - score(order[1])));
      ids.insert(ids.end(), {order[0], order[1]});
      weights.insert(weights.end(), {1 - other, other});
    }
  }
};

/// Adds what an expert makes of a token, in float64.
void add_expert(const float* x, const float* gate_up, const float* down, double weight,
                double* out) {
  for (Index i = 0; i < kInner; ++i) {
    double gate = 0, up = 0;
    for (Index h = 0; h < kHidden; ++h) {
      gate += static_cast<double>(x[h]) * gate_up[h * 2 * kInner + i];
      up += static_cast<double>(x[h]) * gate_up[h * 2 * kInner + kInner + i];
    }
    const double inner = gate / (1 + std::exp(-gate)) * up;
    for (Index h = 0; h < kHidden; ++h)
      out[h] += weight * inner * down[i * kHidden + h];
  }
}

}  // namespace

int main() {
  using namespace estoc;
  auto x = random(kTokens * kHidden, 1, 1);
  auto gate_up = random(kExperts * kHidden * 2 * kInner, 0.2F, 2);
  auto down = random(kExperts * kInner * kHidden, 0.2F, 3);
  Routing routing(random(kTokens * kExperts, 1, 4));
  std::vector<float> out(kTokens * kHidden);

  MoeOperands layer{
      .x = TensorView::row_major(x.data(), Dtype::f32, {kTokens, kHidden}),
      .expert_ids = TensorView::row_major(routing.ids.data(), Dtype::i32, {kTokens, kTopK}),
      .weights = TensorView::row_major(routing.weights.data(), Dtype::f32, {kTokens, kTopK}),
      .w_gate_up =
          TensorView::row_major(gate_up.data(), Dtype::f32, {kExperts, kHidden, 2 * kInner}),
      .w_down = TensorView::row_major(down.data(), Dtype::f32, {kExperts, kInner, kHidden}),
      .out = TensorView::row_major(out.data(), Dtype::f32, {kTokens, kHidden})};
  if (cuda_devices().empty()) {
    moe(layer);
  } else {
    const TensorView result = layer.out;
    std::vector<DeviceTensor> copies;
    for (TensorView* view : {&layer.x, &layer.expert_ids, &layer.weights, &layer.w_gate_up,
                             &layer.w_down, &layer.out}) {
      copies.push_back(DeviceTensor::copy_of(*view, Device::cuda()));
      *view = copies.back().view();
    }
    moe(layer);
    synchronize(Device::cuda());
    copies.back().copy_to(result);
  }

  double errors = 0, squares = 0;
  for (Index token = 0; token < kTokens; ++token) {
    std::vector<double> expected(kHidden);
    for (Index slot = token * kTopK; slot < (token + 1) * kTopK; ++slot) {
      const Index expert = routing.ids[static_cast<std::size_t>(slot)];
      add_expert(&x[static_cast<std::size_t>(token * kHidden)],
                 &gate_up[static_cast<std::size_t>(expert * kHidden * 2 * kInner)],
                 &down[static_cast<std::size_t>(expert * kInner * kHidden)],
                 at(routing.weights, slot), expected.data());
    }
    for (Index h = 0; h < kHidden; ++h) {
      const double target = expected[static_cast<std::size_t>(h)];
      errors += std::pow(at(out, token * kHidden + h) - target, 2);
      squares += target * target;
    }
  }
  const double error = std::sqrt(errors / squares);
  std::printf("%d tokens, %d experts on %s: error %.1e\n", static_cast<int>(kTokens),
              static_cast<int>(kExperts), layer.out.device().name().c_str(), error);
  return error < 1e-5 ? 0 : 1;
}
