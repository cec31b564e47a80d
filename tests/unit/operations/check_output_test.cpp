// What check_output refuses to look at, and that it has the operation judge the rest.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "estoc/arguments.hpp"
#include "estoc/check.hpp"
#include "estoc/status.hpp"

namespace estoc {
namespace {

constexpr std::array<std::int64_t, 2> kShape{2, 2};
constexpr std::array<std::int64_t, 2> kStrides{2, 1};

GemmArguments gemm_at(Device device, bool data) {
  static std::array<float, 12> memory{1, 0, 0, 1, 1, 2, 3, 4, 1, 2, 3, 4};
  const auto view = [&](std::size_t first) {
    return data ? TensorView(&memory[first], Dtype::f32, kShape, kStrides, device)
                : TensorView::describe(Dtype::f32, kShape, kStrides, device);
  };
  return {view(0), view(4), view(8), Dtype::f32};
}

std::string complaint(const RuntimeArguments& arguments) {
  try {
    (void)check_output(arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::value);
    return error.what();
  }
  return "none";
}

TEST(CheckOutput, LooksAtHostMemoryWithData) {
  EXPECT_EQ(complaint(gemm_at(Device::cpu(), false)),
            "check_output: expected operands with data, got a description");
  EXPECT_EQ(complaint(gemm_at(Device::cuda(2), false)),
            "check_output: expected operands in host memory, got operands on cuda:2");
}

TEST(CheckOutput, HasTheOperationJudge) {
  const GemmArguments arguments = gemm_at(Device::cpu(), true);
  EXPECT_TRUE(check_output(arguments).passed);
  auto* const out = static_cast<float*>(arguments.out().data());
  out[3] = 5;
  EXPECT_FALSE(check_output(arguments).passed);
  out[3] = 4;
}

}  // namespace
}  // namespace estoc
