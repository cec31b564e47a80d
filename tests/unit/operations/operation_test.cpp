// Operands by name and role, arguments over other operands, and what an operation has to do.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "estoc/problem.hpp"
#include "operations/operation.h"
#include "support.h"

namespace estoc::test {
namespace {

std::unique_ptr<RuntimeArguments> described(const std::string& text) {
  return Problem::parse(text).arguments();
}

/// "A:in B:in out:out".
std::string words(const RuntimeArguments& arguments) {
  std::string words;
  for (const NamedOperand& operand : arguments.operands()) {
    if (!words.empty()) words += ' ';
    words += operand.name;
    words += operand.role == OperandRole::input ? ":in" : ":out";
  }
  return words;
}

TEST(Operands, HaveNamesAndRoles) {
  EXPECT_EQ(words(*described("gemm m=3 n=5 k=7 a=f16")), "A:in B:in out:out");
  EXPECT_EQ(words(*described("elementwise op=add shape=3 a=f16")), "A:in B:in out:out");
  EXPECT_EQ(words(*described("elementwise op=relu shape=3 a=f16")), "A:in out:out");
}

TEST(Operands, AreTheArgumentsOwn) {
  const auto arguments = described("gemm m=3 n=5 k=7 a=f16 b=bf16 out=f32");
  const auto& gemm = dynamic_cast<const GemmArguments&>(*arguments);
  const OperandList operands = arguments->operands();
  EXPECT_EQ(operands[0].tensor, &gemm.a().tensor());
  EXPECT_EQ(operands[1].tensor, &gemm.b().tensor());
  EXPECT_EQ(operands[2].tensor, &gemm.out());
  EXPECT_EQ(operands[0].scaled, nullptr);
}

TEST(Operands, SayWhatIsScaled) {
  const auto data = TensorView::describe(Dtype::e4m3, std::array<std::int64_t, 2>{4, 4},
                                         std::array<std::int64_t, 2>{4, 1});
  const auto out = TensorView::describe(Dtype::f32, std::array<std::int64_t, 2>{4, 4},
                                        std::array<std::int64_t, 2>{4, 1});
  const ScaledTensor scaled{data, TensorView::describe(Dtype::f32, {}, {})};
  const GemmArguments arguments(data, scaled, out, Dtype::f32);
  EXPECT_EQ(arguments.operands()[0].scaled, nullptr);
  ASSERT_NE(arguments.operands()[1].scaled, nullptr);
  EXPECT_EQ(arguments.operands()[1].scaled->scale.dtype(), Dtype::f32);
}

TEST(Operands, AgreeWithTheSchemas) {
  for (const char* text : {"gemm m=3 n=5 k=7 a=f16", "elementwise op=add shape=3 a=f16"}) {
    const auto arguments = described(text);
    const auto& schema = operations::schema_of(*arguments);
    EXPECT_EQ(schema.name, operation_name(arguments->operation()));
    const OperandList operands = arguments->operands();
    ASSERT_EQ(operands.size(), schema.operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      EXPECT_STREQ(operands[i].name, schema.operands[i].name);
      EXPECT_EQ(operands[i].role, schema.operands[i].role);
    }
  }
}

TEST(Operations, AreInTheOrderOfTheirValues) {
  const auto all = operations::all_operations();
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(all[i]->operation), i);
    EXPECT_EQ(parse_operation(all[i]->name), all[i]->operation);
    EXPECT_LE(all[i]->operands.size(), kMaxOperands);
  }
  EXPECT_EQ(parse_operation("conv"), std::nullopt);
}

/// The problem over the same operands with memory behind them.
std::string over_memory(const std::string& text) {
  static std::array<std::array<double, 4096>, 3> memory;
  const auto arguments = described(text);
  std::vector<Operand> operands;
  for (const NamedOperand& operand : arguments->operands()) {
    const TensorView& view = *operand.tensor;
    operands.emplace_back(
        TensorView(memory[operands.size()].data(), view.dtype(), view.shape(), view.strides()));
  }
  const auto made = arguments->with_operands(operands);
  EXPECT_TRUE(made->has_data());
  const OperandList placed = made->operands();
  for (std::size_t i = 0; i < placed.size(); ++i)
    EXPECT_EQ(placed[i].tensor->data(), memory[i].data());
  return Problem::of(*made).to_string();
}

TEST(WithOperands, KeepsWhatTheArgumentsSay) {
  for (const char* text :
       {"gemm m=3 n=5 k=7 l=2 a=f16:t b=f16:n out=f32:t acc=f32",
        "gemm m=4 n=4 k=4 l=1 a=f32:t b=f32:t out=f32:t acc=f32 "
        "epi=\"D = relu(accum)\" allow_tf32=1 deterministic=1 batch_invariant=1 workspace=1KiB",
        "elementwise op=relu shape=3x5 a=f16:t out=f32:n",
        "elementwise op=add shape=2x3x5 a=f32:t b=f16:t out=f32:t deterministic=1"}) {
    EXPECT_EQ(over_memory(text), text);
  }
}

TEST(WithOperands, TakesOperandsOfTheEpilogue) {
  const auto arguments = described("gemm m=3 n=5 k=7 a=f32 epi=\"D = accum + bias\" bias=f32:row");
  const OperandList own = arguments->operands();
  const std::vector<Operand> operands{*own[0].tensor, *own[1].tensor, *own[2].tensor};
  std::array<float, 5> memory{};
  const EpilogueOperand bias("bias", TensorView(memory.data(), Dtype::f32, {5}, {1}));
  const auto made = arguments->with_operands(operands, {bias});
  EXPECT_EQ(made->epilogue().find("bias")->tensor()->data(), memory.data());
  expect_error([&] { arguments->with_operands(operands); },
               "operands of the epilogue: expected 1, got 0");
}

TEST(WithOperands, RefusesAnotherNumber) {
  const auto arguments = described("gemm m=3 n=5 k=7 a=f32");
  const std::vector<Operand> one{*arguments->operands()[0].tensor};
  expect_error([&] { arguments->with_operands(one); }, "operands: expected 3, got 1");
}

TEST(Arguments, AreCloned) {
  const auto arguments = described("gemm m=3 n=5 k=7 a=f16 out=f16 epi=\"D = relu(accum)\"");
  const auto copy = arguments->clone();
  EXPECT_EQ(Problem::of(*copy), Problem::of(*arguments));
  EXPECT_NE(copy->operands()[0].tensor, arguments->operands()[0].tensor);
}

TEST(Work, OfAProductIsItsArithmetic) {
  const OperationWork work = described("gemm m=3 n=5 k=7 l=2 a=f16 out=f32")->work();
  EXPECT_EQ(work.flops, 2.0 * 2 * 3 * 5 * 7);
  EXPECT_EQ(work.bytes, 2 * (3 * 7 * 2 + 7 * 5 * 2 + 3 * 5 * 4));
}

TEST(Work, OfAnElementwiseOperationIsItsBytes) {
  const OperationWork binary = described("elementwise op=add shape=3x5 a=f16 out=f32")->work();
  EXPECT_EQ(binary.flops, std::nullopt);
  EXPECT_EQ(binary.bytes, 15 * (2 + 2 + 4));
  EXPECT_EQ(described("elementwise op=relu shape=3x5 a=f16 out=f32")->work().bytes, 15 * (2 + 4));
}

TEST(DefaultAccumulator, LooksAtBothInputs) {
  EXPECT_EQ(default_accumulator_type(Dtype::f16, Dtype::f16), Dtype::f32);
  EXPECT_EQ(default_accumulator_type(Dtype::f32, Dtype::f64), Dtype::f64);
  EXPECT_EQ(default_accumulator_type(Dtype::f64, Dtype::f32), Dtype::f64);
  EXPECT_EQ(default_accumulator_type(Dtype::i8, Dtype::u8), Dtype::i32);
  EXPECT_EQ(default_accumulator_type(Dtype::i8, Dtype::f32), Dtype::f32);
}

}  // namespace
}  // namespace estoc::test
