// Time to build epilogues from text, to construct arguments with them, and to find their graphs.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "estoc/estoc.hpp"

namespace {

using estoc::Dtype;
using estoc::EpilogueArguments;
using estoc::EpilogueOperand;
using estoc::EpilogueProgram;
using estoc::TensorView;

constexpr const char* kText =
    "D = gelu(alpha * accum + bias) + beta * C; aux = accum; amax = absmax(D)";

struct Operands {
  std::vector<float> a = std::vector<float>(64 * 64), b = a, out = a, c = a, aux = a;
  std::vector<float> bias = std::vector<float>(64), amax = bias;
  TensorView matrix(std::vector<float>& data) const {
    return TensorView::row_major(data.data(), Dtype::f32, {64, 64});
  }
  std::vector<EpilogueOperand> epilogue() {
    return {{"alpha", 0.5},
            {"beta", 0.25},
            {"bias", TensorView::row_major(bias.data(), Dtype::f32, {64})},
            {"C", matrix(c)},
            {"aux", matrix(aux)},
            {"amax", TensorView::row_major(amax.data(), Dtype::f32, {64, 1})}};
  }
};

void parse_epilogue(benchmark::State& state) {
  while (state.KeepRunning())
    benchmark::DoNotOptimize(EpilogueProgram::parse(kText));
}
BENCHMARK(parse_epilogue);

/// Everything for the first time: text, operands, types, the canonical graph.
void build_epilogue_from_text(benchmark::State& state) {
  Operands operands;
  while (state.KeepRunning()) {
    const EpilogueArguments epilogue(EpilogueProgram::parse(kText), operands.epilogue());
    const estoc::GemmArguments arguments(operands.matrix(operands.a), operands.matrix(operands.b),
                                         operands.matrix(operands.out), Dtype::f32, {}, epilogue);
    benchmark::DoNotOptimize(&arguments);
  }
}
BENCHMARK(build_epilogue_from_text);

void build_epilogue_from_known_text(benchmark::State& state) {
  Operands operands;
  while (state.KeepRunning()) {
    const EpilogueArguments epilogue(kText, operands.epilogue());
    benchmark::DoNotOptimize(&epilogue);
  }
}
BENCHMARK(build_epilogue_from_known_text);

/// Shapes, memory and addresses are looked at again; the graph is found.
void build_arguments_with_known_epilogue(benchmark::State& state) {
  Operands operands;
  const EpilogueArguments epilogue(kText, operands.epilogue());
  while (state.KeepRunning()) {
    const estoc::GemmArguments arguments(operands.matrix(operands.a), operands.matrix(operands.b),
                                         operands.matrix(operands.out), Dtype::f32, {}, epilogue);
    benchmark::DoNotOptimize(&arguments);
  }
}
BENCHMARK(build_arguments_with_known_epilogue);

/// What the run path looks up: the graph of arguments, and whether it is the kernel's.
void look_up_epilogue(benchmark::State& state) {
  Operands operands;
  const EpilogueArguments epilogue(kText, operands.epilogue());
  const estoc::GemmArguments arguments(operands.matrix(operands.a), operands.matrix(operands.b),
                                       operands.matrix(operands.out), Dtype::f32, {}, epilogue);
  const estoc::Kernel kernel = estoc::get_kernels(arguments).front();
  while (state.KeepRunning()) {
    const auto graph = arguments.epilogue_graph();
    benchmark::DoNotOptimize(graph == kernel.epilogue());
  }
}
BENCHMARK(look_up_epilogue);

void get_kernels_with_epilogue(benchmark::State& state) {
  Operands operands;
  const EpilogueArguments epilogue(kText, operands.epilogue());
  const estoc::GemmArguments arguments(operands.matrix(operands.a), operands.matrix(operands.b),
                                       operands.matrix(operands.out), Dtype::f32, {}, epilogue);
  while (state.KeepRunning())
    benchmark::DoNotOptimize(estoc::get_kernels(arguments));
}
BENCHMARK(get_kernels_with_epilogue);

}  // namespace
