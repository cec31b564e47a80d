// DesignSpace: dimensions, names, selections, and what a builder refuses.
#include "estoc/design_space.hpp"

#include "support.h"

namespace estoc::test {
namespace {

using Space = std::shared_ptr<const DesignSpace>;

/// A small space with a dimension of every role of a GEMM.
DesignSpace::Builder& add_gemm_dimensions(DesignSpace::Builder& builder) {
  const std::array<int, 2> swizzles{1, 8};
  return builder.dtypes(Role::a_dtype, {Dtype::f16, Dtype::bf16})
      .dtypes(Role::b_dtype, {Dtype::f16, Dtype::bf16})
      .dtypes(Role::accumulator_type, {Dtype::f32})
      .dtypes(Role::out_dtype, {Dtype::f16, Dtype::bf16, Dtype::f32})
      .layouts({"ttt", "tnt", "xxx"})
      .alignments(Role::a_alignment, {16})
      .alignments(Role::b_alignment, {8, 16})
      .alignments(Role::out_alignment, {16})
      .shapes(Role::tile, {{128, 128, 64}, {128, 256, 64}})
      .shapes(Role::cluster, {{1, 1, 1}, {2, 1, 1}, {2, 1, 2}})
      .shapes(Role::instruction, {{64, 128, 16}, {64, 256, 16}})
      .integers(Role::stages, {3, 4})
      .choices(Role::schedule, {"pingpong", "cooperative"})
      .integers(Role::split, {1})
      .integers("swizzle", swizzles)
      .choices("raster", {"along_m", "along_n"});
}

Space gemm_space() {
  DesignSpace::Builder builder;
  add_gemm_dimensions(builder)
      .require(
          {"a", "b"},
          [](const DesignPoint& p) { return p.dtype(Role::a_dtype) == p.dtype(Role::b_dtype); })
      .require({"tile", "instruction"}, [](const DesignPoint& p) {
        return p.shape(Role::tile).n == p.shape(Role::instruction).n;
      });
  return builder.build();
}

constexpr std::string_view kSuffix =
    "-bf16-bf16-f32-bf16-tnt-alignA16-alignB16-alignOut16-tile128x256x64-cluster2x1-mma64x256x16"
    "-stages4-pingpong-split1-swizzle8-raster.along_m";

std::string complaint(const std::function<void(DesignSpace::Builder&)>& state) {
  const auto error = error_of([&] {
    DesignSpace::Builder builder;
    state(builder);
    (void)builder.build();
  });
  EXPECT_TRUE(!error || error->kind() == ErrorKind::value);
  return error ? error->what() : "";
}

TEST(DesignSpace, CountsItsKernels) {
  // a and b agree (2), out 3, layouts 3, align_b 2, tile fixes instruction (2), cluster 3, the
  // rest.
  EXPECT_EQ(gemm_space()->size(), 2U * 3 * 3 * 2 * 2 * 3 * 2 * 2 * 2 * 2);
}

TEST(DesignSpace, FindsDimensions) {
  const Space space = gemm_space();
  EXPECT_EQ(space->find(Role::a_dtype), 0);
  EXPECT_EQ(space->find(Role::tile), 8);
  EXPECT_EQ(space->find("tile"), 8);
  EXPECT_EQ(space->find("raster"), 15);
  EXPECT_EQ(space->find(Role::op), -1);
  EXPECT_EQ(space->find(Role::other), -1);
  EXPECT_TRUE(space->has_others());
  EXPECT_EQ(space->find("nothing"), -1);
  EXPECT_EQ(space->dimensions()[8].key, "tile");
  EXPECT_EQ(space->dimensions()[8].role, Role::tile);
}

TEST(DesignSpace, NamesKernelsAndFindsThemByName) {
  const Space space = gemm_space();
  const auto point = space->parse(kSuffix);
  ASSERT_TRUE(point);
  EXPECT_EQ(space->suffix(*point), kSuffix);
  EXPECT_TRUE(space->contains(*point));
  EXPECT_EQ(&point->space(), space.get());
}

TEST(DesignPoint, GivesItsValues) {
  const Space space = gemm_space();
  const DesignPoint point = space->parse(kSuffix).value();
  EXPECT_EQ(point.dtype(Role::a_dtype), Dtype::bf16);
  EXPECT_EQ(point.dtype(Role::accumulator_type), Dtype::f32);
  EXPECT_EQ(point.shape(Role::tile), (Shape3{128, 256, 64}));
  EXPECT_EQ(point.shape(Role::cluster), (Shape3{2, 1, 1}));
  EXPECT_EQ(point.integer(Role::stages), 4);
  EXPECT_EQ(point.integer(Role::b_alignment), 16);
  EXPECT_EQ(point.value(Role::schedule).text, "pingpong");
  EXPECT_EQ(point.value("swizzle").numbers[0], 8);
  EXPECT_EQ(point.value("raster").text, "along_m");
  EXPECT_THAT(point.value(Role::layouts).numbers, testing::ElementsAre('t', 'n', 't'));
  EXPECT_EQ(space->dimensions()[9].values[2].text, "2x1x2");
  expect_error([&] { (void)point.value(Role::op); },
               "design space: expected a dimension op, got none of that name");
  expect_error([&] { (void)point.value("colour"); },
               "design space: expected a dimension colour, got none of that name");
}

TEST(DesignSpace, NamesElementwiseKernels) {
  DesignSpace::Builder builder;
  const std::array ops{ElementwiseOp::add, ElementwiseOp::relu};
  const Space space = builder.ops(ops).dtypes(Role::a_dtype, {Dtype::f32}).layouts({"xxx"}).build();
  EXPECT_EQ(space->suffix(space->at(1)), "-relu-f32-xxx");
  EXPECT_EQ(space->at(1).value(Role::op).numbers[0], static_cast<int>(ElementwiseOp::relu));
}

TEST(DesignSpace, DoesNotFindWhatIsNoName) {
  const Space space = gemm_space();
  const std::string suffix(kSuffix);
  const auto replaced = [&](const std::string& from, const std::string& to) {
    return std::string(suffix).replace(suffix.find(from), from.size(), to);
  };
  const std::vector<std::string> wrong{
      "",
      "-",
      suffix.substr(1),
      suffix + "-",
      suffix + "-x",
      suffix + "x",
      suffix.substr(0, suffix.size() - 1),
      suffix.substr(0, suffix.rfind('-')),
      replaced("-bf16", "-bf17"),
      replaced("-bf16", "--bf16"),
      replaced("-bf16", "-f16"),           // a and b differ
      replaced("mma64x256", "mma64x128"),  // does not go with the tile
      replaced("stages4", "4"),
      replaced("raster.", "raster"),
      std::string(1 << 20, '-'),
  };
  for (const std::string& text : wrong) {
    EXPECT_FALSE(space->parse(text)) << text.substr(0, 200);
  }
}

TEST(DesignSpace, KnowsItsOwnPoints) {
  const Space space = gemm_space();
  const Space other = gemm_space();
  DesignPoint point = space->at(0);
  EXPECT_TRUE(space->contains(point));
  EXPECT_FALSE(other->contains(point));
  EXPECT_FALSE(space->contains(DesignPoint()));
  point.set_index(1, 1);  // b is no longer like a
  EXPECT_FALSE(space->contains(point));
  point.set_index(1, 77);
  EXPECT_FALSE(space->contains(point));
}

TEST(DesignSpace, RefusesAnIndexPastTheEnd) {
  const Space space = gemm_space();
  EXPECT_NO_THROW((void)space->at(space->size() - 1));
  expect_error([&] { (void)space->at(space->size()); },
               "design space: expected an index below 3456, got 3456");
}

TEST(DesignSpace, MayBeEmptyOrHaveNoDimensions) {
  DesignSpace::Builder nothing;
  const Space one = nothing.build();
  EXPECT_EQ(one->size(), 1U);
  EXPECT_EQ(one->suffix(one->at(0)), "");
  EXPECT_TRUE(one->parse(""));
  DesignSpace::Builder never;
  never.integers(Role::stages, {1, 2}).require({}, [](const DesignPoint&) { return false; });
  const Space empty = never.build();
  EXPECT_EQ(empty->size(), 0U);
  EXPECT_FALSE(empty->parse("-stages1"));
  EXPECT_FALSE(empty->contains(DesignPoint(empty.get())));
  EXPECT_EQ(empty->count(Selection(*empty)), 0U);
  empty->visit(Selection(*empty), [](const DesignPoint&) {
    ADD_FAILURE();
    return true;
  });
}

TEST(DesignSpace, CanBeBuiltAgain) {
  DesignSpace::Builder builder;
  builder.integers(Role::stages, {1, 2});
  EXPECT_EQ(builder.build()->size(), 2U);
  builder.integers(Role::split, {1, 2, 4});
  EXPECT_EQ(builder.build()->size(), 6U);
}

TEST(Selection, RestrictsAndFixes) {
  const Space space = gemm_space();
  Selection selection(*space);
  EXPECT_EQ(space->count(selection), space->size());
  const int tile = space->find(Role::tile);
  EXPECT_TRUE(
      selection.restrict(tile, [](const DesignValue& value) { return value.numbers[1] == 256; }));
  EXPECT_FALSE(selection.allows(tile, 0));
  EXPECT_TRUE(selection.allows(tile, 1));
  EXPECT_EQ(space->count(selection), space->size() / 2);
  selection.fix(space->find(Role::stages), 1);
  EXPECT_EQ(space->count(selection), space->size() / 4);
  EXPECT_FALSE(selection.restrict(tile, [](const DesignValue&) { return false; }));
  EXPECT_EQ(space->count(selection), 0U);
}

TEST(DesignSpace, VisitStopsWhenToldTo) {
  const Space space = gemm_space();
  int visited = 0;
  space->visit(Selection(*space), [&](const DesignPoint&) { return ++visited < 5; });
  EXPECT_EQ(visited, 5);
}

TEST(DesignSpace, VisitDoesNotSearchDeadEnds) {
  // A million points, of which a selection of the last dimension leaves one for each first value.
  std::vector<int> hundred(100);
  for (int i = 0; i < 100; ++i)
    hundred[static_cast<std::size_t>(i)] = i;
  DesignSpace::Builder builder;
  builder.integers("x", hundred).integers("y", hundred).integers("z", hundred);
  int asked = 0;
  builder.require({"x", "y", "z"}, [&](const DesignPoint& p) {
    ++asked;
    const int x = p.value("x").numbers[0];
    return p.value("z").numbers[0] != 0 || p.value("y").numbers[0] == x;
  });
  const Space space = builder.build();
  EXPECT_EQ(asked, 1000000);
  EXPECT_EQ(space->size(), 1000000U - 9900);
  Selection selection(*space);
  selection.fix(2, 0);
  std::vector<int> found;
  space->visit(selection, [&](const DesignPoint& p) {
    EXPECT_EQ(p.index(0), p.index(1));
    found.push_back(p.index(0));
    return true;
  });
  EXPECT_EQ(found, hundred);
  EXPECT_EQ(asked, 1000000);
}

TEST(DesignSpace, AsksEachConstraintOnlyAsOftenAsItsDimensionsHaveValues) {
  std::vector<int> ten{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  DesignSpace::Builder builder;
  for (const char* key : {"p", "q", "r", "s", "t", "u"})
    builder.integers(key, ten);
  int asked = 0;
  builder.require({"q", "t"}, [&](const DesignPoint& p) {
    ++asked;
    return p.value("q").numbers[0] <= p.value("t").numbers[0];
  });
  EXPECT_EQ(builder.build()->size(), 550000U);
  EXPECT_EQ(asked, 100);
}

TEST(DesignSpaceBuilder, RefusesWhatAConstraintDidNotName) {
  EXPECT_EQ(complaint([](DesignSpace::Builder& builder) {
              builder.integers(Role::stages, {1, 2}).integers(Role::split, {1, 2});
              builder.require({"split"}, [](const DesignPoint& p) {
                return p.integer(Role::stages) == p.integer(Role::split);
              });
            }),
            "design space: expected a value of stages, got none (a constraint sees only the "
            "dimensions it names)");
}

TEST(DesignSpaceBuilder, LetsOutWhatAConstraintThrows) {
  DesignSpace::Builder builder;
  builder.integers(Role::stages, {1, 2}).require({"stages"}, [](const DesignPoint&) -> bool {
    throw std::domain_error("mine");
  });
  EXPECT_THROW((void)builder.build(), std::domain_error);
}

TEST(DesignSpaceBuilder, RefusesUnknownKeysInConstraints) {
  EXPECT_EQ(complaint([](DesignSpace::Builder& builder) {
              builder.integers(Role::stages, {1});
              builder.require({"stage"}, [](const DesignPoint&) { return true; });
            }),
            "design space: expected a dimension's key in a constraint, got 'stage'; did you mean "
            "stages?");
}

TEST(DesignSpaceBuilder, RefusesDimensionsTwice) {
  EXPECT_EQ(complaint([](DesignSpace::Builder& builder) {
              builder.integers(Role::stages, {1}).integers(Role::stages, {2});
            }),
            "design space: expected dimension stages once, got it twice");
  EXPECT_EQ(complaint([](DesignSpace::Builder& builder) {
              builder.choices("mode", {"on"}).choices("mode", {"off"});
            }),
            "design space: expected dimension mode once, got it twice");
}

TEST(DesignSpaceBuilder, RefusesTooFewAndTooManyValues) {
  EXPECT_EQ(complaint([](DesignSpace::Builder& builder) { builder.integers(Role::stages, {}); }),
            "design space: expected 1 to 255 values of stages, got 0");
  std::vector<int> many(256);
  for (std::size_t i = 0; i < many.size(); ++i)
    many[i] = static_cast<int>(i);
  EXPECT_EQ(complaint([&](DesignSpace::Builder& builder) { builder.integers("many", many); }),
            "design space: expected 1 to 255 values of many, got 256");
  many.pop_back();
  EXPECT_EQ(complaint([&](DesignSpace::Builder& builder) { builder.integers("many", many); }), "");
  EXPECT_EQ(complaint([](DesignSpace::Builder& builder) {
              for (int i = 0; i < 17; ++i)
                builder.choices("key" + std::to_string(i), {"on"});
            }),
            "design space: expected at most 16 dimensions, got 17");
}

TEST(DesignSpaceBuilder, RefusesMoreKernelsThan64Bits) {
  std::vector<int> many(255);
  for (std::size_t i = 0; i < many.size(); ++i)
    many[i] = static_cast<int>(i);
  const auto of = [&](int dimensions) {
    return complaint([&](DesignSpace::Builder& builder) {
      for (int i = 0; i < dimensions; ++i)
        builder.integers("key" + std::to_string(i), many);
    });
  };
  EXPECT_EQ(of(8), "");
  EXPECT_EQ(of(9), "design space: expected at most 2^64 - 1 kernels, got more");
}

TEST(DesignSpaceBuilder, RefusesBadTextsAndKeys) {
  const auto choice = [](std::string_view text) {
    return complaint([&](DesignSpace::Builder& builder) { builder.choices("mode", {text}); });
  };
  EXPECT_EQ(choice("Fast_1.5"), "");
  EXPECT_EQ(choice("a-b"),
            "design space: expected letters, digits, '_' and '.' in a value of mode, got 'a-b'");
  EXPECT_NE(choice(""), "");
  EXPECT_NE(choice("a b"), "");
  const auto key = [](const std::string& text) {
    return complaint([&](DesignSpace::Builder& builder) { builder.choices(text, {"on"}); });
  };
  EXPECT_EQ(key("k_2"), "");
  EXPECT_EQ(key("Mode"),
            "design space: expected a key of lower-case letters, digits and '_', got 'Mode'");
  EXPECT_NE(key(""), "");
  EXPECT_NE(key("2k"), "");
  EXPECT_NE(key("a-b"), "");
  EXPECT_EQ(key("tile"), "design space: expected a new key, got tile, which is a role's");
}

TEST(DesignSpaceBuilder, RefusesATextTwice) {
  EXPECT_EQ(complaint([](DesignSpace::Builder& builder) {
              builder.integers(Role::stages, {3, 4, 3});
            }),
            "design space: expected each value of stages once, got 3 twice");
  EXPECT_NE(complaint([](DesignSpace::Builder& builder) {
              builder.dtypes(Role::a_dtype, {Dtype::f32, Dtype::f32});
            }),
            "");
}

TEST(DesignSpaceBuilder, RefusesRolesAndValuesThatDoNotFit) {
  EXPECT_EQ(
      complaint([](DesignSpace::Builder& builder) { builder.dtypes(Role::tile, {Dtype::f32}); }),
      "design space: expected a role that dtypes() takes, got tile");
  EXPECT_NE(complaint([](DesignSpace::Builder& b) { b.alignments(Role::stages, {16}); }), "");
  EXPECT_NE(complaint([](DesignSpace::Builder& b) { b.shapes(Role::stages, {{1, 1, 1}}); }), "");
  EXPECT_NE(complaint([](DesignSpace::Builder& b) { b.integers(Role::tile, {1}); }), "");
  EXPECT_NE(complaint([](DesignSpace::Builder& b) { b.choices(Role::tile, {"a"}); }), "");
  EXPECT_EQ(complaint([](DesignSpace::Builder& builder) { builder.layouts({"tq"}); }),
            "design space: expected layouts of three letters t, n or x, got 'tq'");
  EXPECT_EQ(
      complaint([](DesignSpace::Builder& builder) { builder.alignments(Role::a_alignment, {12}); }),
      "design space: expected an alignment that is a power of two up to 256, got 12");
  EXPECT_EQ(complaint([](DesignSpace::Builder& builder) {
              builder.shapes(Role::tile, {{128, 0, 64}});
            }),
            "design space: expected positive extents of tile, got 128x0x64");
  EXPECT_EQ(complaint([](DesignSpace::Builder& builder) { builder.integers(Role::split, {-1}); }),
            "design space: expected values of 0 or more of split, got -1");
}

}  // namespace
}  // namespace estoc::test
