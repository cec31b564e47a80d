// What identifies the devices of this machine in records.
#include "records/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <cstddef>

namespace estoc::records {
namespace {

TEST(Place, OfTheHostNamesTheThreadsThatTheProcessMayUse) {
  const auto place = place_of(Device::cpu());
  ASSERT_TRUE(place);
  EXPECT_EQ(place->cc, 0);
  EXPECT_EQ(place->driver, "");
  EXPECT_FALSE(place->library.empty());
  EXPECT_THAT(place->device, testing::ContainsRegex(", [0-9]+ threads?$"));
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  std::size_t first = 0;
  while (!CPU_ISSET(first, &before))
    ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  const auto narrow = place_of(Device::cpu());
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_THAT(narrow->device, testing::EndsWith(", 1 thread"));
}

TEST(Place, OfADeviceThatIsNotThereIsNone) {
  EXPECT_FALSE(place_of(Device::cuda(4096)));
}

TEST(Place, TellsRecordsOfTheDeviceAndOfThisVersionApart) {
  const Place place{"NVIDIA H200", 90, "13.0", "0.1"};
  TunedKernel record;
  record.device = "NVIDIA H200";
  record.cc = 90;
  record.driver = "13.0";
  record.library = "0.1";
  EXPECT_TRUE(place.has_device(record) && place.is_of(record));
  record.library = "0.2";
  EXPECT_TRUE(place.has_device(record) && !place.is_of(record));
  record.cc = 100;
  EXPECT_FALSE(place.has_device(record));
}

}  // namespace
}  // namespace estoc::records
