// Collects the dimensions and constraints of a design space, and checks them when it is built.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/text.h"
#include "model/design_contents.h"
#include "model/fail.h"

namespace estoc {
namespace {

using model::fail_value;

constexpr int kLargestAlignment = 256;

struct NamedConstraint {
  std::vector<std::string> keys;
  DesignSpace::Builder::Constraint holds;
};

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_key(std::string_view key) {
  return !key.empty() && is_lower(key.front()) &&
         std::ranges::all_of(key, [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
}

bool is_text(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_lower(c) || is_upper(c) || is_digit(c) || c == '_' || c == '.';
  });
}

bool is_one_of(Role role, std::initializer_list<Role> roles) {
  return std::ranges::find(roles, role) != roles.end();
}

void check_role(Role role, std::initializer_list<Role> roles, const char* function) {
  if (is_one_of(role, roles)) return;
  fail_value("design space: expected a role that {} takes, got {}", function,
             model::role_key(role));
}

void check_key(const Dimension& dimension) {
  if (dimension.role != Role::other) return;
  if (!is_key(dimension.key)) {
    fail_value("design space: expected a key of lower-case letters, digits and '_', got '{}'",
               dimension.key);
  }
  for (int role = 0; role < static_cast<int>(Role::other); ++role) {
    if (dimension.key == model::role_key(static_cast<Role>(role))) {
      fail_value("design space: expected a new key, got {}, which is a role's", dimension.key);
    }
  }
}

void check_values(const Dimension& dimension) {
  const std::size_t count = dimension.values.size();
  if (count == 0 || count > static_cast<std::size_t>(kMaxValues)) {
    fail_value("design space: expected 1 to {} values of {}, got {}", kMaxValues, dimension.key,
               count);
  }
  std::vector<std::string_view> texts;
  for (const DesignValue& value : dimension.values) {
    if (!is_text(value.text)) {
      fail_value("design space: expected letters, digits, '_' and '.' in a value of {}, got '{}'",
                 dimension.key, value.text);
    }
    texts.push_back(value.text);
  }
  std::ranges::sort(texts);
  const auto twice = std::ranges::adjacent_find(texts);
  if (twice != texts.end()) {
    fail_value("design space: expected each value of {} once, got {} twice", dimension.key, *twice);
  }
}

void check_dimensions(const std::vector<Dimension>& dimensions) {
  if (dimensions.size() > static_cast<std::size_t>(kMaxDimensions)) {
    fail_value("design space: expected at most {} dimensions, got {}", kMaxDimensions,
               dimensions.size());
  }
  for (auto dimension = dimensions.begin(); dimension != dimensions.end(); ++dimension) {
    check_key(*dimension);
    check_values(*dimension);
    if (std::find_if(dimensions.begin(), dimension, [&](const Dimension& earlier) {
          return earlier.key == dimension->key;
        }) != dimension) {
      fail_value("design space: expected dimension {} once, got it twice", dimension->key);
    }
  }
}

[[noreturn]] void fail_unknown_key(const DesignSpace& space, std::string_view key) {
  std::vector<std::string_view> keys;
  for (const Dimension& dimension : space.dimensions())
    keys.push_back(dimension.key);
  const auto nearest = core::nearest_name(key, keys);
  fail_value("design space: expected a dimension's key in a constraint, got '{}'{}", key,
             nearest ? fmt::format("; did you mean {}?", *nearest) : "");
}

model::Rule resolve(const NamedConstraint& constraint, const DesignSpace& space) {
  model::Rule rule{{}, constraint.holds};
  for (const std::string& key : constraint.keys) {
    const int dimension = space.find(key);
    if (dimension < 0) fail_unknown_key(space, key);
    rule.dimensions.push_back(dimension);
  }
  std::ranges::sort(rule.dimensions);
  return rule;
}

std::string shape_text(Role role, const Shape3& shape) {
  if (role == Role::cluster && shape.k == 1) return fmt::format("{}x{}", shape.m, shape.n);
  return fmt::format("{}x{}x{}", shape.m, shape.n, shape.k);
}

DesignValue shape_value(Role role, const Shape3& shape) {
  if (shape.m < 1 || shape.n < 1 || shape.k < 1) {
    fail_value("design space: expected positive extents of {}, got {}x{}x{}", model::role_key(role),
               shape.m, shape.n, shape.k);
  }
  return {shape_text(role, shape), {shape.m, shape.n, shape.k}};
}

DesignValue layout_value(std::string_view text) {
  if (text.size() != 3 || text.find_first_not_of("tnx") != std::string_view::npos) {
    fail_value("design space: expected layouts of three letters t, n or x, got '{}'", text);
  }
  return {std::string(text), {text[0], text[1], text[2]}};
}

DesignValue alignment_value(int bytes) {
  if (bytes < 1 || bytes > kLargestAlignment ||
      !std::has_single_bit(static_cast<unsigned>(bytes))) {
    fail_value("design space: expected an alignment that is a power of two up to {}, got {}",
               kLargestAlignment, bytes);
  }
  return {std::to_string(bytes), {bytes, 0, 0}};
}

DesignValue integer_value(std::string_view key, int value) {
  if (value < 0) {
    fail_value("design space: expected values of 0 or more of {}, got {}", key, value);
  }
  return {std::to_string(value), {value, 0, 0}};
}

std::vector<DesignValue> choice_values(std::span<const std::string_view> texts) {
  std::vector<DesignValue> values;
  for (const std::string_view text : texts) {
    values.push_back({std::string(text), {static_cast<int>(values.size()), 0, 0}});
  }
  return values;
}

}  // namespace

struct DesignSpace::Builder::State {
  std::vector<Dimension> dimensions;
  std::vector<NamedConstraint> constraints;

  void add(Role role, std::vector<DesignValue> values) {
    dimensions.push_back({role, std::string(model::role_key(role)),
                          std::string(model::role_prefix(role)), std::move(values)});
  }
  void add(std::string key, std::string prefix, std::vector<DesignValue> values) {
    dimensions.push_back({Role::other, std::move(key), std::move(prefix), std::move(values)});
  }
};

DesignSpace::Builder::Builder() : state_(std::make_unique<State>()) {}
DesignSpace::Builder::~Builder() = default;

DesignSpace::Builder& DesignSpace::Builder::dtypes(Role role, std::span<const Dtype> values) {
  check_role(role, {Role::a_dtype, Role::b_dtype, Role::accumulator_type, Role::out_dtype},
             "dtypes()");
  std::vector<DesignValue> made;
  for (const Dtype dtype : values) {
    made.push_back({std::string(dtype_name(dtype)), {static_cast<int>(dtype), 0, 0}});
  }
  state_->add(role, std::move(made));
  return *this;
}

DesignSpace::Builder& DesignSpace::Builder::dtypes(Role role, std::initializer_list<Dtype> values) {
  return dtypes(role, std::span(values.begin(), values.size()));
}

DesignSpace::Builder& DesignSpace::Builder::layouts(std::span<const std::string_view> values) {
  std::vector<DesignValue> made;
  for (const std::string_view text : values)
    made.push_back(layout_value(text));
  state_->add(Role::layouts, std::move(made));
  return *this;
}

DesignSpace::Builder& DesignSpace::Builder::layouts(
    std::initializer_list<std::string_view> values) {
  return layouts(std::span(values.begin(), values.size()));
}

DesignSpace::Builder& DesignSpace::Builder::alignments(Role role, std::span<const int> values) {
  check_role(role, {Role::a_alignment, Role::b_alignment, Role::out_alignment}, "alignments()");
  std::vector<DesignValue> made;
  for (const int bytes : values)
    made.push_back(alignment_value(bytes));
  state_->add(role, std::move(made));
  return *this;
}

DesignSpace::Builder& DesignSpace::Builder::alignments(Role role,
                                                       std::initializer_list<int> values) {
  return alignments(role, std::span(values.begin(), values.size()));
}

DesignSpace::Builder& DesignSpace::Builder::ops(std::span<const ElementwiseOp> values) {
  std::vector<DesignValue> made;
  for (const ElementwiseOp op : values) {
    made.push_back({std::string(elementwise_op_name(op)), {static_cast<int>(op), 0, 0}});
  }
  state_->add(Role::op, std::move(made));
  return *this;
}

DesignSpace::Builder& DesignSpace::Builder::shapes(Role role, std::span<const Shape3> values) {
  check_role(role, {Role::tile, Role::cluster, Role::instruction}, "shapes()");
  std::vector<DesignValue> made;
  for (const Shape3& shape : values)
    made.push_back(shape_value(role, shape));
  state_->add(role, std::move(made));
  return *this;
}

DesignSpace::Builder& DesignSpace::Builder::shapes(Role role,
                                                   std::initializer_list<Shape3> values) {
  return shapes(role, std::span(values.begin(), values.size()));
}

DesignSpace::Builder& DesignSpace::Builder::integers(Role role, std::span<const int> values) {
  check_role(role, {Role::stages, Role::split}, "integers()");
  std::vector<DesignValue> made;
  for (const int value : values)
    made.push_back(integer_value(model::role_key(role), value));
  state_->add(role, std::move(made));
  return *this;
}

DesignSpace::Builder& DesignSpace::Builder::integers(Role role, std::initializer_list<int> values) {
  return integers(role, std::span(values.begin(), values.size()));
}

DesignSpace::Builder& DesignSpace::Builder::integers(std::string key, std::span<const int> values) {
  std::vector<DesignValue> made;
  for (const int value : values)
    made.push_back(integer_value(key, value));
  const std::string prefix = key;
  state_->add(std::move(key), prefix, std::move(made));
  return *this;
}

DesignSpace::Builder& DesignSpace::Builder::choices(Role role,
                                                    std::span<const std::string_view> values) {
  check_role(role, {Role::schedule}, "choices()");
  state_->add(role, choice_values(values));
  return *this;
}

DesignSpace::Builder& DesignSpace::Builder::choices(
    Role role, std::initializer_list<std::string_view> values) {
  return choices(role, std::span(values.begin(), values.size()));
}

DesignSpace::Builder& DesignSpace::Builder::choices(std::string key,
                                                    std::span<const std::string_view> values) {
  const std::string prefix = key + ".";
  state_->add(std::move(key), prefix, choice_values(values));
  return *this;
}

DesignSpace::Builder& DesignSpace::Builder::choices(
    std::string key, std::initializer_list<std::string_view> values) {
  return choices(std::move(key), std::span(values.begin(), values.size()));
}

DesignSpace::Builder& DesignSpace::Builder::require(std::span<const std::string_view> keys,
                                                    Constraint holds) {
  state_->constraints.push_back({{keys.begin(), keys.end()}, std::move(holds)});
  return *this;
}

DesignSpace::Builder& DesignSpace::Builder::require(std::initializer_list<std::string_view> keys,
                                                    Constraint holds) {
  return require(std::span(keys.begin(), keys.size()), std::move(holds));
}

std::shared_ptr<const DesignSpace> DesignSpace::Builder::build() {
  std::shared_ptr<const DesignSpace> space = build_lazily();
  space->contents_->whole();
  return space;
}

std::shared_ptr<const DesignSpace> DesignSpace::Builder::build_lazily() {
  check_dimensions(state_->dimensions);
  const std::shared_ptr<DesignSpace> space(new DesignSpace);
  space->dimensions_ = state_->dimensions;
  for (std::size_t position = 0; position < space->dimensions_.size(); ++position) {
    const Role role = space->dimensions_[position].role;
    if (role == Role::other) {
      space->has_others_ = true;
    } else {
      space->by_role_[static_cast<std::size_t>(role)] = static_cast<std::int8_t>(position);
    }
  }
  std::vector<model::Rule> rules;
  for (const NamedConstraint& constraint : state_->constraints) {
    rules.push_back(resolve(constraint, *space));
  }
  space->contents_ = std::make_unique<const Contents>(*space, std::move(rules));
  return space;
}

}  // namespace estoc
