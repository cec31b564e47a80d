// docs/adding_a_kernel.md quotes the examples; every line that it quotes must be in one of them.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace estoc::testing {
namespace {

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(std::string(ESTOC_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(file) << path;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    lines.push_back(line);
  return lines;
}

TEST(Documentation, QuotesTheExamples) {
  std::set<std::string> there;
  for (const char* name : {"bring_your_own_kernel", "cuda_source_kernel", "cuda_image_kernel"}) {
    const auto example = lines_of(std::string("examples/") + name + ".cpp");
    there.insert(example.begin(), example.end());
    EXPECT_LT(example.size(), 80U) << name;
  }
  bool quoting = false;
  int quoted = 0;
  for (const std::string& line : lines_of("docs/adding_a_kernel.md")) {
    if (line.starts_with("```")) {
      quoting = line == "```cpp";
    } else if (quoting) {
      ++quoted;
      EXPECT_TRUE(there.contains(line)) << line;
    }
  }
  EXPECT_GT(quoted, 15);
}

}  // namespace
}  // namespace estoc::testing
