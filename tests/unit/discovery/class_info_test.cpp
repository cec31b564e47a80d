// What kernels require whose space leaves roles out.
#include "discovery/class_info.h"

#include <gtest/gtest.h>

#include "estoc/problem.hpp"
#include "fake_class.h"

namespace estoc::testing {
namespace {

using discovery::Aspect;

Space space_of_inputs() {
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::f32, Dtype::i8})
      .dtypes(Role::b_dtype, {Dtype::f64, Dtype::f32, Dtype::u8});
  return builder.build();
}

TEST(ClassInfo, AccumulatorsFollowFromBothInputs) {
  const Registered registered(make_class("inputs", space_of_inputs()));
  const auto accumulator = [](const std::string& inputs) {
    const KernelList found = get_kernels(*Problem::parse("gemm m=8 n=8 k=8 " + inputs).arguments());
    return found.empty() ? std::string("none")
                         : std::string(dtype_name(found[0].metadata().gemm()->accumulator_type)) +
                               " " + std::string(dtype_name(found[0].metadata().gemm()->out.dtype));
  };
  EXPECT_EQ(accumulator("a=f32 b=f64"), "f64 f64");
  EXPECT_EQ(accumulator("a=f32 b=f32"), "f32 f32");
  EXPECT_EQ(accumulator("a=i8 b=u8"), "i32 i32");
  EXPECT_EQ(accumulator("a=i8 b=f32"), "f32 f32");
  EXPECT_EQ(accumulator("a=f32 b=f64 acc=f32"), "none");
}

TEST(ClassInfo, OperandsWithoutARoleAreNotConstrained) {
  const auto info = discovery::describe_class(make_class("inputs", space_of_inputs()), "fake");
  for (const discovery::Requirement& requirement : info->requirements) {
    EXPECT_TRUE(requirement.aspect == Aspect::dtype ||
                requirement.aspect == Aspect::accumulator_type);
  }
  EXPECT_EQ(info->requirements.size(), 4U);
}

}  // namespace
}  // namespace estoc::testing
