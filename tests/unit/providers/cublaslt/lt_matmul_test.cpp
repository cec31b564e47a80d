// Which products are stated to cuBLASLt; needs neither it nor a GPU.
#include "providers/cublaslt/lt_matmul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "estoc/problem.hpp"

namespace estoc::cublaslt {
namespace {

Status expressible(const std::string& operands) {
  const auto arguments =
      Problem::parse("gemm m=64 n=48 k=32 " + operands).arguments(Device::cuda(0));
  return LtMatmul::expressible(static_cast<const GemmArguments&>(*arguments));
}

TEST(LtMatmul, TakesIntegersOfBytesWhereKIsContiguousAlone) {
  for (const std::string out : {"out=i32:t", "out=i32:n"}) {
    EXPECT_TRUE(expressible("a=i8:t b=i8:n " + out));
    for (const char* operands : {"a=i8:n b=i8:n ", "a=i8:t b=i8:t ", "a=i8:n b=i8:t "}) {
      const Status status = expressible(operands + out);
      EXPECT_EQ(status.reason(), Reason::layout) << operands;
      EXPECT_THAT(status.error(),
                  testing::HasSubstr("A, B: expected 8-bit integers with K contig"));
    }
  }
  for (const char* operands : {"a=bf16:n b=bf16:n out=bf16", "a=f32:n b=f32:t out=f32:n"}) {
    EXPECT_TRUE(expressible(operands)) << operands;
  }
}

}  // namespace
}  // namespace estoc::cublaslt
