// Tests of fill_random: reproducible, the same in every layout, within the promised range.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "tensors.h"

namespace estoc::test {
namespace {

std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.view().elements(); ++i)
    values.push_back(load_element(tensor.view().dtype(), tensor.view().data(), i));
  return values;
}

class FillRandom : public ::testing::TestWithParam<Dtype> {};

TEST_P(FillRandom, stays_in_the_promised_range_and_uses_it) {
  Tensor tensor(GetParam(), {100, 100});
  tensor.randomise(1);
  const std::vector<double> values = values_of(tensor);
  const auto [lowest, highest] = std::ranges::minmax(values);
  if (is_float(GetParam())) {
    EXPECT_GE(lowest, -1);
    EXPECT_LT(highest, 1);
    EXPECT_GE(highest, 0.5);
  } else {
    EXPECT_GE(lowest, -127);
    EXPECT_LE(highest, 127);
    EXPECT_EQ(highest, std::min(127.0, max_finite(GetParam())));
  }
  const bool is_balanced = (is_float(GetParam()) && epsilon(GetParam()) < 0.1) ||
                           GetParam() == Dtype::i32 || GetParam() == Dtype::i8;
  if (is_balanced) {
    EXPECT_LE(lowest, -0.9 * highest);
    double sum = 0;
    for (const double value : values)
      sum += value;
    EXPECT_LT(std::abs(sum), 0.03 * 10'000 * highest);  // five standard deviations
  }
}

TEST_P(FillRandom, is_the_same_for_every_layout_and_different_for_every_seed) {
  Tensor rows(GetParam(), {6, 30, 40});
  Tensor columns(GetParam(), {6, 30, 40}, true);
  rows.randomise(5);
  columns.randomise(5);
  bool same = true;
  for (std::int64_t l = 0; l < 6; ++l) {
    for (std::int64_t i = 0; i < 30; ++i) {
      for (std::int64_t j = 0; j < 40; ++j) {
        const double x = load_element(GetParam(), rows.view().data(), (l * 30 + i) * 40 + j);
        const double y = load_element(GetParam(), columns.view().data(), (l * 40 + j) * 30 + i);
        same = same && x == y;
      }
    }
  }
  EXPECT_TRUE(same);
  const std::vector<double> first = values_of(rows);
  rows.randomise(6);
  EXPECT_NE(values_of(rows), first);
  rows.randomise(5);
  EXPECT_EQ(values_of(rows), first);
}

INSTANTIATE_TEST_SUITE_P(EveryDtype, FillRandom,
                         ::testing::ValuesIn(all_dtypes().begin(), all_dtypes().end()),
                         [](const auto& test) { return std::string(dtype_name(test.param)); });

TEST(FillRandomValues, do_not_change_between_versions) {
  Tensor wide(Dtype::f32, {4});
  wide.randomise(42);
  EXPECT_EQ(values_of(wide),
            (std::vector{0x1.5f87eap-1, -0x1.6a85ep-4, 0x1.f2059cp-1, 0x1.13e5d8p-3}));
  Tensor narrow(Dtype::bf16, {4});
  narrow.randomise(42);
  EXPECT_EQ(values_of(narrow), (std::vector{-0.31640625, 0.91015625, -0.02734375, -0.8671875}));
}

TEST(FillRandomValues, leave_what_is_between_elements_alone) {
  std::vector<float> memory(100, 77);
  fill_random(TensorView(memory.data(), Dtype::f32, {4, 3}, {20, 2}), 3);
  for (int i = 0; i < 100; ++i) {
    const bool is_element = i < 80 && i % 20 <= 4 && i % 2 == 0;
    EXPECT_EQ(memory[static_cast<std::size_t>(i)] != 77, is_element) << i;
  }
}

TEST(FillRandomValues, fill_repeated_elements_once_and_scalars_and_nothing) {
  std::vector<float> memory(8, 77);
  fill_random(TensorView(memory.data(), Dtype::f32, {5, 3}, {0, 1}), 3);
  EXPECT_EQ(std::ranges::count(memory, 77.0F), 5);
  std::vector<float> row(3);
  fill_random(TensorView(row.data(), Dtype::f32, {3}, {1}), 3);
  EXPECT_TRUE(std::equal(row.begin(), row.end(), memory.begin()));
  fill_random(TensorView(memory.data(), Dtype::f32, {}, {}), 3);
  fill_random(TensorView(nullptr, Dtype::f32, {0, 3}, {3, 1}), 3);
}

TEST(FillRandomValues, are_as_many_as_the_grid_has_for_narrow_types) {
  const auto distinct = [](Dtype dtype) {
    Tensor tensor(dtype, {100'000});
    tensor.randomise(9);
    const std::vector<double> values = values_of(tensor);
    return std::set(values.begin(), values.end()).size();
  };
  EXPECT_EQ(distinct(Dtype::bf16), 512U);
  EXPECT_EQ(distinct(Dtype::f16), 4096U);
  EXPECT_EQ(distinct(Dtype::e4m3), 32U);
  EXPECT_EQ(distinct(Dtype::i8), 255U);
  EXPECT_EQ(distinct(Dtype::boolean), 2U);
  EXPECT_GT(distinct(Dtype::f32), 99'000U);
}

TEST(FillRandomValues, need_host_memory) {
  const std::array<std::int64_t, 1> shape{4};
  const std::array<std::int64_t, 1> strides{1};
  EXPECT_THROW(fill_random(TensorView::describe(Dtype::f32, shape, strides), 0), Error);
}

TEST(ClearScaleSigns, OfE4m3Alone) {
  std::array<std::uint8_t, 12> memory{};
  memory.fill(0x81);
  // Rows of two in rows of three.
  const TensorView e4m3(memory.data(), Dtype::e4m3, {4, 2}, {3, 1});
  clear_scale_signs({e4m3, e4m3, ScaleMode::blockwise_1x16});
  for (std::size_t i = 0; i < memory.size(); ++i)
    EXPECT_EQ(memory[i], i % 3 == 2 ? 0x81 : 0x01) << i;
  memory.fill(0x81);
  const TensorView e8m0(memory.data(), Dtype::e8m0, {4, 3}, {3, 1});
  clear_scale_signs({e8m0, e8m0, ScaleMode::blockwise_1x32});
  for (const std::uint8_t byte : memory)
    EXPECT_EQ(byte, 0x81);
}

}  // namespace
}  // namespace estoc::test
