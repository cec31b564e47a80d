// How messages name the steps and outputs of an epilogue.
#include "epilogue/node_text.h"

#include <gtest/gtest.h>

#include <string>

#include "estoc/epilogue.hpp"

namespace estoc::epilogue {
namespace {

TEST(NodeText, NamesLeavesOperationsAndTypes) {
  const auto graph = parse_epilogue_graph(
      "acc f32; t0 bf16 mn; s0 f32; v3 = mul accum s0; v4 = cast bf16 v3; v5 = add v4 t0; "
      "v6 = add v5 2.0; store bf16 v6");
  std::string all;
  for (std::size_t i = 0; i < graph->nodes.size(); ++i)
    all += node_text(*graph, i) + "\n";
  EXPECT_EQ(all,
            "accum in f32\n"
            "t0 bf16 mn in f32\n"
            "s0 f32 in f32\n"
            "2.0 in f32\n"
            "mul(accum, s0) in f32\n"
            "bf16(v4) in f32\n"
            "add(v5, t0) in f32\n"
            "add(v6, 2.0) in f32\n");
  EXPECT_EQ(output_text(*graph), "add(v6, 2.0) in f32");
}

TEST(NodeText, OutputsAreTheFirstThatIsComputed) {
  const auto sums = parse_epilogue_graph("acc i32; store i32 accum; reduce sum m i32 accum");
  EXPECT_EQ(output_text(*sums), "sum(accum) kept along m");
  const auto whole = parse_epilogue_graph("acc f32; store f32 accum; reduce absmax - f32 accum");
  EXPECT_EQ(reduction_text(*whole, 0), "absmax(accum) of everything");
  const auto two = parse_epilogue_graph("acc f32; v1 = relu accum; store f32 accum; store f32 v1");
  EXPECT_EQ(output_text(*two), "relu(accum) in f32");
}

}  // namespace
}  // namespace estoc::epilogue
