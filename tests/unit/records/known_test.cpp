// Which of several records of a problem is gone by on a device.
#include "records/known.h"

#include <gtest/gtest.h>

namespace estoc::records {
namespace {

const Place kHere{"NVIDIA H200", 90, "13.0", "0.2"};

TunedKernel made_at(const Place& place, std::int64_t time, std::string kernel) {
  TunedKernel record;
  record.device = place.device;
  record.cc = place.cc;
  record.driver = place.driver;
  record.library = place.library;
  record.signature = "gemm m=1";
  record.kernel = std::move(kernel);
  record.time = time;
  return record;
}

std::string found(std::vector<TunedKernel> records, const char* signature = "gemm m=1") {
  const Table table(std::move(records));
  const TunedKernel* const record = table.find(kHere, signature);
  return record == nullptr ? "none" : record->kernel;
}

TEST(KnownRecords, OneThatWasMadeHereComesFirstElseTheNewestOfTheDevice) {
  Place older_driver = kHere;
  older_driver.driver = "12.8";
  Place older_library = kHere;
  older_library.library = "0.1";
  EXPECT_EQ(found({made_at(older_driver, 10, "old driver"), made_at(kHere, 1, "here"),
                   made_at(older_library, 20, "old library")}),
            "here");
  EXPECT_EQ(found({made_at(older_driver, 30, "old driver"), made_at(older_library, 20, "old")}),
            "old driver");
  EXPECT_EQ(found({made_at(older_driver, 10, "old driver"), made_at(older_library, 20, "old")}),
            "old");
}

TEST(KnownRecords, OfOtherDevicesAndProblemsCountNothing) {
  Place other_device = kHere;
  other_device.device = "NVIDIA H100";
  Place other_cc = kHere;
  other_cc.cc = 100;
  EXPECT_EQ(found({made_at(other_device, 1, "a"), made_at(other_cc, 1, "b")}), "none");
  EXPECT_EQ(found({made_at(kHere, 1, "a")}, "gemm m=2"), "none");
  EXPECT_TRUE(Table().empty());
  EXPECT_FALSE(Table({made_at(kHere, 1, "a")}).empty());
}

}  // namespace
}  // namespace estoc::records
