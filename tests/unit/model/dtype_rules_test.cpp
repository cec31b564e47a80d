// Which dtypes are multiplied, what they are added up in, and what is stored.
#include "model/dtype_rules.h"

#include <gtest/gtest.h>

namespace estoc {
namespace {

TEST(DtypeRules, ProductsAreOfOneDtypeOrOneFamily) {
  for (const Dtype dtype : all_dtypes())
    EXPECT_TRUE(multiplies(dtype, dtype));
  EXPECT_TRUE(multiplies(Dtype::f16, Dtype::e5m2));
  EXPECT_TRUE(multiplies(Dtype::i8, Dtype::u8));
  EXPECT_FALSE(multiplies(Dtype::f32, Dtype::f16));
  EXPECT_FALSE(multiplies(Dtype::i8, Dtype::e4m3));
}

TEST(DtypeRules, F16AccumulatesProductsOfF16AndFp8Alone) {
  EXPECT_TRUE(accumulates_in(Dtype::f16, Dtype::e4m3, Dtype::f16));
  EXPECT_FALSE(accumulates_in(Dtype::f16, Dtype::bf16, Dtype::f16));
  EXPECT_FALSE(accumulates_in(Dtype::f32, Dtype::f32, Dtype::f16));
  EXPECT_TRUE(accumulates_in(Dtype::i8, Dtype::u8, Dtype::i32));
  EXPECT_FALSE(accumulates_in(Dtype::i8, Dtype::u8, Dtype::f32));
  EXPECT_TRUE(accumulates_in(Dtype::f64, Dtype::f64, Dtype::f64));
}

TEST(DtypeRules, ResultsAreStoredFromTheAccumulator) {
  for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::tf32, Dtype::f16, Dtype::bf16,
                            Dtype::e4m3, Dtype::e5m2, Dtype::i8, Dtype::u8}) {
    ASSERT_TRUE(result_of(dtype)) << dtype_name(dtype);
    EXPECT_TRUE(stores(accumulator_of(dtype), *result_of(dtype))) << dtype_name(dtype);
  }
  EXPECT_EQ(result_of(Dtype::e8m0), std::nullopt);
  EXPECT_EQ(result_of(Dtype::e2m1), std::nullopt);
  EXPECT_EQ(result_of(Dtype::boolean), std::nullopt);
  EXPECT_EQ(result_of(Dtype::u8), Dtype::i32);
  EXPECT_EQ(result_of(Dtype::e5m2), Dtype::bf16);
  EXPECT_EQ(result_of(Dtype::f16), Dtype::f16);
  EXPECT_FALSE(stores(Dtype::f64, Dtype::f16));
  EXPECT_FALSE(stores(Dtype::f32, Dtype::i8));
}

}  // namespace
}  // namespace estoc
