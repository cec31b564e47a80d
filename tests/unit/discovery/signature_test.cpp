// The signature of arguments: what tells it apart, and what it leaves out.
#include "discovery/signature.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "estoc/problem.hpp"

namespace estoc::testing {
namespace {

using discovery::Signature;
using discovery::SignatureKey;

Signature signature(const std::string& text) {
  return Signature(*Problem::parse(text).arguments());
}

SignatureKey key(const std::string& text) {
  return signature(text).key();
}

TEST(Signature, IsOfTypesLayoutsAndAlignments) {
  const std::string one = "gemm m=64 n=64 k=64 a=f16:t b=f16:n out=f32:t";
  const std::vector<std::string> others{
      "gemm m=64 n=64 k=64 a=bf16:t b=f16:n out=f32:t",
      "gemm m=64 n=64 k=64 a=f16:n b=f16:n out=f32:t",
      "gemm m=64 n=64 k=64 a=f16:t b=bf16:n out=f32:t",
      "gemm m=64 n=64 k=64 a=f16:t b=f16:t out=f32:t",
      "gemm m=64 n=64 k=64 a=f16:t b=f16:n out=f16:t",
      "gemm m=64 n=64 k=64 a=f16:t@8 b=f16:n out=f32:t",
      "gemm m=64 n=64 k=64 a=f16:t b=f16:n out=f32:t@8",
      "gemm m=1 n=64 k=64 a=f16:t b=f16:n out=f32:t",
      "gemm m=64 n=64 k=64 a=f16:t b=f16:n out=f32:t acc=f64",
      "gemm m=64 n=64 k=64 a=f16:t b=f16:n out=f32:t allow_tf32=1",
      "gemm m=64 n=64 k=64 a=f16:t b=f16:n out=f32:t fast_accumulation=1",
      "elementwise op=add shape=64x64 a=f16:t b=f16:n out=f32:t",
      "elementwise op=sub shape=64x64 a=f16:t b=f16:n out=f32:t"};
  std::set<std::vector<std::uint64_t>> keys;
  for (const std::string& text : others) {
    const SignatureKey other = key(text);
    EXPECT_FALSE(other == key(one)) << text;
    keys.emplace(other.words().begin(), other.words().end());
  }
  EXPECT_EQ(keys.size(), others.size());
}

TEST(Signature, LeavesExtentsOut) {
  const SignatureKey small = key("gemm m=128 n=128 k=128 a=f16");
  const SignatureKey large = key("gemm m=128 n=256 k=512 l=3 a=f16");
  EXPECT_EQ(small, large);
  EXPECT_EQ(small.hash(), large.hash());
}

TEST(Signature, HasAnOperandForEachOfTheSchema) {
  const Signature unary = signature("elementwise op=relu shape=64x64 a=f16:n out=f32");
  ASSERT_EQ(unary.operands().size(), 3U);
  EXPECT_EQ(unary.operands()[1].dtype, Dtype::f16);
  EXPECT_TRUE(unary.operands()[1].column_major);
  EXPECT_FALSE(unary.operands()[1].row_major);
  EXPECT_EQ(unary.operands()[2].dtype, Dtype::f32);
  const auto arguments =
      Problem::parse("elementwise op=relu shape=64x64 a=f16 out=f32").arguments();
  EXPECT_EQ(discovery::operand_view(*arguments, 1).dtype(), Dtype::f16);
  EXPECT_EQ(discovery::operand_view(*arguments, 2).dtype(), Dtype::f32);
}

TEST(Signature, KnowsScalesOfBlocks) {
  const Signature blocks(*Problem::parse("gemm m=64 n=64 k=64 a=e4m3 b=e4m3*1x128").arguments());
  EXPECT_FALSE(blocks.operands()[0].block_scaled);
  EXPECT_TRUE(blocks.operands()[1].block_scaled);
  EXPECT_TRUE(blocks.block_scaled());
  const Signature rows(*Problem::parse("gemm m=64 n=64 k=64 a=e4m3 b=e4m3*row").arguments());
  EXPECT_FALSE(rows.block_scaled());
}

}  // namespace
}  // namespace estoc::testing
