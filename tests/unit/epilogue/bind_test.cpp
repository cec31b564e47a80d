// Operands of epilogues: names, shapes, dtypes and memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "products.h"

namespace estoc {
namespace {

using epilogue_test::complaint;
using epilogue_test::described;
using epilogue_test::gemm;
using epilogue_test::kK;
using epilogue_test::kL;
using epilogue_test::kM;
using epilogue_test::kN;
using epilogue_test::Operands;
using testing::HasSubstr;

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

}  // namespace
}  // namespace estoc
