// The judge of quantised outputs: right ones pass, and each way to be wrong is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "estoc/check.hpp"
#include "estoc/numeric.hpp"
#include "estoc/problem.hpp"

namespace estoc::check {
namespace {

using testing::HasSubstr;

/// A row of 160 numbers as a product with 1, quantised to e4m3 with scales of 32 or 128.
class QuantisedRow : public testing::Test {
 protected:
  static constexpr std::int64_t kColumns = 160;

  QuantisedRow() {
    for (std::int64_t n = 0; n < kColumns; ++n)
      row[static_cast<std::size_t>(n)] = static_cast<float>(n % 7 - 3) * 1.75F + 0.125F;
  }

  static GemmArguments arguments(float* one, std::vector<float>& values, const ScaledTensor& out,
                                 const EpilogueArguments& epilogue) {
    return {TensorView::row_major(one, Dtype::f32, {1, 1}),
            TensorView::row_major(values.data(), Dtype::f32, {1, kColumns}),
            out,
            Dtype::f32,
            {},
            epilogue};
  }

  CheckResult check(const char* epilogue = "") {
    const ScaledTensor out{TensorView::row_major(codes.data(), Dtype::e4m3, {1, kColumns}),
                           TensorView::row_major(scales.data(), Dtype::f32, {1, 2}),
                           ScaleMode::blockwise_1x128};
    const EpilogueArguments fused =
        *epilogue != 0 ? EpilogueArguments(epilogue, {}) : EpilogueArguments();
    return check_output(arguments(&one_, row, out, fused));
  }

  /// Each code rounded once, with the scales given.
  void quantise(float first, float second, float factor = 1) {
    scales = {first, second};
    for (std::size_t n = 0; n < kColumns; ++n) {
      store_element(Dtype::e4m3, codes.data(), static_cast<std::int64_t>(n),
                    row[n] * factor / scales[n / 128]);
    }
  }

  float largest(std::size_t first, std::size_t end) const {
    float most = 0;
    for (std::size_t n = first; n < end; ++n)
      most = std::max(most, std::abs(row[n]));
    return most;
  }
  void quantise_well(float factor = 1) {
    quantise(largest(0, 128) * factor / 448, largest(128, 160) * factor / 448, factor);
  }

  float one_ = 1;
  std::vector<float> row = std::vector<float>(kColumns);
  std::vector<std::byte> codes = std::vector<std::byte>(kColumns);
  std::vector<float> scales;
};

TEST_F(QuantisedRow, RightOnesPass) {
  quantise_well();
  EXPECT_TRUE(check().passed) << check().worst;
  quantise_well(2);
  EXPECT_TRUE(check("D = accum * 2.0").passed) << check("D = accum * 2.0").worst;
}

// The data are right for the scale that is there.
TEST_F(QuantisedRow, AScaleOfItsOwnFails) {
  quantise(largest(0, 128) / 448, largest(128, 160) / 400);
  for (const char* epilogue : {"", "D = accum * 1.0 + 0.0"}) {
    const CheckResult result = check(epilogue);
    EXPECT_FALSE(result.passed);
    EXPECT_THAT(result.worst, HasSubstr("out.scale[0, 1]: expected"));
  }
}

TEST_F(QuantisedRow, WrongDataFail) {
  quantise_well();
  codes[130] = codes[130] ^ std::byte{1};
  const CheckResult result = check();
  EXPECT_FALSE(result.passed);
  EXPECT_THAT(result.worst, HasSubstr("out[0, 130]: expected"));
}

TEST_F(QuantisedRow, NanIsWantedWhereAnElementIsNoNumber) {
  row[3] = std::numeric_limits<float>::infinity();
  quantise(std::numeric_limits<float>::quiet_NaN(), largest(128, 160) / 448);
  EXPECT_TRUE(check().passed) << check().worst;
  scales[0] = 1;
  EXPECT_FALSE(check().passed);
  row[3] = 1;
  scales[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(check().passed);
}

}  // namespace
}  // namespace estoc::check
