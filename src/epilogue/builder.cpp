// Programs made in C++, and their access from outside.
#include <fmt/format.h>

#include <array>

#include "epilogue/program.h"
#include "estoc/status.hpp"

namespace estoc {
namespace {

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorKind::value, "epilogue: " + message);
}

}  // namespace

const std::string& EpilogueProgram::text() const {
  return program_->text;
}

std::span<const std::string> EpilogueProgram::inputs() const {
  return program_->inputs;
}

std::span<const EpilogueAssignment> EpilogueProgram::assignments() const {
  return program_->assignments;
}

AccumulatorPairs EpilogueProgram::pairs() const {
  return program_->pairs;
}

bool EpilogueProgram::operator==(const EpilogueProgram& other) const {
  return program_ == other.program_ || *program_ == *other.program_;
}

EpilogueBuilder::EpilogueBuilder() : builder_(std::make_unique<epilogue::ProgramBuilder>()) {}
EpilogueBuilder::~EpilogueBuilder() = default;

EpilogueValue EpilogueBuilder::accum() {
  return {*builder_, builder_->accumulator()};
}

EpilogueValue EpilogueBuilder::first_accum(AccumulatorPairs pairs) {
  if (pairs == AccumulatorPairs::none)
    fail("first_accum: expected halves or interleaved, got none");
  return {*builder_, builder_->accumulator(pairs, false)};
}

EpilogueValue EpilogueBuilder::second_accum(AccumulatorPairs pairs) {
  if (pairs == AccumulatorPairs::none)
    fail("second_accum: expected halves or interleaved, got none");
  return {*builder_, builder_->accumulator(pairs, true)};
}

EpilogueValue EpilogueBuilder::input(std::string_view name) {
  return {*builder_, builder_->input(name)};
}

EpilogueValue EpilogueBuilder::literal(double value) {
  return {*builder_, builder_->literal(value, false)};
}

EpilogueValue EpilogueBuilder::literal(int value) {
  return {*builder_, builder_->literal(value, true)};
}

void EpilogueBuilder::assign(std::string_view name, const EpilogueValue& value) {
  if (&value.builder() != builder_.get()) fail("expected a value of this builder, got another's");
  builder_->assign(name, value.node(), value.reduction());
}

void EpilogueBuilder::allow_atomic() {
  builder_->allow_atomic();
}

EpilogueProgram EpilogueBuilder::program() const {
  return EpilogueProgram::parse(epilogue::print_program(builder_->finish()));
}

namespace {

int usable_node(const EpilogueValue& value, const EpilogueValue& first) {
  if (value.reduction()) {
    fail(
        fmt::format("expected a value of the product's shape, got the result of {}, which can "
                    "only be assigned",
                    epilogue_reduction_name(*value.reduction())));
  }
  if (&value.builder() != &first.builder()) {
    fail("expected values of one builder, got two builders'");
  }
  return value.node();
}

}  // namespace

EpilogueValue apply(EpilogueOp op, std::span<const EpilogueValue> inputs) {
  if (inputs.empty() || inputs.size() > 4) fail("expected 1 to 4 inputs");
  std::array<int, 4> nodes{};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    nodes[i] = usable_node(inputs[i], inputs[0]);
  epilogue::ProgramBuilder& builder = inputs[0].builder();
  return {builder, builder.operation(op, {nodes.data(), inputs.size()})};
}

EpilogueValue literal_like(const EpilogueValue& value, double number, bool is_integer) {
  return {value.builder(), value.builder().literal(number, is_integer)};
}

EpilogueValue reduce(EpilogueReduction reduction, const EpilogueValue& value) {
  EpilogueValue result(value.builder(), usable_node(value, value));
  result.reduction_ = reduction;
  return result;
}

EpilogueValue cast(const EpilogueValue& value, Dtype dtype) {
  return {value.builder(), value.builder().cast(usable_node(value, value), dtype)};
}

}  // namespace estoc
