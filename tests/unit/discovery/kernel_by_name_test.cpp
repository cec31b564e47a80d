// kernel_by_name: found kernels, and the nearest name for those that do not exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fake_class.h"

namespace estoc::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string message_for(std::string_view name) {
  const Error error = error_of([&] { (void)kernel_by_name(name); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  return error.what();
}

TEST(KernelByName, RebuildsTheKernel) {
  const Registered there(make_class("small", small_space()));
  const Kernel kernel = kernel_by_name("small-bf16-f32-f16-tnt-alignA4-tile128x64x32");
  EXPECT_EQ(kernel.name(), "small-bf16-f32-f16-tnt-alignA4-tile128x64x32");
  EXPECT_EQ(kernel.metadata().provider, "fake");
  EXPECT_EQ(kernel.metadata().gemm()->a.dtype, Dtype::bf16);
}

TEST(KernelByName, AWrongFieldGivesTheNearest) {
  const Registered there(make_class("small", small_space()));
  EXPECT_THAT(message_for("small-bf16-f32-f16-tnt-alignA4-tile128x64x23"),
              EndsWith("nearest is \"small-bf16-f32-f16-tnt-alignA4-tile128x64x32\""));
  EXPECT_THAT(message_for("small-bf16-f32-f16-tnn-alignA4-tile128x64x32"),
              EndsWith("nearest is \"small-bf16-f32-f16-tnt-alignA4-tile128x64x32\""));
}

TEST(KernelByName, AMissingOrExtraFieldGivesTheNearest) {
  const Registered there(make_class("small", small_space()));
  EXPECT_THAT(message_for("small-bf16-f32-f16-alignA4-tile128x64x32"),
              EndsWith("nearest is \"small-bf16-f32-f16-ttt-alignA4-tile128x64x32\""));
  EXPECT_THAT(message_for("small-bf16-f32-f16-tnt-alignA4-tile128x64x32-stages4"),
              EndsWith("nearest is \"small-bf16-f32-f16-tnt-alignA4-tile128x64x32\""));
  EXPECT_THAT(message_for("small"), HasSubstr("nearest is \"small-"));
  EXPECT_THAT(message_for("small-"), HasSubstr("nearest is \"small-"));
}

TEST(KernelByName, AnUnknownClassGivesTheNearest) {
  const Registered first(make_class("small", small_space()));
  const Registered second(make_class("sm90_gemm", plain_space()));
  EXPECT_THAT(message_for("smal-f16-f32-f16-ttt-alignA16-tile64x64x32"),
              EndsWith("nearest is \"small-f16-f32-f16-ttt-alignA16-tile64x64x32\""));
  EXPECT_THAT(message_for("sm90_gem-f32-v0"), EndsWith("nearest is \"sm90_gemm-f32-v0\""));
}

TEST(KernelByName, NothingAlikeSaysSo) {
  EXPECT_THAT(message_for("small-f16"), HasSubstr("no kernel class has a name like it"));
  const Registered there(make_class("small", small_space()));
  EXPECT_THAT(message_for("xyzzyx"), HasSubstr("no kernel class has a name like it"));
  EXPECT_THAT(message_for(""), HasSubstr("kernel \"\": there is none of that name"));
}

TEST(KernelByName, TheNearestObeysTheConstraintsAndKeepsWhatIsSure) {
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::f32, Dtype::f16})
      .integers(Role::stages, {2, 3, 4})
      .require({"a", "stages"}, [](const DesignPoint& point) {
        return point.dtype(Role::a_dtype) == Dtype::f16 || point.integer(Role::stages) == 2;
      });
  const Registered there(make_class("narrow", builder.build()));
  EXPECT_THAT(message_for("narrow-f32-stages3"), EndsWith("nearest is \"narrow-f32-stages2\""));
  EXPECT_THAT(message_for("narrow-f33-stages4"), EndsWith("nearest is \"narrow-f16-stages4\""));
}

TEST(KernelByName, LongAndOddTextsAreHandled) {
  const Registered there(make_class("small", small_space()));
  EXPECT_LT(message_for(std::string(1'000'000, 'a')).size(), 1000U);
  EXPECT_LT(message_for("small-" + std::string(1'000'000, '-')).size(), 1000U);
  EXPECT_LT(message_for("small-" + std::string(1'000'000, 'b')).size(), 1000U);
}

TEST(KernelByName, WhatASpaceThrowsIsPassedOn) {
  auto fake = make_class("broken", plain_space());
  fake->on_space = []() -> Space { throw std::runtime_error("no space left"); };
  const Registered there(fake);
  EXPECT_THROW((void)kernel_by_name("broken-f32-v0"), std::runtime_error);
  EXPECT_THAT(message_for("broke-f32-v0"), HasSubstr("there is none of that name"));
}

RC_GTEST_PROP(KernelByName, AnEditedNameNamesAKernelThatExists, ()) {
  const Registered there(make_class("small", small_space()));
  const KernelSequence all = get_kernels();
  std::string name = all[*rc::gen::inRange<std::uint64_t>(0, all.size())].name();
  const auto position = *rc::gen::inRange<std::size_t>(6, name.size());
  name[position] = *rc::gen::elementOf(std::string("abcxt0123-"));
  try {
    RC_ASSERT(kernel_by_name(name).name() == name);
  } catch (const Error& error) {
    const std::string message = error.what();
    const auto start = message.rfind('"', message.size() - 2) + 1;
    (void)kernel_by_name(message.substr(start, message.size() - 1 - start));
  }
}

}  // namespace
}  // namespace estoc::testing
