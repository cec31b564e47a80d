// The cpu provider: its name, its classes, and the variant it chooses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "discovery/builtin.h"
#include "providers/cpu/cpu_provider.h"
#include "support.h"

namespace estoc::cpu::testing {
namespace {

TEST(CpuProvider, IsBuiltIn) {
  const auto providers = builtin_providers();
  EXPECT_TRUE(std::any_of(providers.begin(), providers.end(),
                          [](const auto& provider) { return provider->name() == "cpu"; }));
}

std::vector<std::string> builtin_names() {
  std::vector<std::string> names;
  for (const auto& provider : builtin_providers())
    names.emplace_back(provider->name());
  return names;
}

TEST(BuiltinProviders, CublasltHasAnOffSwitch) {
  EXPECT_EQ(builtin_names(), (std::vector<std::string>{"cuda", "cublaslt", "cpu"}));
  ::setenv("ESTOC_CUBLASLT", "off", 1);
  EXPECT_EQ(builtin_names(), (std::vector<std::string>{"cuda", "cpu"}));
  ::setenv("ESTOC_CUBLASLT", "/some/libcublasLt.so", 1);
  EXPECT_EQ(builtin_names(), (std::vector<std::string>{"cuda", "cublaslt", "cpu"}));
  ::unsetenv("ESTOC_CUBLASLT");
}

TEST(CpuProvider, HasSixClasses) {
  const auto classes = make_cpu_provider()->classes();
  ASSERT_EQ(classes.size(), 6U);
  EXPECT_EQ(classes[0]->name(), "cpu_gemm");
  EXPECT_EQ(classes[1]->name(), "cpu_scaled_gemm");
  EXPECT_EQ(classes[2]->name(), "cpu_quantised_gemm");
  EXPECT_EQ(classes[3]->name(), "cpu_grouped_gemm");
  EXPECT_EQ(classes[4]->name(), "cpu_scaled_grouped_gemm");
  EXPECT_EQ(classes[5]->name(), "cpu_elementwise");
  for (const auto& kernel_class : classes) {
    ASSERT_EQ(kernel_class->targets().size(), 1U);
    EXPECT_EQ(kernel_class->targets()[0], Target::cpu());
  }
}

TEST(CpuProvider, KernelsSayWhatTheyAre) {
  const Kernel kernel = kernel_by_name("cpu_gemm-bf16-e4m3-f32-f16");
  EXPECT_EQ(kernel.metadata().provider, "cpu");
  EXPECT_EQ(kernel.metadata().min_cc, 0);
  const GemmOperandsMetadata* const operands = kernel.metadata().gemm();
  ASSERT_NE(operands, nullptr);
  EXPECT_EQ(operands->a.dtype, Dtype::bf16);
  EXPECT_EQ(operands->b.dtype, Dtype::e4m3);
  EXPECT_EQ(operands->out.dtype, Dtype::f16);
  EXPECT_EQ(operands->accumulator_type, Dtype::f32);
}

TEST(CpuProvider, OffersNothingForOtherAccumulators) {
  const auto reason_for = [](Dtype operand, Dtype accumulator) {
    const Tensor a = matrix(operand, 4, 4);
    const Tensor out = matrix(Dtype::f32, 4, 4);
    const GemmArguments arguments(a.view(), a.view(), out.view(), accumulator);
    EXPECT_TRUE(get_kernels(arguments).empty());
    for (const Explanation& each : explain(arguments))
      if (each.kernel_class == "cpu_gemm") return each.status.error();
    return std::string();
  };
  EXPECT_EQ(reason_for(Dtype::bf16, Dtype::f16),
            "accumulator_type: expected f32 with the rest as it is, got f16");
  EXPECT_EQ(reason_for(Dtype::f16, Dtype::f64),
            "accumulator_type: expected f32 or f16 with the rest as it is, got f64");
}

TEST(CpuProvider, PredictsLongerTimesForMoreWork) {
  const auto seconds = [](std::int64_t size) {
    const auto shape = {size, size};
    const auto strides = {size, std::int64_t{1}};
    const TensorView view = TensorView::describe(Dtype::f32, shape, strides);
    return get_kernels(GemmArguments(view, view, view, Dtype::f32))
        .front()
        .predicted_seconds()
        .value_or(-1);
  };
  EXPECT_GT(seconds(64), 0);
  EXPECT_GT(seconds(4096), 10 * seconds(1024));
}

TEST(CpuProvider, UsesTheBestVariantUnlessForced) {
  ASSERT_FALSE(usable_products().empty());
  EXPECT_EQ(active_products(), usable_products().back());
  {
    const ForcedVariant forced(usable_products().front()->name);
    EXPECT_EQ(active_products(), usable_products().front());
  }
  EXPECT_EQ(active_products(), usable_products().back());
  EXPECT_FALSE(set_variant_for_testing("v9"));
}

}  // namespace
}  // namespace estoc::cpu::testing
