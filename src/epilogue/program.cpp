// Collects the nodes of programs, and writes programs as text.
#include "epilogue/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "epilogue/literals.h"
#include "epilogue/op_table.h"
#include "estoc/status.hpp"

namespace estoc::epilogue {
namespace {

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorKind::value, "epilogue: " + message);
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// Equal, also for two literals that are both NaN.
bool same_node(const EpilogueNode& x, const EpilogueNode& y) {
  return x.op == y.op && x.type == y.type && x.varies == y.varies && x.dtype == y.dtype &&
         x.input_count == y.input_count && x.slot == y.slot && x.inputs == y.inputs &&
         std::bit_cast<std::uint64_t>(x.value) == std::bit_cast<std::uint64_t>(y.value);
}

}  // namespace

bool Program::operator==(const Program& other) const {
  const auto same_assignments = [](const EpilogueAssignment& x, const EpilogueAssignment& y) {
    return x.name == y.name && x.reduction == y.reduction;
  };
  return std::ranges::equal(nodes, other.nodes, same_node) && inputs == other.inputs &&
         std::ranges::equal(assignments, other.assignments, same_assignments) &&
         assigned_nodes == other.assigned_nodes && pairs == other.pairs && atomic == other.atomic;
}

std::uint64_t hash_node(const EpilogueNode& node) {
  std::uint64_t hash = static_cast<std::uint64_t>(node.op) | std::uint64_t{node.slot} << 16 |
                       static_cast<std::uint64_t>(node.dtype) << 8 |
                       static_cast<std::uint64_t>(node.type) << 40;
  const auto mix = [&hash](std::uint64_t more) {
    hash = (hash ^ more) * 0x9E37'79B9'7F4A'7C15U;
    hash ^= hash >> 29;
  };
  mix(std::bit_cast<std::uint64_t>(node.value));
  mix(std::bit_cast<std::uint64_t>(node.inputs));
  return hash;
}

std::string_view check_name(std::string_view name) {
  if (name.empty() || !is_letter(name.front())) return "a name that begins with a letter";
  const bool legal =
      std::ranges::all_of(name, [](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
  if (!legal) return "a name of letters, digits and _";
  if (name.size() > kLongestName) return "a name of at most 64 characters";
  if (name == "accum" || name == "inf" || name == "nan" || name == "atomic") {
    return "a name other than accum, inf, nan and atomic, which have a meaning";
  }
  return {};
}

ProgramBuilder::ProgramBuilder() {
  buckets_.fill(-1);
}

int ProgramBuilder::add(const EpilogueNode& node) {
  std::size_t bucket = hash_node(node) % kBuckets;
  for (; buckets_[bucket] >= 0; bucket = (bucket + 1) % kBuckets) {
    if (same_node(program_.nodes[static_cast<std::size_t>(buckets_[bucket])], node)) {
      return buckets_[bucket];
    }
  }
  if (program_.nodes.size() == EpilogueLimits::kNodes) {
    fail(fmt::format("expected at most {} operations, inputs and literals, got more",
                     EpilogueLimits::kNodes));
  }
  const auto index = static_cast<std::int16_t>(program_.nodes.size());
  buckets_[bucket] = index;
  program_.nodes.push_back(node);
  return index;
}

std::string_view accumulator_function(AccumulatorPairs pairs, bool second) {
  if (pairs == AccumulatorPairs::halves) return second ? "right" : "left";
  return second ? "odd" : "even";
}

int ProgramBuilder::accumulator(AccumulatorPairs pairs, bool second) {
  if (has_accumulator_ && program_.pairs != pairs) {
    fail(
        "accum: expected it alone, or left(accum) and right(accum), or even(accum) and odd(accum), "
        "got two of these");
  }
  has_accumulator_ = true;
  program_.pairs = pairs;
  EpilogueNode node;
  node.slot = second ? 1 : 0;
  return add(node);
}

int ProgramBuilder::input(std::string_view name) {
  if (const std::string_view expected = check_name(name); !expected.empty()) {
    fail(fmt::format("expected {}, got '{}'", expected, name.substr(0, kLongestName)));
  }
  if (is_assigned(name)) fail(fmt::format("{}: expected an input, it has been assigned", name));
  EpilogueNode node;
  node.op = EpilogueOp::tensor;
  const auto known = std::ranges::find(program_.inputs, name);
  node.slot = static_cast<std::uint16_t>(known - program_.inputs.begin());
  if (known == program_.inputs.end()) {
    constexpr int kMaxInputs = EpilogueLimits::kTensors + EpilogueLimits::kScalars;
    if (program_.inputs.size() == kMaxInputs)
      fail(fmt::format("expected at most {} inputs, got more", kMaxInputs));
    program_.inputs.emplace_back(name);
  }
  return add(node);
}

int ProgramBuilder::literal(double value, bool is_integer) {
  EpilogueNode node;
  node.op = EpilogueOp::literal;
  node.type = is_integer && std::abs(value) <= 2147483647 ? EpilogueType::i32 : EpilogueType::f32;
  node.value = value;
  return add(node);
}

int ProgramBuilder::operation(EpilogueOp op, std::span<const int> inputs) {
  const OpInfo& info = op_info(op);
  if (inputs.size() != info.inputs || info.rule == TypeRule::leaf) {
    fail(fmt::format("{}: expected {} inputs, got {}", info.name, info.inputs, inputs.size()));
  }
  if (op == EpilogueOp::neg) {
    const EpilogueNode& input = program_.nodes[static_cast<std::size_t>(inputs[0])];
    const bool is_integer = input.type == EpilogueType::i32;
    if (input.op == EpilogueOp::literal && !(is_integer && input.value == 0)) {
      return literal(-input.value, is_integer);
    }
  }
  EpilogueNode node;
  node.op = op;
  node.input_count = info.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    node.inputs[i] = static_cast<std::uint16_t>(inputs[i]);
  return add(node);
}

int ProgramBuilder::cast(int input, Dtype dtype) {
  if (!is_cast_goal(dtype)) {
    fail(fmt::format("cast: expected f32, tf32, f16, bf16, e4m3, e5m2, i32, i8, u8 or bool, got {}",
                     dtype_name(dtype)));
  }
  EpilogueNode node;
  node.op = EpilogueOp::cast;
  node.dtype = dtype;
  node.input_count = 1;
  node.inputs[0] = static_cast<std::uint16_t>(input);
  return add(node);
}

int ProgramBuilder::find_assignment(std::string_view name) const {
  const auto found = std::ranges::find(program_.assignments, name, &EpilogueAssignment::name);
  return found == program_.assignments.end()
             ? -1
             : static_cast<int>(found - program_.assignments.begin());
}

void ProgramBuilder::assign(std::string_view name, int node,
                            std::optional<EpilogueReduction> reduction) {
  if (const std::string_view expected = check_name(name); !expected.empty()) {
    fail(fmt::format("expected {}, got '{}'", expected, name.substr(0, kLongestName)));
  }
  if (is_assigned(name)) fail(fmt::format("{}: expected one assignment, got a second", name));
  if (std::ranges::find(program_.inputs, name) != program_.inputs.end()) {
    fail(fmt::format("{}: expected its assignment before its use", name));
  }
  if (name == "D" && reduction) {
    fail("D: expected a value of the product's shape, got a reduction");
  }
  if (program_.assignments.size() == EpilogueLimits::kNodes) {
    fail(fmt::format("expected at most {} assignments, got more", EpilogueLimits::kNodes));
  }
  program_.assignments.push_back({std::string(name), reduction});
  program_.assigned_nodes.push_back(static_cast<std::uint16_t>(node));
}

Program ProgramBuilder::finish() const {
  if (!is_assigned("D")) fail("D: expected an assignment such as D = accum, got none");
  return program_;
}

namespace {

/// Writes each assignment as an expression; what is used more than once, and is no leaf, gets a
/// name of its own.
class Printer {
 public:
  explicit Printer(const Program& program)
      : program_(program), uses_(program.nodes.size()), names_(program.nodes.size()) {
    for (const EpilogueNode& node : program.nodes) {
      for (int i = 0; i < node.input_count; ++i)
        ++uses_[node.inputs[static_cast<std::size_t>(i)]];
    }
  }

  std::string print() {
    for (std::size_t i = 0; i < program_.assignments.size(); ++i) {
      const EpilogueAssignment& assignment = program_.assignments[i];
      const std::size_t node = program_.assigned_nodes[i];
      std::string value = expression(node);
      if (assignment.reduction) {
        value = fmt::format("{}({})", epilogue_reduction_name(*assignment.reduction), value);
      } else if (names_[node].empty() && program_.nodes[node].input_count > 0) {
        names_[node] = assignment.name;
      }
      statement(assignment.name, value);
    }
    if (program_.atomic) text_ += "; atomic";
    return std::move(text_);
  }

 private:
  void statement(const std::string& name, const std::string& value) {
    if (!text_.empty()) text_ += "; ";
    text_ += fmt::format("{} = {}", name, value);
  }

  bool is_taken(const std::string& name) const {
    return std::ranges::find(program_.inputs, name) != program_.inputs.end() ||
           std::ranges::find(program_.assignments, name, &EpilogueAssignment::name) !=
               program_.assignments.end();
  }

  std::string fresh_name() {
    std::string name;
    do {
      name = fmt::format("t{}", next_++);
    } while (is_taken(name));
    return name;
  }

  std::string input(std::size_t index) {
    if (uses_[index] > 1 && names_[index].empty() && program_.nodes[index].input_count > 0) {
      const std::string value = expression(index);
      names_[index] = fresh_name();
      statement(names_[index], value);
    }
    return expression(index);
  }

  std::string expression(std::size_t index) {
    if (!names_[index].empty()) return names_[index];
    const EpilogueNode& node = program_.nodes[index];
    switch (node.op) {
      case EpilogueOp::accumulator:
        return accumulator_text(node.slot != 0);
      case EpilogueOp::tensor:
        return program_.inputs[node.slot];
      case EpilogueOp::literal:
        return print_literal(node.value, node.type == EpilogueType::i32);
      default:
        return call(node);
    }
  }

  std::string accumulator_text(bool second) const {
    if (program_.pairs == AccumulatorPairs::none) return "accum";
    return fmt::format("{}(accum)", accumulator_function(program_.pairs, second));
  }

  std::string call(const EpilogueNode& node) {
    std::array<std::string, 4> inputs;
    for (std::size_t i = 0; i < node.input_count; ++i)
      inputs[i] = input(node.inputs[i]);
    const auto infix = [&](std::string_view sign) {
      return fmt::format("({} {} {})", inputs[0], sign, inputs[1]);
    };
    switch (node.op) {
      case EpilogueOp::add:
        return infix("+");
      case EpilogueOp::sub:
        return infix("-");
      case EpilogueOp::mul:
        return infix("*");
      case EpilogueOp::div:
        return infix("/");
      case EpilogueOp::logical_and:
        return infix("&&");
      case EpilogueOp::logical_or:
        return infix("||");
      case EpilogueOp::logical_not:
        return fmt::format("!({})", inputs[0]);
      case EpilogueOp::cast:
        return fmt::format("{}({})", dtype_name(node.dtype), inputs[0]);
      default:
        break;
    }
    std::string text = fmt::format("{}({}", op_info(node.op).name, inputs[0]);
    for (std::size_t i = 1; i < node.input_count; ++i)
      text += ", " + inputs[i];
    return text + ")";
  }

  const Program& program_;
  std::vector<int> uses_;
  std::vector<std::string> names_;
  std::string text_;
  int next_ = 0;
};

}  // namespace

std::string print_program(const Program& program) {
  return Printer(program).print();
}

}  // namespace estoc::epilogue
