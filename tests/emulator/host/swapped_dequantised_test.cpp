// sm90_swapped_dequantised_gemm on the emulator: every type and order of scales, ragged extents,
// parts of K, and what is no number.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "emulated.h"

namespace estoc::swapped_dequantised_test {
namespace {

class SwappedDequantised : public EmulatedKernels {
 protected:
  static testing_support::ProblemData data_of(const std::string& text) {
    testing_support::ProblemData data(Problem::parse("gemm " + text), 3,
                                      testing_support::Values::reals);
    data.poison();
    return data;
  }

  /// The first kernel that fits, with K in so many parts, of the last `tiles` tiles or by clusters.
  static void run_on(const RuntimeArguments& arguments, const std::string& filter, int parts = 1,
                     int tiles = 0) {
    constexpr Target kHopper = Target::sm(90, true);
    KernelQuery query;
    query.target = kHopper;
    query.filter = MetadataFilter::parse("class=sm90_swapped_dequantised_gemm " + filter);
    const KernelList found = get_kernels(arguments, query);
    ASSERT_FALSE(found.empty());
    Knobs knobs = found.front().knobs();
    knobs.split = static_cast<std::int16_t>(parts);
    knobs.split_tiles = tiles;
    const emulator::Report report =
        emulator::run(found.front().with_knobs(knobs), kHopper, arguments);
    EXPECT_TRUE(report.clean()) << report.text();
  }
  static void run(const std::string& filter, const std::string& text, int parts = 1,
                  int tiles = 0) {
    SCOPED_TRACE(filter + " " + text);
    const testing_support::ProblemData data = data_of(text);
    run_on(data.arguments(), filter, parts, tiles);
    const CheckResult result = check_output(data.arguments());
    EXPECT_TRUE(result.passed) << result.worst;
  }
  /// Why no kernel takes the problem.
  static std::string refusal(const std::string& text) {
    KernelQuery query;
    query.target = Target::sm(90, true);
    query.filter = MetadataFilter::parse("class=sm90_swapped_dequantised_gemm");
    const auto arguments = Problem::parse("gemm m=16 n=256 k=512 " + text).arguments();
    EXPECT_TRUE(get_kernels(*arguments, query).empty()) << text;
    for (const Explanation& why : explain(*arguments, query)) {
      if (why.kernel_class == "sm90_swapped_dequantised_gemm") return why.status.error();
    }
    return {};
  }
};

TEST_F(SwappedDequantised, ScalesOf16) {
  run("schedule=cooperative tile=16x128x256",
      "m=13 n=200 k=712 a=e2m1:t*1x32 b=e2m1:[1,736]*1x16:[1,48]+tensor out=bf16");
  run("tile=16x64x256",
      "m=5 n=268 k=1000 l=2 a=e4m3:t*1x32 b=e2m1:[327680,1,1024]*1x16:swizzled out=f32");
  run("tile=64x128x256", "m=61 n=132 k=544 a=e2m1:t*1x16 b=e2m1:n*1x16:t out=f16");
}

TEST_F(SwappedDequantised, ScalesOf32) {
  run("schedule=cooperative tile=32x128x256",
      "m=37 n=268 k=1000 l=2 a=e4m3:t*1x32:swizzled b=e2m1:[32768,1,1024]*1x32:swizzled out=f32");
  run("tile=64x64x128", "m=70 n=100 k=336 l=2 a=e5m2:n*1x32 b=e4m3:n*1x32:t out=f16");
  run("tile=16x128x128", "m=1 n=200 k=384 a=e4m3:t*1x32:n b=e4m3:n*1x32:n out=bf16");
}

TEST_F(SwappedDequantised, OnlyBIsQuantised) {
  run("tile=32x64x128",
      "m=30 n=100 k=208 a=bf16:n b=e5m2:n*1x32:t out=bf16 bias=f32:row "
      "epi=\"D = relu(accum + bias)\"");
  run("tile=16x64x128", "m=30 n=100 k=208 a=bf16:t b=e4m3:n*row out=bf16");
}

TEST_F(SwappedDequantised, ScalesOfRowsAndTensors) {
  run("tile=32x64x256", "m=30 n=100 k=192 a=e2m1:t*row b=e2m1:n*tensor out=bf16");
}

TEST_F(SwappedDequantised, PartsOfK) {
  const std::string text = "m=16 n=136 k=2080 a=e2m1:t*1x16 b=e2m1:n*1x16:swizzled out=f32";
  run("schedule=single tile=16x64x256", text, 3);
  run("schedule=cooperative tile=32x128x256", text, 4, 2);
  run("tile=16x64x128", "m=16 n=136 k=1056 a=bf16:t b=e4m3:n*1x32:t out=bf16", 5);
}

// Codes and scales that are no numbers, or infinite, stay so; whatever else is in their block.
TEST_F(SwappedDequantised, NotNumbers) {
  struct Poked {
    const char* b;
    std::size_t element;  ///< of B, in bytes
    std::uint8_t code;
    bool in_scale;
    double expected;  ///< of row 0
  };
  const double nan = std::nan("");
  // A is 1, n = 64 and k = 128; byte 200 of codes of 8 bits is in column 1.
  constexpr std::array<const char*, 3> kTypes{"e4m3:n*1x32:n", "e5m2:n*1x32:n", "e2m1:n*1x16:n"};
  for (const Poked& poked :
       {Poked{kTypes[0], 200, 0x7f, false, nan}, Poked{kTypes[0], 201, 0xff, false, nan},
        Poked{kTypes[1], 202, 0x7c, false, HUGE_VAL}, Poked{kTypes[1], 203, 0xfc, false, -HUGE_VAL},
        Poked{kTypes[1], 130, 0x7e, false, nan}, Poked{kTypes[0], 5, 0xff, true, nan},
        Poked{kTypes[2], 12, 0x7f, true, nan}}) {
    SCOPED_TRACE(std::string(poked.b) + " " + std::to_string(poked.element));
    const std::string b(poked.b);
    const testing_support::ProblemData data = data_of("m=8 n=64 k=128 a=bf16 b=" + b + " out=f32");
    const auto& gemm = static_cast<const GemmArguments&>(data.arguments());
    auto* const ones = static_cast<std::uint16_t*>(gemm.a().tensor().data());
    std::fill_n(ones, 8 * 128, std::uint16_t{0x3f80});
    const TensorView& target = poked.in_scale ? gemm.b().scaled()->scale : gemm.b().tensor();
    static_cast<std::uint8_t*>(target.data())[poked.element] = poked.code;
    run_on(gemm, "tile=16x64x" + std::string(b.starts_with("e2m1") ? "256" : "128"));
    const auto* const out = static_cast<const float*>(gemm.out().data());
    for (int n = 0; n < 64; ++n) {
      if (n != 1) {
        EXPECT_TRUE(std::isfinite(out[n])) << n;
      } else if (std::isnan(poked.expected)) {
        EXPECT_TRUE(std::isnan(out[n])) << out[n];
      } else {
        EXPECT_EQ(out[n], poked.expected);
      }
    }
  }
}

// The ends of the exponent: a scale of 2^-127 makes numbers that are subnormal in bf16.
TEST_F(SwappedDequantised, LargeAndSmallScales) {
  for (const std::uint8_t scale : {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{250}}) {
    const testing_support::ProblemData data =
        data_of("m=8 n=64 k=128 a=bf16 b=e5m2:n*1x32:n out=f32");
    const auto& gemm = static_cast<const GemmArguments&>(data.arguments());
    const TensorView& scales = gemm.b().scaled()->scale;
    std::fill_n(static_cast<std::uint8_t*>(scales.data()), scales.elements(), scale);
    auto* const codes = static_cast<std::uint8_t*>(gemm.b().tensor().data());
    for (std::size_t i = 0; i < 64 * 128; ++i)
      codes[i] = static_cast<std::uint8_t>(0x3c + i % 7);
    // 2^60, so that products are normal; or 2^-60.
    auto* const a = static_cast<std::uint16_t*>(gemm.a().tensor().data());
    std::fill_n(a, 8 * 128, std::uint16_t(scale < 128 ? 0x5d80 : 0x2180));
    run_on(gemm, "tile=16x64x128");
    const CheckResult result = check_output(gemm);
    EXPECT_TRUE(result.passed) << int{scale} << ": " << result.worst;
  }
}

TEST_F(SwappedDequantised, WhatItDoesNotTake) {
  struct Refused {
    const char* operands;
    const char* reason;
  };
  for (const Refused& each : {Refused{"a=e4m3:t*1x128 b=e4m3:n*1x32", "A.scale: expected"},
                              Refused{"a=bf16 b=e4m3:n*128x128", "B.scale: expected"},
                              Refused{"a=e4m3:t*1x32 b=e4m3:t*1x32", "B.layout"},
                              Refused{"a=e4m3:t*1x32 b=e4m3:n*1x32:[257,1]", "B.scale.strides"},
                              Refused{"a=e4m3 b=e4m3:n", "A, B: expected scales"}}) {
    const std::string reason = refusal(each.operands);
    EXPECT_NE(reason.find(each.reason), std::string::npos) << each.operands << ": " << reason;
  }
}

}  // namespace
}  // namespace estoc::swapped_dequantised_test
