// Epilogues behind the kernels of every class on the emulator: layouts of their operands, outputs
// in place, orders of events, and every operation.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "emulator/run.h"
#include "estoc/check.hpp"
#include "estoc/discovery.hpp"
#include "support/problem_data.h"

namespace estoc::epilogue_test {
namespace {

using testing_support::ProblemData;

constexpr Target kTarget = Target::sm(90, true);
constexpr const char* kCooperative =
    "class=sm90_gemm schedule=cooperative tile=128x64x64 cluster=1x1";
constexpr const char* kPingpong = "class=sm90_gemm schedule=pingpong tile=64x64x64 cluster=1x1";
constexpr const char* kDirect[] = {"class=sm80_gemm", "class=simt_gemm"};

Kernel kernel_for(const RuntimeArguments& arguments, const std::string& filter) {
  KernelQuery query;
  query.target = kTarget;
  query.filter = MetadataFilter::parse(filter);
  return get_kernels(arguments, query).front();
}

/// Runs the first kernel that fits, on a device with few multiprocessors: clean and right.
void run(const RuntimeArguments& arguments, const std::string& filter,
         const emulator::Options& order = {}) {
  emulator::RunOptions options;
  options.launch = order;
  options.multiprocessors = 2;
  const Kernel kernel = kernel_for(arguments, filter);
  const std::string what = std::string(kernel.name()) + "\n" + Problem::of(arguments).to_string();
  const emulator::Report report = emulator::run(kernel, kTarget, arguments, options);
  EXPECT_TRUE(report.clean()) << what << "\n" << report.text();
  const CheckResult result = check_output(arguments);
  EXPECT_TRUE(result.passed) << what << "\n" << result.worst;
}

void run(const std::string& text, const std::string& filter, const emulator::Options& order = {}) {
  Problem problem = Problem::parse(text);
  problem.complete();
  ProblemData data(problem, 1, testing_support::Values::integers);
  data.poison();
  run(data.arguments(), filter, order);
}

const std::string kLinear = "epi=\"D = alpha * accum + beta * C\" alpha=f32:2 beta=f32:scalar ";
const std::string kAux = "epi=\"D = relu(accum + bias); aux = accum\" bias=bf16:row ";
const std::string kGemm = "gemm a=bf16 b=bf16:n out=bf16 ";

TEST(EmulatedEpilogue, ReadsMatricesInEveryLayout) {
  for (const char* c : {"bf16", "bf16:[144,1]", "bf16:n", "bf16:[137,1]"}) {
    const std::string text = fmt::format("{}m=200 n=136 k=72 {}C={}", kGemm, kLinear, c);
    run(text, kCooperative);
    run(text, kPingpong);
    for (const char* filter : kDirect)
      run(text, filter);
  }
}

TEST(EmulatedEpilogue, StoresSeveralOutputs) {
  for (const char* aux : {"bf16", "bf16:n", "bf16:[420,3]"}) {
    const std::string text = fmt::format("{}m=200 n=136 k=72 {}aux={}", kGemm, kAux, aux);
    run(text, kCooperative);
    run(text, kPingpong);
    for (const char* filter : kDirect)
      run(text, filter);
  }
}

TEST(EmulatedEpilogue, Reduces) {
  const std::string rows =
      "gemm a=bf16 b=bf16:n out=e4m3 m=200 n=144 k=72 l=2 scale=f32:0.5 amax=f32:column[200,1] "
      "epi=\"D = accum * scale; amax = absmax(D)\"";
  run(rows, kCooperative);
  for (const char* filter : kDirect)
    run(rows, filter);
  const std::string f64 =
      "gemm a=f64 out=f64 m=71 n=74 k=24 l=2 v=f64:column most=f64:scalar squares=f64:batch "
      "epi=\"D = accum + v; most = max(D); squares = sum(D * D)\"";
  for (const char* filter : kDirect)
    run(f64, filter);
}

// Boxes of C are loaded ahead, those of D stored over them.
TEST(EmulatedEpilogue, OutputMayBeTheInput) {
  constexpr std::int64_t kM = 264;
  constexpr std::int64_t kN = 136;
  constexpr std::int64_t kK = 72;
  for (const char* filter : {kCooperative, kPingpong, kDirect[0], kDirect[1]}) {
    std::vector<std::uint16_t> a(kM * kK), b(kN * kK), c(kM * kN), expected(kM * kN);
    const TensorView view_a = TensorView::row_major(a.data(), Dtype::bf16, {kM, kK});
    const TensorView view_b = TensorView::row_major(b.data(), Dtype::bf16, {kN, kK}).transposed();
    const auto matrix = [](std::vector<std::uint16_t>& of) {
      return TensorView::row_major(of.data(), Dtype::bf16, {kM, kN});
    };
    fill_random(view_a, 1);
    fill_random(view_b, 2);
    fill_random(matrix(c), 3);
    const auto arguments = [&](std::vector<std::uint16_t>& out) {
      return GemmArguments(view_a, view_b, matrix(out), Dtype::f32, {},
                           EpilogueArguments("D = accum + C", {{"C", matrix(c)}}));
    };
    run(arguments(expected), filter);
    const GemmArguments in_place = arguments(c);
    const emulator::Report report = emulator::run(kernel_for(in_place, filter), kTarget, in_place);
    EXPECT_TRUE(report.clean()) << report.text();
    EXPECT_EQ(c, expected) << filter;
  }
}

TEST(EmulatedEpilogue, EveryOrderOfEventsIsClean) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    emulator::Options order;
    order.schedule = seed == 0 ? emulator::Schedule::eager : emulator::Schedule::random;
    order.seed = seed;
    run(fmt::format("{}m=136 n=72 k=136 {}C=bf16", kGemm, kLinear), kCooperative, order);
    run(fmt::format("{}m=136 n=72 k=72 {}aux=bf16", kGemm, kAux), kPingpong, order);
  }
}

// In f32; tests/gpu and tests/compile have them in every type.
TEST(EmulatedEpilogue, EveryOperation) {
  const std::string text =
      "gemm a=bf16 b=bf16:n out=f32 m=72 n=40 k=40 l=2 o1=f32 o2=f32 o3=f32 o4=f32 o5=f32 o6=f32 "
      "o7=f32 o8=f32 o9=f32 seed=i32:scalar epi=\"x = accum * 0.125; y = abs(x) + 1; "
      "D = select(x < y && x >= 0 || x == 0 || 0 > y || !(x != y), -x + abs(x), bf16(x)); "
      "o1 = exp(x) + exp2(x); o2 = gelu(x) + gelu_tanh(x); o3 = silu(x) + sigmoid(x); "
      "o4 = tanh(x) + softplus(x); o5 = mish(x) + sqrt(y); o6 = rsqrt(y) + log(y) + 1 / y; "
      "o7 = maximum(fma(x, y, y - x), x / y) + relu(x) + hardswish(x); "
      "o8 = clamp(minimum(x, pow(y, 1.5)), -3, 30) + leaky_relu(x, 0.5) + elu(x, 2); "
      "o9 = dropout(x, 0.5, seed, 3)\"";
  run(text, "class=sm90_gemm");
  for (const char* filter : kDirect)
    run(text, filter);
}

}  // namespace
}  // namespace estoc::epilogue_test
