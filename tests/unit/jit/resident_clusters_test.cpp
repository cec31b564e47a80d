// How many clusters run at once, learnt from a table that no driver stands behind.
#include "jit/resident_clusters.h"

#include <gtest/gtest.h>

#include "estoc/status.hpp"

namespace estoc::jit {
namespace {

struct Asked {
  int times = 0;
  CUlaunchConfig config{};
  CUlaunchAttribute attribute{};
  CUfunction function = nullptr;
  CUresult result = kCudaSuccess;
  int answer = 0;
};
Asked asked;

CUresult fake_function(CUfunction* function, CUkernel kernel) {
  *function = reinterpret_cast<CUfunction>(kernel);
  return kCudaSuccess;
}

CUresult fake_occupancy(int* clusters, CUfunction function, const CUlaunchConfig* config) {
  ++asked.times;
  asked.function = function;
  asked.config = *config;
  asked.attribute = config->attributes[0];
  *clusters = asked.answer;
  return asked.result;
}

/// Numbers are kept as long as the process lives, so that each test takes a device of its own.
class ResidentClusters : public testing::Test {
 protected:
  ResidentClusters() {
    static int next_device = 10;
    asked = {};
    table_.kernel_get_function = fake_function;
    table_.occupancy_max_active_clusters = fake_occupancy;
    device_.index = next_device++;
    device_.multiprocessors = 132;
    device_.shared_bytes_per_block = 227 << 10;
  }

  bool learn(unsigned size, unsigned shared_bytes = 200 << 10) {
    return learn_resident_clusters(
        table_, device_, kernel_,
        {.block = {384, 1, 1}, .shared_bytes = shared_bytes, .cluster = {size, 1, 1}});
  }
  int known(int size) const { return resident_clusters(device_.index, size); }
  PlanDevice plan_device() const {
    return {.multiprocessors = 132, .index = device_.index, .resident_clusters = resident_clusters};
  }

  DriverTable table_{};
  DeviceInfo device_;
  CUkernel kernel_ = reinterpret_cast<CUkernel>(&device_);
};

TEST_F(ResidentClusters, AreTheDriversAnswer) {
  EXPECT_EQ(known(4), 0);
  asked.answer = 30;
  EXPECT_TRUE(learn(4));
  EXPECT_EQ(known(4), 30);
  EXPECT_EQ(known(2), 0);
  EXPECT_EQ(resident_clusters(device_.index + 1, 4), 0);
  EXPECT_EQ(asked.times, 1);
  EXPECT_EQ(asked.function, reinterpret_cast<CUfunction>(kernel_));
  EXPECT_EQ(asked.config.attribute_count, 1U);
  EXPECT_EQ(asked.attribute.id, kLaunchAttributeClusterDimension);
  EXPECT_EQ(asked.attribute.value.cluster.x, 4U);
  EXPECT_EQ(asked.attribute.value.cluster.y, 1U);
  EXPECT_EQ(asked.attribute.value.cluster.z, 1U);
  EXPECT_EQ(asked.config.grid_x % 4, 0U);
  EXPECT_EQ(asked.config.block_x, 384U);
  EXPECT_EQ(asked.config.shared_bytes, 200U << 10);
}

TEST_F(ResidentClusters, ThatAreAsManyAsWasAssumedChangeNoPlan) {
  asked.answer = 66;
  EXPECT_FALSE(learn(2));
  EXPECT_EQ(known(2), 66);
}

TEST_F(ResidentClusters, AreAllThatThereIsRoomForWhereTheDriverDoesNotSay) {
  table_.occupancy_max_active_clusters = nullptr;
  EXPECT_FALSE(learn(8));
  EXPECT_EQ(known(8), 132 / 8);
  table_.occupancy_max_active_clusters = fake_occupancy;
  asked.result = kCudaErrorInvalidValue;
  asked.answer = 7;
  EXPECT_FALSE(learn(4));
  EXPECT_EQ(known(4), 33);
  asked.result = kCudaSuccess;
  asked.answer = 0;
  EXPECT_FALSE(learn(16));
  EXPECT_EQ(known(16), 8);
}

TEST_F(ResidentClusters, AreNotLearntFromCtasThatShareAMultiprocessor) {
  asked.answer = 60;
  EXPECT_FALSE(learn(4, 100 << 10));
  EXPECT_EQ(asked.times, 0);
  EXPECT_EQ(known(4), 0);
}

TEST_F(ResidentClusters, OfSizesAndDevicesThatCannotBeAreNotKnown) {
  asked.answer = 3;
  EXPECT_FALSE(learn(17));
  for (const int size : {-1, 0, 17}) {
    EXPECT_EQ(known(size), 0);
  }
  for (const int index : {-1, 64, 1000}) {
    EXPECT_EQ(resident_clusters(index, 2), 0);
  }
}

TEST_F(ResidentClusters, PlansAssumeTheMostUntilTheyAreKnown) {
  EXPECT_EQ(plan_device().clusters_at_once(4), 33);
  EXPECT_EQ(plan_device().clusters_at_once(1), 132);
  asked.answer = 30;
  learn(4);
  EXPECT_EQ(plan_device().clusters_at_once(4), 30);
  EXPECT_EQ(plan_device().clusters_at_once(2), 66);
  EXPECT_EQ((PlanDevice{.multiprocessors = 4}).clusters_at_once(2), 2);
  EXPECT_EQ((PlanDevice{.multiprocessors = 1}).clusters_at_once(4), 1);
  EXPECT_EQ(PlanDevice{}.clusters_at_once(1), 1);
}

}  // namespace
}  // namespace estoc::jit
