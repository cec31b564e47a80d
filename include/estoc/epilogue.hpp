// What is applied to the accumulator before it is stored: programs, their operands, typed graphs.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "estoc/epilogue_graph.hpp"
#include "estoc/tensor.hpp"

namespace estoc {

namespace epilogue {
struct Program;
class ProgramBuilder;
}  // namespace epilogue

/// A name that a program assigns.
struct EpilogueAssignment {
  std::string name;
  std::optional<EpilogueReduction> reduction;  ///< set: an output that is smaller than the product
};

/// The steps of an epilogue, without types or operands: what text says or a builder made. Cheap to
/// copy; immutable. Grammar and operations: docs/epilogues.md.
class EpilogueProgram {
 public:
  /// From text such as "D = relu(alpha * accum + bias); aux = accum". Throws Error{value} with the
  /// column (from 1) and what was expected there; also when D is not assigned, a name is assigned
  /// twice, the result of a reduction is used, or a bound of EpilogueLimits is passed.
  static EpilogueProgram parse(std::string_view text);

  /// The program as text; parse(text()) gives an equal program.
  const std::string& text() const;
  /// Names that are used and not assigned, in the order in which they first occur.
  std::span<const std::string> inputs() const;
  /// In the order in which they are written; D is among them.
  std::span<const EpilogueAssignment> assignments() const;

  /// halves for a program of left(accum) and right(accum), interleaved for one of even(accum) and
  /// odd(accum).
  AccumulatorPairs pairs() const;

  bool operator==(const EpilogueProgram& other) const;

  /// For the library's own use.
  const epilogue::Program& steps() const { return *program_; }

 private:
  friend class EpilogueBuilder;
  explicit EpilogueProgram(std::shared_ptr<const epilogue::Program> program)
      : program_(std::move(program)) {}

  std::shared_ptr<const epilogue::Program> program_;
};

/// A value in an epilogue that a builder makes; valid as long as the builder.
class EpilogueValue {
 public:
  int node() const { return node_; }
  const std::optional<EpilogueReduction>& reduction() const { return reduction_; }
  epilogue::ProgramBuilder& builder() const { return *builder_; }

 private:
  friend class EpilogueBuilder;
  friend EpilogueValue apply(EpilogueOp op, std::span<const EpilogueValue> inputs);
  friend EpilogueValue literal_like(const EpilogueValue& value, double number, bool is_integer);
  friend EpilogueValue reduce(EpilogueReduction reduction, const EpilogueValue& value);
  friend EpilogueValue cast(const EpilogueValue& value, Dtype dtype);
  EpilogueValue(epilogue::ProgramBuilder& builder, int node) : builder_(&builder), node_(node) {}

  epilogue::ProgramBuilder* builder_;
  int node_;
  std::optional<EpilogueReduction> reduction_;
};

/// Makes a program from C++ expressions:
///
///   EpilogueBuilder e;
///   const EpilogueValue d = relu(e.input("alpha") * e.accum() + e.input("bias"));
///   e.assign("D", d);
///   e.assign("amax", absmax(d));
///   EpilogueArguments epilogue(e.program(), {{"alpha", 0.5}, {"bias", bias}, {"amax", amax}});
class EpilogueBuilder {
 public:
  EpilogueBuilder();
  ~EpilogueBuilder();
  EpilogueBuilder(const EpilogueBuilder&) = delete;
  EpilogueBuilder& operator=(const EpilogueBuilder&) = delete;

  EpilogueValue accum();
  /// The first or the second accumulator of an element that has two: left and right, or even and
  /// odd. Throws Error{value} in a program of other accumulators, and for none.
  EpilogueValue first_accum(AccumulatorPairs pairs);
  EpilogueValue second_accum(AccumulatorPairs pairs);
  /// Throws Error{value} for a name that is no identifier, is reserved, or has been assigned.
  EpilogueValue input(std::string_view name);
  EpilogueValue literal(double value);
  EpilogueValue literal(int value);

  /// Throws Error{value} for a name as above or one assigned before, and for a value of another
  /// builder.
  void assign(std::string_view name, const EpilogueValue& value);
  /// Reductions may add up in any order.
  void allow_atomic();

  /// Throws Error{value} when D has not been assigned.
  EpilogueProgram program() const;

 private:
  std::unique_ptr<epilogue::ProgramBuilder> builder_;
};

/// The operation on values of one builder. Throws Error{value} when their number is not the
/// operation's, one is the result of a reduction, they are of different builders, or the program
/// passes EpilogueLimits::kNodes.
EpilogueValue apply(EpilogueOp op, std::span<const EpilogueValue> inputs);
EpilogueValue literal_like(const EpilogueValue& value, double number, bool is_integer);
EpilogueValue reduce(EpilogueReduction reduction, const EpilogueValue& value);
/// Rounded to nearest even, saturated as store_element does, and read back.
EpilogueValue cast(const EpilogueValue& value, Dtype dtype);

template <class Number>
concept EpilogueNumber = std::integral<Number> || std::floating_point<Number>;

/// A number beside a value becomes a literal.
template <EpilogueNumber Number>
EpilogueValue as_value(const EpilogueValue& like, Number number) {
  return literal_like(like, static_cast<double>(number), std::integral<Number>);
}
inline EpilogueValue as_value(const EpilogueValue& /*like*/, const EpilogueValue& value) {
  return value;
}

#define ESTOC_EPILOGUE_UNARY(name, op)                \
  inline EpilogueValue name(const EpilogueValue& x) { \
    const EpilogueValue inputs[] = {x};               \
    return apply(EpilogueOp::op, inputs);             \
  }
#define ESTOC_EPILOGUE_BINARY(name, op)                                       \
  inline EpilogueValue name(const EpilogueValue& x, const EpilogueValue& y) { \
    const EpilogueValue inputs[] = {x, y};                                    \
    return apply(EpilogueOp::op, inputs);                                     \
  }                                                                           \
  template <EpilogueNumber Number>                                            \
  EpilogueValue name(const EpilogueValue& x, Number y) {                      \
    return name(x, as_value(x, y));                                           \
  }                                                                           \
  template <EpilogueNumber Number>                                            \
  EpilogueValue name(Number x, const EpilogueValue& y) {                      \
    return name(as_value(y, x), y);                                           \
  }
#define ESTOC_EPILOGUE_TERNARY(name, op)                                \
  template <class Y, class Z>                                           \
  EpilogueValue name(const EpilogueValue& x, const Y& y, const Z& z) {  \
    const EpilogueValue inputs[] = {x, as_value(x, y), as_value(x, z)}; \
    return apply(EpilogueOp::op, inputs);                               \
  }

ESTOC_EPILOGUE_BINARY(operator+, add)
ESTOC_EPILOGUE_BINARY(operator-, sub)
ESTOC_EPILOGUE_BINARY(operator*, mul)
ESTOC_EPILOGUE_BINARY(operator/, div)
ESTOC_EPILOGUE_BINARY(operator==, equal)
ESTOC_EPILOGUE_BINARY(operator!=, not_equal)
ESTOC_EPILOGUE_BINARY(operator<, less)
ESTOC_EPILOGUE_BINARY(operator<=, less_equal)
ESTOC_EPILOGUE_BINARY(operator>, greater)
ESTOC_EPILOGUE_BINARY(operator>=, greater_equal)
ESTOC_EPILOGUE_BINARY(operator&, logical_and)
ESTOC_EPILOGUE_BINARY(operator|, logical_or)
ESTOC_EPILOGUE_UNARY(operator!, logical_not)
ESTOC_EPILOGUE_UNARY(operator-, neg)

// A function for each operation that text spells as one.
#define ESTOC_EPILOGUE_FUNCTION_1(name) ESTOC_EPILOGUE_UNARY(name, name)
#define ESTOC_EPILOGUE_FUNCTION_2(name) ESTOC_EPILOGUE_BINARY(name, name)
#define ESTOC_EPILOGUE_FUNCTION_3(name) ESTOC_EPILOGUE_TERNARY(name, name)
#define ESTOC_EPILOGUE_FUNCTION_4(name)                                       \
  inline EpilogueValue name(const EpilogueValue& x, const EpilogueValue& y,   \
                            const EpilogueValue& z, const EpilogueValue& u) { \
    const EpilogueValue inputs[] = {x, y, z, u};                              \
    return apply(EpilogueOp::name, inputs);                                   \
  }
#define ESTOC_EPILOGUE_function(name, inputs) ESTOC_EPILOGUE_FUNCTION_##inputs(name)
#define ESTOC_EPILOGUE_sign(name, inputs)
#define ESTOC_EPILOGUE_none(name, inputs)
#define ESTOC_EPILOGUE_OP(name, inputs, rule, spelling, instructions, special, commutes) \
  ESTOC_EPILOGUE_##spelling(name, inputs)
#include "estoc/epilogue_ops.def"

#undef ESTOC_EPILOGUE_UNARY
#undef ESTOC_EPILOGUE_BINARY
#undef ESTOC_EPILOGUE_TERNARY
#undef ESTOC_EPILOGUE_FUNCTION_1
#undef ESTOC_EPILOGUE_FUNCTION_2
#undef ESTOC_EPILOGUE_FUNCTION_3
#undef ESTOC_EPILOGUE_FUNCTION_4
#undef ESTOC_EPILOGUE_function
#undef ESTOC_EPILOGUE_sign
#undef ESTOC_EPILOGUE_none

inline EpilogueValue quantize(const EpilogueValue& x, const EpilogueValue& scale, Dtype dtype) {
  return cast(x / scale, dtype);
}
inline EpilogueValue dequantize(const EpilogueValue& x, const EpilogueValue& scale) {
  return x * scale;
}
inline EpilogueValue sum(const EpilogueValue& x) {
  return reduce(EpilogueReduction::sum, x);
}
inline EpilogueValue max(const EpilogueValue& x) {
  return reduce(EpilogueReduction::max, x);
}
inline EpilogueValue min(const EpilogueValue& x) {
  return reduce(EpilogueReduction::min, x);
}
inline EpilogueValue absmax(const EpilogueValue& x) {
  return reduce(EpilogueReduction::absmax, x);
}
inline EpilogueValue sum_of_squares(const EpilogueValue& x) {
  return reduce(EpilogueReduction::sum_of_squares, x);
}

/// A scalar that is given by value. Without a dtype it is of the type the epilogue computes in, an
/// integer of i32.
struct EpilogueScalarOperand {
  double value = 0;
  std::int64_t integer = 0;
  bool is_integer = false;  ///< given as an integer
  std::optional<Dtype> dtype;

  bool operator==(const EpilogueScalarOperand&) const = default;
};

/// What a name of the program is for one call.
struct EpilogueOperand {
  std::string name;
  /// A tensor that broadcasts to the product's shape as in NumPy, read or written; one of a single
  /// element serves as a scalar in the operands' memory.
  std::variant<TensorView, EpilogueScalarOperand> value;

  EpilogueOperand(std::string operand, const TensorView& tensor)
      : name(std::move(operand)), value(tensor) {}
  EpilogueOperand(std::string operand, const EpilogueScalarOperand& scalar)
      : name(std::move(operand)), value(scalar) {}
  template <EpilogueNumber Number>
  EpilogueOperand(std::string operand, Number number)
      : name(std::move(operand)),
        value(EpilogueScalarOperand{static_cast<double>(number),
                                    std::integral<Number> ? static_cast<std::int64_t>(number) : 0,
                                    std::integral<Number>,
                                    {}}) {}

  const TensorView* tensor() const { return std::get_if<TensorView>(&value); }
  const EpilogueScalarOperand* scalar() const { return std::get_if<EpilogueScalarOperand>(&value); }
};

/// What is applied to the accumulator before it is stored: a program and its operands. Empty means
/// out = accumulator. Cheap to copy; immutable.
class EpilogueArguments {
 public:
  EpilogueArguments() = default;

  /// Empty text gives no epilogue. Throws Error{value} naming the operand for what parse refuses, a
  /// name that is not in the program, a name given twice, an input that is not given, a tensor that
  /// no output depends on, a scalar given for an output.
  EpilogueArguments(std::string_view text,  // NOLINT: as readable in braces as without
                    std::vector<EpilogueOperand> operands = {});
  EpilogueArguments(EpilogueProgram program,  // NOLINT: likewise
                    std::vector<EpilogueOperand> operands = {});

  bool empty() const { return state_ == nullptr; }
  /// The program's text; empty without an epilogue.
  const std::string& text() const;
  /// Only where there is an epilogue.
  const EpilogueProgram& program() const { return state_->program; }
  /// In the order in which they were given.
  std::span<const EpilogueOperand> operands() const;
  /// Null when no operand has the name.
  const EpilogueOperand* find(std::string_view name) const;

  /// Equal programs, and operands that are equal views and values.
  bool operator==(const EpilogueArguments& other) const;

  /// Which part of the program is live, and which operand each name is: for the library's own use.
  struct State {
    EpilogueProgram program;
    std::vector<EpilogueOperand> operands;
    std::vector<std::int16_t> input_operands;       ///< of each input of the program; -1: dead
    std::vector<std::int16_t> assignment_operands;  ///< of each assignment; -1: not an output
  };
  const State& state() const { return *state_; }

 private:
  friend class Plan;
  /// Gives operands that are there already other addresses and values. Tensors must be alike but
  /// for their address, and scalars stay scalars; else Error{value}, with nothing changed.
  /// Allocates nothing unless a copy shares the operands.
  void replace(std::span<const EpilogueOperand> operands);

  std::shared_ptr<State> state_;  // changed by replace() alone, where no copy shares it
};

/// The graph that EpilogueGraph::canonical describes. Equal texts give the same object as long as
/// one of them lives. Throws Error{value} for text that no graph has.
std::shared_ptr<const EpilogueGraph> parse_epilogue_graph(std::string_view canonical);

/// "add", "gelu_tanh": as in canonical text and docs/epilogues.md.
std::string_view epilogue_op_name(EpilogueOp op);
/// "sum", "absmax", "sum_of_squares".
std::string_view epilogue_reduction_name(EpilogueReduction reduction);
/// "bool", "i32", "f32", "f64".
std::string_view epilogue_type_name(EpilogueType type);

}  // namespace estoc
