// Programs of elementwise operations: chains, broadcasts of any rank, types, what is refused.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "support.h"

namespace estoc::cpu {
namespace {

using testing::run;
using testing::Tensor;
using Extents = std::vector<std::int64_t>;

Tensor row_major(Dtype dtype, const Extents& shape) {
  Extents strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0; step *= shape[i])
    strides[i] = step;
  return {dtype, shape, strides};
}

void expect_right(const ElementwiseArguments& arguments, int threads = 2) {
  run(arguments, threads);
  const CheckResult check = check_output(arguments);
  EXPECT_TRUE(check.passed) << Problem::of(arguments).to_string() << ": " << check.worst;
}

std::string complaint(const std::function<void()>& act) {
  try {
    act();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(ElementwiseProgram, AChainIsOneKernel) {
  const Tensor a = row_major(Dtype::f32, {2, 3}).fill([](std::int64_t i) { return i - 2; });
  const Tensor bias = row_major(Dtype::f32, {3}).fill([](std::int64_t i) { return 10 * i; });
  const Tensor out = row_major(Dtype::f32, {2, 3});
  const ElementwiseArguments arguments(
      a.view(), out.view(), {"D = relu(2 * accum + bias) - s", {{"bias", bias.view()}, {"s", 1}}});
  EXPECT_EQ(arguments.op(), ElementwiseOp::identity);
  run(arguments);
  EXPECT_EQ(out.values(), (std::vector<double>{-1, 7, 19, 1, 13, 25}));
}

TEST(ElementwiseProgram, TensorsOfEveryBroadcastAndRank) {
  const Tensor a = row_major(Dtype::bf16, {3, 1, 5, 70}).fill(1);
  const Tensor full = row_major(Dtype::f16, {2, 3, 4, 5, 70}).fill(2);
  const Tensor row = row_major(Dtype::f32, {70}).fill(3);
  const Tensor column = row_major(Dtype::f32, {5, 1}).fill(4);
  const Tensor batch = row_major(Dtype::f32, {2, 1, 1, 1, 1}).fill(5);
  const Tensor turned = Tensor(Dtype::f32, {4, 5, 70}, {1, 4, 20}).fill(6);
  const Tensor out = row_major(Dtype::bf16, {2, 3, 4, 5, 70});
  expect_right({a.view(),
                out.view(),
                {"t = gelu(accum * row + column); D = silu(full - t) * batch + turned",
                 {{"full", full.view()},
                  {"row", row.view()},
                  {"column", column.view()},
                  {"batch", batch.view()},
                  {"turned", turned.view()}}}});
  EXPECT_TRUE(out.gaps_are_untouched());
}

TEST(ElementwiseProgram, ScalarsComeByValueAndFromMemory) {
  const Tensor a = row_major(Dtype::f32, {1000}).fill(1);
  const Tensor scale = row_major(Dtype::f32, {}).set(0, 0.5);
  const Tensor out = row_major(Dtype::f32, {1000});
  expect_right(
      {a.view(),
       out.view(),
       {"D = clamp(accum * scale, low, 0.25)", {{"scale", scale.view()}, {"low", -0.25}}}});
}

TEST(ElementwiseProgram, IntegersStayIntegersWhereAllAre) {
  const Tensor a = row_major(Dtype::i32, {4}).fill([](std::int64_t i) { return 2147483647 - i; });
  const Tensor b = row_major(Dtype::i8, {4}).fill([](std::int64_t) { return 2; });
  const Tensor out = row_major(Dtype::i32, {4});
  expect_right({a.view(), out.view(), {"D = (accum + b) * b", {{"b", b.view()}}}});
  EXPECT_EQ(out.at(0), 2);
  const Tensor rounded = row_major(Dtype::f32, {4});
  expect_right({a.view(), rounded.view(), {"D = accum + b", {{"b", b.view()}}}});
  EXPECT_EQ(rounded.at(0), 2147483648.0);
}

TEST(ElementwiseProgram, OneWideOperandMakesItWide) {
  const Tensor a = row_major(Dtype::f32, {8}).fill([](std::int64_t i) { return 1 + i; });
  const Tensor b = row_major(Dtype::f64, {8}).fill([](std::int64_t) { return 0x1p-40; });
  const Tensor out = row_major(Dtype::f64, {8});
  expect_right({a.view(), out.view(), {"D = accum + b", {{"b", b.view()}}}});
  EXPECT_EQ(out.at(0), 1 + 0x1p-40);
}

TEST(ElementwiseProgram, WorksInPlaceAndOnNothing) {
  const Tensor x = row_major(Dtype::f32, {3000}).fill([](std::int64_t i) { return i; });
  run(ElementwiseArguments(x.view(), x.view(), {"D = accum * accum + x", {{"x", x.view()}}}));
  EXPECT_EQ(x.at(2999), 2999.0 * 3000.0);
  const Tensor none = row_major(Dtype::f32, {0, 3});
  run(ElementwiseArguments(none.view(), none.view(), {"D = exp(accum)"}));
}

TEST(ElementwiseProgram, ManyOperationsOnSeveralThreads) {
  std::string text = "x0 = accum";
  for (int i = 0; i < 40; ++i)
    text += fmt::format("; x{} = x{} * 0.5 + abs(x{}) * 0.25", i + 1, i, i);
  const Tensor a = row_major(Dtype::f32, {200, 300}).fill(1);
  const Tensor out = row_major(Dtype::f16, {200, 300});
  expect_right({a.view(), out.view(), {text + "; D = x40"}}, 4);
}

TEST(ElementwiseProgram, EqualsTheNamedOperation) {
  const Tensor a = row_major(Dtype::bf16, {64, 65}).fill(1);
  const Tensor b = row_major(Dtype::bf16, {65}).fill(2);
  const Tensor named = row_major(Dtype::bf16, {64, 65});
  const Tensor program = row_major(Dtype::bf16, {64, 65});
  run(ElementwiseArguments(ElementwiseOp::div, a.view(), b.view(), named.view()));
  run(ElementwiseArguments(a.view(), program.view(), {"D = accum / b", {{"b", b.view()}}}));
  EXPECT_EQ(named.values(), program.values());
}

TEST(ElementwiseProgram, TextDescribesIt) {
  const Tensor a = row_major(Dtype::f32, {4, 6});
  const Tensor column = row_major(Dtype::f32, {4, 1});
  const Tensor row = row_major(Dtype::f16, {6});
  const ElementwiseArguments arguments(
      a.view(), row_major(Dtype::bf16, {4, 6}).view(),
      {"D = accum * s + c + r", {{"s", 0.5}, {"c", column.view()}, {"r", row.view()}}});
  const std::string text =
      "elementwise op=identity shape=4x6 a=f32:t out=bf16:t s=0.5 c=f32:[1,0] r=f16:row "
      "epi=\"D = accum * s + c + r\"";
  EXPECT_EQ(Problem::of(arguments).to_string(), text);
  const auto again = Problem::parse(text).arguments();
  EXPECT_EQ(Problem::of(*again).to_string(), text);
  EXPECT_EQ(again->epilogue_graph(), arguments.epilogue_graph());
  EXPECT_EQ(get_kernels(*again).front().name(), "cpu_elementwise-identity-f32-f32-bf16");
}

TEST(ElementwiseProgram, OtherOutputsAndShapesAreRefused) {
  const Tensor a = row_major(Dtype::f32, {4, 6});
  const Tensor out = row_major(Dtype::f32, {4, 6});
  const Tensor more = row_major(Dtype::f32, {4, 6});
  const Tensor wrong = row_major(Dtype::f32, {5});
  const auto refused = [&](const std::string& text, const Tensor& x) {
    return complaint([&] {
      ElementwiseArguments(a.view(), out.view(), {text, {{"x", x.view()}}});
    });
  };
  EXPECT_EQ(refused("D = accum; x = accum", more),
            "x: expected no output beside D of an elementwise operation, got one");
  EXPECT_EQ(refused("D = accum + x", wrong), "x.shape: expected (4, 6) or extents of 1, got (5)");
  EXPECT_EQ(
      complaint([&] {
        (void)Problem::parse("elementwise op=relu shape=4 a=f32 epi=\"D = accum\"").arguments();
      }),
      "op: expected identity or nothing beside epi, got relu");
  const ElementwiseArguments draws(
      a.view(), out.view(),
      {"D = dropout(accum, p, seed, offset)", {{"p", 0.5}, {"seed", 1}, {"offset", 0}}});
  EXPECT_TRUE(get_kernels(draws).empty());
}

}  // namespace
}  // namespace estoc::cpu
