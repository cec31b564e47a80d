// Operands of epilogues: names, shapes, dtypes, memory, and the graphs that come of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "estoc/arguments.hpp"
#include "estoc/status.hpp"

namespace estoc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Operands = std::vector<EpilogueOperand>;

constexpr std::int64_t kL = 2, kM = 6, kN = 5, kK = 4;

TensorView described(Dtype dtype, std::vector<std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i];
  }
  return TensorView::describe(dtype, shape, strides);
}

GemmArguments gemm(const char* text, Operands operands, Dtype accumulator = Dtype::f32,
                   Dtype out = Dtype::bf16, const PerformanceControls& controls = {}) {
  const Dtype input = accumulator == Dtype::i32   ? Dtype::i8
                      : accumulator == Dtype::f64 ? Dtype::f64
                                                  : Dtype::f16;
  return {described(input, {kL, kM, kK}),
          described(input, {kL, kK, kN}),
          described(out, {kL, kM, kN}),
          accumulator,
          controls,
          EpilogueArguments(text, std::move(operands))};
}

std::string canonical(const char* text, Operands operands, Dtype accumulator = Dtype::f32) {
  const GemmArguments arguments = gemm(text, std::move(operands), accumulator);
  const auto graph = arguments.epilogue_graph();
  if (graph == nullptr) return "plain";
  EXPECT_EQ(parse_epilogue_graph(graph->canonical), graph) << graph->canonical;
  return graph->canonical;
}

std::string complaint(const char* text, Operands operands, Dtype accumulator = Dtype::f32) {
  try {
    (void)gemm(text, std::move(operands), accumulator);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(EpilogueArguments, NamesMustMatch) {
  const TensorView row = described(Dtype::f32, {kN});
  EXPECT_EQ(complaint("D = accum + bias", {}),
            "epilogue: bias: expected a tensor or a scalar, got none");
  EXPECT_EQ(complaint("D = accum + bias", {{"bais", row}}),
            "epilogue: bais: expected a name of \"D = accum + bias\"; did you mean bias?");
  EXPECT_EQ(complaint("D = accum + bias", {{"bias", row}, {"bias", row}}),
            "epilogue: bias: expected it once, it is given twice");
  EXPECT_EQ(complaint("t = exp(bias); D = accum", {{"bias", row}}),
            "epilogue: bias: expected an input that an output depends on, got one that none does");
  EXPECT_EQ(complaint("D = accum; aux = accum", {{"aux", 0.5}}),
            "epilogue: aux: expected a tensor to write, got a scalar's value");
  EXPECT_EQ(complaint("t = exp(bias); D = accum", {}), "");
}

TEST(EpilogueArguments, CopiesAreEqualAndCheap) {
  const EpilogueArguments first("D = accum * s", {{"s", 0.5}});
  const EpilogueArguments copy = first;  // NOLINT: the copy is what is tested
  EXPECT_EQ(copy, first);
  EXPECT_EQ(&copy.state(), &first.state());
  EXPECT_NE(first, EpilogueArguments("D = accum * s", {{"s", 0.25}}));
  EXPECT_TRUE(EpilogueArguments("").empty());
  EXPECT_EQ(EpilogueArguments("").text(), "");
}

TEST(EpilogueBinding, ShapesBroadcastAsInNumPy) {
  const auto varies = [](std::vector<std::int64_t> shape) {
    const GemmArguments arguments =
        gemm("D = accum + x", {{"x", described(Dtype::f32, std::move(shape))}});
    const EpilogueGraph& graph = *arguments.epilogue_binding()->graph;
    if (graph.tensors.empty()) return std::string("scalar");
    const Varies v = graph.tensors[0].varies;
    return std::string(v.l ? "l" : "") + (v.m ? "m" : "") + (v.n ? "n" : "");
  };
  EXPECT_EQ(varies({kL, kM, kN}), "lmn");
  EXPECT_EQ(varies({kM, kN}), "lmn");
  EXPECT_EQ(varies({kN}), "ln");
  EXPECT_EQ(varies({1, kN}), "ln");
  EXPECT_EQ(varies({kL, 1, kN}), "ln");
  EXPECT_EQ(varies({kM, 1}), "lm");
  EXPECT_EQ(varies({kL, 1, 1}), "l");
  EXPECT_EQ(varies({}), "scalar");
  EXPECT_EQ(varies({1, 1, 1}), "scalar");
}

TEST(EpilogueBinding, AddressesRepeatByStridesOfZero) {
  const GemmArguments arguments =
      gemm("D = accum + x * c",
           {{"x", described(Dtype::f32, {kM, kN})}, {"c", described(Dtype::f32, {kL, kM, 1})}});
  const EpilogueBinding& binding = *arguments.epilogue_binding();
  ASSERT_EQ(binding.tensors.size(), 2U);
  const auto strides = [](const EpilogueAddress& address) {
    return std::array<std::int64_t, 3>{address.batch_stride, address.row_stride,
                                       address.column_stride};
  };
  EXPECT_THAT((std::vector{strides(binding.tensors[0]), strides(binding.tensors[1])}),
              testing::UnorderedElementsAre(std::array<std::int64_t, 3>{0, kN, 1},
                                            std::array<std::int64_t, 3>{kM, 1, 0}));
}

TEST(EpilogueBinding, ShapesThatDoNotFitAreNamed) {
  EXPECT_EQ(complaint("D = accum + bias", {{"bias", described(Dtype::f32, {kN + 1})}}),
            "bias.shape: expected (L, M, N) = (2, 6, 5) or extents of 1, got (6)");
  EXPECT_THAT(complaint("D = accum; aux = accum", {{"aux", described(Dtype::f32, {kN})}}),
              HasSubstr("aux.shape: expected (L, M, N) = (2, 6, 5), got (5)"));
  EXPECT_THAT(complaint("D = accum; aux = accum", {{"aux", described(Dtype::f32, {kM, kN})}}),
              HasSubstr("aux.shape"));
  EXPECT_THAT(complaint("D = accum; s = sum(accum)", {{"s", described(Dtype::f32, {kL, kM, kN})}}),
              HasSubstr("s.shape: expected (L, M, N) = (2, 6, 5) with an extent of 1"));
  EXPECT_THAT(complaint("D = accum + x", {{"x", described(Dtype::f32, {1, kL, kM, kN})}}),
              HasSubstr("or fewer modes"));
}

TEST(EpilogueBinding, DtypesThatEpiloguesDoNotHaveAreRefused) {
  EXPECT_EQ(complaint("D = accum + x", {{"x", described(Dtype::e8m0, {kN})}}),
            "x.dtype: expected f64, f32, f16, bf16, e4m3, e5m2, i32, i8, u8 or bool, got e8m0");
  EXPECT_THAT(complaint("D = dropout(accum, 0.5, s, 0)", {{"s", described(Dtype::f32, {})}}),
              HasSubstr("dropout: expected whole numbers as seed and offset, got f32"));
  EXPECT_EQ(complaint("D = dropout(accum, 0.5, s, 0)", {{"s", 4294967295LL}}), "");
  EXPECT_THAT(complaint("D = dropout(accum, 0.5, s, 0)", {{"s", 4294967296LL}}),
              HasSubstr("s: expected a whole number of 32 bits, got 4294967296"));
}

TEST(EpilogueBinding, OutputsShareMemoryWithNothingButElementForElement) {
  std::vector<float> a(kL * kM * kK), b(kL * kK * kN), out(4 * kL * kM * kN);
  const auto view = [&](std::ptrdiff_t offset) {
    return TensorView::row_major(out.data() + offset, Dtype::f32, {kL, kM, kN});
  };
  const auto attempt = [&](const char* text, Operands operands) {
    try {
      const GemmArguments arguments(TensorView::row_major(a.data(), Dtype::f32, {kL, kM, kK}),
                                    TensorView::row_major(b.data(), Dtype::f32, {kL, kK, kN}),
                                    view(0), Dtype::f32, {}, {text, std::move(operands)});
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(attempt("D = accum + C", {{"C", view(0)}}), "");
  EXPECT_EQ(attempt("D = accum + C", {{"C", view(0).transposed().transposed()}}), "");
  EXPECT_THAT(attempt("D = accum + C", {{"C", view(1)}}),
              HasSubstr("out: expected memory apart from C's"));
  EXPECT_THAT(attempt("D = accum; aux = accum", {{"aux", view(3)}}),
              HasSubstr("aux: expected memory apart from out's"));
  EXPECT_EQ(attempt("D = accum; aux = accum + C", {{"aux", view(60)}, {"C", view(60)}}), "");
  EXPECT_THAT(attempt("D = accum; aux = accum + C", {{"aux", view(60)}, {"C", view(61)}}),
              HasSubstr("aux: expected memory apart from C's"));
  EXPECT_THAT(attempt("D = accum; x = accum; y = accum", {{"x", view(60)}, {"y", view(90)}}),
              HasSubstr("y: expected memory apart from x's"));
  const auto in_a = TensorView::row_major(a.data(), Dtype::f32, {kM, 1});
  EXPECT_THAT(attempt("D = accum; s = sum(accum)", {{"s", in_a}}),
              HasSubstr("s: expected memory apart from A's"));
  EXPECT_THAT(attempt("D = accum", {{"D", view(60)}}),
              HasSubstr("D: expected the output operand or nothing"));
  EXPECT_EQ(attempt("D = relu(accum)", {{"D", view(0)}}), "");
}

TEST(EpilogueBinding, ScalarsGivenByValueOrInMemory) {
  float in_memory = 3;
  const GemmArguments arguments =
      gemm("D = a * accum + b", {{"a", 0.5}, {"b", TensorView(&in_memory, Dtype::f32, {}, {})}});
  const EpilogueBinding& binding = *arguments.epilogue_binding();
  ASSERT_EQ(binding.scalars.size(), 2U);
  const bool first = binding.scalars[0].data == nullptr;
  EXPECT_EQ(binding.scalars[first ? 0 : 1].value, 0.5);
  EXPECT_EQ(binding.scalars[first ? 1 : 0].data, &in_memory);
  EXPECT_EQ(arguments.has_data(), false);
}

TEST(EpilogueGraph, PlainProductsHaveNone) {
  EXPECT_EQ(canonical("D = accum", {}), "plain");
  EXPECT_EQ(canonical("D = accum * 1.0 - 0.0", {}), "plain");
  EXPECT_EQ(canonical("t = exp(accum); D = identity(accum)", {}), "plain");
}

TEST(EpilogueGraph, ThereIsOneLiteralThatIsNoNumber) {
  EXPECT_EQ(canonical("D = maximum(accum, -nan) + select(accum > -nan, nan, 1.0)", {}),
            canonical("D = maximum(accum, nan) + select(accum > nan, -nan, 1.0)", {}));
}

TEST(EpilogueGraph, EqualEpiloguesShareOneGraph) {
  const TensorView row = described(Dtype::f32, {kN});
  const std::string text =
      canonical("D = relu(alpha * accum + bias)", {{"alpha", 0.5}, {"bias", row}});
  EXPECT_EQ(text,
            "acc f32; t0 f32 ln; s0 f32; v3 = mul accum s0; v4 = add v3 t0; "
            "v5 = relu v4; store bf16 v5");
  EXPECT_EQ(canonical("t = b + accum * a; D = relu(t)", {{"b", row}, {"a", 7.0}}), text);
  EXPECT_EQ(canonical("D = relu(alpha * accum + bias); aux = accum",
                      {{"bias", row}, {"alpha", described(Dtype::f32, {})}}),
            text);
  const auto graph = [&](const char* program) {
    return gemm(program, {{"bias", row}, {"alpha", 1.5}}).epilogue_graph();
  };
  const auto first = graph("D = relu(alpha * accum + bias)");
  EXPECT_EQ(graph("D = relu((bias + accum * alpha))"), first);
  EXPECT_EQ(first->canonical, text);
  EXPECT_NE(first->hash, graph("D = relu(alpha * accum - bias)")->hash);
}

TEST(EpilogueGraph, TypesFollowAccumulatorAndInputs) {
  EXPECT_EQ(canonical("D = accum * 2 + 1", {}, Dtype::i32),
            "acc i32; v3 = mul accum 2; v4 = add v3 1; store bf16 v4");
  EXPECT_EQ(canonical("D = accum * s", {{"s", 0.5}}, Dtype::i32),
            "acc i32; s0 f32; v2 = cast f32 accum; v3 = mul v2 s0; store bf16 v3");
  EXPECT_EQ(canonical("D = accum * s", {{"s", 3}}, Dtype::i32),
            "acc i32; s0 i32; v2 = mul accum s0; store bf16 v2");
  EXPECT_EQ(canonical("D = accum * s", {{"s", 3}}),
            "acc f32; s0 f32; v2 = mul accum s0; store bf16 v2");
  EXPECT_EQ(canonical("D = accum + x", {{"x", described(Dtype::f64, {kN})}}),
            "acc f32; t0 f64 ln; v2 = add accum t0; store bf16 v2");
  EXPECT_EQ(
      gemm("D = accum + x", {{"x", described(Dtype::f64, {kN})}}).epilogue_graph()->nodes[0].type,
      EpilogueType::f64);
  EXPECT_EQ(
      canonical("D = select(mask, accum, 0)", {{"mask", described(Dtype::boolean, {kM, kN})}}),
      "acc f32; t0 bool lmn; v3 = select t0 accum 0.0; store bf16 v3");
  EXPECT_EQ(canonical("D = (accum > 0) + (accum < -1)", {}),
            "acc f32; v3 = greater accum 0.0; v4 = cast i32 v3; v5 = less accum -1.0; "
            "v6 = cast i32 v5; v7 = add v4 v6; store bf16 v7");
}

TEST(EpilogueGraph, FoldsOnlyWhatIsExact) {
  EXPECT_EQ(canonical("D = accum * (0.5 + 0.25) / 4.0", {}),
            "acc f32; v3 = mul accum 0.75; v4 = mul v3 0.25; store bf16 v4");
  EXPECT_THAT(canonical("D = accum * (0.1 + 0.2)", {}), HasSubstr("= add 0."));
  EXPECT_THAT(canonical("D = accum / 3", {}), HasSubstr("div accum 3.0"));
  EXPECT_EQ(canonical("D = --accum + 0 * accum", {}),
            "acc f32; v2 = mul accum 0.0; v3 = add accum v2; store bf16 v3");
}

TEST(EpilogueGraph, SaysWhatReductionsKeep) {
  const auto keeps = [](std::vector<std::int64_t> shape) {
    return canonical("D = accum; s = sum(accum)", {{"s", described(Dtype::f32, std::move(shape))}})
        .substr(std::string("acc f32; store bf16 accum; reduce sum ").size());
  };
  EXPECT_EQ(keeps({}), "- f32 accum");
  EXPECT_EQ(keeps({1}), "- f32 accum");
  EXPECT_EQ(keeps({kM, 1}), "m f32 accum");
  EXPECT_EQ(keeps({kL, kM, 1}), "lm f32 accum");
  EXPECT_EQ(keeps({kN}), "n f32 accum");
  EXPECT_EQ(keeps({1, kN}), "n f32 accum");
  EXPECT_EQ(keeps({kL, 1, kN}), "ln f32 accum");
  EXPECT_EQ(keeps({kL, 1, 1}), "l f32 accum");
}

TEST(EpilogueGraph, AtomicReductionsGiveWayToDeterminism) {
  const Operands operands{{"s", described(Dtype::f32, {})}};
  PerformanceControls controls;
  const char* text = "D = accum; s = sum(accum); atomic";
  EXPECT_TRUE(gemm(text, operands).epilogue_graph()->atomic);
  controls.deterministic = true;
  EXPECT_FALSE(gemm(text, operands, Dtype::f32, Dtype::bf16, controls).epilogue_graph()->atomic);
}

TEST(EpilogueGraph, DamagedTextIsRefused) {
  const char* const texts[] = {"",
                               "acc f16; store f32 accum",
                               "acc f32",
                               "acc f32; v1 = relu",
                               "acc f32; v1 = relu accum accum; store f32 v1",
                               "acc f32; store f33 accum",
                               "acc f32; store f32 v9",
                               "acc f32; store f32 t0",
                               "acc f32; t0 f32 nm; store f32 t0",
                               "acc f32;; store f32 accum",
                               "acc f32; v1 = cast e8m0 accum; store f32 v1",
                               "acc f32; v1 = tensor accum; store f32 v1",
                               "acc f32; store f32 99999999999"};
  for (const char* text : texts)
    EXPECT_THROW((void)parse_epilogue_graph(text), Error) << text;
}

}  // namespace
}  // namespace estoc
