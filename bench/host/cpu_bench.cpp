// Speed of the cpu provider: beside a plain Eigen program, and of narrow types beside f32.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "estoc/estoc.hpp"
#include "plain_eigen.h"

namespace {

using estoc::Dtype;

constexpr int kThreads = 2;

/// A row-major matrix of random elements.
class Matrix {
 public:
  Matrix(Dtype dtype, std::int64_t rows, std::int64_t columns, std::uint64_t seed)
      : data_(static_cast<std::size_t>(estoc::storage_bytes(dtype, rows * columns))),
        view_(estoc::TensorView::row_major(data_.data(), dtype, {rows, columns})) {
    estoc::fill_random(view_, seed);
  }
  const estoc::TensorView& view() const { return view_; }
  float* floats() { return reinterpret_cast<float*>(data_.data()); }

 private:
  std::vector<std::byte> data_;
  estoc::TensorView view_;
};

/// A GEMM bound to random operands.
class Gemm {
 public:
  Gemm(Dtype dtype, Dtype accumulator, Dtype out, std::int64_t m, std::int64_t n, std::int64_t k)
      : a_(dtype, m, k, 1),
        b_(dtype, k, n, 2),
        out_(out, m, n, 3),
        arguments_(a_.view(), b_.view(), out_.view(), accumulator),
        launch_(bind()) {}

  void run() { launch_.launch(); }
  Matrix& a() { return a_; }
  Matrix& b() { return b_; }

 private:
  estoc::BoundKernel bind() {
    const estoc::Kernel kernel = estoc::get_kernels(arguments_).front();
    estoc::RunOptions options;
    options.threads = kThreads;
    return kernel.bind(arguments_, kernel.compile(arguments_), options);
  }

  Matrix a_;
  Matrix b_;
  Matrix out_;
  estoc::GemmArguments arguments_;
  estoc::BoundKernel launch_;
};

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Runs `work` and `baseline` in turn, in changing order; reports the median of each and of the
/// ratio of the pairs.
void run_interleaved(benchmark::State& state, double flops, const std::function<void()>& work,
                     const std::function<void()>& baseline) {
  work();
  baseline();
  std::vector<double> work_times;
  std::vector<double> baseline_times;
  std::vector<double> ratios;
  for (auto _ : state) {
    const bool baseline_first = ratios.size() % 2 == 0;
    double baseline_time = baseline_first ? seconds(baseline) : 0;
    const double work_time = seconds(work);
    if (!baseline_first) baseline_time = seconds(baseline);
    work_times.push_back(work_time);
    baseline_times.push_back(baseline_time);
    ratios.push_back(work_time / baseline_time);
    state.SetIterationTime(work_time);
  }
  state.counters["time_ratio"] = median(ratios);
  state.counters["gflops"] = flops / median(work_times) / 1e9;
  state.counters["baseline_gflops"] = flops / median(baseline_times) / 1e9;
}

void f32_4096x4096x1024_beside_plain_eigen(benchmark::State& state) {
  constexpr std::int64_t kM = 4096, kN = 4096, kK = 1024;
  Gemm gemm(Dtype::f32, Dtype::f32, Dtype::f32, kM, kN, kK);
  std::vector<float> out(static_cast<std::size_t>(kM * kN));
  run_interleaved(
      state, 2.0 * kM * kN * kK, [&] { gemm.run(); },
      [&] {
        plain_eigen::multiply(gemm.a().floats(), gemm.b().floats(), out.data(), kM, kN, kK,
                              kThreads);
      });
}
BENCHMARK(f32_4096x4096x1024_beside_plain_eigen)
    ->UseManualTime()
    ->Iterations(15)
    ->Unit(benchmark::kMillisecond);

/// A product of 2048^3 of `dtype` beside the same of f32.
void gemm_2048_beside_f32(benchmark::State& state, Dtype dtype, Dtype accumulator, Dtype out) {
  constexpr std::int64_t kSize = 2048;
  Gemm gemm(dtype, accumulator, out, kSize, kSize, kSize);
  Gemm reference(Dtype::f32, Dtype::f32, Dtype::f32, kSize, kSize, kSize);
  run_interleaved(
      state, 2.0 * kSize * kSize * kSize, [&] { gemm.run(); }, [&] { reference.run(); });
}
#define ESTOC_BENCH_2048(name, dtype, accumulator, out)                                       \
  BENCHMARK_CAPTURE(gemm_2048_beside_f32, name, Dtype::dtype, Dtype::accumulator, Dtype::out) \
      ->UseManualTime()                                                                       \
      ->Iterations(15)                                                                        \
      ->Unit(benchmark::kMillisecond)
ESTOC_BENCH_2048(bf16, bf16, f32, bf16);
ESTOC_BENCH_2048(f16, f16, f32, f16);
ESTOC_BENCH_2048(e4m3, e4m3, f32, bf16);
ESTOC_BENCH_2048(i8, i8, i32, i32);
ESTOC_BENCH_2048(f64, f64, f64, f64);

}  // namespace
