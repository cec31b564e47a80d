// Canonical texts of epilogues: equal ones share a graph, and damaged ones are refused.
#include <gtest/gtest.h>

#include <string>

#include "products.h"

namespace estoc {
namespace {

using epilogue_test::canonical;
using epilogue_test::described;
using epilogue_test::gemm;
using epilogue_test::kN;

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
