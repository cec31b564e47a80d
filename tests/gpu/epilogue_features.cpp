// What epilogues promise: NaN and infinity in every class, products of nothing, and accumulators in
// pairs.
#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "estoc/arguments.hpp"
#include "estoc/check.hpp"
#include "estoc/problem.hpp"
#include "features.h"
#include "gemm.h"
#include "support/problem_data.h"

namespace estoc::gpu_test {
namespace {

constexpr std::int64_t kExtent = 64;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using Modes = std::vector<std::int64_t>;

/// A row-major tensor of f32 on the host and on a device.
struct Numbers {
  Numbers(const Modes& shape, float value, Device device) : shape_(shape) {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape)
      count *= extent;
    host.assign(static_cast<std::size_t>(count), value);
    on_device = DeviceTensor::copy_of(view(), device);
  }
  TensorView view() { return TensorView::row_major(host.data(), Dtype::f32, shape_); }
  float& at(std::int64_t row, std::int64_t column) {
    return host[static_cast<std::size_t>(row * kExtent + column)];
  }
  void upload() { on_device.copy_from(view()); }
  void download() { on_device.copy_to(view()); }

  std::vector<float> host;
  DeviceTensor on_device;

 private:
  Modes shape_;
};

void expect(float got, float wanted, const Kernel& kernel, const char* what) {
  const bool same = std::isnan(wanted) ? std::isnan(got) : got == wanted;
  require(same, fmt::format("{}: {} is {}, expected {}", kernel.name(), what, got, wanted));
}

// The product is 0, so that the numbers of x come through.
void nan_and_infinity_go_through_epilogues(Device device) {
  const Modes square{kExtent, kExtent};
  Numbers a(square, 0, device);
  Numbers x(square, 1, device);
  x.at(3, 5) = kNan;
  x.at(7, 9) = kInfinity;
  x.at(8, 9) = -kInfinity;
  x.upload();
  Numbers out(square, 2, device);
  Numbers gelu(square, 2, device);
  Numbers high({kExtent, 1}, 2, device);
  Numbers low({kExtent}, 2, device);
  Numbers largest({1}, 2, device);
  std::vector<std::uint16_t> zeros(kExtent * kExtent);
  const auto narrow = DeviceTensor::copy_of(
      TensorView::row_major(zeros.data(), Dtype::bf16, {kExtent, kExtent}), device);
  const GemmArguments arguments(
      narrow.view(), narrow.view(), out.on_device.view(), Dtype::f32, {},
      {"y = accum + x; D = relu(y); gelu = gelu_tanh(y); high = max(y); low = min(y); "
       "largest = absmax(y)",
       {{"x", x.on_device.view()},
        {"gelu", gelu.on_device.view()},
        {"high", high.on_device.view()},
        {"low", low.on_device.view()},
        {"largest", largest.on_device.view()}}});
  for (const Kernel& kernel : one_of_each_class(arguments)) {
    kernel.run(arguments);
    for (Numbers* numbers : {&out, &gelu, &high, &low, &largest})
      numbers->download();
    expect(out.at(3, 5), kNan, kernel, "relu of NaN");
    expect(out.at(7, 9), kInfinity, kernel, "relu of infinity");
    expect(out.at(8, 9), 0, kernel, "relu of -infinity");
    expect(out.at(3, 4), 1, kernel, "relu of the number beside NaN");
    expect(gelu.at(3, 5), kNan, kernel, "gelu_tanh of NaN");
    expect(gelu.at(7, 9), kInfinity, kernel, "gelu_tanh of infinity");
    // Two elements share a reciprocal, and of each other's value they see no more than a rounding.
    for (const auto& [row, column] : {std::pair{3, 4}, {7, 8}, {8, 8}}) {
      require(std::fabs(gelu.at(row, column) - gelu.at(0, 0)) < 4e-7F,
              fmt::format("{}: gelu_tanh beside NaN or infinity is {}, elsewhere {}", kernel.name(),
                          gelu.at(row, column), gelu.at(0, 0)));
    }
    expect(high.host[3], kNan, kernel, "the maximum of a row with NaN");
    expect(high.host[7], kInfinity, kernel, "the maximum of a row with infinity");
    expect(high.host[8], 1, kernel, "the maximum of a row with -infinity");
    expect(low.host[5], kNan, kernel, "the minimum of a column with NaN");
    expect(low.host[9], -kInfinity, kernel, "the minimum of a column with -infinity");
    expect(largest.host[0], kNan, kernel, "absmax with NaN");
  }
}

void epilogues_of_nothing(Device device) {
  std::vector<std::uint16_t> zeros(kExtent * kExtent);
  const auto b = DeviceTensor::copy_of(
      TensorView::row_major(zeros.data(), Dtype::bf16, {kExtent, kExtent}), device);
  const TensorView none = TensorView::row_major(nullptr, Dtype::bf16, {0, kExtent}, device);
  const TensorView out = TensorView::row_major(nullptr, Dtype::f32, {0, kExtent}, device);
  Numbers sum({kExtent}, 2, device);
  Numbers high({kExtent}, 2, device);
  Numbers low({1}, 2, device);
  const GemmArguments arguments(none, b.view(), out, Dtype::f32, {},
                                {"D = accum; sum = sum(D); high = max(D); low = min(D)",
                                 {{"sum", sum.on_device.view()},
                                  {"high", high.on_device.view()},
                                  {"low", low.on_device.view()}}});
  for (const Kernel& kernel : one_of_each_class(arguments)) {
    kernel.run(arguments);
    for (Numbers* numbers : {&sum, &high, &low})
      numbers->download();
    expect(sum.host[5], 0, kernel, "the sum of nothing");
    expect(high.host[5], -kInfinity, kernel, "the maximum of nothing");
    expect(low.host[0], kInfinity, kernel, "the minimum of nothing");
  }
}

// Every class that has them, with ragged extents and groups.
void accumulators_in_pairs(Device device) {
  constexpr const char* kHalves = " epi=\"D = silu(left(accum)) * right(accum)\"";
  constexpr const char* kNeighbours = " epi=\"D = silu(even(accum)) * odd(accum)\"";
  const std::string product = "gemm m=150 n=136 k=200 a=bf16:t out=bf16 b=bf16";
  const std::string groups =
      "grouped_gemm m=300 n=136 k=72 g=4 sizes=100,0,7,150 a=bf16:t b=bf16:n out=bf16";
  const std::string batches =
      "gemm m=70 n=33 k=50 l=2 a=f32:t b=f32:n s=f32:column "
      "epi=\"D = even(accum) * odd(accum); s = sum(D)\"";
  const std::vector<std::string> texts{product + ":n" + kHalves, product + ":n" + kNeighbours,
                                       product + ":t" + kHalves, batches,
                                       groups + kHalves,         groups + " rows=90" + kNeighbours};
  for (const std::string& text : texts) {
    testing_support::ProblemData data(Problem::parse(text), 7, testing_support::Values::reals);
    data.poison();
    const testing_support::OnDevice placed(data, device);
    for (const Kernel& kernel : one_of_each_class(placed.arguments())) {
      kernel.run(placed.arguments());
      placed.read_back(data);
      const CheckResult result = check_output(data.arguments());
      require(result.passed, fmt::format("{}: {}: {}", kernel.name(), text, result.worst));
      data.poison();
    }
  }
}

}  // namespace

std::vector<Feature> epilogue_features() {
  return {{"nan_and_infinity_go_through_epilogues", nan_and_infinity_go_through_epilogues},
          {"epilogues_of_nothing", epilogues_of_nothing},
          {"accumulators_in_pairs", accumulators_in_pairs}};
}

}  // namespace estoc::gpu_test
