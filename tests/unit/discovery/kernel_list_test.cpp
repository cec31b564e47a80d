// Empty lists of kernels: asking them for one says why there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_class.h"

namespace estoc::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kWrongOut = "small: out.dtype: expected f16, bf16 or f32, got i8";

GemmArguments unsupported() {
  return gemm({.out = Dtype::i8});
}

TEST(EmptyKernelList, SaysWhyWhereAKernelIsAskedFor) {
  const Registered small(make_class("small", small_space()));
  const Registered other(make_class("elsewhere", small_space(), {Target::sm(80)}));
  const KernelList kernels = get_kernels(unsupported());
  ASSERT_TRUE(kernels.empty());
  for (const Error& error :
       {error_of([&] { (void)kernels.front(); }), error_of([&] { (void)kernels[0]; }),
        error_of([&] { (void)kernels[7]; })}) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_EQ(error.what(), "no kernel supports the arguments; " + std::string(kWrongOut));
  }
  EXPECT_EQ(kernels.why_empty(), error_of([&] { (void)kernels.front(); }).what());
  EXPECT_EQ(kernels.begin(), kernels.end());
}

TEST(EmptyKernelList, OutlivesTheArguments) {
  const Registered small(make_class("small", small_space()));
  auto arguments = std::make_unique<GemmArguments>(unsupported());
  const KernelList kernels = get_kernels(*arguments);
  arguments.reset();
  EXPECT_THAT(kernels.why_empty(), HasSubstr(kWrongOut));
}

TEST(EmptyKernelList, NeverAsksTheFilterAgain) {
  const Registered small(make_class("small", small_space()));
  KernelList kernels;
  int asked = 0;
  {
    KernelQuery query;
    query.filter = MetadataFilter([&](const KernelMetadata&) {
      ++asked;
      return false;
    });
    kernels = get_kernels(gemm(), query);
  }
  const int before = asked;
  EXPECT_GT(before, 0);
  EXPECT_THAT(kernels.why_empty(),
              HasSubstr("small: filter: expected a kernel that passes, got 4 that do not"));
  EXPECT_EQ(asked, before);
}

TEST(EmptyKernelList, SaysWhenNoClassIsMeant) {
  const Registered other(make_class("elsewhere", small_space(), {Target::sm(80)}));
  EXPECT_EQ(get_kernels(gemm()).why_empty(),
            "no kernel supports the arguments; no class of the query has kernels for gemm on cpu");
}

TEST(EmptyKernelList, NamesAClassThatThrows) {
  auto fake = make_class("broken", plain_space());
  fake->on_supports = [](const DesignPoint&, const RuntimeArguments&) -> Status {
    throw std::runtime_error("no idea");
  };
  const Registered broken(fake);
  EXPECT_EQ(get_kernels(f32_gemm()).why_empty(),
            "no kernel supports the arguments; broken: the class threw: no idea");
}

TEST(EmptyKernelList, OfNoQuestionSaysSo) {
  EXPECT_EQ(error_of([] { (void)KernelList().front(); }).kind(), ErrorKind::unsupported);
  EXPECT_EQ(KernelList().why_empty(), "the list has no kernels");
}

TEST(KernelList, RefusesAnIndexPastTheEnd) {
  const Registered small(make_class("small", small_space()));
  const KernelList kernels = get_kernels(gemm());
  ASSERT_FALSE(kernels.empty());
  EXPECT_EQ(kernels.why_empty(), "");
  EXPECT_EQ(&kernels.front(), &kernels[0]);
  const Error error = error_of([&] { (void)kernels[kernels.size()]; });
  EXPECT_EQ(error.kind(), ErrorKind::value);
  EXPECT_STREQ(error.what(), "index: expected less than 4, got 4");
}

}  // namespace
}  // namespace estoc::testing
