// Random design spaces against enumeration of every combination of values.
#include <algorithm>
#include <map>

#include "estoc/design_space.hpp"
#include "support.h"

namespace estoc::test {
namespace {

using Indices = std::vector<int>;

/// A constraint as a table: which combinations of its dimensions' values it refuses.
struct Table {
  std::vector<int> dimensions;
  std::map<Indices, bool> refused;

  Indices part_of(const DesignPoint& point) const {
    Indices part;
    for (const int dimension : dimensions)
      part.push_back(point.index(dimension));
    return part;
  }
};

std::string key_of(int dimension) {
  return "d" + std::to_string(dimension);
}

/// A space stated at random, and all its points found by trying every combination.
struct RandomSpace {
  std::vector<int> sizes;
  std::vector<Table> tables;
  bool looked_elsewhere = false;
  std::shared_ptr<const DesignSpace> space;
  std::vector<Indices> points;

  RandomSpace() {
    sizes.resize(uniform<std::size_t>(1, 6));
    for (int& size : sizes)
      size = uniform(1, 5);
    const int constraints = uniform(0, 4);
    for (int i = 0; i < constraints; ++i)
      tables.push_back(random_table());
    build();
    enumerate({});
  }

  Table random_table() {
    Table table;
    for (int dimension = 0; dimension < std::ssize(sizes); ++dimension) {
      if (uniform(0, 3) == 0) table.dimensions.push_back(dimension);
    }
    table.dimensions = shuffled(table.dimensions);
    fill(table, {}, uniform(1, 5));
    return table;
  }

  void fill(Table& table, Indices part, int one_in) {
    if (part.size() == table.dimensions.size()) {
      table.refused[part] = uniform(0, one_in + 1) == 0;
      return;
    }
    const auto dimension = static_cast<std::size_t>(table.dimensions[part.size()]);
    part.push_back(0);
    for (part.back() = 0; part.back() < sizes[dimension]; ++part.back())
      fill(table, part, one_in);
  }

  void build() {
    DesignSpace::Builder builder;
    for (int dimension = 0; dimension < std::ssize(sizes); ++dimension) {
      std::vector<int> values;
      for (int i = 0; i < sizes[static_cast<std::size_t>(dimension)]; ++i)
        values.push_back(i * 7);
      builder.integers(key_of(dimension), values);
    }
    for (const Table& table : tables)
      require(builder, table);
    space = builder.build();
  }

  /// require() takes a list whose length is known when it is written; so each length is written.
  void require(DesignSpace::Builder& builder, const Table& table) {
    std::vector<std::string> keys;
    for (const int dimension : table.dimensions)
      keys.push_back(key_of(dimension));
    const auto holds = [this, &table](const DesignPoint& point) {
      for (int dimension = 0; dimension < std::ssize(sizes); ++dimension) {
        const bool named = std::ranges::find(table.dimensions, dimension) != table.dimensions.end();
        looked_elsewhere |= named == (point.index(dimension) == DesignPoint::kNoValue);
      }
      return !table.refused.at(table.part_of(point));
    };
    switch (keys.size()) {
      case 0:
        builder.require({}, holds);
        break;
      case 1:
        builder.require({keys[0]}, holds);
        break;
      case 2:
        builder.require({keys[0], keys[1]}, holds);
        break;
      case 3:
        builder.require({keys[0], keys[1], keys[2]}, holds);
        break;
      case 4:
        builder.require({keys[0], keys[1], keys[2], keys[3]}, holds);
        break;
      default:
        builder.require({keys[0], keys[1], keys[2], keys[3], keys[4]}, holds);
        break;
    }
  }

  void enumerate(Indices indices) {
    if (indices.size() < sizes.size()) {
      const int size = sizes[indices.size()];
      indices.push_back(0);
      for (indices.back() = 0; indices.back() < size; ++indices.back())
        enumerate(indices);
      return;
    }
    const bool allowed = std::ranges::none_of(tables, [&](const Table& table) {
      Indices part;
      for (const int dimension : table.dimensions) {
        part.push_back(indices[static_cast<std::size_t>(dimension)]);
      }
      return table.refused.at(part);
    });
    if (allowed) points.push_back(indices);
  }

  Indices indices_of(const DesignPoint& point) const {
    Indices indices;
    for (int dimension = 0; dimension < std::ssize(sizes); ++dimension) {
      indices.push_back(point.index(dimension));
    }
    return indices;
  }

  DesignPoint point_of(const Indices& indices) const {
    DesignPoint point(space.get());
    for (std::size_t i = 0; i < indices.size(); ++i) {
      point.set_index(static_cast<int>(i), indices[i]);
    }
    return point;
  }
};

TEST(DesignSpaceProperty, IsTheSetThatEnumerationFinds) {
  EXPECT_TRUE(rc::check([] {
    const RandomSpace random;
    RC_ASSERT(random.space->size() == random.points.size());
    for (std::size_t i = 0; i < random.points.size(); ++i) {
      const DesignPoint point = random.space->at(i);
      RC_ASSERT(random.indices_of(point) == random.points[i]);
      RC_ASSERT(random.space->contains(point));
      const auto parsed = random.space->parse(random.space->suffix(point));
      RC_ASSERT(parsed.has_value());
      RC_ASSERT(*parsed == point);
    }
  }));
}

TEST(DesignSpaceProperty, ConstraintsSeeTheDimensionsTheyName) {
  EXPECT_TRUE(rc::check([] { RC_ASSERT(!RandomSpace().looked_elsewhere); }));
}

TEST(DesignSpaceProperty, HoldsNoOtherPoint) {
  EXPECT_TRUE(rc::check([] {
    const RandomSpace random;
    for (int i = 0; i < 30; ++i) {
      Indices indices;
      for (const int size : random.sizes)
        indices.push_back(uniform(0, size));
      const bool expected = std::ranges::binary_search(random.points, indices);
      const DesignPoint point = random.point_of(indices);
      RC_ASSERT(random.space->contains(point) == expected);
      RC_ASSERT(random.space->parse(random.space->suffix(point)).has_value() == expected);
    }
  }));
}

TEST(DesignSpaceProperty, VisitsAndCountsASelection) {
  EXPECT_TRUE(rc::check([] {
    const RandomSpace random;
    Selection selection(*random.space);
    for (int dimension = 0; dimension < std::ssize(random.sizes); ++dimension) {
      if (flip()) {
        selection.restrict(dimension, [](const DesignValue&) { return flip(); });
      } else if (uniform(0, 4) == 0) {
        selection.fix(dimension, uniform(0, random.sizes[static_cast<std::size_t>(dimension)]));
      }
    }
    std::vector<Indices> expected;
    for (const Indices& indices : random.points) {
      bool wanted = true;
      for (std::size_t i = 0; i < indices.size(); ++i) {
        wanted &= selection.allows(static_cast<int>(i), indices[i]);
      }
      if (wanted) expected.push_back(indices);
    }
    std::vector<Indices> visited;
    random.space->visit(selection, [&](const DesignPoint& point) {
      visited.push_back(random.indices_of(point));
      return true;
    });
    RC_ASSERT(visited == expected);
    RC_ASSERT(random.space->count(selection) == expected.size());
  }));
}

}  // namespace
}  // namespace estoc::test
