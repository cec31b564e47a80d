// GroupedGemmArguments: the four combinations of ranks, their checks, text and normal form.
#include <array>

#include "estoc/numeric.hpp"
#include "estoc/problem.hpp"
#include "operations/grouped_gemm/lowering.h"
#include "support.h"

namespace estoc::test {
namespace {

using operations::Mapping;
using operations::Orientation;

/// Row-major and without data.
TensorView described(const Extents& shape, Dtype dtype = Dtype::f32,
                     Device device = Device::cpu()) {
  Extents strides(shape.size(), 1);
  for (std::size_t mode = shape.size(); mode-- > 1;)
    strides[mode - 1] = strides[mode] * shape[mode];
  return TensorView::describe(dtype, shape, strides, device);
}

TensorView offsets(std::int64_t groups) {
  return described({groups}, Dtype::i32);
}

GroupedGemmArguments grouped(const Extents& a, const Extents& b, const Extents& out,
                             std::optional<TensorView> ends) {
  return {described(a), described(b), described(out), Dtype::f32, {.offsets = ends}};
}

std::string complaint(const Extents& a, const Extents& b, const Extents& out,
                      std::optional<TensorView> ends) {
  const auto error = error_of([&] { grouped(a, b, out, ends); });
  return error ? error->what() : "";
}

GroupedGemmArguments of_text(const std::string& text) {
  return dynamic_cast<const GroupedGemmArguments&>(*Problem::parse(text).arguments());
}

TEST(GroupedGemm, FindsTheModeThatIsDivided) {
  const auto rows = grouped({10, 3}, {4, 3, 5}, {10, 5}, offsets(4));
  EXPECT_EQ(rows.mode(), GroupMode::rows);
  EXPECT_EQ(rows.groups(), 4);
  EXPECT_EQ(rows.divided_extent(), 10);
  EXPECT_EQ(rows.matrix_stride(), 15);
  EXPECT_EQ(rows.product().extents(), (GemmExtents{10, 5, 3, 1}));
  const auto columns = grouped({4, 10, 3}, {3, 5}, {10, 5}, offsets(4));
  EXPECT_EQ(columns.mode(), GroupMode::columns);
  EXPECT_EQ(columns.divided_extent(), 5);
  EXPECT_EQ(columns.matrix_stride(), 30);
  const auto reduction = grouped({10, 3}, {3, 5}, {4, 10, 5}, offsets(4));
  EXPECT_EQ(reduction.mode(), GroupMode::reduction);
  EXPECT_EQ(reduction.divided_extent(), 3);
  EXPECT_EQ(reduction.product().extents(), (GemmExtents{10, 5, 3, 4}));
  const auto batches = grouped({4, 10, 3}, {4, 3, 5}, {4, 10, 5}, std::nullopt);
  EXPECT_EQ(batches.mode(), GroupMode::batches);
  EXPECT_EQ(batches.groups(), 4);
  EXPECT_EQ(batches.offsets(), nullptr);
}

TEST(GroupedGemm, NamesItsOperands) {
  const auto arguments = grouped({10, 3}, {4, 3, 5}, {10, 5}, offsets(4));
  const OperandList operands = arguments.operands();
  ASSERT_EQ(operands.size(), 4U);
  EXPECT_STREQ(operands[3].name, "offsets");
  EXPECT_EQ(operands[3].role, OperandRole::index);
  EXPECT_EQ(operands[1].tensor, &arguments.b().tensor());
  EXPECT_EQ(grouped({4, 10, 3}, {4, 3, 5}, {4, 10, 5}, std::nullopt).operands().size(), 3U);
  EXPECT_EQ(arguments.work().flops, 2.0 * 10 * 3 * 5);
  EXPECT_EQ(arguments.work().bytes, 4.0 * (30 + 60 + 50 + 4));
}

TEST(GroupedGemm, MayHaveNoGroups) {
  const auto arguments = grouped({10, 3}, {0, 3, 5}, {10, 5}, offsets(0));
  EXPECT_EQ(arguments.groups(), 0);
  EXPECT_EQ(arguments.product().extents(), (GemmExtents{10, 5, 3, 1}));
}

TEST(GroupedGemm, RefusesOtherRanksAndExtents) {
  EXPECT_EQ(complaint({10}, {4, 3, 5}, {10, 5}, offsets(4)),
            "A.shape: expected 2 or 3 modes, got 1");
  EXPECT_EQ(complaint({10, 3}, {4, 3, 5}, {4, 10, 5}, offsets(4)),
            "out.shape: expected 2 modes for groups along m, got 3");
  EXPECT_EQ(complaint({10, 3}, {3, 5}, {10, 5}, offsets(4)),
            "out.shape: expected 3 modes for groups along k, got 2");
  EXPECT_EQ(complaint({10, 3}, {4, 2, 5}, {10, 5}, offsets(4)), "B.shape: expected K = 3, got 2");
  EXPECT_EQ(complaint({10, 3}, {4, 3, 5}, {9, 5}, offsets(4)), "out.shape: expected M = 10, got 9");
  EXPECT_EQ(complaint({4, 10, 3}, {1, 3, 5}, {4, 10, 5}, std::nullopt),
            "B.shape: expected G = 4 like A, got 1");
}

TEST(GroupedGemm, RefusesOffsetsThatDoNotFit) {
  EXPECT_EQ(complaint({10, 3}, {4, 3, 5}, {10, 5}, std::nullopt),
            "offsets: expected the ends of the groups, got none");
  EXPECT_EQ(complaint({10, 3}, {4, 3, 5}, {10, 5}, offsets(3)),
            "offsets.shape: expected G = 4 like B, got 3");
  EXPECT_EQ(complaint({10, 3}, {3, 5}, {4, 10, 5}, offsets(3)),
            "offsets.shape: expected G = 4 like out, got 3");
  EXPECT_EQ(complaint({10, 3}, {4, 3, 5}, {10, 5}, described({4})),
            "offsets.dtype: expected i32, got f32");
  EXPECT_EQ(complaint({10, 3}, {4, 3, 5}, {10, 5}, described({4, 1}, Dtype::i32)),
            "offsets.shape: expected 1 mode, got 2");
  EXPECT_EQ(
      complaint({4, 10, 3}, {4, 3, 5}, {4, 10, 5}, offsets(4)),
      "offsets: expected none where A and B have three modes, got i32 (4) strides (1) on cpu");
  EXPECT_EQ(complaint({10, 3}, {4, 3, 5}, {10, 5}, described({4}, Dtype::i32, Device::cuda(0))),
            "offsets.device: expected cpu like B, got cuda:0");
}

TEST(GroupedGemm, RefusesOutputsOverAnyInput) {
  std::array<float, 256> memory{};
  std::array<std::int32_t, 4> ends{};
  const auto at = [&](std::size_t first, const Extents& shape) {
    return TensorView::row_major(memory.data() + first, Dtype::f32, shape);
  };
  const TensorView index = TensorView::row_major(ends.data(), Dtype::i32, {4});
  // Matrix 3 of B, which the product of group 0 does not have.
  expect_error(
      [&] {
        GroupedGemmArguments(at(0, {10, 3}), at(100, {4, 3, 5}), at(150, {10, 5}), Dtype::f32,
                             {.offsets = index});
      },
      "out: expected memory apart from B's, got elements that coincide");
  const TensorView reduced = TensorView::row_major(memory.data() + 155, Dtype::f32, {1});
  expect_error(
      [&] {
        GroupedGemmArguments(at(0, {10, 3}), at(100, {4, 3, 5}), at(200, {10, 5}), Dtype::f32,
                             {.offsets = index}, {},
                             EpilogueArguments("D = accum\ntop = max(accum)", {{"top", reduced}}));
      },
      "top: expected memory apart from B's, got elements that coincide");
}

TEST(GroupedGemm, NoGroupsHaveNoMemory) {
  std::array<float, 64> memory{};
  std::array<std::int32_t, 1> ends{};
  const auto at = [&](std::size_t first, const Extents& shape) {
    return TensorView::row_major(memory.data() + first, Dtype::f32, shape);
  };
  const TensorView index = TensorView::row_major(ends.data(), Dtype::i32, {0});
  // out lies where the first of B's matrices would be.
  const GroupedGemmArguments rows(at(0, {4, 3}), at(12, {0, 3, 5}), at(12, {4, 5}), Dtype::f32,
                                  {.offsets = index, .zero_rest = true});
  EXPECT_TRUE(rows.has_data());
  const GroupedGemmArguments columns(at(12, {0, 4, 3}), at(0, {3, 5}), at(20, {4, 5}), Dtype::f32,
                                     {.offsets = index});
  EXPECT_EQ(columns.groups(), 0);
  EXPECT_EQ(columns.product().extents(), (GemmExtents{4, 5, 3, 1}));
}

using Ranges = std::vector<GroupRange>;

/// Those of `groups` groups of 10 rows; masked ones may have 10 / groups.
Ranges ranges_of(GroupLayout layout, std::int64_t groups, std::vector<std::int32_t> given) {
  const bool pairs = layout == GroupLayout::ranges;
  const auto count = static_cast<std::int64_t>(given.size());
  const TensorView index =
      TensorView::row_major(given.data(), Dtype::i32, pairs ? Extents{groups, 2} : Extents{count});
  const bool masked = layout == GroupLayout::masked;
  const std::int64_t room = masked ? 10 / groups : 10;
  const GroupedGemmArguments arguments(
      described(masked ? Extents{groups, room, 0} : Extents{room, 0}), described({groups, 0, 5}),
      described(masked ? Extents{groups, room, 5} : Extents{room, 5}), Dtype::f32,
      {.offsets = index, .layout = layout});
  EXPECT_EQ(arguments.divided_extent(), 10);
  Ranges ranges(static_cast<std::size_t>(groups));
  arguments.read_groups(ranges);
  return ranges;
}

TEST(GroupedGemm, ReadsGroupsByTheRule) {
  constexpr std::int32_t kMost = 2147483647;
  using enum GroupLayout;
  EXPECT_EQ(ranges_of(ends, 3, {3, 3, 10}), (Ranges{{0, 3}, {3, 3}, {3, 10}}));
  EXPECT_EQ(ranges_of(ends, 5, {-5, 4, 2, 11, 7}),
            (Ranges{{0, 0}, {0, 4}, {4, 4}, {4, 10}, {10, 10}}));
  EXPECT_EQ(ranges_of(ends, 2, {kMost, -kMost - 1}), (Ranges{{0, 10}, {10, 10}}));
  EXPECT_EQ(ranges_of(prefix, 2, {2, 5, 9}), (Ranges{{2, 5}, {5, 9}}));
  EXPECT_EQ(ranges_of(prefix, 2, {-2, 15, 9}), (Ranges{{0, 10}, {10, 10}}));
  EXPECT_EQ(ranges_of(masked, 2, {3, 5}), (Ranges{{0, 3}, {5, 10}}));
  EXPECT_EQ(ranges_of(masked, 2, {-3, kMost}), (Ranges{{0, 0}, {5, 10}}));
  EXPECT_EQ(ranges_of(ranges, 2, {1, 3, 7, 9}), (Ranges{{1, 3}, {7, 9}}));
  EXPECT_EQ(ranges_of(ranges, 3, {4, 2, 3, 12, -1, 5}), (Ranges{{4, 4}, {4, 10}, {10, 10}}));
}

TEST(GroupedGemm, MaskedGroupsAreRowsOfOneMatrix) {
  const auto masked = of_text(
      "grouped_gemm m=4 n=5 k=3 g=2 layout=masked a=f16 bias=f32:row C=f32:t "
      "epi=\"D = accum + bias + C\"");
  EXPECT_EQ(masked.mode(), GroupMode::rows);
  EXPECT_EQ(masked.out().rank(), 3);
  EXPECT_EQ(masked.product().extents(), (GemmExtents{8, 5, 3, 1}));
  EXPECT_EQ(masked.epilogue().find("C")->tensor()->shape(0), 8);
  const auto given = operations::lower(masked, Orientation::as_given);
  EXPECT_EQ(given.groups.room(), 4);
  EXPECT_EQ(given.b.view.batches, 2);
  const auto complaint_of = [](const Extents& a, const Extents& b, const Extents& out,
                               const Extents& strides) {
    const auto error = error_of([&] {
      GroupedGemmArguments(TensorView::describe(Dtype::f32, a, strides), described(b),
                           described(out), Dtype::f32,
                           {.offsets = described({2}, Dtype::i32), .layout = GroupLayout::masked});
    });
    return error ? std::string(error->what()) : "";
  };
  EXPECT_EQ(complaint_of({2, 4, 3}, {2, 3, 5}, {2, 4, 5}, {15, 3, 1}),
            "A.strides: expected 12 from matrix to matrix with masked groups, got 15");
  EXPECT_EQ(complaint_of({8, 3}, {2, 3, 5}, {8, 5}, {3, 1}),
            "A.shape, B.shape: expected 3 modes each with masked groups, got 2 and 3");
  EXPECT_EQ(complaint_of({3, 4, 3}, {2, 3, 5}, {2, 4, 5}, {12, 3, 1}),
            "A.shape: expected G = 2 like B, got 3");
  EXPECT_EQ(complaint_of({2, 4, 3}, {2, 3, 5}, {8, 5}, {12, 3, 1}),
            "out.shape: expected 3 modes for groups along m, got 2");
}

TEST(GroupedGemm, RefusesOffsetsOfOtherLayouts) {
  const auto complaint_of = [](GroupLayout layout, const Extents& offsets) {
    const auto error = error_of([&] {
      GroupedGemmArguments(described({10, 3}), described({4, 3, 5}), described({10, 5}), Dtype::f32,
                           {.offsets = described(offsets, Dtype::i32), .layout = layout});
    });
    return error ? std::string(error->what()) : "";
  };
  EXPECT_EQ(complaint_of(GroupLayout::prefix, {5}), "");
  EXPECT_EQ(complaint_of(GroupLayout::prefix, {4}),
            "offsets.shape: expected G + 1 = 5 with G like B, got 4");
  EXPECT_EQ(complaint_of(GroupLayout::ranges, {4, 2}), "");
  EXPECT_EQ(complaint_of(GroupLayout::ranges, {4}), "offsets.shape: expected 2 modes, got 1");
  EXPECT_EQ(complaint_of(GroupLayout::ranges, {4, 3}),
            "offsets: expected (G, 2) without gaps, got i32 (4, 3) strides (3, 1) on cpu");
}

TEST(GroupedGemm, BroadcastsTheEpilogueToOut) {
  const auto rows = of_text(
      "grouped_gemm m=10 n=5 k=3 g=4 a=f16 bias=f32:row C=f32:t epi=\"D = accum + bias + C\"");
  ASSERT_NE(rows.epilogue_binding(), nullptr);
  EXPECT_EQ(rows.epilogue_binding(), rows.product().epilogue_binding());
  EXPECT_EQ(rows.epilogue().find("C")->tensor()->rank(), 2);
  const auto reduction = of_text(
      "grouped_gemm along=k m=10 n=5 k=3 g=4 a=f16 s=f32:batch C=f32:t epi=\"D = accum * s + C\"");
  EXPECT_EQ(reduction.epilogue().find("C")->tensor()->shape(0), 4);
  EXPECT_EQ(reduction.epilogue().find("s")->tensor()->shape(0), 4);
}

TEST(GroupedGemm, IsLoweredToRowsColumnsAndK) {
  const auto rows = of_text("grouped_gemm m=10 n=5 k=3 g=4 a=f16 zero_rest=1");
  const auto given = operations::lower(rows, Orientation::as_given);
  EXPECT_EQ(given.mapping, Mapping::rows);
  EXPECT_EQ(given.b.view.batches, 4);
  EXPECT_EQ(given.b.view.batch_stride, 15);
  EXPECT_EQ(given.a.view.batch_stride, 0);
  EXPECT_EQ(given.groups.count, 4);
  EXPECT_EQ(given.groups.extent, 10);
  EXPECT_TRUE(given.groups.zero_rest);
  const auto turned = operations::lower(rows, Orientation::transposed);
  EXPECT_EQ(turned.mapping, Mapping::columns);
  EXPECT_EQ(turned.a.view.batch_stride, 15);
  EXPECT_EQ(turned.a.view.rows, 5);
  const auto reduction = of_text("grouped_gemm along=k m=10 n=5 k=3 g=4 a=f16");
  EXPECT_EQ(operations::lower(reduction, Orientation::transposed).mapping, Mapping::reduction);
  const auto batches = of_text("grouped_gemm along=l m=10 n=5 k=3 g=4 a=f16");
  EXPECT_EQ(operations::lower(batches, Orientation::as_given).mapping, Mapping::strided);
  EXPECT_EQ(operations::lower(batches, Orientation::as_given).l, 4);
}

TEST(GroupedGemm, HasAText) {
  const std::string text =
      "grouped_gemm m=43 n=5 k=3 g=3 along=m sizes=10,0,33 zero_rest=1 a=f16:t b=f16:n out=f32:t "
      "acc=f32";
  const Problem problem = Problem::parse(text);
  EXPECT_EQ(problem.to_string(), text);
  EXPECT_EQ(problem.sizes, (Extents{10, 0, 33}));
  // Offsets are data, which arguments do not keep.
  EXPECT_EQ(Problem::of(*problem.arguments()).to_string(),
            "grouped_gemm m=43 n=5 k=3 g=3 along=m zero_rest=1 a=f16:t b=f16:n out=f32:t acc=f32");
}

TEST(GroupedGemm, TextIsCompletedFromSizes) {
  Problem problem = Problem::parse("grouped_gemm along=k m=4 n=5 sizes=2,0,5 a=bf16");
  problem.complete();
  EXPECT_EQ(problem.g, 3);
  EXPECT_EQ(problem.k, 7);
  std::array<std::int32_t, 3> ends{};
  problem.fill_index(TensorView::row_major(ends.data(), Dtype::i32, {3}));
  EXPECT_EQ(ends, (std::array<std::int32_t, 3>{2, 2, 7}));
  Problem::parse("grouped_gemm m=11 n=5 k=2 g=3 a=bf16")
      .fill_index(TensorView::row_major(ends.data(), Dtype::i32, {3}));
  EXPECT_EQ(ends, (std::array<std::int32_t, 3>{4, 8, 11}));
}

TEST(GroupedGemm, TextSaysWhatOffsetsAre) {
  const std::string text =
      "grouped_gemm m=43 n=5 k=3 g=3 along=m layout=ranges sizes=10,0,33 a=f16:t b=f16:n out=f32:t "
      "acc=f32";
  EXPECT_EQ(Problem::parse(text).to_string(), text);
  EXPECT_EQ(Problem::of(*Problem::parse(text).arguments()).layout, GroupLayout::ranges);
  const auto offsets_of = [](const std::string& given) {
    const Problem problem = Problem::parse("grouped_gemm n=5 k=3 a=f16 " + given);
    const TensorView view = *problem.arguments()->operands()[3].tensor;
    std::vector<std::int32_t> values(static_cast<std::size_t>(view.elements()));
    problem.fill_index(TensorView::row_major(values.data(), Dtype::i32, view.shape()));
    return values;
  };
  using Values = std::vector<std::int32_t>;
  EXPECT_EQ(offsets_of("layout=prefix sizes=2,0,5"), (Values{0, 2, 2, 7}));
  EXPECT_EQ(offsets_of("layout=ranges sizes=2,0,5"), (Values{0, 2, 2, 2, 2, 7}));
  EXPECT_EQ(offsets_of("layout=masked sizes=2,0,5"), (Values{2, 0, 5}));
  EXPECT_EQ(offsets_of("layout=masked m=7 g=2"), (Values{7, 7}));
  EXPECT_EQ(offsets_of("layout=prefix m=7 g=2"), (Values{0, 4, 7}));
}

TEST(GroupedGemm, RefusesTextThatContradictsItself) {
  const auto words = [](const std::string& text) {
    const auto error = error_of([&] { Problem::parse(text).arguments(); });
    return error ? std::string(error->what()) : "";
  };
  EXPECT_EQ(words("grouped_gemm m=4 n=5 k=6 a=f16"),
            "g: expected a number of groups such as g=8, got none");
  EXPECT_EQ(words("grouped_gemm n=5 k=6 g=2 a=f16"),
            "m: expected an extent such as m=128, got "
            "none");
  EXPECT_EQ(words("grouped_gemm g=2 n=5 k=6 sizes=1,2,3 a=f16"),
            "sizes: expected one for each of g = 2, got 3");
  EXPECT_EQ(words("grouped_gemm m=5 n=5 k=6 sizes=1,2,3 a=f16"),
            "sizes: expected a sum of at most m = 5, got 6");
  EXPECT_EQ(words("grouped_gemm along=l m=5 n=5 k=6 sizes=1,2,3 a=f16"),
            "sizes: expected none for groups along l, got 3");
  EXPECT_EQ(words("grouped_gemm along=q"),
            "problem, column 20: expected the mode that is divided, m, n, k or l, got 'q'");
  EXPECT_EQ(words("grouped_gemm m=3000000000 g=1 n=1 k=1 a=f16"),
            "m: expected at most 2^31 - 1 where it is divided, got 3000000000");
  EXPECT_EQ(words("grouped_gemm m=300000000 g=10 n=1 k=1 layout=masked a=f16"),
            "m: expected at most 2^31 - 1 where it is divided, got 3000000000");
  EXPECT_EQ(words("grouped_gemm layout=maskd"),
            "problem, column 21: expected a layout of offsets, ends, prefix, masked, ranges or "
            "pointers, got 'maskd'");
  EXPECT_EQ(words("grouped_gemm m=5 n=5 k=6 layout=masked sizes=1,7 a=f16"),
            "sizes: expected at most m = 5 of masked groups, got 7");
  EXPECT_EQ(words("grouped_gemm along=k g=2 m=5 n=5 k=6 layout=masked a=f16"),
            "along: expected m of masked groups, got k");
  EXPECT_EQ(words("grouped_gemm along=l g=2 m=5 n=5 k=6 layout=prefix a=f16"),
            "layout: expected none for groups along l, got prefix");
}

TEST(GroupedGemm, MovesToOtherAddresses) {
  const auto arguments = of_text("grouped_gemm m=4 n=2 k=3 g=2 a=f32");
  std::array<float, 12> a{};
  std::array<float, 12> b{};
  std::array<float, 8> out{};
  std::array<std::int32_t, 2> ends{1, 4};
  const std::array<Operand, 4> operands{TensorView::row_major(a.data(), Dtype::f32, {4, 3}),
                                        TensorView::row_major(b.data(), Dtype::f32, {2, 3, 2}),
                                        TensorView::row_major(out.data(), Dtype::f32, {4, 2}),
                                        TensorView::row_major(ends.data(), Dtype::i32, {2})};
  const auto moved = arguments.with_operands(operands);
  EXPECT_TRUE(moved->has_data());
  EXPECT_FALSE(arguments.has_data());
  const auto& there = dynamic_cast<const GroupedGemmArguments&>(*moved);
  EXPECT_EQ(there.product().b_matrix().data, b.data());
  EXPECT_EQ(there.offsets()->data(), ends.data());
}

}  // namespace
}  // namespace estoc::test
