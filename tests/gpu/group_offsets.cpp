// What checks of offsets promise: a count in memory of the device, and ranges of any index.
#include "estoc/groups.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "estoc/problem.hpp"
#include "features.h"
#include "gemm.h"

namespace estoc::gpu_test {
namespace {

using Values = std::vector<std::int32_t>;

TensorView view_of(Values& values, std::vector<std::int64_t> shape) {
  return TensorView::row_major(values.data(), Dtype::i32, shape);
}

std::int64_t size(const Values& values) {
  return static_cast<std::int64_t>(values.size());
}

/// On a device, and what a check adds to a status of 5.
class PlacedOffsets {
 public:
  PlacedOffsets(Values values, const std::vector<std::int64_t>& shape, Device device)
      : values_(std::move(values)),
        tensor_(DeviceTensor::copy_of(view_of(values_, shape), device)),
        status_(DeviceTensor::copy_of(view_of(five_, {1}), device)) {}

  const TensorView& view() const { return tensor_.view(); }
  const TensorView& status() const { return status_.view(); }
  std::int32_t found() {
    Values got{0};
    status_.copy_to(view_of(got, {1}));
    return got[0] - 5;
  }

 private:
  Values values_;
  Values five_{5};
  DeviceTensor tensor_;
  DeviceTensor status_;
};

void require_wrong(const std::string& text, const Values& values, std::int32_t wrong,
                   Device device) {
  const auto described = Problem::parse("grouped_gemm n=4 k=4 a=f32 " + text).arguments(device);
  const OperandList given = described->operands();
  const TensorView offsets = *given[3].tensor;
  PlacedOffsets placed(values, {offsets.shape().begin(), offsets.shape().end()}, device);
  std::vector<Operand> operands;
  for (const NamedOperand& operand : given)
    operands.emplace_back(*operand.tensor);
  operands[3] = placed.view();
  const auto arguments = described->with_operands(operands);
  for (int round = 1; round < 3; ++round) {
    check_groups(dynamic_cast<const GroupedGemmArguments&>(*arguments), placed.status());
    const std::int32_t found = placed.found();
    require(found == round * wrong, text + ": expected " + std::to_string(round * wrong) +
                                        " wrong offsets, got " + std::to_string(found));
  }
}

void wrong_offsets_are_counted(Device device) {
  require_wrong("m=10 g=3", {0, 7, 10}, 0, device);
  require_wrong("m=10 g=3", {4, 3, 11}, 2, device);
  require_wrong("m=10 g=4", {-1, 0, 10, 10}, 1, device);
  require_wrong("m=10 g=2 layout=prefix", {2, 2, 1}, 1, device);
  require_wrong("m=10 g=3 layout=masked", {10, 3, 0}, 0, device);
  require_wrong("m=10 g=3 layout=masked", {11, 3, -1}, 2, device);
  require_wrong("m=10 g=2 layout=ranges", {1, 4, 3, 10}, 1, device);
  Values many;
  for (std::int32_t i = 0; i < 700; ++i)
    many.push_back(i % 100 == 99 ? i - 50 : i);
  require_wrong("m=700 g=700", many, 7, device);
}

void require_ranges(const Values& index, const Values& expected, std::int32_t wrong,
                    Device device) {
  PlacedOffsets placed(index, {size(index)}, device);
  const std::int64_t groups = size(expected) / 2;
  Values got(expected.size(), -7);
  DeviceTensor ranges = DeviceTensor::copy_of(view_of(got, {groups, 2}), device);
  ranges_of_index(placed.view(), ranges.view());
  ranges.copy_to(view_of(got, {groups, 2}));
  require(got == expected, "ranges of an index of " + std::to_string(index.size()) + " rows");
  check_group_index(placed.view(), groups, placed.status());
  require(placed.found() == wrong, "expected " + std::to_string(wrong) + " wrong rows, got " +
                                       std::to_string(placed.found()));
}

void indices_give_ranges(Device device) {
  require_ranges({0, 0, 1, 1, 1}, {0, 2, 2, 5}, 0, device);
  require_ranges({-1, 0, -1, -1, 2, 2, -1}, {1, 2, 0, 0, 4, 6, 0, 0}, 0, device);
  require_ranges({5, 1, 2}, {0, 0, 1, 2}, 2, device);
  require_ranges({1, 0}, {1, 2, 0, 1}, 1, device);
  // Which of two pieces of a group counts is open.
  PlacedOffsets apart({0, 1, 1, -1, 1, 0}, {6}, device);
  check_group_index(apart.view(), 2, apart.status());
  require(apart.found() == 2, "expected 2 wrong rows, got " + std::to_string(apart.found()));
  Values rows(600, -1);
  for (std::size_t row = 100; row < 400; ++row)
    rows[row] = 1;
  for (std::size_t row = 500; row < 600; ++row)
    rows[row] = 2;
  require_ranges(rows, {0, 0, 100, 400, 500, 600}, 0, device);
}

}  // namespace

std::vector<Feature> offset_features() {
  return {{"wrong_offsets_are_counted", wrong_offsets_are_counted},
          {"indices_give_ranges", indices_give_ranges}};
}

}  // namespace estoc::gpu_test
