// Which NVRTC is looked for first: one whose code the driver loads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jit/nvrtc.h"
#include "jit/shared_library.h"

namespace estoc::jit {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<std::string> kNames{"libnvrtc.so.13", "libnvrtc.so.12"};

TEST(NvrtcChoice, IsOneOfTheDriversMajorOrOlder) {
  EXPECT_THAT(nvrtc_suited_to(12000, kNames), ElementsAre("libnvrtc.so.12"));
  EXPECT_THAT(nvrtc_suited_to(12090, kNames), ElementsAre("libnvrtc.so.12"));
  EXPECT_THAT(nvrtc_suited_to(13000, kNames), ElementsAre("libnvrtc.so.13", "libnvrtc.so.12"));
  EXPECT_THAT(nvrtc_suited_to(14010, kNames), ElementsAre("libnvrtc.so.13", "libnvrtc.so.12"));
}

TEST(NvrtcChoice, IsAnyWhereNoDriverIs) {
  EXPECT_EQ(nvrtc_suited_to(0, kNames), kNames);
}

TEST(NvrtcChoice, KnowsTheNamesThatAreLookedFor) {
  EXPECT_EQ(nvrtc_suited_to(12040, nvrtc_spec().file_names).size(), 1U);
  EXPECT_THAT(nvrtc_suited_to(11080, nvrtc_spec().file_names), IsEmpty());
}

}  // namespace
}  // namespace estoc::jit
