// What a class decodes of a kernel: once, and found again by all its functions.
#include <gtest/gtest.h>

#include "fake_class.h"

namespace estoc {
namespace {

using testing::FakeClass;
using testing::Registered;

/// Decodes the text of its tile, and counts how often.
struct Decoding {
  std::shared_ptr<FakeClass> fake = std::make_shared<FakeClass>("decoding", testing::small_space());
  std::atomic<int> decoded = 0;
  std::atomic<int> found = 0;

  Decoding() {
    fake->on_decode = [this](const DesignPoint& point) {
      ++decoded;
      return std::make_shared<const std::string>(point.value(Role::tile).text);
    };
    fake->on_supports = [this](const DesignPoint& point, const RuntimeArguments&) {
      look(point);
      return Status::success();
    };
  }

  void look(const DesignPoint& point) {
    const auto* const text = static_cast<const std::string*>(point.decoded());
    if (text != nullptr && *text == point.value(Role::tile).text) ++found;
  }
};

TEST(Decode, IsAskedOnceAndFoundAtEachRun) {
  Decoding decoding;
  const Registered registered(decoding.fake);
  const GemmArguments arguments = testing::gemm();
  const Kernel kernel = get_kernels(arguments, {.providers = {"fake"}}).front();
  EXPECT_EQ(decoding.decoded, 0);
  EXPECT_EQ(decoding.found, 0);
  const Artifact artifact = kernel.compile(Target::cpu());
  for (int run = 1; run <= 3; ++run) {
    EXPECT_TRUE(kernel.supports(arguments).ok());
    EXPECT_EQ(decoding.decoded, 1);
    EXPECT_EQ(decoding.found, run);
  }
}

TEST(Decode, OutlivesTheKernelWithACopyOfItsPoint) {
  Decoding decoding;
  const DesignPoint point = [&] {
    const Kernel kernel(decoding.fake, "mine", decoding.fake->design_space->at(3));
    (void)kernel.compile(Target::cpu());
    return kernel.point();
  }();
  ASSERT_NE(point.decoded(), nullptr);
  EXPECT_EQ(*static_cast<const std::string*>(point.decoded()), point.value(Role::tile).text);
}

}  // namespace
}  // namespace estoc
