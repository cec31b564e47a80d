// Hashes and names of the headers that a text includes.
#include "jit/include_graph.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

namespace estoc::jit {
namespace {

using Headers = std::vector<HeaderText>;

core::Hash128 hash_of(const Headers& headers, std::string_view text) {
  const std::span<const HeaderText> folder = headers;
  return IncludeGraph(std::span(&folder, 1)).hash(text);
}

/// d/a.h includes b.h, which includes c.h; e.h is alone.
Headers chain(std::string_view b = "#include \"c.h\"\n", std::string_view c = "int c;") {
  return {{"d/a.h", "#pragma once\n#include <d/b.h>\n"}, {"d/b.h", b}, {"d/c.h", c}, {"e.h", ""}};
}

TEST(IncludeGraph, HashesIncludedHeadersAndNoOthers) {
  constexpr std::string_view kUnit = "#include <d/a.h>\nint x;";
  const core::Hash128 before = hash_of(chain(), kUnit);
  EXPECT_NE(hash_of(chain("#include \"c.h\"\n", "int d;"), kUnit), before);
  EXPECT_NE(hash_of(chain(""), kUnit), before);
  Headers other = chain();
  other[3].text = "int e;";
  EXPECT_EQ(hash_of(other, kUnit), before);
  EXPECT_NE(hash_of(other, "#include \"e.h\""), hash_of(chain(), "#include \"e.h\""));
}

TEST(IncludeGraph, NamesIncludedHeaders) {
  const Headers headers = chain();
  const std::span<const HeaderText> folder = headers;
  const IncludeGraph graph(std::span(&folder, 1));
  using Names = std::set<std::string_view>;
  EXPECT_EQ(graph.names("#include <d/a.h>\n"), (Names{"d/a.h", "d/b.h", "d/c.h"}));
  EXPECT_EQ(graph.names("#include <cmath>\n#include \"e.h\"\n"), Names{"e.h"});
  EXPECT_EQ(graph.names("#include HEADER\n").size(), headers.size());
  EXPECT_EQ(graph.names("int x;"), Names{});
}

TEST(IncludeGraph, LeavesTheTextItselfOut) {
  EXPECT_EQ(hash_of(chain(), "#include <d/b.h>\nint x;"),
            hash_of(chain(), "int y;\n#  include \t\"d/b.h\""));
  EXPECT_EQ(hash_of(chain(), "#include <d/a.h>\n#include <d/c.h>"),
            hash_of(chain(), "#include <d/a.h>"));
  EXPECT_EQ(hash_of(chain(), "#include <cuda_fp16.h>"), hash_of(chain(), "int x;"));
  EXPECT_NE(hash_of(chain(), "#include <d/c.h>"), hash_of(chain(), "int x;"));
}

TEST(IncludeGraph, TakesAllHeadersWhereNamesAreNotSpelledOut) {
  Headers changed = chain();
  changed[3].text = "int e;";
  for (const std::string_view unit :
       {"#include HEADER", "# include_next <d/a.h>", "#if __has_include(<d/a.h>)",
        "#include /**/ <d/a.h>", "#include <../d/a.h>"})
    EXPECT_NE(hash_of(chain(), unit), hash_of(changed, unit)) << unit;
  EXPECT_EQ(hash_of(chain(), "// What it may include"), hash_of(changed, "// What it may include"));
}

TEST(IncludeGraph, TakesTheFirstFolderThatHasTheName) {
  const auto hash = [](std::string_view first, std::string_view second) {
    const Headers twins{{"a.h", first}};
    const Headers headers{{"a.h", second}, {"b.h", "#include <a.h>"}};
    return IncludeGraph(std::array<std::span<const HeaderText>, 2>{twins, headers})
        .hash("#include <b.h>");
  };
  EXPECT_EQ(hash("int a;", "int b;"), hash("int a;", "int c;"));
  EXPECT_NE(hash("int a;", "int b;"), hash("int c;", "int b;"));
}

TEST(IncludeGraph, EndsWhereHeadersIncludeEachOther) {
  const Headers circle{{"a.h", "#include <b.h>"}, {"b.h", "#include <a.h>"}};
  EXPECT_EQ(hash_of(circle, "#include <a.h>"), hash_of(circle, "#include <b.h>"));
}

}  // namespace
}  // namespace estoc::jit
