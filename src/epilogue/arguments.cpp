// Matches the operands of an epilogue with the names of its program.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "core/text.h"
#include "epilogue/program.h"
#include "estoc/status.hpp"

namespace estoc {
namespace {

using epilogue::Program;

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorKind::value, "epilogue: " + message);
}

/// Programs by their text: callers give the same few texts again and again.
EpilogueProgram parse_once(std::string_view text) {
  constexpr std::size_t kMaxPrograms = 256;
  struct Parsed {
    std::mutex mutex;
    std::map<std::string, EpilogueProgram, std::less<>> programs;
  };
  static Parsed* const parsed = new Parsed;  // callers may run while the process ends
  {
    const std::lock_guard lock(parsed->mutex);
    if (const auto known = parsed->programs.find(text); known != parsed->programs.end()) {
      return known->second;
    }
  }
  EpilogueProgram program = EpilogueProgram::parse(text);
  const std::lock_guard lock(parsed->mutex);
  if (parsed->programs.size() == kMaxPrograms) parsed->programs.clear();
  return parsed->programs.emplace(text, std::move(program)).first->second;
}

class Matcher {
 public:
  Matcher(EpilogueProgram program, std::vector<EpilogueOperand> operands)
      : state_{std::move(program), std::move(operands), {}, {}}, program_(state_.program.steps()) {}

  EpilogueArguments::State match() {
    state_.input_operands.assign(program_.inputs.size(), -1);
    state_.assignment_operands.assign(program_.assignments.size(), -1);
    for (std::size_t i = 0; i < state_.operands.size(); ++i)
      place(static_cast<std::int16_t>(i));
    find_live_inputs();
    for (std::size_t i = 0; i < program_.inputs.size(); ++i)
      check_input(i);
    check_outputs();
    return std::move(state_);
  }

 private:
  void place(std::int16_t index) {
    const std::string& name = state_.operands[static_cast<std::size_t>(index)].name;
    const auto input = std::ranges::find(program_.inputs, name);
    if (input != program_.inputs.end()) {
      return put(state_.input_operands, input - program_.inputs.begin(), index);
    }
    const auto assignment =
        std::ranges::find(program_.assignments, name, &EpilogueAssignment::name);
    if (assignment == program_.assignments.end()) fail_name(name);
    if (state_.operands[static_cast<std::size_t>(index)].scalar() != nullptr) {
      fail(fmt::format("{}: expected a tensor to write, got a scalar's value", name));
    }
    put(state_.assignment_operands, assignment - program_.assignments.begin(), index);
  }

  void put(std::vector<std::int16_t>& places, std::ptrdiff_t place, std::int16_t index) const {
    std::int16_t& slot = places[static_cast<std::size_t>(place)];
    if (slot >= 0) {
      fail(fmt::format("{}: expected it once, it is given twice",
                       state_.operands[static_cast<std::size_t>(index)].name));
    }
    slot = index;
  }

  [[noreturn]] void fail_name(const std::string& name) const {
    std::vector<std::string> names = program_.inputs;
    for (const EpilogueAssignment& assignment : program_.assignments)
      names.push_back(assignment.name);
    std::string message = fmt::format("{}: expected a name of \"{}\"", name, program_.text);
    if (const auto nearest = core::nearest_name(name, names)) {
      message += fmt::format("; did you mean {}?", *nearest);
    }
    fail(message);
  }

  void find_live_inputs() {
    std::array<bool, EpilogueLimits::kNodes> live{};
    for (std::size_t i = 0; i < program_.assignments.size(); ++i) {
      const bool output = state_.assignment_operands[i] >= 0 || program_.assignments[i].name == "D";
      if (output) live[program_.assigned_nodes[i]] = true;
    }
    live_.assign(program_.inputs.size(), false);
    for (std::size_t i = program_.nodes.size(); i-- > 0;) {
      if (!live[i]) continue;
      const EpilogueNode& node = program_.nodes[i];
      for (std::size_t input = 0; input < node.input_count; ++input)
        live[node.inputs[input]] = true;
      if (node.op == EpilogueOp::tensor) live_[node.slot] = true;
    }
  }

  void check_input(std::size_t input) const {
    const std::string& name = program_.inputs[input];
    const bool given = state_.input_operands[input] >= 0;
    if (live_[input] && !given) {
      fail(fmt::format("{}: expected a tensor or a scalar, got none", name));
    }
    if (given && !live_[input]) {
      fail(fmt::format("{}: expected an input that an output depends on, got one that none does",
                       name));
    }
  }

  void check_outputs() const {
    int stores = 1;
    int reduced = 0;
    for (std::size_t i = 0; i < program_.assignments.size(); ++i) {
      if (state_.assignment_operands[i] < 0 || program_.assignments[i].name == "D") continue;
      ++(program_.assignments[i].reduction ? reduced : stores);
    }
    if (stores > EpilogueLimits::kStores || reduced > EpilogueLimits::kReduced) {
      fail(
          fmt::format("expected at most {} outputs of the product's shape and {} reductions, got "
                      "{} and {}",
                      EpilogueLimits::kStores, EpilogueLimits::kReduced, stores, reduced));
    }
  }

  EpilogueArguments::State state_;
  const Program& program_;
  std::vector<bool> live_;
};

/// Equal but for the address.
bool alike(const TensorView& x, const TensorView& y) {
  return x.dtype() == y.dtype() && x.device() == y.device() &&
         std::ranges::equal(x.shape(), y.shape()) && std::ranges::equal(x.strides(), y.strides());
}

bool same_operand(const EpilogueOperand& x, const EpilogueOperand& y) {
  if (x.name != y.name || x.value.index() != y.value.index()) return false;
  if (x.tensor() == nullptr) return *x.scalar() == *y.scalar();
  return x.tensor()->data() == y.tensor()->data() && alike(*x.tensor(), *y.tensor());
}

std::string shown(const EpilogueOperand& operand) {
  if (operand.tensor() != nullptr) return operand.tensor()->to_string();
  return fmt::format("the scalar {}", operand.scalar()->value);
}

/// The scalar with the type of `known`, so that the epilogue keeps its types; nullopt where it has
/// none of that type.
std::optional<EpilogueScalarOperand> as_known(const EpilogueScalarOperand& known,
                                              EpilogueScalarOperand scalar) {
  if (scalar.dtype && scalar.dtype != known.dtype) return std::nullopt;
  scalar.dtype = known.dtype;
  if (known.is_integer && !scalar.is_integer) return std::nullopt;
  if (!known.is_integer) scalar.is_integer = false;
  return scalar;
}

const std::string kNoText;

}  // namespace

EpilogueArguments::EpilogueArguments(std::string_view text, std::vector<EpilogueOperand> operands) {
  if (text.empty() && operands.empty()) return;
  *this = EpilogueArguments(parse_once(text), std::move(operands));
}

EpilogueArguments::EpilogueArguments(EpilogueProgram program, std::vector<EpilogueOperand> operands)
    : state_(std::make_shared<State>(Matcher(std::move(program), std::move(operands)).match())) {}

const std::string& EpilogueArguments::text() const {
  return empty() ? kNoText : state_->program.text();
}

std::span<const EpilogueOperand> EpilogueArguments::operands() const {
  if (empty()) return {};
  return state_->operands;
}

const EpilogueOperand* EpilogueArguments::find(std::string_view name) const {
  const auto all = operands();
  const auto found = std::ranges::find(all, name, &EpilogueOperand::name);
  return found == all.end() ? nullptr : &*found;
}

void EpilogueArguments::replace(std::span<const EpilogueOperand> operands) {
  for (const EpilogueOperand& operand : operands) {
    const EpilogueOperand* const known = find(operand.name);
    if (known == nullptr) {
      throw Error(ErrorKind::value, fmt::format("{}: expected an operand of the epilogue \"{}\"",
                                                operand.name, text()));
    }
    const bool tensors = known->tensor() != nullptr && operand.tensor() != nullptr;
    const bool scalars = known->scalar() != nullptr && operand.scalar() != nullptr;
    if (tensors && alike(*known->tensor(), *operand.tensor())) continue;
    if (scalars && as_known(*known->scalar(), *operand.scalar())) continue;
    throw Error(ErrorKind::value,
                fmt::format("{}: expected {}{}, got {}", operand.name,
                            tensors ? "a tensor like " : "", shown(*known), shown(operand)));
  }
  if (operands.empty()) return;
  if (state_.use_count() != 1) state_ = std::make_shared<State>(*state_);
  for (const EpilogueOperand& operand : operands) {
    const auto place = std::ranges::find(state_->operands, operand.name, &EpilogueOperand::name);
    if (operand.tensor() != nullptr) {
      place->value = *operand.tensor();
    } else {
      place->value = *as_known(*place->scalar(), *operand.scalar());
    }
  }
}

bool EpilogueArguments::operator==(const EpilogueArguments& other) const {
  if (state_ == other.state_) return true;
  if (empty() || other.empty()) return false;
  return state_->program == other.state_->program &&
         std::ranges::equal(state_->operands, other.state_->operands, same_operand);
}

}  // namespace estoc
