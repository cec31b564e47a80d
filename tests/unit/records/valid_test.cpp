// Which records make sense, and what is said of the others.
#include "records/valid.h"

#include <gtest/gtest.h>

#include <limits>

namespace estoc::records {
namespace {

TunedKernel sound() {
  TunedKernel record;
  record.device = "cpu";
  record.signature = "gemm";
  record.kernel = "cpu_gemm";
  record.seconds = 1e-6;
  return record;
}

TEST(ValidRecord, NeedsTextsASpeedAndKnobsThatKernelsHave) {
  EXPECT_EQ(problem_of(sound()), "");
  const auto with = [](auto change) {
    TunedKernel record = sound();
    change(record);
    return problem_of(record);
  };
  EXPECT_EQ(with([](TunedKernel& r) { r.device.clear(); }), "device: expected a text, got none");
  EXPECT_EQ(with([](TunedKernel& r) { r.signature.clear(); }),
            "signature: expected a text, got none");
  EXPECT_EQ(with([](TunedKernel& r) { r.kernel.clear(); }), "kernel: expected a text, got none");
  for (const double seconds : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(with([&](TunedKernel& r) { r.seconds = seconds; }).substr(0, 9), "seconds: ");
  }
  EXPECT_EQ(with([](TunedKernel& r) { r.knobs.split = 0; }),
            "knobs: expected swizzle and split of at least 1, got 1 and 0");
  EXPECT_EQ(with([](TunedKernel& r) { r.knobs.split_tiles = -2; }),
            "knobs: expected split_tiles of at least 0, got -2");
}

}  // namespace
}  // namespace estoc::records
