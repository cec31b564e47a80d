// Host time of plans and of matmul, of a product that takes the CPU very little.
#include <benchmark/benchmark.h>

#include <array>
#include <memory>
#include <vector>

#include "estoc/plan.hpp"

namespace {

using namespace estoc;  // NOLINT: everything here is Estoc's

constexpr std::int64_t kExtent = 4;

struct Operands {
  TensorView view(std::vector<float>& values) {
    return TensorView::row_major(values.data(), Dtype::f32, {kExtent, kExtent});
  }
  GemmArguments arguments() { return {view(a), view(b), view(out), Dtype::f32}; }

  std::vector<float> a = std::vector<float>(kExtent * kExtent, 1.0F);
  std::vector<float> b = std::vector<float>(kExtent * kExtent, 2.0F);
  std::vector<float> out = std::vector<float>(kExtent * kExtent);
};

void bound_kernel_launch(benchmark::State& state) {
  Operands operands;
  const GemmArguments arguments = operands.arguments();
  const Kernel kernel = get_kernels(arguments).front();
  BoundKernel bound = kernel.bind(arguments, kernel.compile(arguments), {.threads = 1});
  while (state.KeepRunning())
    bound.launch();
}
BENCHMARK(bound_kernel_launch);

void plan_run(benchmark::State& state) {
  Operands operands;
  Plan made = plan(operands.arguments(), {.threads = 1});
  while (state.KeepRunning())
    made.run();
}
BENCHMARK(plan_run);

void plan_rebind_and_run(benchmark::State& state) {
  std::array<Operands, 2> operands;
  Plan made = plan(operands[0].arguments(), {.threads = 1});
  std::size_t turn = 0;
  while (state.KeepRunning()) {
    Operands& each = operands[++turn % 2];
    made.rebind(each.a.data(), each.b.data(), each.out.data());
    made.run();
  }
}
BENCHMARK(plan_rebind_and_run);

void matmul_same_signature(benchmark::State& state) {
  std::array<Operands, 2> operands;
  std::size_t turn = 0;
  while (state.KeepRunning()) {
    Operands& each = operands[++turn % 2];
    matmul(each.view(each.a), each.view(each.b), each.view(each.out), {.threads = 1});
  }
}
BENCHMARK(matmul_same_signature)->ThreadRange(1, 4);

}  // namespace
