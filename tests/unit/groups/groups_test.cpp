// Offsets of groups: which are refused on the host, and what ranges an index gives.
#include "estoc/groups.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "estoc/problem.hpp"
#include "groups/device_offsets.h"
#include "jit/nvrtc.h"

namespace estoc {
namespace {

using Values = std::vector<std::int32_t>;

TensorView view_of(Values& values) {
  return TensorView::row_major(values.data(), Dtype::i32,
                               {static_cast<std::int64_t>(values.size())});
}

/// What is said of offsets, and how many are counted.
struct Answer {
  std::string complaint;
  std::int32_t status = 0;
  bool operator==(const Answer&) const = default;
};

std::ostream& operator<<(std::ostream& stream, const Answer& answer) {
  return stream << answer.complaint << ", status " << answer.status;
}

template <typename Call>
Answer answer_of(const Call& call) {
  Values status{40};
  Answer answer;
  try {
    call(view_of(status));
  } catch (const Error& error) {
    answer.complaint = error.what();
  }
  answer.status = status[0] - 40;
  return answer;
}

Answer checked(const std::string& text, Values offsets) {
  const auto described = Problem::parse("grouped_gemm n=4 k=4 a=f32 " + text).arguments();
  std::vector<Operand> operands;
  for (const NamedOperand& operand : described->operands())
    operands.emplace_back(*operand.tensor);
  operands[3] = operands[3].tensor().moved(offsets.data());
  const auto arguments = described->with_operands(operands);
  const auto& grouped = dynamic_cast<const GroupedGemmArguments&>(*arguments);
  return answer_of([&](const TensorView& status) { check_groups(grouped, status); });
}

TEST(Groups, OffsetsThatAreWrongAreNamed) {
  EXPECT_EQ(checked("m=10 g=3", {0, 7, 10}), Answer{});
  EXPECT_EQ(checked("m=10 g=3", {4, 3, 11}),
            (Answer{"offsets[1]: expected at least 4 and at most 10, got 3", 2}));
  EXPECT_EQ(checked("m=10 g=3", {-1, 0, 10}),
            (Answer{"offsets[0]: expected at least 0 and at most 10, got -1", 1}));
  EXPECT_EQ(checked("m=10 g=2 layout=prefix", {2, 2, 9}), Answer{});
  EXPECT_EQ(checked("m=10 g=2 layout=prefix", {2, 2, 1}),
            (Answer{"offsets[2]: expected at least 2 and at most 10, got 1", 1}));
  EXPECT_EQ(checked("m=10 g=2 layout=masked", {10, 3}), Answer{});
  EXPECT_EQ(checked("m=10 g=2 layout=masked", {3, 11}),
            (Answer{"offsets[1]: expected at least 0 and at most 10, got 11", 1}));
  EXPECT_EQ(checked("m=10 g=2 layout=ranges", {1, 4, 4, 10}), Answer{});
  EXPECT_EQ(checked("m=10 g=2 layout=ranges", {1, 4, 3, 10}),
            (Answer{"offsets[2]: expected at least 4 and at most 10, got 3", 1}));
}

TEST(Groups, ProductsWithoutOffsetsAreRight) {
  const auto batches = Problem::parse("grouped_gemm along=l g=2 m=4 n=4 k=4 a=f32").arguments();
  check_groups(dynamic_cast<const GroupedGemmArguments&>(*batches));
}

TEST(Groups, StatusIsOneInteger) {
  Values offsets{0, 1};
  Values two{0, 0};
  std::array<float, 1> real{};
  const auto complaint = [&](const TensorView& status) -> std::string {
    try {
      check_group_index(view_of(offsets), 2, status);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(complaint({}), "");
  EXPECT_EQ(complaint(view_of(two)), "status.shape: expected one element, got 2");
  EXPECT_EQ(complaint(TensorView::row_major(real.data(), Dtype::f32, {1})),
            "status.dtype: expected i32, got f32");
  EXPECT_EQ(complaint(TensorView::row_major(offsets.data(), Dtype::i32, {1})),
            "status: expected memory apart from index's, got elements that coincide");
}

Values ranges(Values index, std::int64_t groups) {
  Values found(static_cast<std::size_t>(2 * groups), -7);
  ranges_of_index(view_of(index), TensorView::row_major(found.data(), Dtype::i32, {groups, 2}));
  return found;
}

TEST(Groups, AnIndexGivesRanges) {
  EXPECT_EQ(ranges({0, 0, 1, 1, 1}, 2), (Values{0, 2, 2, 5}));
  EXPECT_EQ(ranges({-1, 0, -1, -1, 2, 2, -1}, 4), (Values{1, 2, 0, 0, 4, 6, 0, 0}));
  EXPECT_EQ(ranges({}, 2), (Values{0, 0, 0, 0}));
  EXPECT_EQ(ranges({5, 1, 2}, 2), (Values{0, 0, 1, 2}));
}

TEST(Groups, AnIndexThatIsWrongIsNamed) {
  const auto checked_index = [](Values index, std::int64_t groups) {
    return answer_of(
        [&](const TensorView& status) { check_group_index(view_of(index), groups, status); });
  };
  EXPECT_EQ(checked_index({0, 0, -1, -9, 2, 2, -1}, 3), Answer{});
  EXPECT_EQ(checked_index({}, 3), Answer{});
  EXPECT_EQ(checked_index({0, 3, 1}, 3),
            (Answer{"index[1]: expected groups below 3 in ascending order, each in one piece, "
                    "got 3",
                    1}));
  EXPECT_EQ(checked_index({0, 1, 0, 1}, 3).status, 1);
  EXPECT_EQ(checked_index({0, -1, 0, 1}, 3),
            (Answer{"index[2]: expected groups below 3 in ascending order, each in one piece, "
                    "got 0",
                    1}));
}

TEST(Groups, RandomIndicesGiveTheRowsOfEachGroup) {
  EXPECT_TRUE(rc::check([] {
    Values index;
    Values expected;
    const auto groups = *rc::gen::inRange<std::int32_t>(1, 9);
    for (std::int32_t group = 0; group < groups; ++group) {
      const auto gap = *rc::gen::inRange<std::size_t>(0, 4);
      const auto rows = *rc::gen::inRange<std::size_t>(0, 6);
      index.insert(index.end(), gap, -1);
      const auto begin = static_cast<std::int32_t>(index.size());
      index.insert(index.end(), rows, group);
      const auto end = static_cast<std::int32_t>(index.size());
      expected.push_back(rows == 0 ? 0 : begin);
      expected.push_back(rows == 0 ? 0 : end);
    }
    check_group_index(view_of(index), groups);
    RC_ASSERT(ranges(index, groups) == expected);
  }));
}

TEST(Groups, compile_without_spills_needs_nvrtc) {
  std::string problem;
  if (jit::nvrtc_info(&problem) == nullptr) GTEST_SKIP() << problem;
  for (const Target target : {Target::sm(80), Target::sm(90, true), Target::sm(120)}) {
    const auto unit =
        jit::compile_unit(groups::offsets_unit(target), {.use_memory = false, .use_disk = false});
    EXPECT_LE(unit->code.resources.registers, 40) << target.name();
    EXPECT_EQ(unit->code.resources.spill_store_bytes, 0) << target.name();
    EXPECT_EQ(unit->code.resources.stack_bytes, 0) << target.name();
  }
}

}  // namespace
}  // namespace estoc
