// get_kernels with arguments: what is found, in which order, and what a broken class does to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "fake_class.h"

namespace estoc::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(GetKernels, FindsEveryKernelThatFitsInTheOrderOfTheSpace) {
  const Registered there(make_class("small", small_space()));
  EXPECT_THAT(names_of(get_kernels(gemm({.layouts = "tnt", .alignment = 4}))),
              ElementsAre("small-f16-f32-f16-tnt-alignA4-tile64x64x32",
                          "small-f16-f32-f16-tnt-alignA4-tile128x64x32"));
}

TEST(GetKernels, AKernelOfSmallerAlignmentFitsBetterAlignedOperands) {
  const Registered there(make_class("small", small_space()));
  EXPECT_THAT(get_kernels(gemm({.alignment = 4})), SizeIs(2));
  EXPECT_THAT(get_kernels(gemm({.alignment = 8})), SizeIs(2));
  EXPECT_THAT(get_kernels(gemm({.alignment = 16})), SizeIs(4));
  EXPECT_THAT(get_kernels(gemm({.alignment = 2})), IsEmpty());
}

TEST(GetKernels, BHasTheDtypeOfAWhereTheSpaceDoesNotSay) {
  const Registered there(make_class("small", small_space()));
  EXPECT_THAT(get_kernels(gemm({.b = Dtype::bf16})), IsEmpty());
  EXPECT_THAT(get_kernels(gemm({.a = Dtype::bf16, .b = Dtype::bf16})), SizeIs(4));
}

TEST(GetKernels, AccumulatorAndOutFollowFromAWhereTheSpaceDoesNotSay) {
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::f64, Dtype::bf16, Dtype::i8});
  const Registered there(make_class("implied", builder.build()));
  const auto found = [](Dtype in, Dtype accumulator, Dtype out) {
    return get_kernels(gemm({.a = in, .b = in, .out = out, .accumulator_type = accumulator}))
        .size();
  };
  EXPECT_EQ(found(Dtype::f64, Dtype::f64, Dtype::f64), 1U);
  EXPECT_EQ(found(Dtype::bf16, Dtype::f32, Dtype::f32), 1U);
  EXPECT_EQ(found(Dtype::i8, Dtype::i32, Dtype::i32), 1U);
  EXPECT_EQ(found(Dtype::bf16, Dtype::f32, Dtype::bf16), 0U);
  EXPECT_EQ(found(Dtype::i8, Dtype::f32, Dtype::f32), 0U);
}

TEST(GetKernels, LayoutLettersComeFromStridesAndExtents) {
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::f32}).layouts({"ttt", "nnt", "xxx"});
  const Registered there(make_class("laid", builder.build()));
  const auto found = [](const TensorView& a) {
    return names_of(get_kernels(GemmArguments(a, describe(Dtype::f32, 1, 64, 't'),
                                              describe(Dtype::f32, 8, 64, 't'), Dtype::f32)));
  };
  // One row of B is contiguous either way, so that A decides.
  EXPECT_THAT(found(TensorView::describe(Dtype::f32, std::array<std::int64_t, 2>{8, 1},
                                         std::array<std::int64_t, 2>{5, 7})),
              ElementsAre("laid-f32-ttt", "laid-f32-xxx"));
  EXPECT_THAT(found(TensorView::describe(Dtype::f32, std::array<std::int64_t, 2>{8, 1},
                                         std::array<std::int64_t, 2>{1, 7})),
              ElementsAre("laid-f32-ttt", "laid-f32-nnt", "laid-f32-xxx"));
}

TEST(GetKernels, AnOperandOfOneRowIsAlignedAsTheLayoutThatItHas) {
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::f16, Dtype::f32})
      .layouts({"ttt", "ntt", "tnt", "ttn", "xtt"})
      .alignments(Role::a_alignment, {4, 16})
      .alignments(Role::b_alignment, {2, 16})
      .alignments(Role::out_alignment, {16});
  const Registered there(make_class("laid", builder.build()));
  const auto row = [](std::int64_t columns) { return describe(Dtype::f32, 1, columns, 't'); };
  const auto column = [](std::int64_t rows) { return describe(Dtype::f32, rows, 1, 'n'); };
  // As column-major, the columns of one row begin at every element, of 4 bytes.
  const GemmArguments one_row(row(64), describe(Dtype::f32, 64, 32, 't'), row(32), Dtype::f32);
  EXPECT_THAT(
      names_of(get_kernels(one_row)),
      ElementsAre(
          "laid-f32-ttt-alignA4-alignB2-alignOut16", "laid-f32-ttt-alignA4-alignB16-alignOut16",
          "laid-f32-ttt-alignA16-alignB2-alignOut16", "laid-f32-ttt-alignA16-alignB16-alignOut16",
          "laid-f32-ntt-alignA4-alignB2-alignOut16", "laid-f32-ntt-alignA4-alignB16-alignOut16",
          "laid-f32-xtt-alignA4-alignB2-alignOut16", "laid-f32-xtt-alignA4-alignB16-alignOut16",
          "laid-f32-xtt-alignA16-alignB2-alignOut16", "laid-f32-xtt-alignA16-alignB16-alignOut16"));
  for (const Kernel& kernel : get_kernels(one_row))
    EXPECT_TRUE(kernel.supports(one_row).ok()) << kernel.name();
  EXPECT_EQ(
      kernel_by_name("laid-f32-ntt-alignA16-alignB16-alignOut16").supports(one_row).error(),
      "A.alignment: expected a multiple of 16 bytes with the next-to-last mode contiguous (n), "
      "got 4");
  const GemmArguments one_column(describe(Dtype::f32, 32, 64, 't'), column(64), column(32),
                                 Dtype::f32);
  EXPECT_THAT(names_of(get_kernels(one_column)),
              ElementsAre("laid-f32-ttn-alignA4-alignB2-alignOut16",
                          "laid-f32-ttn-alignA16-alignB2-alignOut16"));
}

TEST(GetKernels, ExplainTellsOfAnAlignmentThatNoLayoutHas) {
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::f32}).layouts({"ntt"}).alignments(Role::a_alignment, {16});
  const Registered there(make_class("laid", builder.build()));
  const auto row = [](std::int64_t columns) { return describe(Dtype::f32, 1, columns, 't'); };
  const GemmArguments one_row(row(64), describe(Dtype::f32, 64, 32, 't'), row(32), Dtype::f32);
  EXPECT_THAT(get_kernels(one_row), IsEmpty());
  EXPECT_THAT(explain(one_row)[0].status.error(),
              StartsWith("A.alignment: expected a multiple of 16 bytes with the next-to-last"));
}

TEST(GetKernels, Tf32KernelsTakeF32OnlyWhereAllowed) {
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::f32, Dtype::tf32});
  const Registered there(make_class("rounding", builder.build()));
  PerformanceControls tf32_allowed;
  tf32_allowed.allow_tf32 = true;
  EXPECT_THAT(names_of(get_kernels(f32_gemm())), ElementsAre("rounding-f32"));
  EXPECT_THAT(names_of(get_kernels(f32_gemm(tf32_allowed))),
              ElementsAre("rounding-f32", "rounding-tf32"));
  EXPECT_THAT(names_of(get_kernels(gemm({.a = Dtype::tf32, .b = Dtype::tf32, .out = Dtype::f32}))),
              ElementsAre("rounding-tf32"));
}

TEST(GetKernels, Tf32IsForTheFactorsOfAProductAlone) {
  PerformanceControls tf32_allowed;
  tf32_allowed.allow_tf32 = true;
  DesignSpace::Builder product;
  product.dtypes(Role::a_dtype, {Dtype::tf32}).dtypes(Role::out_dtype, {Dtype::f32, Dtype::tf32});
  const Registered first(make_class("product", product.build()));
  EXPECT_THAT(names_of(get_kernels(f32_gemm(tf32_allowed))), ElementsAre("product-tf32-f32"));
  constexpr std::array kOps{ElementwiseOp::relu};
  DesignSpace::Builder pointwise;
  pointwise.dtypes(Role::a_dtype, {Dtype::tf32, Dtype::f32})
      .dtypes(Role::out_dtype, {Dtype::f32})
      .ops(kOps);
  auto fake = make_class("pointwise", pointwise.build());
  fake->kind = Operation::elementwise;
  const Registered second(fake);
  const TensorView view = describe(Dtype::f32, 4, 4, 't');
  EXPECT_THAT(
      names_of(get_kernels(ElementwiseArguments(ElementwiseOp::relu, view, view, tf32_allowed))),
      ElementsAre("pointwise-f32-f32-relu"));
}

TEST(GetKernels, StridedOperandsFitNoLetter) {
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::f32}).layouts({"ttt", "ntt", "xtt"});
  const Registered there(make_class("laid", builder.build()));
  const auto found = [](std::int64_t row_stride, std::int64_t column_stride) {
    const auto a = TensorView::describe(Dtype::f32, std::array<std::int64_t, 2>{8, 8},
                                        std::array<std::int64_t, 2>{row_stride, column_stride});
    const TensorView other = describe(Dtype::f32, 8, 8, 't');
    return names_of(get_kernels(GemmArguments(a, other, other, Dtype::f32)));
  };
  EXPECT_THAT(found(34, 1), ElementsAre("laid-f32-ttt", "laid-f32-xtt"));
  EXPECT_THAT(found(32, 2), ElementsAre("laid-f32-xtt"));
  EXPECT_THAT(found(1, 34), ElementsAre("laid-f32-ntt", "laid-f32-xtt"));
}

TEST(GetKernels, ElementwiseLayoutsComeFromTheLastTwoModes) {
  constexpr std::array kOps{ElementwiseOp::relu};
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::f32}).layouts({"ttt", "nnn"}).ops(kOps);
  auto fake = make_class("pointwise", builder.build());
  fake->kind = Operation::elementwise;
  const Registered there(fake);
  const auto found = [](const TensorView& view) {
    return names_of(get_kernels(ElementwiseArguments(ElementwiseOp::relu, view, view)));
  };
  EXPECT_THAT(found(describe(Dtype::f32, 4, 8, 't')), ElementsAre("pointwise-f32-ttt-relu"));
  EXPECT_THAT(found(describe(Dtype::f32, 4, 8, 'n')), ElementsAre("pointwise-f32-nnn-relu"));
  const auto column = TensorView::describe(Dtype::f32, std::array<std::int64_t, 2>{4, 1},
                                           std::array<std::int64_t, 2>{3, 7});
  EXPECT_THAT(found(column), ElementsAre("pointwise-f32-ttt-relu"));
  const auto scalar = TensorView::describe(Dtype::f32, std::span<const std::int64_t>{},
                                           std::span<const std::int64_t>{});
  EXPECT_THAT(found(scalar), ElementsAre("pointwise-f32-ttt-relu", "pointwise-f32-nnn-relu"));
}

TEST(GetKernels, ElementwiseClassesAreFoundByOp) {
  constexpr std::array kOps{ElementwiseOp::add, ElementwiseOp::relu};
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::f32, Dtype::f16}).ops(kOps);
  auto fake = make_class("pointwise", builder.build());
  fake->kind = Operation::elementwise;
  const Registered there(fake);
  const TensorView view = describe(Dtype::f16, 4, 4, 't');
  EXPECT_THAT(names_of(get_kernels(ElementwiseArguments(ElementwiseOp::relu, view, view))),
              ElementsAre("pointwise-f16-relu"));
  EXPECT_THAT(get_kernels(ElementwiseArguments(ElementwiseOp::exp, view, view)), IsEmpty());
  EXPECT_THAT(get_kernels(gemm()), IsEmpty());
  const Registered product(make_class("product", small_space()));
  EXPECT_THAT(get_kernels(ElementwiseArguments(ElementwiseOp::exp, view, view)), IsEmpty());
}

TEST(GetKernels, TheTargetDefaultsToTheDeviceOfTheOperands) {
  const Registered host(make_class("host", plain_space()));
  const Registered both(make_class("both", plain_space(), {kHopper, Target::cpu()}));
  EXPECT_THAT(names_of(get_kernels(f32_gemm())), ElementsAre("host-f32-v0", "both-f32-v0"));
}

TEST(GetKernels, AnSmTargetNeverGivesACpuKernel) {
  const Registered host(make_class("host", plain_space()));
  const Registered gpu(make_class("gpu", plain_space(), {Target::sm(80), kHopper}));
  EXPECT_THAT(names_of(get_kernels(f32_gemm(), {.target = kHopper})), ElementsAre("gpu-f32-v0"));
  EXPECT_THAT(get_kernels(f32_gemm(), {.target = Target::sm(90)}), IsEmpty());
}

TEST(GetKernels, OperandsOnAMissingDeviceNeedATarget) {
  const Registered gpu(make_class("gpu", plain_space(), {kHopper}));
  const GemmArguments arguments =
      gemm({.a = Dtype::f32, .b = Dtype::f32, .out = Dtype::f32}, {}, {}, Device::cuda(63));
  const Error error = error_of([&] { (void)get_kernels(arguments); });
  EXPECT_EQ(error.kind(), ErrorKind::driver);
  EXPECT_THAT(error.what(), HasSubstr("cuda:63"));
  EXPECT_THAT(get_kernels(arguments, {.target = kHopper}), SizeIs(1));
}

TEST(GetKernels, ProvidersCanBeChosen) {
  const Registered one(make_class("one", plain_space()), "p1");
  const Registered two(make_class("two", plain_space()), "p2");
  const Registered three(make_class("three", plain_space()), "p3");
  EXPECT_THAT(names_of(get_kernels(f32_gemm(), {.providers = {"p3", "p1"}})),
              ElementsAre("one-f32-v0", "three-f32-v0"));
}

TEST(GetKernels, AProviderThatDoesNotExistIsAnErrorWithTheNearest) {
  const Registered one(make_class("one", plain_space()), "cublaslt");
  const Registered two(make_class("two", plain_space()), "cuda");
  const auto message_for = [](const char* name) {
    const Error error = error_of([&] {
      (void)get_kernels(f32_gemm(), {.providers = {"cuda", name}});
    });
    EXPECT_EQ(error.kind(), ErrorKind::not_found);
    return std::string(error.what());
  };
  EXPECT_THAT(message_for("cublastl"), HasSubstr("got \"cublastl\"; nearest is \"cublaslt\""));
  EXPECT_THAT(message_for("zzz"), HasSubstr("expected one of cublaslt, cuda, got \"zzz\""));
  EXPECT_EQ(error_of([] { (void)get_kernels({.providers = {"cudo"}}); }).kind(),
            ErrorKind::not_found);
}

TEST(GetKernels, TheFilterSeesTheMetadata) {
  const Registered there(make_class("small", small_space()));
  const MetadataFilter wide([](const KernelMetadata& metadata) {
    return metadata.design.tile == Shape3{128, 64, 32} && metadata.gemm()->a.alignment == 16;
  });
  EXPECT_THAT(names_of(get_kernels(gemm(), {.filter = wide})),
              ElementsAre("small-f16-f32-f16-ttt-alignA16-tile128x64x32"));
}

TEST(GetKernels, WhatAFilterThrowsReachesTheCaller) {
  const Registered there(make_class("small", small_space()));
  const MetadataFilter broken(
      [](const KernelMetadata&) -> bool { throw std::domain_error("my own mistake"); });
  EXPECT_THROW((void)get_kernels(gemm(), {.filter = broken}), std::domain_error);
}

TEST(GetKernels, TheFastestComesFirstAndThoseWithoutPredictionLast) {
  auto known = make_class("known", plain_space(5));
  known->on_predict = [](const DesignPoint& point) -> std::optional<Prediction> {
    const std::array<double, 5> seconds{3e-6, 1e-6, std::nan(""), 2e-6, -1};
    return Prediction{seconds[static_cast<std::size_t>(point.index(1))],
                      {.raster = Knobs::Raster::along_n, .swizzle = 4}};
  };
  const Registered unknown(make_class("unknown", plain_space(2)));
  const Registered there(known);
  const KernelList kernels = get_kernels(f32_gemm());
  EXPECT_THAT(names_of(kernels),
              ElementsAre("known-f32-v1", "known-f32-v3", "known-f32-v0", "unknown-f32-v0",
                          "unknown-f32-v1", "known-f32-v2", "known-f32-v4"));
  EXPECT_EQ(kernels[1].predicted_seconds(), 2e-6);
  EXPECT_EQ(kernels[1].knobs().swizzle, 4);
  EXPECT_EQ(kernels[5].predicted_seconds(), std::nullopt);
  EXPECT_EQ(kernels[5].knobs(), Knobs{});
}

TEST(GetKernels, OfEqualTimesTheSmallerEnergyComesFirst) {
  auto fake = make_class("fake", plain_space(6));
  fake->on_predict = [](const DesignPoint& point) {
    const std::array<double, 6> joules{0, 3, std::nan(""), 1, -1, 2};
    return Prediction{1e-6, {}, joules[static_cast<std::size_t>(point.index(1))]};
  };
  const Registered there(fake);
  EXPECT_THAT(names_of(get_kernels(f32_gemm())),
              ElementsAre("fake-f32-v3", "fake-f32-v5", "fake-f32-v1", "fake-f32-v0", "fake-f32-v2",
                          "fake-f32-v4"))
      << "those of no or impossible energy behind the others, by name";
}

TEST(GetKernels, TheFirstArePredictedCloselyAndStayAheadOfTheOthers) {
  auto fake = make_class("fake", plain_space(30));
  fake->on_predict = [](const DesignPoint& point) {
    return Prediction{1e-6 * (1 + point.index(1)), {.swizzle = 4}};
  };
  std::vector<int> seen;
  fake->on_predict_closely = [&](const DesignPoint& point) -> std::optional<Prediction> {
    seen.push_back(point.index(1));
    if (point.index(1) == 5) return std::nullopt;
    return Prediction{1e-6 * (100 - point.index(1)), {.swizzle = 2}};
  };
  const Registered there(fake);
  const KernelList kernels = get_kernels(f32_gemm());
  ASSERT_EQ(kernels.size(), 30U);
  EXPECT_EQ(seen.size(), 16U);
  EXPECT_EQ(kernels[0].name(), "fake-f32-v5") << "it keeps the first prediction";
  EXPECT_EQ(kernels[1].name(), "fake-f32-v15");
  EXPECT_EQ(kernels[1].predicted_seconds(), 1e-6 * (100 - 15));
  EXPECT_EQ(kernels[1].knobs().swizzle, 4) << "for which its workspace was checked";
  EXPECT_EQ(kernels[15].name(), "fake-f32-v0");
  EXPECT_EQ(kernels[16].name(), "fake-f32-v16");
  EXPECT_EQ(kernels[16].predicted_seconds(), 1e-6 * 17);
}

TEST(GetKernels, TimeDecidesBeforeEnergy) {
  auto fake = make_class("fake", plain_space(2));
  fake->on_predict = [](const DesignPoint& point) {
    return point.index(1) == 0 ? Prediction{2e-6, {}, 1} : Prediction{1e-6, {}, 2};
  };
  const Registered there(fake);
  EXPECT_THAT(names_of(get_kernels(f32_gemm())), ElementsAre("fake-f32-v1", "fake-f32-v0"));
}

TEST(GetKernels, EqualPredictionsAreInTheOrderOfTheirNames) {
  auto zebra = make_class("zebra", plain_space(12));
  auto ant = make_class("ant", plain_space(12));
  auto ant_hill = make_class("ant_hill", small_space());
  zebra->on_predict = ant->on_predict = ant_hill->on_predict = [](const DesignPoint&) {
    return Prediction{1e-6, {}};
  };
  const Registered a(zebra);
  const Registered b(ant);
  const Registered c(ant_hill);
  for (const GemmArguments& arguments : {f32_gemm(), gemm()}) {
    const std::vector<std::string> found = names_of(get_kernels(arguments));
    EXPECT_GE(found.size(), 4U);
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end())) << ::testing::PrintToString(found);
  }
}

TEST(GetKernels, EqualPredictionsRankAlikeHoweverTheClassesAreListed) {
  const auto space_of = [](std::vector<int> stages, std::vector<std::string_view> schedules) {
    DesignSpace::Builder builder;
    builder.dtypes(Role::a_dtype, {Dtype::f32})
        .integers(Role::stages, stages)
        .choices(Role::schedule, schedules);
    return builder.build();
  };
  const auto found = [&](const Space& space, bool reversed) {
    auto first = make_class(reversed ? "two" : "one", space);
    auto second = make_class(reversed ? "one" : "two", space);
    first->on_predict = second->on_predict = [](const DesignPoint&) {
      return Prediction{1e-6, {}};
    };
    const Registered a(first);
    const Registered b(second);
    return names_of(get_kernels(f32_gemm()));
  };
  const auto names = found(space_of({2, 3, 10}, {"pong", "ping"}), false);
  EXPECT_THAT(names, SizeIs(12));
  EXPECT_EQ(found(space_of({10, 3, 2}, {"ping", "pong"}), true), names);
}

TEST(GetKernels, KernelsWithoutAPredictionKeepTheOrderOfTheClasses) {
  const Registered a(make_class("second", plain_space(12)));
  const Registered b(make_class("first", plain_space(12)));
  EXPECT_EQ(names_of(get_kernels(f32_gemm())), names_of(get_kernels()));
}

TEST(GetKernels, KernelsOverTheWorkspaceLimitAreLeftOut) {
  auto hungry = make_class("hungry", plain_space(2));
  hungry->workspace_bytes = 1000;
  hungry->on_predict = [](const DesignPoint& point) {
    return Prediction{1e-6, {.split = static_cast<std::int16_t>(point.index(1) + 1)}};
  };
  const Registered there(hungry);
  EXPECT_THAT(get_kernels(f32_gemm()), SizeIs(2));
  EXPECT_THAT(names_of(get_kernels(f32_gemm(at_most(1999)))), ElementsAre("hungry-f32-v0"));
  EXPECT_THAT(get_kernels(f32_gemm(at_most(999))), IsEmpty());
}

TEST(GetKernels, ClassesRefuseEpiloguesUnlessTheySayOtherwise) {
  const Registered there(make_class("small", small_space()));
  EXPECT_THAT(get_kernels(gemm({}, {}, {"D = relu(accum)"})), IsEmpty());
}

TEST(GetKernels, EverythingReturnedSupportsTheArguments) {
  auto picky = make_class("picky", small_space());
  picky->on_supports = [](const DesignPoint& point, const RuntimeArguments&) {
    return point.shape(Role::tile).m == 64 ? Status::success() : Status::fail("tile: too wide");
  };
  const Registered there(picky);
  const KernelList kernels = get_kernels(gemm());
  EXPECT_THAT(kernels, SizeIs(2));
  for (const Kernel& kernel : kernels)
    EXPECT_TRUE(kernel.supports(gemm()).ok()) << kernel.name();
}

TEST(GetKernels, NeighboursShareTheStatusOfSupports) {
  auto picky = make_class("picky", small_space());
  int calls = 0;
  picky->on_supports = [&](const DesignPoint& point, const RuntimeArguments&) {
    ++calls;
    return point.integer(Role::a_alignment) == 4 ? Status::success() : Status::fail("A: too wide");
  };
  const Registered there(picky);
  const auto each = names_of(get_kernels(gemm()));
  EXPECT_THAT(each, SizeIs(2));
  EXPECT_EQ(calls, 4);
  picky->support_dimensions = 1U << static_cast<unsigned>(picky->space()->find(Role::a_alignment));
  calls = 0;
  EXPECT_EQ(names_of(get_kernels(gemm())), each);
  EXPECT_EQ(calls, 2);
}

TEST(GetKernels, RepeatedQueriesShareKernels) {
  const Registered there(make_class("small", small_space()));
  const KernelList first = get_kernels(gemm());
  const KernelList again = get_kernels(gemm());
  EXPECT_EQ(&first.front().metadata(), &again.front().metadata());
  clear_discovery_cache();
  const KernelList fresh = get_kernels(gemm());
  EXPECT_NE(&first.front().metadata(), &fresh.front().metadata());
  EXPECT_EQ(first.front(), fresh.front());
}

TEST(GetKernels, AClassRegisteredLaterIsFoundAtOnce) {
  const Registered one(make_class("one", plain_space()));
  EXPECT_THAT(get_kernels(f32_gemm()), SizeIs(1));
  {
    const Registered two(make_class("two", plain_space()));
    EXPECT_THAT(get_kernels(f32_gemm()), SizeIs(2));
  }
  EXPECT_THAT(names_of(get_kernels(f32_gemm())), ElementsAre("one-f32-v0"));
}

TEST(GetKernels, MoreSignaturesThanAreRememberedGiveTheSameAnswers) {
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, all_dtypes()).dtypes(Role::out_dtype, all_dtypes());
  const Registered there(make_class("wide", builder.build()));
  constexpr std::array kFloats{Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::e4m3};
  for (int round = 0; round < 2; ++round) {
    for (const Dtype a : kFloats) {
      for (const Dtype out : kFloats) {
        for (const std::string_view layouts : {"ttt", "ttn", "tnt", "tnn", "ntt", "ntn", "nnt"}) {
          for (const int alignment : {8, 16}) {
            const Dtype accumulator = a == Dtype::f64 ? Dtype::f64 : Dtype::f32;
            const KernelList found =
                get_kernels(gemm({a, a, out, accumulator, layouts, alignment}));
            ASSERT_THAT(found, SizeIs(1));
            const GemmOperandsMetadata& operands = *found.front().metadata().gemm();
            ASSERT_EQ(operands.a.dtype, a);
            ASSERT_EQ(operands.out.dtype, out);
          }
        }
      }
    }
  }
}

/// A class that throws from one place, next to one that works.
struct Broken {
  explicit Broken(std::shared_ptr<FakeClass> fake) : broken(std::move(fake)) {}
  std::shared_ptr<FakeClass> broken;
  Registered first{broken};
  Registered second{make_class("sound", plain_space())};

  void expect_failure(const char* message) const {
    const KernelList kernels = get_kernels(f32_gemm());
    EXPECT_THAT(names_of(kernels), ElementsAre("sound-f32-v0"));
    ASSERT_THAT(kernels.failures(), SizeIs(1));
    EXPECT_EQ(kernels.failures()[0].provider, "fake");
    EXPECT_EQ(kernels.failures()[0].kernel_class, "broken");
    EXPECT_THAT(kernels.failures()[0].message, HasSubstr(message));
  }
};

TEST(GetKernelsFailures, SpaceThrows) {
  auto fake = make_class("broken", plain_space());
  fake->on_space = []() -> Space { throw std::runtime_error("no space left"); };
  const Broken broken(fake);
  broken.expect_failure("no space left");
  const KernelSequence all = get_kernels();
  EXPECT_THAT(names_of(all), ElementsAre("sound-f32-v0"));
  ASSERT_THAT(all.failures(), SizeIs(1));
  EXPECT_EQ(all.failures()[0].kernel_class, "broken");
}

TEST(GetKernelsFailures, SpaceRecovers) {
  auto fake = make_class("broken", plain_space());
  bool ready = false;
  fake->on_space = [&ready, space = plain_space()] {
    return ready ? space : throw std::runtime_error("not yet");
  };
  const Broken broken(fake);
  broken.expect_failure("not yet");
  ready = true;
  EXPECT_THAT(get_kernels(f32_gemm()), SizeIs(2));
}

TEST(GetKernelsFailures, SpaceIsNull) {
  const Broken broken(make_class("broken", nullptr));
  broken.expect_failure("expected a design space, got null");
}

TEST(GetKernelsFailures, AConstraintThrows) {
  auto fake = make_class("broken", plain_space());
  fake->on_space = [] {
    DesignSpace::Builder builder;
    builder.dtypes(Role::a_dtype, {Dtype::f32}).require({"a"}, [](const DesignPoint&) -> bool {
      throw std::runtime_error("bad constraint");
    });
    return builder.build();
  };
  const Broken broken(fake);
  broken.expect_failure("bad constraint");
}

TEST(GetKernelsFailures, SpaceWithoutTheDtypeOfA) {
  DesignSpace::Builder builder;
  builder.dtypes(Role::out_dtype, {Dtype::f32});
  const Broken broken(make_class("broken", builder.build()));
  broken.expect_failure("role a_dtype");
}

TEST(GetKernelsFailures, SupportsThrows) {
  auto fake = make_class("broken", plain_space());
  fake->on_supports = [](const DesignPoint&, const RuntimeArguments&) -> Status {
    throw std::runtime_error("broken promise");
  };
  const Broken broken(fake);
  broken.expect_failure("broken promise");
  const Status status = kernel_by_name("broken-f32-v0").supports(f32_gemm());
  EXPECT_EQ(status.error(), "kernel class broken: broken promise");
}

TEST(GetKernelsFailures, SupportsThrowsSomethingElse) {
  auto fake = make_class("broken", plain_space());
  fake->on_supports = [](const DesignPoint&, const RuntimeArguments&) -> Status { throw 7; };
  const Broken broken(fake);
  broken.expect_failure("no exception");
  EXPECT_THAT(kernel_by_name("broken-f32-v0").supports(f32_gemm()).error(),
              StartsWith("kernel class broken: threw"));
}

TEST(GetKernelsFailures, PredictThrows) {
  auto fake = make_class("broken", plain_space(3));
  fake->on_predict = [](const DesignPoint& point) -> std::optional<Prediction> {
    if (point.index(1) == 2) throw std::runtime_error("cannot tell");
    return Prediction{1e-6, {}};
  };
  const Broken broken(fake);
  broken.expect_failure("cannot tell");
}

TEST(GetKernelsFailures, PredictCloselyThrows) {
  auto fake = make_class("broken", plain_space(3));
  fake->on_predict = [](const DesignPoint& point) {
    return Prediction{1e-6 * (1 + point.index(1)), {}};
  };
  fake->on_predict_closely = [](const DesignPoint&) -> std::optional<Prediction> {
    throw std::runtime_error("cannot tell");
  };
  const Registered there(fake);
  const KernelList kernels = get_kernels(f32_gemm());
  ASSERT_EQ(kernels.failures().size(), 1U);
  EXPECT_EQ(kernels.failures()[0].message, "cannot tell");
  EXPECT_EQ(kernels.front().name(), "broken-f32-v0") << "by its first predictions";
}

}  // namespace
}  // namespace estoc::testing
