// Registration of providers and kernel classes from outside the library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_class.h"

namespace estoc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A provider that fails to list its classes.
class BrokenProvider final : public Provider {
 public:
  std::string_view name() const override { return "broken"; }
  std::vector<std::shared_ptr<const KernelClass>> classes() const override {
    throw std::runtime_error("the plug-in is damaged");
  }
};

TEST(Registry, ListsProvidersInTheOrderOfRegistration) {
  EXPECT_THAT(available_providers(), IsEmpty());
  register_provider(std::make_shared<FakeProvider>(
      "zeta", FakeProvider::Classes{make_class("z1", plain_space())}));
  const Registered other(make_class("a1", plain_space()), "alpha");
  EXPECT_THAT(available_providers(), ElementsAre("zeta", "alpha"));
  EXPECT_THAT(names_of(get_kernels()), ElementsAre("z1-f32-v0", "a1-f32-v0"));
  EXPECT_TRUE(unregister_provider("zeta"));
  EXPECT_THAT(available_providers(), ElementsAre("alpha"));
}

TEST(Registry, AProviderMadeForAClassGoesWithItsLastClass) {
  register_kernel_class("mine", make_class("one", plain_space()));
  register_kernel_class("mine", make_class("two", plain_space()));
  EXPECT_TRUE(unregister_kernel_class("one"));
  EXPECT_THAT(available_providers(), ElementsAre("mine"));
  EXPECT_TRUE(unregister_kernel_class("two"));
  EXPECT_THAT(available_providers(), IsEmpty());
}

TEST(Registry, AProviderThatWasRegisteredStaysWithoutClasses) {
  register_provider(std::make_shared<FakeProvider>(
      "mine", FakeProvider::Classes{make_class("one", plain_space())}));
  EXPECT_TRUE(unregister_kernel_class("one"));
  EXPECT_THAT(available_providers(), ElementsAre("mine"));
  EXPECT_TRUE(unregister_provider("mine"));
}

TEST(Registry, TakingAwayWhatIsNotThereIsFalse) {
  EXPECT_FALSE(unregister_provider("nobody"));
  EXPECT_FALSE(unregister_kernel_class("nothing"));
}

TEST(Registry, ADuplicateClassNamesBothProviders) {
  const Registered there(make_class("gemm_x", plain_space()), "first");
  const Error error =
      error_of([] { register_kernel_class("second", make_class("gemm_x", plain_space())); });
  EXPECT_EQ(error.kind(), ErrorKind::exists);
  EXPECT_THAT(error.what(), HasSubstr("\"gemm_x\" of provider \"second\""));
  EXPECT_THAT(error.what(), HasSubstr("provider \"first\" already has"));
  EXPECT_THAT(available_providers(), ElementsAre("first"));
}

TEST(Registry, ADuplicateProviderIsAnErrorAndChangesNothing) {
  const Registered there(make_class("one", plain_space()), "mine");
  const Error error = error_of([] {
    register_provider(std::make_shared<FakeProvider>(
        "mine", FakeProvider::Classes{make_class("two", plain_space())}));
  });
  EXPECT_EQ(error.kind(), ErrorKind::exists);
  EXPECT_THAT(error.what(), HasSubstr("\"mine\" with classes two"));
  EXPECT_THAT(error.what(), HasSubstr("\"mine\" with classes one"));
  EXPECT_THAT(names_of(get_kernels()), ElementsAre("one-f32-v0"));
}

TEST(Registry, AProviderWithATakenClassIsRefusedAsAWhole) {
  const Registered there(make_class("taken", plain_space()), "mine");
  const Error error = error_of([] {
    register_provider(std::make_shared<FakeProvider>(
        "other", FakeProvider::Classes{make_class("fresh", plain_space()),
                                       make_class("taken", plain_space())}));
  });
  EXPECT_EQ(error.kind(), ErrorKind::exists);
  EXPECT_THAT(available_providers(), ElementsAre("mine"));
  EXPECT_THROW(kernel_by_name("fresh-f32-v0"), Error);
}

TEST(Registry, AProviderWithOneNameTwiceIsRefused) {
  const Error error = error_of([] {
    register_provider(std::make_shared<FakeProvider>(
        "mine", FakeProvider::Classes{make_class("same", plain_space()),
                                      make_class("same", plain_space())}));
  });
  EXPECT_EQ(error.kind(), ErrorKind::exists);
}

TEST(Registry, IllegalNamesAreErrors) {
  for (const std::string name : {"", "Upper", "with-dash", "white space", "ünder"}) {
    const Error of_class =
        error_of([&] { register_kernel_class("mine", make_class(name, plain_space())); });
    EXPECT_EQ(of_class.kind(), ErrorKind::value) << name;
    EXPECT_THAT(of_class.what(), HasSubstr("got \"" + name + "\""));
    const Error of_provider =
        error_of([&] { register_kernel_class(name, make_class("one", plain_space())); });
    EXPECT_EQ(of_provider.kind(), ErrorKind::value) << name;
  }
  EXPECT_THAT(available_providers(), IsEmpty());
}

TEST(Registry, NullIsAnError) {
  EXPECT_EQ(error_of([] { register_provider(nullptr); }).kind(), ErrorKind::value);
  EXPECT_EQ(error_of([] { register_kernel_class("mine", nullptr); }).kind(), ErrorKind::value);
  EXPECT_THAT(available_providers(), IsEmpty());
}

TEST(Registry, AProviderThatCannotListItsClassesIsRefused) {
  const Registered there(make_class("one", plain_space()), "mine");
  const Error error = error_of([] { register_provider(std::make_shared<BrokenProvider>()); });
  EXPECT_EQ(error.kind(), ErrorKind::value);
  EXPECT_THAT(error.what(), HasSubstr("\"broken\""));
  EXPECT_THAT(error.what(), HasSubstr("the plug-in is damaged"));
  EXPECT_THAT(available_providers(), ElementsAre("mine"));
}

TEST(Registry, KernelsOutliveTheRegistrationOfTheirClass) {
  auto fake = make_class("gone", plain_space());
  const std::weak_ptr<FakeClass> watch = fake;
  register_kernel_class("mine", fake);
  fake.reset();
  {
    const Kernel kernel = kernel_by_name("gone-f32-v0");
    unregister_kernel_class("gone");
    EXPECT_EQ(kernel.name(), "gone-f32-v0");
    EXPECT_TRUE(kernel.supports(f32_gemm()).ok());
  }
  EXPECT_TRUE(watch.expired()) << "a class without registration or kernels must be destroyed";
}

TEST(Registry, ClassesMayUseTheLibraryWhileTheyAreAsked) {
  auto curious = make_class("curious", plain_space());
  curious->on_space = [space = plain_space()] {
    register_kernel_class("nested", make_class("inner", plain_space()));
    unregister_kernel_class("inner");
    return space;
  };
  curious->on_supports = [](const DesignPoint&, const RuntimeArguments&) {
    return available_providers().empty() ? Status::fail("nobody") : Status::success();
  };
  const Registered there(curious);
  EXPECT_THAT(names_of(get_kernels(f32_gemm())), ElementsAre("curious-f32-v0"));
}

}  // namespace
}  // namespace estoc::testing
