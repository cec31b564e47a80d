// sm90_bf16x6_gemm on the emulator: products of f32 operands as six products of bf16 parts are as
// precise as products of f32.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "emulator/run.h"
#include "estoc/check.hpp"
#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"

namespace estoc::bf16x6_test {
namespace {

constexpr Target kTarget = Target::sm(90, true);
constexpr std::int64_t kRows = 64;
constexpr std::int64_t kColumns = 72;

KernelList kernels(const RuntimeArguments& arguments, const std::string& filter = "") {
  KernelQuery query;
  query.target = kTarget;
  query.filter = MetadataFilter::parse("class=sm90_bf16x6_gemm " + filter);
  return get_kernels(arguments, query);
}

using Matrix = std::vector<float>;
using Draw = std::function<double()>;

Matrix draw_matrix(std::int64_t count, const Draw& draw) {
  Matrix matrix(static_cast<std::size_t>(count));
  for (float& x : matrix)
    x = static_cast<float>(draw());
  return matrix;
}

/// A product of row-major matrices.
class Product {
 public:
  Product(std::int64_t k, const Draw& a, const Draw& b)
      : k_(k), a_(draw_matrix(kRows * k, a)), b_(draw_matrix(k * kColumns, b)) {}

  Matrix& b() { return b_; }
  const Matrix& a() const { return a_; }

  /// By the first kernel that fits the filter.
  Matrix split(const std::string& filter = "") {
    Matrix out(static_cast<std::size_t>(kRows * kColumns), std::nanf(""));
    PerformanceControls controls;
    controls.allow_bf16x6 = true;
    const GemmArguments arguments(TensorView::row_major(a_.data(), Dtype::f32, {kRows, k_}),
                                  TensorView::row_major(b_.data(), Dtype::f32, {k_, kColumns}),
                                  TensorView::row_major(out.data(), Dtype::f32, {kRows, kColumns}),
                                  Dtype::f32, controls);
    const emulator::Report report =
        emulator::run(kernels(arguments, filter).front(), kTarget, arguments);
    EXPECT_TRUE(report.clean()) << report.text();
    return out;
  }

  /// In one fused multiplication and addition after the other of that type.
  template <typename Type>
  std::vector<Type> plain() const {
    std::vector<Type> out(static_cast<std::size_t>(kRows * kColumns));
    for (std::int64_t i = 0; i < kRows; ++i) {
      for (std::int64_t j = 0; j < kColumns; ++j) {
        Type& sum = out[static_cast<std::size_t>(i * kColumns + j)];
        for (std::int64_t k = 0; k < k_; ++k)
          sum = std::fma(Type{a_[static_cast<std::size_t>(i * k_ + k)]},
                         Type{b_[static_cast<std::size_t>(k * kColumns + j)]}, sum);
      }
    }
    return out;
  }

 private:
  std::int64_t k_;
  Matrix a_;
  Matrix b_;
};

double distance(const Matrix& found, const std::vector<double>& expected) {
  double squares = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    squares += std::pow((found[i] - expected[i]) / 0x1p60, 2);
  return std::sqrt(squares);
}

class Bf16x6 : public testing::Test {
 protected:
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  double spread(double exponents) {
    return (random_() % 2 == 0 ? 1 : -1) * std::exp2(uniform(-exponents, exponents));
  }

  std::mt19937_64 random_{11};
};

TEST_F(Bf16x6, IsAsPreciseAsF32) {
  const Draw both = [this] { return uniform(-1, 1); };
  const Draw positive = [this] { return uniform(0, 1); };
  const Draw wide = [this] { return spread(20); };
  const Draw wider = [this] { return spread(40); };
  const Draw subnormal = [this] { return uniform(-1, 1) * 0x1p-127; };
  const Draw small = [this] { return uniform(-1, 1) * 0x1p-112; };
  const Draw large = [this] { return uniform(-1, 1) * 0x1p100; };
  const Draw largest = [this] { return uniform(0.99, 1) * 3.4028234e38; };
  const Draw fraction = [this] { return uniform(-1, 1) * 0x1p-40; };
  int number = 0;
  for (const auto& [a, b] : {std::pair{both, both},
                             {positive, positive},
                             {wide, wide},
                             {wider, wider},
                             {subnormal, large},
                             {large, subnormal},
                             {small, large},
                             {largest, fraction}}) {
    for (const std::int64_t k : {5, 200}) {
      Product product(k, a, b);
      const std::vector<double> exact = product.plain<double>();
      EXPECT_LE(distance(product.split(), exact), 2 * distance(product.plain<float>(), exact))
          << "values " << number << ", K " << k;
    }
    ++number;
  }
}

// The three parts of an element are the element.
TEST_F(Bf16x6, LosesNoBits) {
  const auto within = [this](double size) {
    return [this, size] { return uniform(-1.99, 1.99) * size; };
  };
  const Draw largest = [this] {
    return std::copysign(0x1p128 - std::ceil(uniform(0.1, 255)) * 0x1p104, uniform(-1, 1));
  };
  int number = 0;
  for (const Draw& a : {Draw(within(1)), Draw(within(0x1p-110)), Draw(within(0x1p-126)),
                        Draw(within(0x1p-140)), Draw(within(0x1p127)), largest}) {
    Product product(kColumns, a, [] { return 0; });
    for (std::int64_t i = 0; i < kColumns; ++i)
      product.b()[static_cast<std::size_t>(i * kColumns + i)] = 1;
    EXPECT_EQ(product.split(), product.a()) << "values " << number++;
  }
}

TEST_F(Bf16x6, EverySchedule) {
  for (const char* const filter :
       {"schedule=cooperative tile=128x192x64", "schedule=pingpong tile=64x64x64",
        "schedule=single tile=64x128x64", "cluster=2x1x1", "cluster=1x2x1"}) {
    Product product(
        300, [this] { return uniform(-1, 1); }, [this] { return uniform(-1, 1); });
    const std::vector<double> exact = product.plain<double>();
    EXPECT_LE(distance(product.split(filter), exact), 2 * distance(product.plain<float>(), exact))
        << filter;
  }
}

TEST_F(Bf16x6, IsFoundWhereItIsAllowed) {
  for (const char* const text : {"gemm m=64 n=64 k=64 a=f32", "gemm m=64 n=64 k=64 a=bf16"})
    EXPECT_TRUE(kernels(*Problem::parse(text).arguments(Device::cuda(0))).empty()) << text;
  const auto allowed = Problem::parse("gemm m=64 n=63 k=65 a=f32:n b=f32 out=f32:n allow_bf16x6=1")
                           .arguments(Device::cuda(0));
  const KernelList found = kernels(*allowed);
  ASSERT_FALSE(found.empty());
  // Three planes of 128 elements for each row of A and each column of B.
  EXPECT_EQ(found.front().workspace_size(*allowed), (64U + 63) * 3 * 128 * 2);
  EXPECT_FALSE(found.front().knobs().zigzag);
}

}  // namespace
}  // namespace estoc::bf16x6_test
