// Turns the dicts of a class's configurations into the dimensions of a design space.
#include "configurations.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "dtypes.h"
#include "errors.h"

namespace estoc::python {
namespace {

using Builder = DesignSpace::Builder;

/// One key, the values that occur, and for each configuration which of them it has.
struct Column {
  std::string key;
  std::vector<nb::object> values;
  std::vector<int> chosen;
};

struct NamedRole {
  std::string_view key;
  Role role;
};

constexpr NamedRole kDtypes[] = {{"a", Role::a_dtype},
                                 {"b", Role::b_dtype},
                                 {"acc", Role::accumulator_type},
                                 {"out", Role::out_dtype}};
constexpr NamedRole kAlignments[] = {{"align_a", Role::a_alignment},
                                     {"align_b", Role::b_alignment},
                                     {"align_out", Role::out_alignment}};
constexpr NamedRole kShapes[] = {
    {"tile", Role::tile}, {"cluster", Role::cluster}, {"instruction", Role::instruction}};
constexpr NamedRole kIntegers[] = {{"stages", Role::stages}, {"split", Role::split}};

template <std::size_t N>
std::optional<Role> role_in(const NamedRole (&roles)[N], std::string_view key) {
  const auto* const found =
      std::ranges::find_if(roles, [&](const NamedRole& named) { return named.key == key; });
  return found == std::end(roles) ? std::nullopt : std::optional(found->role);
}

int integer_of(const Column& column, nb::handle value) {
  int number = 0;
  if (!nb::isinstance<nb::bool_>(value) && nb::try_cast(value, number)) return number;
  fail_type("configurations: expected whole numbers of " + column.key + ", got " +
            shown_repr(value));
}

std::string text_of(const Column& column, nb::handle value) {
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  fail_type("configurations: expected text or numbers of " + column.key + ", got " +
            shown_repr(value));
}

Shape3 shape_of(const Column& column, nb::handle value) {
  std::vector<int> numbers;
  if (!nb::try_cast(value, numbers) || numbers.size() < 2 || numbers.size() > 3) {
    fail_type("configurations: expected two or three numbers of " + column.key + ", got " +
              shown_repr(value));
  }
  numbers.resize(3, 1);
  return {numbers[0], numbers[1], numbers[2]};
}

ElementwiseOp op_of(const Column& column, nb::handle value) {
  const auto op = parse_elementwise_op(text_of(column, value));
  if (op) return *op;
  fail_value(std::string("configurations: expected an elementwise operation, got ") +
             shown_repr(value));
}

template <typename Convert>
auto all(const Column& column, Convert&& convert) {
  std::vector<decltype(convert(column, column.values.front()))> result;
  for (const nb::object& value : column.values)
    result.push_back(convert(column, value));
  return result;
}

std::vector<std::string_view> views(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

void add_own(Builder& builder, const Column& column) {
  if (nb::isinstance<nb::int_>(column.values.front())) {
    builder.integers(column.key, all(column, integer_of));
  } else {
    const auto texts = all(column, text_of);
    builder.choices(column.key, views(texts));
  }
}

void add_column(Builder& builder, const Column& column) {
  if (const auto dtypes = role_in(kDtypes, column.key)) {
    const auto values = all(column, [](const Column& of, nb::handle value) {
      return to_dtype(value, ("configurations: " + of.key).c_str());
    });
    builder.dtypes(*dtypes, values);
  } else if (const auto alignments = role_in(kAlignments, column.key)) {
    builder.alignments(*alignments, all(column, integer_of));
  } else if (const auto shapes = role_in(kShapes, column.key)) {
    builder.shapes(*shapes, all(column, shape_of));
  } else if (const auto integers = role_in(kIntegers, column.key)) {
    builder.integers(*integers, all(column, integer_of));
  } else if (column.key == "layouts") {
    const auto texts = all(column, text_of);
    builder.layouts(views(texts));
  } else if (column.key == "schedule") {
    const auto texts = all(column, text_of);
    builder.choices(Role::schedule, views(texts));
  } else if (column.key == "op") {
    builder.ops(all(column, op_of));
  } else {
    add_own(builder, column);
  }
}

int index_of(Column& column, nb::handle value) {
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    if (column.values[i].equal(value)) return static_cast<int>(i);
  }
  column.values.push_back(nb::borrow(value));
  return static_cast<int>(column.values.size()) - 1;
}

void add_values(std::vector<Column>& columns, const nb::dict& configuration) {
  if (configuration.size() != columns.size()) {
    fail_value("configurations: expected the same keys in each, got " + shown_repr(configuration));
  }
  for (Column& column : columns) {
    const nb::str key(column.key.c_str());
    if (!configuration.contains(key)) {
      fail_value("configurations: expected " + column.key + " in each, got " +
                 shown_repr(configuration));
    }
    column.chosen.push_back(index_of(column, configuration[key]));
  }
}

std::vector<Column> columns_of(const std::vector<nb::dict>& given) {
  if (given.empty()) fail_value("configurations: expected at least one, got none");
  std::vector<Column> columns;
  for (const auto [key, value] : given.front())
    columns.push_back({nb::cast<std::string>(key), {}, {}});
  for (const nb::dict& configuration : given)
    add_values(columns, configuration);
  const bool typed = std::ranges::any_of(columns, [](const Column& c) { return c.key == "a"; });
  if (!typed) fail_value("configurations: expected the key a, the dtype of A, got none");
  return columns;
}

std::vector<nb::dict> dicts_of(nb::handle list) {
  std::vector<nb::dict> result;
  for (const nb::handle item : list) {
    if (!nb::isinstance<nb::dict>(item)) {
      fail_type("configurations: expected dicts, got " + class_name(item));
    }
    result.push_back(nb::borrow<nb::dict>(item));
  }
  return result;
}

}  // namespace

Configurations::Configurations(nb::handle list) {
  const std::vector<nb::dict> given = dicts_of(list);
  const std::vector<Column> columns = columns_of(given);
  Builder builder;
  std::vector<std::string_view> keys;
  for (const Column& column : columns) {
    add_column(builder, column);
    keys.push_back(column.key);
  }
  const auto known = std::make_shared<std::set<Indices>>();  // the space outlives Python's objects
  for (std::size_t i = 0; i < given.size(); ++i) {
    Indices indices;
    for (const Column& column : columns)
      indices.push_back(column.chosen[i]);
    known->insert(indices);
    if (!given_.emplace(std::move(indices), given[i]).second) {
      fail_value(std::string("configurations: expected each once, got twice ") +
                 shown_repr(given[i]));
    }
  }
  builder.require(keys,
                  [known](const DesignPoint& point) { return known->contains(indices_of(point)); });
  space_ = builder.build();
}

Configurations::Indices Configurations::indices_of(const DesignPoint& point) {
  Indices indices;
  for (std::size_t i = 0; i < point.space().dimensions().size(); ++i)
    indices.push_back(point.index(static_cast<int>(i)));
  return indices;
}

nb::object Configurations::at(const DesignPoint& point) const {
  return given_.at(indices_of(point));
}

void Configurations::leak() {
  for (auto& [indices, given] : given_)
    given.release();
}

}  // namespace estoc::python
