// The examples of docs/problem_text.md and docs/kernels_and_filters.md, each of which must parse.
#include <fstream>

#include "estoc/design_space.hpp"
#include "estoc/problem.hpp"
#include "support.h"

namespace estoc::test {
namespace {

/// The lines of all fenced blocks that open with ```text and `kind`.
std::vector<std::string> examples(const std::string& document, const std::string& kind) {
  std::ifstream file(std::string(ESTOC_SOURCE_DIR) + "/docs/" + document);
  EXPECT_TRUE(file) << document;
  std::vector<std::string> lines;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      inside = line == "```text " + kind;
    } else if (inside) {
      lines.push_back(line);
    }
  }
  return lines;
}

TEST(Documentation, ProblemsParse) {
  const auto problems = examples("problem_text.md", "problem");
  EXPECT_GE(problems.size(), 10U);
  for (const std::string& text : problems) {
    const auto error = error_of([&] {
      const Problem problem = Problem::parse(text);
      EXPECT_EQ(Problem::parse(problem.to_string()), problem) << text;
    });
    EXPECT_FALSE(error) << text << ": " << error->what();
  }
}

TEST(Documentation, FiltersParse) {
  const auto filters = examples("kernels_and_filters.md", "filter");
  EXPECT_GE(filters.size(), 8U);
  for (const std::string& text : filters) {
    const auto error = error_of([&] { (void)MetadataFilter::parse(text); });
    EXPECT_FALSE(error) << text << ": " << error->what();
  }
}

TEST(Documentation, NamesAreThoseOfTheLabelsInTheTable) {
  DesignSpace::Builder builder;
  builder.dtypes(Role::a_dtype, {Dtype::bf16})
      .dtypes(Role::b_dtype, {Dtype::bf16})
      .dtypes(Role::accumulator_type, {Dtype::f32})
      .dtypes(Role::out_dtype, {Dtype::bf16})
      .layouts({"tnt"})
      .alignments(Role::a_alignment, {16})
      .alignments(Role::b_alignment, {16})
      .alignments(Role::out_alignment, {16})
      .choices(Role::schedule, {"pingpong"})
      .shapes(Role::tile, {{64, 256, 64}})
      .shapes(Role::cluster, {{2, 1, 1}})
      .integers(Role::stages, {4});
  const auto space = builder.build();
  const auto names = examples("kernels_and_filters.md", "name");
  ASSERT_EQ(names.size(), 1U);
  EXPECT_EQ("sm90_gemm" + space->suffix(space->at(0)), names[0]);
}

}  // namespace
}  // namespace estoc::test
