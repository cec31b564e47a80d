// The table of epilogue operations: names lead to rows and back, and only what has a spelling is
// called.
#include "epilogue/op_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <tuple>

#include "estoc/epilogue.hpp"

namespace estoc::epilogue {
namespace {

TEST(OpTable, EachRowStandsAtItsOperationUnderANameOfItsOwn) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kOpCount; ++i) {
    const auto op = static_cast<EpilogueOp>(i);
    const OpInfo& info = op_info(op);
    EXPECT_EQ(info.op, op);
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(find_op(info.name), op) << info.name;
    EXPECT_EQ(epilogue_op_name(op), info.name);
    EXPECT_LE(info.inputs, std::tuple_size_v<decltype(EpilogueNode::inputs)>) << info.name;
    EXPECT_EQ(info.inputs == 0, info.rule == TypeRule::leaf) << info.name;
    EXPECT_TRUE(!info.commutes || info.inputs == 2) << info.name;
    // What is written as a sign or not at all is no function.
    const bool is_function = info.spelling == Spelling::function;
    EXPECT_EQ(find_function(info.name).has_value(), is_function) << info.name;
  }
  EXPECT_EQ(op_info(EpilogueOp::accumulator).name, "accum");
  EXPECT_EQ(find_op("accumulator"), std::nullopt);
  EXPECT_EQ(find_op(""), std::nullopt);
}

TEST(OpTable, FunctionsHaveSecondNames) {
  EXPECT_EQ(find_function("max"), EpilogueOp::maximum);
  EXPECT_EQ(find_function("min"), EpilogueOp::minimum);
  EXPECT_EQ(find_function("where"), EpilogueOp::select);
  EXPECT_EQ(find_function("swish"), EpilogueOp::silu);
  EXPECT_EQ(find_op("swish"), std::nullopt);
  EXPECT_EQ(find_function("bf16"), std::nullopt);
}

TEST(OpTable, OnlySomeCallsHaveADefault) {
  for (std::size_t i = 0; i < kOpCount; ++i) {
    const auto op = static_cast<EpilogueOp>(i);
    const bool has = op == EpilogueOp::leaky_relu || op == EpilogueOp::elu;
    EXPECT_EQ(default_input(op).has_value(), has) << op_info(op).name;
  }
  EXPECT_EQ(default_input(EpilogueOp::leaky_relu), 0.01);
}

TEST(OpTable, ReductionsAreFoundByName) {
  for (int i = 0; i < kReductionCount; ++i) {
    const auto reduction = static_cast<EpilogueReduction>(i);
    EXPECT_EQ(find_reduction(epilogue_reduction_name(reduction)), reduction);
  }
  EXPECT_EQ(find_reduction("mean"), std::nullopt);
}

TEST(OpTable, CastsGoToTypesThatElementsAreRoundedTo) {
  EXPECT_EQ(find_cast("bf16"), Dtype::bf16);
  EXPECT_EQ(find_cast("tf32"), Dtype::tf32);
  for (const char* name : {"f64", "e8m0", "e2m1", "i4", "f33", ""})
    EXPECT_EQ(find_cast(name), std::nullopt) << name;
  // tf32 is a way to round, no type of memory; f64 the reverse.
  EXPECT_FALSE(is_operand_dtype(Dtype::tf32));
  EXPECT_TRUE(is_operand_dtype(Dtype::f64));
  EXPECT_FALSE(is_cast_goal(Dtype::f64));
  EXPECT_FALSE(is_operand_dtype(Dtype::e8m0));
}

TEST(OpTable, AccumulatorsAreHeldInTheWiderType) {
  EXPECT_EQ(held_as(Dtype::f64), EpilogueType::f64);
  EXPECT_EQ(held_as(Dtype::i32), EpilogueType::i32);
  EXPECT_EQ(held_as(Dtype::f32), EpilogueType::f32);
  EXPECT_EQ(held_as(Dtype::f16), EpilogueType::f32);
  EXPECT_EQ(dtype_of(EpilogueType::boolean), Dtype::boolean);
  EXPECT_EQ(device_name(Dtype::boolean), "Type::boolean");
  EXPECT_EQ(device_name(Dtype::e4m3), "Type::e4m3");
}

TEST(OpTable, TheNearestNameIsAFunctionAReductionOrACast) {
  EXPECT_EQ(nearest_function("rleu"), "relu");
  EXPECT_EQ(nearest_function("absmx"), "absmax");
  EXPECT_EQ(nearest_function("bf61"), "bf16");
  EXPECT_EQ(nearest_function("quantise"), "quantize");
  EXPECT_EQ(nearest_function("something_else"), std::nullopt);
}

}  // namespace
}  // namespace estoc::epilogue
