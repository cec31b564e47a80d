// Groups by pointers: what their arguments refuse, their text, and how tables are read.
#include <array>
#include <cstring>

#include "estoc/check.hpp"
#include "estoc/numeric.hpp"
#include "estoc/problem.hpp"
#include "operations/grouped_gemm/group_table.h"
#include "operations/grouped_gemm/lowering.h"
#include "support.h"

namespace estoc::test {
namespace {

using Entries = std::vector<GroupEntry>;

TensorView described(const Extents& shape, const Extents& strides, Dtype dtype = Dtype::f32) {
  return TensorView::describe(dtype, shape, strides);
}

TensorView table_of(Entries& entries) {
  return TensorView::row_major(entries.data(), Dtype::i32,
                               {static_cast<std::int64_t>(entries.size()), kGroupEntryWords});
}

/// Two groups of A (4, 3), B (3, 5) and out (4, 5) at most.
struct Given {
  TensorView a = described({2, 4, 3}, {12, 3, 1});
  TensorView b = described({2, 3, 5}, {15, 5, 1});
  TensorView out = described({2, 4, 5}, {20, 5, 1});
  std::optional<TensorView> table = described({2, 12}, {12, 1}, Dtype::i32);
  bool zero_rest = false;
  std::string epilogue{};

  GroupedGemmArguments arguments() const {
    return {a,
            b,
            out,
            Dtype::f32,
            {.offsets = table, .zero_rest = zero_rest, .layout = GroupLayout::pointers},
            {},
            EpilogueArguments(epilogue, {})};
  }
  std::string complaint() const {
    const auto error = error_of([&] { arguments(); });
    return error ? error->what() : "";
  }
};

TEST(GroupTable, ArgumentsSayWhatIsWrong) {
  EXPECT_EQ(Given{}.complaint(), "");
  Given given;
  given.table.reset();
  EXPECT_EQ(given.complaint(), "offsets: expected a table of pointers, got none");
  given = {.table = described({2, 12}, {12, 1}, Dtype::f32)};
  EXPECT_EQ(given.complaint(), "offsets.dtype: expected i32, got f32");
  given = {.table = described({3, 12}, {12, 1}, Dtype::i32)};
  EXPECT_EQ(given.complaint(), "offsets.shape: expected G = 2 like A, got 3");
  given = {.table = described({2, 9}, {9, 1}, Dtype::i32)};
  EXPECT_EQ(given.complaint(),
            "offsets: expected (G, 12) without gaps in entries, got i32 (2, 9) strides (9, 1) on "
            "cpu");
  given = {.table = described({2, 12}, {1, 2}, Dtype::i32)};
  EXPECT_EQ(given.complaint(),
            "offsets: expected (G, 12) without gaps in entries, got i32 (2, 12) strides (1, 2) on "
            "cpu");
  given = {.table = described({2, 12}, {13, 1}, Dtype::i32)};
  EXPECT_EQ(given.complaint(),
            "offsets.alignment: expected entries at multiples of 16 bytes, got 4");
  given = {.table = described({2}, {1}, Dtype::i32)};
  EXPECT_EQ(given.complaint(), "offsets.shape: expected 2 modes, got 1");
  given = {.a = described({2, 4, 3}, {24, 6, 2})};
  EXPECT_EQ(given.complaint(),
            "A.strides: expected 1 along a mode of the matrices with groups by pointers, got (6, "
            "2)");
  given = {.b = described({3, 5}, {5, 1})};
  EXPECT_EQ(given.complaint(),
            "A.shape, B.shape: expected 3 modes each with groups by pointers, got 3 and 2");
  given = {.zero_rest = true};
  EXPECT_EQ(given.complaint(), "zero_rest: expected false with groups by pointers, got true");
  given = {.epilogue = "D = relu(accum)"};
  EXPECT_EQ(given.complaint(), "epilogue: expected none with groups by pointers, got one");
}

TEST(GroupTable, ScalesAndElementsOfFourBitsAreRefused) {
  const auto words = [](const std::string& text) {
    const auto error = error_of([&] { Problem::parse(text).arguments(); });
    return error ? std::string(error->what()) : "";
  };
  const std::string pointers = "grouped_gemm layout=pointers g=2 m=64 n=128 k=128 ";
  EXPECT_EQ(words(pointers + "a=e4m3*tensor b=e4m3 out=bf16"),
            "A.scale: expected none with groups by pointers, got one");
  EXPECT_EQ(words(pointers + "a=bf16 b=e4m3*1x128"),
            "B.scale: expected none with groups by pointers, got one");
  EXPECT_EQ(words(pointers + "a=bf16 b=i4 acc=f32"),
            "B.dtype: expected elements of whole bytes with groups by pointers, got i4");
}

TEST(GroupTable, HasAText) {
  const std::string text =
      "grouped_gemm m=9 n=7 k=5 g=3 along=l layout=pointers sizes=9x0x5,2x7x0,1x2x3 a=f16:t "
      "b=f16:n "
      "out=f32:t acc=f32";
  const Problem problem = Problem::parse(text);
  EXPECT_EQ(problem.to_string(), text);
  const auto arguments = problem.arguments();
  EXPECT_EQ(Problem::of(*arguments).to_string(),
            "grouped_gemm m=9 n=7 k=5 g=3 along=l layout=pointers a=f16:t b=f16:n out=f32:t "
            "acc=f32");
  Problem completed =
      Problem::parse("grouped_gemm layout=pointers sizes=9x0x5,2x7x0,1x2x3 a=f16 b=f16:n out=f32");
  completed.complete();
  EXPECT_EQ(completed.to_string(), text);
  const auto words = [](const std::string& given) {
    const auto error = error_of([&] { Problem::parse("grouped_gemm a=f16 " + given).arguments(); });
    return error ? std::string(error->what()) : "";
  };
  EXPECT_EQ(words("layout=pointers m=1 n=2 sizes=1x2x3,4x2x3"),
            "sizes: expected at most m = 1 of groups by pointers, got 4");
  EXPECT_EQ(words("layout=pointers g=3 sizes=1x2x3,4x2x3"),
            "sizes: expected those of g = 3 groups, got 2");
  EXPECT_EQ(words("layout=pointers m=1 n=1 k=1"),
            "g: expected a number of groups such as g=8, got none");
  EXPECT_EQ(words("layout=pointers along=m g=1 m=1 n=1 k=1"),
            "along: expected l of groups by pointers, got m");
  EXPECT_EQ(words("layout=pointers sizes=1,2,3"),
            "problem, column 42: expected m, n and k of each group, such as 64x32x16, got '1,2,3'");
  EXPECT_EQ(words("sizes=1x2x3"),
            "problem, column 26: expected sizes of groups such as 10,0,33, got '1x2x3'");
  EXPECT_EQ(words("sizes=1x2"), "problem, column 26: expected one size or m, n and k, got '1x2'");
  EXPECT_EQ(words("layout=pointers sizes=1x2x3,4"),
            "problem, column 48: expected sizes that are alike, got '4'");
}

TEST(GroupTable, TextFillsTheTableWithDistances) {
  const Problem problem = Problem::parse(
      "grouped_gemm layout=pointers m=4 n=5 sizes=4x5x3,0x2x1 a=f16:t b=bf16:n out=f32:[40,1,8]");
  Entries entries(2);
  problem.fill_index(table_of(entries));
  EXPECT_EQ(entries, (Entries{{0, 0, 0, 4, 5, 3, 3, 3, 8}, {24, 30, 160, 0, 2, 1, 3, 3, 8}}));
  Problem::parse("grouped_gemm layout=pointers m=4 n=5 k=3 g=2 a=f16")
      .fill_index(table_of(entries));
  EXPECT_EQ(entries[1], (GroupEntry{24, 30, 40 * 2, 4, 5, 3, 3, 5, 5}));
}

TEST(GroupTable, ExtentsAreCutOffAndDistancesBecomeAddresses) {
  std::array<float, 64> pool{};
  Given given;
  given.out = TensorView(pool.data(), Dtype::f32, {2, 4, 5}, {20, 5, 1});
  Entries entries{{16, 32, 64, 9, -1, 3, 1, 2, 3}, {0, 0, 0, 4, 6, 4, 0, 0, 0}};
  given.table = table_of(entries);
  const auto arguments = given.arguments();
  EXPECT_TRUE(arguments.has_data());
  Entries read(2);
  arguments.read_entries(read);
  const auto first = reinterpret_cast<std::uintptr_t>(pool.data());
  EXPECT_EQ(read,
            (Entries{{16, 32, first + 64, 4, 0, 3, 1, 2, 3}, {0, 0, first, 4, 5, 3, 0, 0, 0}}));
}

TEST(GroupTable, MovesWithItsTable) {
  const auto described_arguments = Given{}.arguments();
  EXPECT_FALSE(described_arguments.has_data());
  Entries entries(2);
  const std::array<Operand, 4> operands{Given{}.a, Given{}.b, Given{}.out, table_of(entries)};
  const auto moved = described_arguments.with_operands(operands);
  EXPECT_TRUE(moved->has_data());
  EXPECT_EQ(moved->operands()[3].tensor->data(), entries.data());
  EXPECT_TRUE(moved->operands()[0].tensor->described());
}

TEST(GroupTable, IsLoweredToPointers) {
  const auto arguments = Given{}.arguments();
  const auto problem = operations::lower(arguments, operations::Orientation::transposed);
  EXPECT_EQ(problem.mapping, operations::Mapping::pointers);
  EXPECT_EQ(problem.groups.count, 2);
  EXPECT_EQ(problem.groups.stride, 12);
  EXPECT_EQ(problem.l, 2);
  EXPECT_EQ(problem.m, 5);
}

TEST(GroupTable, CheckFindsTheGroupThatIsWrong) {
  std::array<float, 6> a{1, 2, 3, 4, 5, 6};
  std::array<float, 6> b{1, 0, 0, 1, 1, 1};
  std::array<float, 8> out{4, 5, 10, 11, 1, 2, 4, 5};
  const auto at = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data); };
  Entries entries{{at(&a), at(&b), at(&out), 2, 2, 3, 3, 2, 2},
                  {at(&a), at(&b), at(&out[4]), 2, 2, 1, 3, 2, 2}};
  entries[1].k = 1;
  out[4] = 1;
  out[5] = 0;
  out[6] = 4;
  out[7] = 0;
  Given given;
  given.table = table_of(entries);
  const auto arguments = given.arguments();
  const CheckResult right = check_output(arguments);
  EXPECT_TRUE(right.passed) << right.worst;
  EXPECT_EQ(right.rows_checked, 4);
  out[6] = 5;
  const CheckResult wrong = check_output(arguments);
  EXPECT_FALSE(wrong.passed);
  EXPECT_EQ(wrong.worst.rfind("group 1: out[1, 0]: expected 4, got 5", 0), 0U) << wrong.worst;
}

}  // namespace
}  // namespace estoc::test
