// Which device's model a name and a target stand for.
#include "cost/device_model.h"

#include <gtest/gtest.h>

#include "cost/residual.h"

namespace estoc::cost {
namespace {

std::string_view model_of(std::string_view device) {
  const DeviceModel* const model = find_device_model(device);
  return model != nullptr ? model->name : "";
}

TEST(DeviceModel, IsFoundByTheDriversName) {
  EXPECT_EQ(model_of("NVIDIA H200"), "H200");
  EXPECT_EQ(model_of("NVIDIA H100 80GB HBM3"), "H100 80GB HBM3");
  EXPECT_EQ(model_of("NVIDIA A100-SXM4-80GB"), "A100");
  EXPECT_EQ(model_of("NVIDIA GeForce RTX 4090"), "RTX 4090");
  EXPECT_EQ(model_of("H200"), "H200");
}

TEST(DeviceModel, NamesOfOthersAreNotFound) {
  for (const char* const name : {"", "NVIDIA", "NVIDIA V100", "Virtual GPU sm_90a", "H20",
                                 "NVIDIA RTX A1000", "NVIDIA H100 PCIe", "NVIDIA RTX 40900"}) {
    EXPECT_EQ(model_of(name), "") << name;
  }
}

TEST(DeviceModel, OfATargetIsOneOfThatTarget) {
  for (const int cc : {80, 86, 89}) {
    EXPECT_EQ(device_model(Target::sm(cc)).target.cc(), cc);
  }
  for (const int cc : {90, 100, 103, 120}) {
    EXPECT_EQ(device_model(Target::sm(cc, true)).target, Target::sm(cc, true));
  }
  EXPECT_LT(device_model(Target::sm(87)).target.cc(), 90);
}

TEST(DeviceModel, OfNoCudaDeviceIsThatOfTheTarget) {
  for (const Device device : {Device::cpu(), Device::cuda(-1), Device::cuda(1 << 20)}) {
    EXPECT_EQ(&device_model(Target::sm(90, true), device), &device_model(Target::sm(90, true)));
  }
}

TEST(DeviceModel, ResidualsAreThoseOfMeasuredDevices) {
  for (const char* const name : {"H200", "H100 80GB HBM3"}) {
    const DeviceModel* const model = find_device_model(name);
    ASSERT_NE(model, nullptr);
    EXPECT_TRUE(model->measured);
    EXPECT_FALSE(residual_of(*model, Family::sm90, 0).features.empty()) << name;
    EXPECT_FALSE(residual_of(*model, Family::library, 0).features.empty()) << name;
  }
  for (const char* const name : {"A100", "B200", "RTX 4090"}) {
    EXPECT_TRUE(residual_of(*find_device_model(name), Family::sm80, 0).features.empty()) << name;
  }
}

}  // namespace
}  // namespace estoc::cost
