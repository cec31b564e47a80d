// The expert layer on the CPU: against float64, with every option, and what it refuses.
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "estoc/moe.hpp"
#include "support/moe_problem.h"

namespace estoc::moe_test {
namespace {

using testing::HasSubstr;
using testing_support::MoeProblem;

constexpr MoeExtents kExtents{.tokens = 7, .hidden = 20, .inner = 12, .experts = 5, .top_k = 2};

/// What the layer throws on these operands; empty where it runs.
std::string failure(const MoeOperands& operands, const MoeOptions& options = {}) {
  try {
    moe(operands, {.layer = options});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Moe, IsWhatFloat64Says) {
  for (const MoeActivation activation :
       {MoeActivation::swiglu, MoeActivation::geglu, MoeActivation::relu, MoeActivation::gelu,
        MoeActivation::silu}) {
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
      for (const bool interleaved : {false, true}) {
        MoeProblem problem({.extents = kExtents,
                            .dtype = dtype,
                            .options = {.activation = activation, .interleaved = interleaved}},
                           17);
        moe(problem.operands(), {.layer = problem.shape().options});
        EXPECT_EQ(problem.problem(), "") << moe_activation_name(activation) << dtype_name(dtype);
      }
    }
  }
}

RC_GTEST_PROP(MoeProperty, IsWhatFloat64SaysOfAnyRouting, ()) {
  const auto extent = [](int least, int beyond) {
    return static_cast<std::int64_t>(*rc::gen::inRange(least, beyond));
  };
  const std::array dtypes{Dtype::f32, Dtype::f16, Dtype::bf16};
  MoeProblem problem({.extents = {.tokens = extent(0, 24),
                                  .hidden = extent(0, 40),
                                  .inner = extent(0, 24),
                                  .experts = extent(0, 40),
                                  .top_k = extent(1, 9)},
                      .dtype = dtypes[static_cast<std::size_t>(extent(0, 3))],
                      .options = {.activation = static_cast<MoeActivation>(extent(0, 5)),
                                  .interleaved = extent(0, 2) == 1},
                      .pad = extent(0, 4),
                      .k_major = extent(0, 2) == 1,
                      .dropped = *rc::gen::element(0, 0, 1, 8, 16)},
                     static_cast<std::uint64_t>(extent(0, 1000)));
  moe(problem.operands(), {.layer = problem.shape().options});
  RC_ASSERT(problem.problem() == std::string());
}

TEST(Moe, SumsTheSlotsOfATokenInTheirOrder) {
  // One feature, weights of 1: each expert gives its own number.
  constexpr std::int64_t kExperts = 4;
  std::vector<float> x{1, 1};
  std::vector<float> first(kExperts, 1);
  std::vector<float> second{1e8F, 1, -1e8F, 3};
  std::vector<std::int32_t> ids{0, 1, 2, 0, 2, 1};
  std::vector<float> weights(6, 1);
  std::vector<float> out(2);
  const MoeOperands operands{
      .x = TensorView::row_major(x.data(), Dtype::f32, {2, 1}),
      .expert_ids = TensorView::row_major(ids.data(), Dtype::i32, {2, 3}),
      .weights = TensorView::row_major(weights.data(), Dtype::f32, {2, 3}),
      .w_gate_up = TensorView::row_major(first.data(), Dtype::f32, {kExperts, 1, 1}),
      .w_down = TensorView::row_major(second.data(), Dtype::f32, {kExperts, 1, 1}),
      .out = TensorView::row_major(out.data(), Dtype::f32, {2, 1})};
  moe(operands, {.layer = {.activation = MoeActivation::relu}});
  EXPECT_EQ(out, (std::vector<float>{0, 1}));
}

TEST(Moe, TakesIdsAndWeightsThatAreColumns) {
  MoeProblem problem({.extents = kExtents}, 4);
  MoeOperands operands = problem.operands();
  std::vector<std::int32_t> ids(2 * 7);
  std::vector<float> weights(2 * 7);
  for (std::size_t slot = 0; slot < ids.size(); ++slot) {
    ids[slot % 2 * 7 + slot / 2] = problem.ids()[slot];
    weights[slot % 2 * 7 + slot / 2] = problem.weights()[slot];
  }
  operands.expert_ids = TensorView::column_major(ids.data(), Dtype::i32, {7, 2});
  operands.weights = TensorView::column_major(weights.data(), Dtype::f32, {7, 2});
  moe(operands);
  EXPECT_EQ(problem.problem(), "");
}

TEST(Moe, WorksInPlace) {
  MoeProblem problem({.extents = kExtents}, 5);
  MoeOperands operands = problem.operands();
  std::vector<float> tokens(7 * 20);
  const auto* const x = static_cast<const float*>(operands.x.data());
  std::copy_n(x, tokens.size(), tokens.begin());
  const TensorView both = TensorView::row_major(tokens.data(), Dtype::f32, {7, 20});
  moe(operands);
  std::vector<float> expected(7 * 20);
  std::copy_n(static_cast<const float*>(operands.out.data()), expected.size(), expected.begin());
  operands.x = both;
  operands.out = both;
  moe(operands);
  EXPECT_EQ(tokens, expected);
}

TEST(Moe, IsPlannedOnceAndRunOnOtherOperands) {
  MoeProblem first({.extents = kExtents, .dtype = Dtype::bf16, .dropped = 3}, 6);
  MoeProblem second({.extents = kExtents, .dtype = Dtype::bf16, .dropped = 3}, 7);
  const auto description = [](const TensorView& view) {
    return TensorView::describe(view.dtype(), view.shape(), view.strides(), view.device(), 4);
  };
  const MoeOperands given = first.operands();
  Moe layer({description(given.x), description(given.expert_ids), description(given.weights),
             description(given.w_gate_up), description(given.w_down), description(given.out)});
  EXPECT_EQ(layer.extents(), kExtents);
  EXPECT_THAT(layer.first_kernel()->name(), HasSubstr("grouped_gemm"));
  std::vector<std::byte> memory(layer.workspace_size() + 256);
  void* aligned = memory.data();
  std::size_t space = memory.size();
  std::align(256, layer.workspace_size(), aligned, space);
  for (std::uint64_t round = 0; round < 3; ++round) {
    for (MoeProblem* problem : {&first, &second}) {
      problem->draw(100 + round);
      problem->poison();
      layer.run(problem->operands(),
                round == 1 ? Workspace{} : Workspace{aligned, layer.workspace_size()});
      ASSERT_EQ(problem->problem(), "");
    }
  }
  EXPECT_THROW(layer.run(given, {aligned, layer.workspace_size() - 1}), Error);
  EXPECT_THROW(layer.run(given, {static_cast<std::byte*>(aligned) + 8, space}), Error);
}

TEST(Moe, RemembersPlans) {
  MoeProblem problem({.extents = {.tokens = 3, .hidden = 9, .inner = 4, .experts = 2, .top_k = 1}},
                     8);
  EXPECT_TRUE(moe(problem.operands()));
  EXPECT_FALSE(moe(problem.operands()));
  EXPECT_TRUE(moe(problem.operands(), {.layer = {.interleaved = true}}));
  EXPECT_FALSE(moe(problem.operands()));
  int asked = 0;
  std::vector<std::byte> memory(16);
  EXPECT_THROW(moe(problem.operands(), {.workspace =
                                            [&](std::size_t bytes) {
                                              ++asked;
                                              return Workspace{memory.data(), bytes - 1};
                                            }}),
               Error);
  EXPECT_EQ(asked, 1);
}

TEST(Moe, RunsInThreadsAtOnce) {
  std::vector<std::jthread> threads;
  std::array<std::string, 12> problems;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    threads.emplace_back([&found = problems[i], i] {
      MoeProblem problem({.extents = kExtents, .dtype = Dtype::f16}, i);
      for (int round = 0; round < 20 && found.empty(); ++round) {
        problem.poison();
        moe(problem.operands(), {.layer = {.threads = 1}});
        found = problem.problem();
      }
    });
  }
  threads.clear();
  for (const std::string& each : problems)
    EXPECT_EQ(each, "");
}

TEST(Moe, SortsManySlots) {
  MoeProblem problem(
      {.extents = {.tokens = 3000, .hidden = 3, .inner = 2, .experts = 300, .top_k = 8},
       .dropped = 1},
      9);
  moe(problem.operands());
  EXPECT_EQ(problem.problem(), "");
}

TEST(Moe, NamesWhatDoesNotFit) {
  MoeProblem problem({.extents = kExtents}, 10);
  const MoeOperands good = problem.operands();
  const auto wrong = [&](TensorView MoeOperands::*operand, const TensorView& view) {
    MoeOperands operands = good;
    operands.*operand = view;
    return failure(operands);
  };
  const auto view = [](Dtype dtype, std::initializer_list<std::int64_t> shape) {
    static std::vector<double> memory(4096);
    return TensorView::row_major(memory.data(), dtype, shape);
  };
  EXPECT_THAT(wrong(&MoeOperands::x, view(Dtype::f32, {7, 20, 1})),
              HasSubstr("x.shape: expected 2 modes, got 3"));
  EXPECT_THAT(wrong(&MoeOperands::x, view(Dtype::f64, {7, 20})),
              HasSubstr("x.dtype: expected f32, f16 or bf16, got f64"));
  EXPECT_THAT(
      wrong(&MoeOperands::x, TensorView::column_major(good.w_down.data(), Dtype::f32, {7, 20})),
      HasSubstr("x.strides: expected 1 along H, got 7"));
  EXPECT_THAT(wrong(&MoeOperands::expert_ids, view(Dtype::f32, {7, 2})),
              HasSubstr("expert_ids.dtype: expected i32, got f32"));
  EXPECT_THAT(wrong(&MoeOperands::expert_ids, view(Dtype::i32, {7, 0})),
              HasSubstr("expert_ids.shape: expected one expert a token or more"));
  EXPECT_THAT(wrong(&MoeOperands::weights, view(Dtype::f32, {7, 3})),
              HasSubstr("weights.shape: expected (7, 2), got (7, 3)"));
  EXPECT_THAT(wrong(&MoeOperands::weights, view(Dtype::f16, {7, 2})),
              HasSubstr("weights.dtype: expected f32, got f16"));
  EXPECT_THAT(wrong(&MoeOperands::w_gate_up, view(Dtype::f32, {5, 20, 12})),
              HasSubstr("w_gate_up.shape: expected (5, 20, 24), got (5, 20, 12)"));
  EXPECT_THAT(wrong(&MoeOperands::w_down, view(Dtype::bf16, {5, 12, 20})),
              HasSubstr("w_down.dtype: expected f32, got bf16"));
  EXPECT_THAT(wrong(&MoeOperands::w_down, view(Dtype::f32, {20000, 0, 20})),
              HasSubstr("experts: expected at most 16384, got 20000"));
  EXPECT_THAT(wrong(&MoeOperands::out, view(Dtype::f32, {7, 21})),
              HasSubstr("out.shape: expected (7, 20), got (7, 21)"));
  EXPECT_THAT(wrong(&MoeOperands::out, TensorView(good.out.data(), Dtype::f32, {7, 20}, {0, 1})),
              HasSubstr("out"));
  EXPECT_THAT(
      wrong(&MoeOperands::out, TensorView::describe(Dtype::f32, std::array<std::int64_t, 2>{7, 20},
                                                    std::array<std::int64_t, 2>{20, 1})),
      HasSubstr("out: expected a tensor with data, got a description"));
  EXPECT_THAT(
      wrong(&MoeOperands::out, TensorView::row_major(good.w_down.data(), Dtype::f32, {7, 20})),
      HasSubstr("out: expected memory apart from w_down, got memory that it shares"));
  EXPECT_EQ(failure(good), "");
}

TEST(Moe, RefusesOperandsOfAnotherLayer) {
  MoeProblem problem({.extents = kExtents}, 11);
  MoeProblem padded({.extents = kExtents, .pad = 4}, 11);
  Moe layer(problem.operands());
  try {
    layer.run(padded.operands());
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("x: expected f32 (7, 20) strides (20, 1) on cpu, got"));
  }
}

TEST(Moe, NamesActivations) {
  for (int i = 0; i < 5; ++i) {
    const auto activation = static_cast<MoeActivation>(i);
    EXPECT_EQ(parse_moe_activation(moe_activation_name(activation)), activation);
  }
  EXPECT_EQ(parse_moe_activation("swish"), std::nullopt);
}

}  // namespace
}  // namespace estoc::moe_test
