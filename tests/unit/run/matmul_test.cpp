// matmul: plans that are remembered, told apart, used by threads at once, and forgotten.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "operands.h"

namespace estoc::run_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Matmul, MultipliesAgainAndAgain) {
  for (int seed = 0; seed < 20; ++seed) {
    Operands each(seed, 1 + seed % 3);
    matmul(each.a_view(), each.b_view(), each.out_view());
    each.expect();
  }
}

TEST(Matmul, TakesAnEpilogueAndItsOperands) {
  for (int seed = 0; seed < 10; ++seed) {
    Operands each(seed);
    const double alpha = seed;
    const EpilogueOperand operands[] = {{"alpha", alpha}, {"bias", each.bias_view()}};
    matmul(each.a_view(), each.b_view(), each.out_view(),
           {.epilogue = "D = alpha * accum + bias", .operands = operands});
    each.expect(static_cast<float>(alpha), true);
    matmul(each.a_view(), each.b_view(), each.out_view(), {.epilogue = "D = -accum"});
    each.expect(-1);
    matmul(each.a_view(), each.b_view(), each.out_view());
    each.expect();
  }
}

/// Products of i8 with a factor for each row of A and each column of B. All are aligned alike, as
/// plans are remembered by that.
struct ScaledOperands {
  explicit ScaledOperands(int seed) {
    fill(a, seed);
    fill(b, seed + 1);
    fill(a_scale, seed + 2);
    fill(b_scale, seed + 3);
  }

  template <typename Values>
  static void fill(Values& values, int seed) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<std::int8_t>((static_cast<int>(i) * 5 + seed * 3) % 7 - 3);
  }

  ScaledTensor a_operand() {
    return {TensorView::row_major(a.data(), Dtype::i8, {kM, kK}),
            TensorView::row_major(a_scale.data(), Dtype::f32, {kM, 1}), ScaleMode::rowwise};
  }
  ScaledTensor b_operand() {
    return {TensorView::row_major(b.data(), Dtype::i8, {kK, kN}),
            TensorView::row_major(b_scale.data(), Dtype::f32, {1, kN}), ScaleMode::rowwise};
  }

  void expect(const std::vector<float>& out) const {
    for (std::size_t row = 0; row < kM; ++row) {
      for (std::size_t column = 0; column < kN; ++column) {
        float sum = 0;
        for (std::size_t k = 0; k < kK; ++k)
          sum += static_cast<float>(a[row * kK + k] * b[k * kN + column]);
        ASSERT_EQ(out[row * kN + column], a_scale[row] * sum * b_scale[column])
            << row << ", " << column;
      }
    }
  }

  alignas(256) std::array<std::int8_t, kM * kK> a{};
  alignas(256) std::array<std::int8_t, kK * kN> b{};
  alignas(256) std::array<float, kM> a_scale{};
  alignas(256) std::array<float, kN> b_scale{};
};

TEST(Matmul, RemembersOperandsWithScales) {
  std::vector<float> out(kM * kN);
  const TensorView result = TensorView::row_major(out.data(), Dtype::f32, {kM, kN});
  ScaledOperands first(0);
  ScaledOperands second(1);
  matmul(first.a_operand(), first.b_operand(), result);
  first.expect(out);
  for (int round = 0; round < 20; ++round) {
    ScaledOperands& each = round % 2 == 0 ? second : first;
    std::ranges::fill(out, 77.0F);
    EXPECT_FALSE(matmul(each.a_operand(), each.b_operand(), result));
    each.expect(out);
  }
  // The scales alone are elsewhere.
  alignas(256) std::array<float, kM> other{};
  std::ranges::reverse_copy(first.a_scale, other.begin());
  ScaledTensor moved = first.a_operand();
  moved.scale = TensorView::row_major(other.data(), Dtype::f32, {kM, 1});
  EXPECT_FALSE(matmul(moved, first.b_operand(), result));
  first.a_scale = other;
  first.expect(out);
}

TEST(Matmul, TellsScalesApart) {
  std::vector<float> out(kM * kN);
  const TensorView result = TensorView::row_major(out.data(), Dtype::f32, {kM, kN});
  ScaledOperands each(3);
  matmul(each.a_operand(), each.b_operand(), result);
  float factor = 2;
  const ScaledTensor a{each.a_operand().data, TensorView::row_major(&factor, Dtype::f32, {1, 1}),
                       ScaleMode::tensorwise};
  EXPECT_TRUE(matmul(a, each.b_operand(), result));
  std::ranges::fill(each.a_scale, 2.0F);
  each.expect(out);
  const EpilogueOperand beta[] = {{"beta", 3.0}};
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(
        matmul(a, each.b_operand(), result, {.epilogue = "D = accum * beta", .operands = beta}),
        round == 0);
  }
  std::ranges::fill(each.a_scale, 6.0F);
  each.expect(out);
}

/// Three experts; rows of no group keep the 77 of Operands.
TEST(GroupedMm, ReadsTheOffsetsOfEachCall) {
  Operands each(3, 8);
  std::vector<float> weights = Operands::filled(3 * kK * kN, 5);
  const TensorView b = TensorView::row_major(weights.data(), Dtype::f32, {3, kK, kN});
  std::vector<std::int32_t> ends(3);
  const TensorView offsets = TensorView::row_major(ends.data(), Dtype::i32, {3});
  const std::vector<std::int32_t> cases[] = {{2, 2, 7}, {0, 8, 8}, {1, 2, 3}};
  for (const auto& given : cases) {
    std::ranges::copy(given, ends.begin());
    std::ranges::fill(each.out, 77.0F);
    grouped_mm(each.a_view(), b, each.out_view(), {.offsets = offsets});
    for (std::int64_t row = 0; row < 8; ++row) {
      const auto group = std::ranges::upper_bound(given, row) - given.begin();
      for (std::int64_t column = 0; column < kN; ++column) {
        float wanted = group == 3 ? 77 : 0;
        for (std::int64_t k = 0; k < (group == 3 ? 0 : kK); ++k) {
          wanted += each.a[static_cast<std::size_t>(row * kK + k)] *
                    weights[static_cast<std::size_t>((group * kK + k) * kN + column)];
        }
        ASSERT_EQ(each.out[static_cast<std::size_t>(row * kN + column)], wanted);
      }
    }
  }
}

TEST(GroupedMm, IsRememberedApartFromOthers) {
  Operands each(3, 8);
  std::vector<float> weights = Operands::filled(3 * kK * kN, 5);
  const TensorView b = TensorView::row_major(weights.data(), Dtype::f32, {3, kK, kN});
  std::array<std::int32_t, 3> ends{2, 2, 7};
  GroupOptions groups{.offsets = TensorView::row_major(ends.data(), Dtype::i32, {3})};
  grouped_mm(each.a_view(), b, each.out_view(), groups);
  EXPECT_FALSE(grouped_mm(each.a_view(), b, each.out_view(), groups));
  groups.zero_rest = true;
  grouped_mm(each.a_view(), b, each.out_view(), groups);
  EXPECT_EQ(each.out.back(), 0);
  EXPECT_FALSE(grouped_mm(each.a_view(), b, each.out_view(), groups));
  const EpilogueOperand bias[] = {{"bias", each.bias_view()}};
  for (int round = 0; round < 3; ++round) {
    grouped_mm(each.a_view(), b, each.out_view(), groups,
               {.epilogue = "D = accum + bias", .operands = bias});
    EXPECT_EQ(each.out.back(), each.bias.back());
    each.bias.back() += 1;
  }
  EXPECT_EQ(grouped_result_shape(each.a_view(), b, 3), (std::vector<std::int64_t>{8, kN}));
  EXPECT_EQ(grouped_result_shape(each.a_view(), each.b_view(), 3),
            (std::vector<std::int64_t>{3, 8, kN}));
  EXPECT_THROW(grouped_result_shape(TensorView(), b, 3), Error);
}

TEST(Matmul, TellsNamesOfOperandsApart) {
  Operands each(1);
  for (int round = 0; round < 3; ++round) {
    const EpilogueOperand forward[] = {{"x", 3.0}, {"y", 1.0}};
    const EpilogueOperand backward[] = {{"y", 1.0}, {"x", 2.0}};
    matmul(each.a_view(), each.b_view(), each.out_view(),
           {.epilogue = "D = x * accum / y", .operands = forward});
    each.expect(3);
    matmul(each.a_view(), each.b_view(), each.out_view(),
           {.epilogue = "D = x * accum / y", .operands = backward});
    each.expect(2);
  }
}

TEST(Matmul, InThreadsAtOnce) {
  std::vector<Operands> problems;
  for (int seed = 0; seed < 12; ++seed)
    problems.emplace_back(seed);
  {
    std::vector<std::jthread> threads;
    for (Operands& each : problems) {
      threads.emplace_back([&each] {
        for (int round = 0; round < 200; ++round) {
          each.out.assign(each.out.size(), 77.0F);
          const EpilogueOperand bias[] = {{"bias", each.bias_view()}};
          matmul(each.a_view(), each.b_view(), each.out_view(),
                 {.epilogue = "D = accum + bias", .operands = bias, .threads = 1});
          each.expect(1, true);
        }
      });
    }
  }
}

TEST(Matmul, RefusesWhatDoesNotFit) {
  Operands each(1);
  for (int round = 0; round < 2; ++round) {  // also with a plan that is remembered
    EXPECT_THAT(
        message_of(ErrorKind::value, [&] { matmul(each.a_view(), each.b_view(), each.b_view()); }),
        HasSubstr("out.shape: expected M = 6, got 7"));
    EXPECT_THAT(
        message_of(
            ErrorKind::value,
            [&] {
              const TensorView out = TensorView::row_major(each.a.data(), Dtype::f32, {kM, kN});
              matmul(each.a_view(), each.b_view(), out);
            }),
        HasSubstr("out"));
    EXPECT_THAT(message_of(ErrorKind::value,
                           [&] {
                             matmul(each.a_view(), each.b_view(), each.out_view(),
                                    {.epilogue = "D = accum + bias"});
                           }),
                HasSubstr("bias: expected a tensor or a scalar, got none"));
    matmul(each.a_view(), each.b_view(), each.out_view());
    each.expect();
  }
}

/// Takes every product of f32 before others do, and writes nothing.
class Idle final : public KernelClass {
 public:
  std::string_view name() const override { return "idle"; }
  Operation operation() const override { return Operation::gemm; }
  std::shared_ptr<const DesignSpace> space() const override {
    DesignSpace::Builder builder;
    builder.dtypes(Role::a_dtype, {Dtype::f32})
        .dtypes(Role::b_dtype, {Dtype::f32})
        .dtypes(Role::accumulator_type, {Dtype::f32})
        .dtypes(Role::out_dtype, {Dtype::f32});
    return builder.build();
  }
  std::span<const Target> targets() const override { return targets_; }
  std::optional<Prediction> predict(const DesignPoint& /*point*/,
                                    const RuntimeArguments& /*arguments*/,
                                    Target /*target*/) const override {
    return Prediction{.seconds = 1e-12, .knobs = {}};
  }
  std::unique_ptr<Launch> bind(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
                               const RuntimeArguments& /*arguments*/,
                               std::shared_ptr<const CompiledObject> /*object*/,
                               const BindOptions& /*options*/) const override {
    class Nothing final : public Launch {
      void launch(void* /*stream*/) override {}
    };
    return std::make_unique<Nothing>();
  }

 private:
  std::vector<Target> targets_{Target::cpu()};
};

TEST(Matmul, ForgetsPlansWhenAClassComesOrGoes) {
  Operands each(1);
  const auto multiply = [&] {
    each.out.assign(each.out.size(), 77.0F);
    matmul(each.a_view(), each.b_view(), each.out_view());
  };
  multiply();
  each.expect();
  auto idle = std::make_shared<Idle>();
  const std::weak_ptr<Idle> last = idle;
  register_kernel_class("test", std::move(idle));
  multiply();
  EXPECT_THAT(each.out, testing::Each(77.0F));
  unregister_kernel_class("idle");
  EXPECT_TRUE(last.expired()) << "a plan of it is remembered still";
  multiply();
  each.expect();
}

TEST(Matmul, OfMoreSignaturesThanAreRemembered) {
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t m = 1; m <= 600; ++m) {
      Operands each(static_cast<int>(m), m);
      matmul(each.a_view(), each.b_view(), each.out_view());
      each.expect();
    }
  }
}

TEST(ResultDtype, FollowsA) {
  EXPECT_EQ(result_dtype(Dtype::f64, Dtype::f64), Dtype::f64);
  EXPECT_EQ(result_dtype(Dtype::bf16, Dtype::bf16), Dtype::bf16);
  EXPECT_EQ(result_dtype(Dtype::tf32, Dtype::f32), Dtype::f32);
  EXPECT_EQ(result_dtype(Dtype::e4m3, Dtype::e5m2), Dtype::bf16);
  EXPECT_EQ(result_dtype(Dtype::i8, Dtype::u8), Dtype::i32);
  EXPECT_EQ(result_dtype(Dtype::i4, Dtype::i4), Dtype::i32);
  EXPECT_THAT(message_of(ErrorKind::type, [] { (void)result_dtype(Dtype::f32, Dtype::boolean); }),
              HasSubstr("out: expected a dtype for a product of f32 and bool, got none"));
}

TEST(ResultShape, HasTheBatchesOfEither) {
  std::vector<float> values(64);
  const auto view = [&](std::initializer_list<std::int64_t> shape) {
    return TensorView::row_major(values.data(), Dtype::f32, shape);
  };
  EXPECT_THAT(result_shape(view({2, 4}), view({4, 5})), ElementsAre(2, 5));
  EXPECT_THAT(result_shape(view({3, 2, 4}), view({4, 5})), ElementsAre(3, 2, 5));
  EXPECT_THAT(result_shape(view({2, 4}), view({3, 4, 5})), ElementsAre(3, 2, 5));
  EXPECT_THAT(message_of(ErrorKind::value,
                         [&] {
                           (void)result_shape(view({2}), view({2, 1, 1, 1}));
                         }),
              HasSubstr("a, b: expected tensors of two or three modes, got 1 and 4"));
}

}  // namespace
}  // namespace estoc::run_test
