// get_kernels without arguments: the whole described space as a lazy sequence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "fake_class.h"

namespace estoc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(KernelSequence, HoldsEveryKernelOnceClassByClass) {
  const Registered first(make_class("two", plain_space(2), {Target::cpu(), kHopper}));
  const Registered second(make_class("three", plain_space(3)));
  const KernelSequence all = get_kernels();
  EXPECT_EQ(all.size(), 5U);
  EXPECT_THAT(names_of(all), ElementsAre("two-f32-v0", "two-f32-v1", "three-f32-v0", "three-f32-v1",
                                         "three-f32-v2"));
  EXPECT_EQ(all[3].name(), "three-f32-v1");
}

TEST(KernelSequence, NamesAreUniqueAndLeadBackToTheKernel) {
  const Registered there(make_class("small", small_space()));
  std::set<std::string> names;
  for (const Kernel& kernel : get_kernels()) {
    EXPECT_TRUE(names.insert(kernel.name()).second) << kernel.name();
    EXPECT_EQ(kernel_by_name(kernel.name()), kernel);
  }
  EXPECT_THAT(names, SizeIs(48));
}

TEST(KernelSequence, ATargetLeavesOutClassesWithoutIt) {
  const Registered first(make_class("both", plain_space(2), {Target::cpu(), kHopper}));
  const Registered second(make_class("host", plain_space(3)));
  EXPECT_THAT(names_of(get_kernels({.target = kHopper})),
              ElementsAre("both-f32-v0", "both-f32-v1"));
  EXPECT_EQ(get_kernels({.target = Target::sm(80)}).size(), 0U);
  EXPECT_TRUE(get_kernels({.target = kHopper})[0].supports(f32_gemm()).ok());
}

TEST(KernelSequence, AFilterChooses) {
  const Registered there(make_class("small", small_space()));
  const KernelSequence wide =
      get_kernels({.filter = MetadataFilter([](const KernelMetadata& m) {
                     return m.gemm()->out.dtype == Dtype::f32 && m.design.tile->m == 128;
                   })});
  EXPECT_EQ(wide.size(), 8U);
  for (const Kernel& kernel : wide) {
    EXPECT_EQ(kernel.metadata().gemm()->out.dtype, Dtype::f32);
    EXPECT_EQ(kernel.metadata().design.tile->m, 128);
  }
}

TEST(KernelSequence, TheFilterIsAskedOncePerKernelAndOnlyWhenNeeded) {
  const Registered there(make_class("plain", plain_space(10)));
  int asked = 0;
  const KernelSequence some = get_kernels(
      {.filter = MetadataFilter([&](const KernelMetadata&) { return ++asked % 2 == 0; })});
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(some.size(), 5U);
  EXPECT_EQ(some[4].name(), "plain-f32-v9");
  EXPECT_EQ(asked, 10);
}

TEST(KernelSequence, ProvidersCanBeChosen) {
  const Registered first(make_class("one", plain_space(2)), "p1");
  const Registered second(make_class("two", plain_space(3)), "p2");
  EXPECT_EQ(get_kernels({.providers = {"p2"}}).size(), 3U);
}

TEST(KernelSequence, ReadingPastTheEndIsAnError) {
  const Registered there(make_class("plain", plain_space(2)));
  EXPECT_EQ(error_of([] { (void)get_kernels()[2]; }).kind(), ErrorKind::value);
  EXPECT_STREQ(error_of([] { (void)get_kernels()[7]; }).what(),
               "index: expected less than 2, got 7");
  EXPECT_EQ(error_of([] { (void)KernelSequence()[0]; }).kind(), ErrorKind::value);
}

TEST(KernelSequence, IsEmptyWithoutClasses) {
  EXPECT_TRUE(get_kernels().empty());
  EXPECT_TRUE(KernelSequence().empty());
  EXPECT_TRUE(KernelSequence().failures().empty());
  EXPECT_EQ(get_kernels().begin(), get_kernels().end());
}

TEST(KernelSequence, KeepsWhatItSawWhenTheRegistryChanges) {
  KernelSequence all;
  {
    const Registered there(make_class("plain", plain_space(2)));
    all = get_kernels();
  }
  EXPECT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].name(), "plain-f32-v1");
}

TEST(KernelSequence, AMillionKernelsAreCountedAndReachedByNumber) {
  std::vector<int> hundred;
  for (int i = 0; i < 100; ++i)
    hundred.push_back(i);
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::f32})
      .integers("x", hundred)
      .integers("y", hundred)
      .integers("z", hundred);
  const Registered there(make_class("huge", builder.build()));
  EXPECT_EQ(get_kernels().size(), 1'000'000U);
  EXPECT_EQ(get_kernels()[123'456].name(), "huge-f32-x12-y34-z56");
}

}  // namespace
}  // namespace estoc::testing
