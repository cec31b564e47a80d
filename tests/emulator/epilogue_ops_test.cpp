// The operations of epilogues against double precision, over the domain of each.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "emulator/conversions.h"
#include "emulator/runtime.h"

#include <estoc/epilogue/ops.cuh>

namespace estoc::epilogue {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Units in the last place of f32 between `got` and the exact value.
double ulps(float got, double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : kInfinity;
  const auto nearest = static_cast<float>(exact);
  if (got == nearest) return 0;
  if (std::isinf(nearest) || std::isinf(got) || std::isnan(got)) return kInfinity;
  const int exponent = std::max(std::ilogb(exact == 0 ? 1e-300 : exact), -126);
  return std::fabs(static_cast<double>(got) - exact) / std::ldexp(1.0, exponent - 23);
}

/// Every finite float of either sign within the bounds, thinned out.
template <typename Each>
void over(double low, double high, Each each) {
  for (u32 bits = 0; bits < 0x7f800000u; bits += 4093) {
    for (const u32 sign : {0u, 0x80000000u}) {
      const auto x = std::bit_cast<float>(bits | sign);
      if (x >= low && x <= high) each(x);
    }
  }
}

template <typename Op, typename Exact>
void expect_within(const std::string& name, double low, double high, double bound, Op op,
                   Exact exact) {
  double worst = 0;
  float at = 0;
  over(low, high, [&](float x) {
    const double error = ulps(op(x), exact(static_cast<double>(x)));
    if (error > worst) {
      worst = error;
      at = x;
    }
  });
  EXPECT_LE(worst, bound) << name << " at " << at << ": " << op(at) << ", exactly "
                          << exact(static_cast<double>(at));
}

double exact_sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
double exact_gelu_tanh(double x) {
  return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double exact_softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}

TEST(EpilogueOps, OfF32AreWithinTheirBounds) {
  const double most = std::numeric_limits<float>::max();
  expect_within(
      "exp", -most, most, 2, [](float x) { return exp(x); }, [](double x) { return std::exp(x); });
  expect_within(
      "exp2", -most, most, 2, [](float x) { return exp2(x); },
      [](double x) { return std::exp2(x); });
  expect_within(
      "log", -1, most, 2, [](float x) { return log(x); }, [](double x) { return std::log(x); });
  expect_within(
      "sqrt", -1, most, 0.5, [](float x) { return sqrt(x); },
      [](double x) { return std::sqrt(x); });
  expect_within(
      "rsqrt", 1e-45, most, 1.5, [](float x) { return rsqrt(x); },
      [](double x) { return 1 / std::sqrt(x); });
  expect_within(
      "reciprocal", -most, most, 0.5, [](float x) { return reciprocal(x); },
      [](double x) { return 1 / x; });
  expect_within(
      "pow", 1e-10, 1e10, 8, [](float x) { return pow(x, 1.7f); },
      [](double x) { return std::pow(x, static_cast<double>(1.7f)); });
  expect_within(
      "tanh", -most, most, 4, [](float x) { return tanh(x); },
      [](double x) { return std::tanh(x); });
  expect_within(
      "softplus", -87, most, 4, [](float x) { return softplus(x); }, exact_softplus);
  expect_within(
      "elu", -most, most, 3, [](float x) { return elu(x, 1.0f); },
      [](double x) { return x > 0 ? x : std::expm1(x); });
  expect_within(
      "hardswish", -2.5, 1e30, 3, [](float x) { return hardswish(x); },
      [](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; });
  expect_within(
      "mish", -80, 1e30, 8, [](float x) { return mish(x); },
      [](double x) { return x * std::tanh(exact_softplus(x)); });
  expect_within(
      "gelu", 0, 1e30, 4, [](float x) { return gelu(x); },
      [](double x) { return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5))); });
  expect_within(
      "relu", -most, most, 0, [](float x) { return relu(x); },
      [](double x) { return std::max(x, 0.0); });
  expect_within(
      "leaky_relu", -1e30, most, 0.5, [](float x) { return leaky_relu(x, 0.25f); },
      [](double x) { return x < 0 ? 0.25 * x : x; });
}

TEST(EpilogueOps, GatesAreWithinTheirBounds) {
  expect_within(
      "sigmoid", -87, 80, 4, [](float x) { return sigmoid(x); }, exact_sigmoid);
  expect_within(
      "silu", -87, 1e30, 4, [](float x) { return silu(x); },
      [](double x) { return x * exact_sigmoid(x); });
  expect_within(
      "gelu_tanh", -1, 1e9, 6, [](float x) { return gelu_tanh(x); }, exact_gelu_tanh);
  over(-20, -1,
       [](float x) { EXPECT_NEAR(gelu_tanh(x), exact_gelu_tanh(x), 2e-7 * std::fabs(x)) << x; });
  over(-20, 0, [](float x) {
    const double exact = 0.5 * x * std::erfc(-static_cast<double>(x) * std::sqrt(0.5));
    EXPECT_NEAR(gelu(x), exact, 1.5e-7 * std::fabs(x) + 1.5e-45) << x;
    // Beside what bf16 and f16 keep of it, the error is small.
    if (x > -5.5F) {
      EXPECT_NEAR(gelu(x), exact, 2.5e-4 * std::fabs(exact) + 1.5e-45) << x;
    }
  });
}

/// Both places of a pair, beside a number that must not matter.
void expect_pairs_near(double low, double high, float beside, double ulps, double absolute) {
  over(low, high, [&](float x) {
    for (const int place : {0, 1}) {
      float pair[2] = {beside, beside};
      pair[place] = x;
      gelu_tanh(pair);
      const double exact = exact_gelu_tanh(x);
      const double bound =
          ulps * std::ldexp(std::fabs(exact), -23) + absolute * std::fabs(x) + 1.5e-45;
      ASSERT_NEAR(pair[place], exact, bound) << x << " beside " << beside;
    }
  });
}

TEST(EpilogueOps, GeluTanhOfTwoIsThatOfEach) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float beside : {0.0f, 1.5f, -3.0f, -9.0f, -1e30f, 1e30f, -infinity, infinity, kNan}) {
    expect_pairs_near(-1, 1e9, beside, 6, 0);
    expect_pairs_near(-1e30, -1, beside, 0, 2e-7);
    float pair[2] = {beside, beside};
    gelu_tanh(pair);
    EXPECT_EQ(std::isnan(pair[0]), std::isnan(beside));
    EXPECT_EQ(pair[1] == infinity, beside == infinity);
    if (beside == -infinity) {
      EXPECT_NEAR(pair[1], 0, 1e-16);
    }
  }
}

TEST(EpilogueOps, OfF64AreWithinAFewUnits) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> numbers(-30, 30);
  for (int i = 0; i < 20000; ++i) {
    const double x = numbers(random);
    const auto near = [x](double got, double exact, const char* what) {
      EXPECT_NEAR(got, exact, 1e-14 * (std::fabs(exact) + std::fabs(x) * 1e-3)) << what << x;
    };
    near(sigmoid(x), exact_sigmoid(x), "sigmoid ");
    near(silu(x), x * exact_sigmoid(x), "silu ");
    near(gelu_tanh(x), exact_gelu_tanh(x), "gelu_tanh ");
    near(softplus(x), exact_softplus(x), "softplus ");
    near(mish(x), x * std::tanh(exact_softplus(x)), "mish ");
    near(elu(x, 2.0), x > 0 ? x : 2 * std::expm1(x), "elu ");
    near(rsqrt(std::fabs(x)), 1 / std::sqrt(std::fabs(x)), "rsqrt ");
  }
}

TEST(EpilogueOps, NanGoesThroughMaximumMinimumAndRelu) {
  EXPECT_TRUE(std::isnan(maximum(kNan, 1.0f)) && std::isnan(maximum(1.0f, kNan)));
  EXPECT_TRUE(std::isnan(minimum(kNan, 1.0f)) && std::isnan(minimum(1.0f, kNan)));
  EXPECT_TRUE(std::isnan(maximum(double{kNan}, 1.0)) && std::isnan(minimum(1.0, double{kNan})));
  EXPECT_TRUE(std::isnan(relu(kNan)) && std::isnan(clamp(kNan, 0.0f, 1.0f)));
  EXPECT_TRUE(std::isnan(leaky_relu(kNan, 0.1f)) && std::isnan(elu(kNan, 1.0f)));
  EXPECT_TRUE(std::isnan(mish(kNan)) && std::isnan(softplus(kNan)) && std::isnan(silu(kNan)));
  EXPECT_FALSE(less(kNan, 1.0f) || greater_equal(kNan, 1.0f) || equal(kNan, kNan));
  EXPECT_TRUE(not_equal(kNan, kNan));
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(relu(-infinity), 0);
  EXPECT_EQ(sigmoid(-infinity), 0);
  EXPECT_EQ(sigmoid(infinity), 1);
  EXPECT_EQ(softplus(infinity), infinity);
  EXPECT_EQ(gelu_tanh(infinity), infinity);
  EXPECT_EQ(gelu(infinity), infinity);
  EXPECT_EQ(gelu(-infinity), 0);
  EXPECT_EQ(gelu(-1e30F), 0);
  EXPECT_TRUE(std::isnan(gelu(kNan)));
}

TEST(EpilogueOps, IntegersWrapAround) {
  constexpr i32 most = std::numeric_limits<i32>::max();
  constexpr i32 least = std::numeric_limits<i32>::min();
  EXPECT_EQ(add(most, 1), least);
  EXPECT_EQ(sub(least, 1), most);
  EXPECT_EQ(mul(most, 2), -2);
  EXPECT_EQ(neg(least), least);
  EXPECT_EQ(abs(least), least);
  EXPECT_EQ(div(7, -2), -3);
  EXPECT_EQ(div(7, 0), 0);
  EXPECT_EQ(div(least, -1), least);
  EXPECT_EQ(fma(most, 2, 5), 3);
  EXPECT_EQ(clamp(9, 0, 5), 5);
  EXPECT_EQ(relu(-3), 0);
}

TEST(EpilogueOps, CastsRoundOnceAndSaturate) {
  EXPECT_EQ((cast<float, Type::bf16>(1.00390625f)), 1.0f);
  EXPECT_EQ((cast<float, Type::e4m3>(1000.0f)), 448.0f);
  EXPECT_EQ((cast<i32, Type::i8>(200.0f)), 127);
  EXPECT_EQ((cast<i32, Type::u8>(-3.0f)), 0);
  EXPECT_EQ((cast<i32, Type::i32>(2.5)), 2);
  EXPECT_EQ((cast<bool, Type::boolean>(0.25f)), true);
  // Just above the middle of two bf16: rounding to f32 on the way would lose that.
  EXPECT_EQ((cast<float, Type::bf16>(1.00390625 + 1e-12)), 1.0078125f);
  EXPECT_EQ((cast<float, Type::f16>(16777217)), std::numeric_limits<float>::infinity());
  EXPECT_EQ((cast<float, Type::bf16>((1 << 24) + (1 << 16) + 1)), 16777216.0f + 131072.0f);
}

TEST(EpilogueOps, PhiloxGivesTheKnownAnswers) {
  // Random123, kat_vectors: philox4x32 with 10 rounds.
  const detail::Counter zero = detail::philox({{0, 0, 0, 0}}, 0, 0);
  EXPECT_EQ(zero.word[0], 0x6627e8d5u);
  EXPECT_EQ(zero.word[1], 0xe169c58du);
  EXPECT_EQ(zero.word[2], 0xbc57ac4cu);
  EXPECT_EQ(zero.word[3], 0x9b00dbd8u);
  const u32 ones = 0xffffffffu;
  const detail::Counter one = detail::philox({{ones, ones, ones, ones}}, ones, ones);
  EXPECT_EQ(one.word[0], 0x408f276du);
  EXPECT_EQ(one.word[1], 0x41c83b0eu);
  EXPECT_EQ(one.word[2], 0xa20bc7c6u);
  EXPECT_EQ(one.word[3], 0x6d5451fdu);
  int dropped = 0;
  for (u64 i = 0; i < 40000; ++i) {
    const float value = dropout(3.0f, 0.25f, 7u, 11u, i);
    ASSERT_TRUE(value == 0 || value == 4) << value;
    dropped += value == 0;
  }
  EXPECT_NEAR(dropped, 10000, 350);
}

}  // namespace
}  // namespace estoc::epilogue
