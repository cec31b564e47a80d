// Epilogues on the host: each operation, special values, memory shared with inputs, reductions.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "estoc/estoc.hpp"
#include "support/random_epilogue.h"

namespace estoc {
namespace {

using testing_support::HostArguments;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

void run(const GemmArguments& arguments, int threads = 1) {
  const KernelList kernels = get_kernels(arguments);
  ASSERT_FALSE(kernels.empty());
  kernels.front().run(arguments, {.threads = threads});
}

/// D of a program whose accumulators are 0 and whose input x holds these values.
std::vector<float> outputs_of(const std::string& text, std::vector<float> x) {
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<float> out(x.size(), 99);
  const auto nothing = TensorView::row_major(nullptr, Dtype::f32, {1, 0});
  const auto none = TensorView::row_major(nullptr, Dtype::f32, {0, n});
  const GemmArguments arguments(
      nothing, none, TensorView::row_major(out.data(), Dtype::f32, {1, n}), Dtype::f32, {},
      {text, {{"x", TensorView::row_major(x.data(), Dtype::f32, {n})}}});
  run(arguments);
  const CheckResult check = check_output(arguments);
  EXPECT_TRUE(check.passed) << text << ": " << check.worst;
  return out;
}

std::vector<float> line() {
  std::vector<float> x;
  for (int i = -1000; i <= 1000; ++i)
    x.push_back(static_cast<float>(i) * 0.0173F);
  x.insert(x.end(), {0.0F, -0.0F, 1e-30F, -1e-30F, 1e30F, -1e30F, 88.0F, -88.0F, -104.0F, kInfinity,
                     -kInfinity, kNan, 3.4e38F, 1e-42F});
  return x;
}

TEST(CpuEpilogue, EveryOperationOverItsDomain) {
  const char* const programs[] = {"D = abs(x)",
                                  "D = sqrt(x)",
                                  "D = rsqrt(x)",
                                  "D = exp(x)",
                                  "D = exp2(x)",
                                  "D = log(x)",
                                  "D = reciprocal(x)",
                                  "D = relu(x)",
                                  "D = leaky_relu(x, 0.3)",
                                  "D = gelu(x)",
                                  "D = gelu_tanh(x)",
                                  "D = silu(x)",
                                  "D = sigmoid(x)",
                                  "D = tanh(x)",
                                  "D = softplus(x)",
                                  "D = hardswish(x)",
                                  "D = elu(x, 1.5)",
                                  "D = mish(x)",
                                  "D = pow(x, 2.5)",
                                  "D = pow(1.5, x)",
                                  "D = -x",
                                  "D = x / 3",
                                  "D = 3 / x",
                                  "D = fma(x, x, 1.5)",
                                  "D = clamp(x, -1, 2)",
                                  "D = maximum(x, 1)",
                                  "D = minimum(x, 1)",
                                  "D = f16(x)",
                                  "D = bf16(x)",
                                  "D = e4m3(x)",
                                  "D = e5m2(x)",
                                  "D = tf32(x)",
                                  "D = i8(x)",
                                  "D = u8(x)",
                                  "D = i32(x)",
                                  "D = bool(x)",
                                  "D = x == 0",
                                  "D = x != 0",
                                  "D = x < 0.5 && x > -2 || !(x <= 3)",
                                  "D = select(x >= 1, x * x, x - 1)",
                                  "D = quantize(x, 0.37, e4m3)",
                                  "D = dropout(x, 0.3, 7, 11)"};
  for (const char* program : programs)
    outputs_of(program, line());
}

TEST(CpuEpilogue, NotANumberGoesThrough) {
  EXPECT_TRUE(std::isnan(outputs_of("D = relu(x)", {kNan})[0]));
  EXPECT_TRUE(std::isnan(outputs_of("D = maximum(x, 1.0)", {kNan})[0]));
  EXPECT_TRUE(std::isnan(outputs_of("D = minimum(1.0, x)", {kNan})[0]));
  EXPECT_TRUE(std::isnan(outputs_of("D = clamp(x, 0.0, 1.0)", {kNan})[0]));
  EXPECT_EQ(outputs_of("D = clamp(x, 0.0, 1.0)", {-kInfinity, kInfinity}),
            (std::vector<float>{0, 1}));
  EXPECT_EQ(outputs_of("D = select(x == x, 1.0, 2.0)", {kNan, 0}), (std::vector<float>{2, 1}));
  EXPECT_EQ(outputs_of("D = i8(x)", {kNan, 2.5F, 3.5F, 1e9F, -1e9F}),
            (std::vector<float>{0, 2, 4, 127, -128}));
  EXPECT_EQ(outputs_of("D = e4m3(x)", {1e9F, -1e9F}), (std::vector<float>{448, -448}));
}

TEST(CpuEpilogue, DropoutKeepsTheSameElementsHoweverTheyLie) {
  const auto kept = [](const char* out, int threads) {
    HostArguments host(Problem::parse(std::string("gemm m=200 n=300 k=1 l=2 a=f32 ") + out +
                                      " epi=\"D = dropout(accum * 0 + 1, 0.25, 5, 9)\""),
                       1);
    run(host.arguments(), threads);
    const MatrixView& view = host.arguments().out_matrix();
    std::vector<float> values;
    for (std::int64_t l = 0; l < 2; ++l) {
      for (std::int64_t m = 0; m < view.rows; ++m) {
        for (std::int64_t n = 0; n < view.columns; ++n) {
          values.push_back(static_cast<float*>(
              view.data)[l * view.batch_stride + m * view.row_stride + n * view.column_stride]);
        }
      }
    }
    return values;
  };
  const std::vector<float> first = kept("out=f32:t", 1);
  EXPECT_EQ(kept("out=f32:n", 2), first);
  double sum = 0;
  for (const float value : first) {
    EXPECT_TRUE(value == 0 || std::abs(value - 4.0F / 3) < 1e-6F);
    sum += value;
  }
  EXPECT_NEAR(sum / static_cast<double>(first.size()), 1, 0.01);
}

TEST(CpuEpilogue, AccumulatesIntoAnInput) {
  for (const char* layouts : {"tt", "tn"}) {
    HostArguments host(
        Problem::parse(std::string("gemm m=70 n=90 k=8 a=f32 out=f32:") + layouts[1]), 3);
    const TensorView& out = host.arguments().out();
    fill_random(out, 9);
    const MatrixView& view = host.arguments().out_matrix();
    const std::vector<float> before(static_cast<float*>(out.data()),
                                    static_cast<float*>(out.data()) + out.elements());
    const GemmArguments arguments(host.arguments().a(), host.arguments().b(), out, Dtype::f32, {},
                                  {"D = 0.0 * accum + 2 * C", {{"C", out}}});
    run(arguments, 2);
    for (std::size_t i = 0; i < before.size(); ++i)
      ASSERT_EQ(static_cast<float*>(view.data)[i], 2 * before[i]);
  }
}

TEST(CpuEpilogue, ReductionsOfNothing) {
  HostArguments host(
      Problem::parse("gemm m=0 n=3 k=2 a=f32 s=f32:row hi=f32:row lo=f32:row am=f32:scalar "
                     "epi=\"D = accum; s = sum(accum); hi = max(accum); lo = min(accum); "
                     "am = absmax(accum)\""),
      1);
  run(host.arguments());
  const auto value = [&](const char* name, int i) {
    return static_cast<float*>(host.arguments().epilogue().find(name)->tensor()->data())[i];
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(value("s", i), 0);
    EXPECT_EQ(value("hi", i), -kInfinity);
    EXPECT_EQ(value("lo", i), kInfinity);
  }
  EXPECT_EQ(value("am", 0), 0);
}

TEST(CpuEpilogue, ReductionsAreTheSameEachTime) {
  HostArguments host(
      Problem::parse("gemm m=1000 n=700 k=3 a=f32 s=f32:scalar r=f32:column c=f32:row "
                     "epi=\"D = exp(accum); s = sum(D); r = sum(D); c = sum_of_squares(D)\""),
      1);
  run(host.arguments(), 2);
  const std::vector<std::vector<std::byte>> first{host.bytes("s"), host.bytes("r"),
                                                  host.bytes("c")};
  EXPECT_TRUE(check_output(host.arguments()).passed);
  run(host.arguments(), 2);
  EXPECT_EQ((std::vector{host.bytes("s"), host.bytes("r"), host.bytes("c")}), first);
}

TEST(CpuEpilogue, ReductionsSeeTheValueBeforeItIsStored) {
  HostArguments host(Problem::parse("gemm m=4 n=4 k=0 a=f32 out=e4m3 am=f32:scalar "
                                    "epi=\"D = accum + 1000.0; am = absmax(D)\""),
                     1);
  run(host.arguments());
  EXPECT_EQ(*static_cast<float*>(host.arguments().epilogue().find("am")->tensor()->data()), 1000);
}

TEST(CpuEpilogue, ArtifactsServeTheirEpilogueAlone) {
  const auto problem = [](const char* text) {
    return HostArguments(Problem::parse(std::string("gemm m=8 n=8 k=8 a=f32 s=f32:scalar ") + text),
                         1);
  };
  HostArguments times = problem("epi=\"D = accum * s\"");
  HostArguments plus = problem("epi=\"D = accum + s\"");
  const Kernel kernel = get_kernels(times.arguments()).front();
  const Kernel other = get_kernels(plus.arguments()).front();
  EXPECT_EQ(kernel.name(), other.name());
  EXPECT_FALSE(kernel == other);
  EXPECT_NE(kernel.metadata().epilogue, other.metadata().epilogue);
  const Artifact artifact = kernel.compile(Target::cpu());
  kernel.run(times.arguments(), artifact);
  EXPECT_THROW(other.run(plus.arguments(), artifact), Error);
  EXPECT_THROW(kernel.run(plus.arguments(), artifact), Error);
  EXPECT_FALSE(kernel_by_name(kernel.name()).supports(times.arguments()).ok());
  EXPECT_TRUE(kernel_by_name(kernel.name())
                  .with_epilogue(times.arguments().epilogue_graph())
                  .supports(times.arguments())
                  .ok());

  const std::string path = testing::TempDir() + "/epilogue.estoc";
  save_bundle(path, std::vector<Artifact>{artifact});
  const Bundle bundle = Bundle::open(path);
  EXPECT_EQ(bundle.artifact(0).kernel(), kernel);
  EXPECT_EQ(bundle.find(times.arguments()).kernel(), kernel);
  EXPECT_THROW((void)bundle.find(plus.arguments()), Error);
}

}  // namespace
}  // namespace estoc
