// Time to build arguments from views.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <vector>

#include "estoc/arguments.hpp"

namespace {

using estoc::Dtype;
using estoc::TensorView;

void build_gemm_arguments(benchmark::State& state) {
  std::vector<float> a(64 * 64), b(64 * 64), out(64 * 64);
  const auto a_view = TensorView::row_major(a.data(), Dtype::f32, {64, 64});
  const auto b_view = TensorView::column_major(b.data(), Dtype::f32, {64, 64});
  const auto out_view = TensorView::row_major(out.data(), Dtype::f32, {64, 64});
  while (state.KeepRunning()) {
    const estoc::GemmArguments arguments(a_view, b_view, out_view, Dtype::f32);
    benchmark::DoNotOptimize(&arguments);
  }
}
BENCHMARK(build_gemm_arguments);

void build_batched_gemm_arguments(benchmark::State& state) {
  std::vector<float> a(4 * 64 * 64), b(4 * 64 * 64), out(4 * 64 * 64);
  const auto a_view = TensorView::row_major(a.data(), Dtype::f32, {4, 64, 64});
  const auto b_view = TensorView::column_major(b.data(), Dtype::f32, {4, 64, 64});
  const auto out_view = TensorView::row_major(out.data(), Dtype::f32, {4, 64, 64});
  while (state.KeepRunning()) {
    const estoc::GemmArguments arguments(a_view, b_view, out_view, Dtype::f32);
    benchmark::DoNotOptimize(&arguments);
  }
}
BENCHMARK(build_batched_gemm_arguments);

}  // namespace
