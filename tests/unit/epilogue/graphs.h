// Graphs of epilogues, put together by hand.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "estoc/epilogue_graph.hpp"

namespace estoc::epilogue_test {

constexpr Varies kFull{false, true, true};
constexpr Varies kRow{false, false, true};     ///< a vector along N
constexpr Varies kColumn{false, true, false};  ///< a vector along M

/// Adds nodes one by one; each call gives the index of the new one.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name, EpilogueType accumulator = EpilogueType::f32)
      : type_(accumulator) {
    graph_.nodes.reserve(EpilogueLimits::kNodes);
    graph_.accumulator = accumulator;
    graph_.canonical = std::move(name);
    EpilogueNode node;
    node.type = accumulator;
    node.varies = {true, true, true};
    add(node);
  }
  static constexpr std::uint16_t kAccumulator = 0;

  std::uint16_t tensor(Dtype dtype, Varies varies, EpilogueType type = EpilogueType::f32) {
    graph_.tensors.push_back({dtype, varies});
    return leaf(EpilogueOp::tensor, dtype, graph_.tensors.size() - 1, type);
  }
  std::uint16_t scalar(Dtype dtype, EpilogueType type = EpilogueType::f32) {
    graph_.scalars.push_back({dtype});
    return leaf(EpilogueOp::scalar, dtype, graph_.scalars.size() - 1, type);
  }
  std::uint16_t literal(double value, EpilogueType type = EpilogueType::f32) {
    EpilogueNode node;
    node.op = EpilogueOp::literal;
    node.type = type;
    node.value = value;
    return add(node);
  }
  std::uint16_t op(EpilogueOp op, std::initializer_list<std::uint16_t> inputs) {
    return op_of(type_, op, inputs);
  }
  std::uint16_t op_of(EpilogueType type, EpilogueOp op, std::initializer_list<std::uint16_t> inputs,
                      Dtype dtype = Dtype::f32) {
    EpilogueNode node;
    node.op = op;
    node.type = type;
    node.dtype = dtype;
    for (const std::uint16_t input : inputs)
      node.inputs[node.input_count++] = input;
    return add(node);
  }
  GraphBuilder& store(std::uint16_t node, Dtype dtype) {
    graph_.stores.push_back({node, dtype});
    return *this;
  }
  GraphBuilder& reduce(EpilogueReduction reduction, Varies keeps, std::uint16_t node, Dtype dtype) {
    graph_.reduced.push_back({reduction, keeps, node, dtype});
    return *this;
  }
  EpilogueGraph build() const { return graph_; }

 private:
  std::uint16_t leaf(EpilogueOp op, Dtype dtype, std::size_t slot, EpilogueType type) {
    EpilogueNode node;
    node.op = op;
    node.type = type;
    node.dtype = dtype;
    node.slot = static_cast<std::uint16_t>(slot);
    return add(node);
  }
  std::uint16_t add(const EpilogueNode& node) {
    graph_.nodes.push_back(node);
    return static_cast<std::uint16_t>(graph_.nodes.size() - 1);
  }

  EpilogueType type_;
  EpilogueGraph graph_;
};

/// D = alpha * accum + beta * C
inline EpilogueGraph linear(Dtype out, Dtype c) {
  GraphBuilder b("D = alpha * accum + beta * C");
  const auto alpha = b.scalar(Dtype::f32);
  const auto beta = b.scalar(Dtype::f32);
  const auto scaled = b.op(EpilogueOp::mul, {alpha, GraphBuilder::kAccumulator});
  const auto old = b.op(EpilogueOp::mul, {beta, b.tensor(c, kFull)});
  return b.store(b.op(EpilogueOp::add, {scaled, old}), out).build();
}

/// D = op(accum + bias)
inline EpilogueGraph bias(EpilogueOp op, Dtype out, Dtype type) {
  GraphBuilder b("D = f(accum + bias)");
  const auto sum = b.op(EpilogueOp::add, {GraphBuilder::kAccumulator, b.tensor(type, kRow)});
  return b.store(b.op(op, {sum}), out).build();
}

/// D = relu(accum + bias); aux = accum
inline EpilogueGraph relu_aux(Dtype out, Dtype aux) {
  GraphBuilder b("D = relu(accum + bias); aux = accum");
  const auto sum = b.op(EpilogueOp::add, {GraphBuilder::kAccumulator, b.tensor(Dtype::bf16, kRow)});
  return b.store(b.op(EpilogueOp::relu, {sum}), out).store(GraphBuilder::kAccumulator, aux).build();
}

/// D = accum * scale; amax = absmax of each row of it
inline EpilogueGraph row_absmax(Dtype out) {
  GraphBuilder b("D = accum * scale; amax = absmax(D) by rows");
  const auto scaled = b.op(EpilogueOp::mul, {GraphBuilder::kAccumulator, b.scalar(Dtype::f32)});
  return b.store(scaled, out)
      .reduce(EpilogueReduction::absmax, {true, true, false}, scaled, Dtype::f32)
      .build();
}

/// Tensors of many kinds, several outputs and reductions, exact on small integers:
/// v = accum + column + batch; D = select(mask, v, bytes * 2); also v, its minimum with row
inline EpilogueGraph mixed(EpilogueType accumulator, Dtype out) {
  using Op = EpilogueOp;
  GraphBuilder b("D = select(mask, v, bytes * 2), v = accum + column + batch", accumulator);
  const EpilogueType type = accumulator;
  const auto column = b.tensor(Dtype::f32, {true, true, false}, type);
  const auto batch = b.tensor(Dtype::i8, {true, false, false}, type);
  const auto bytes = b.tensor(Dtype::u8, {true, true, true}, type);
  const auto mask = b.tensor(Dtype::boolean, kFull, EpilogueType::boolean);
  const auto row = b.tensor(Dtype::f16, {true, false, true}, type);
  const auto v = b.op(Op::add, {b.op(Op::add, {GraphBuilder::kAccumulator, column}), batch});
  const auto d = b.op(Op::select, {mask, v, b.op(Op::mul, {bytes, b.literal(2, type)})});
  const auto least = b.op(Op::minimum, {v, row});
  return b.store(d, out)
      .store(v, Dtype::f32)
      .store(least, Dtype::i8)
      .reduce(EpilogueReduction::sum, {true, false, true}, v, Dtype::f32)
      .reduce(EpilogueReduction::max, {}, v, Dtype::f32)
      .reduce(EpilogueReduction::min, {true, true, false}, least, Dtype::i8)
      .reduce(EpilogueReduction::sum_of_squares, {true, false, false}, least, Dtype::f64)
      .build();
}

/// The operations of one input that every_op has, two for each output.
inline constexpr EpilogueOp kUnary[] = {
    EpilogueOp::neg,     EpilogueOp::abs,       EpilogueOp::exp,       EpilogueOp::exp2,
    EpilogueOp::relu,    EpilogueOp::gelu,      EpilogueOp::gelu_tanh, EpilogueOp::silu,
    EpilogueOp::sigmoid, EpilogueOp::tanh,      EpilogueOp::softplus,  EpilogueOp::hardswish,
    EpilogueOp::mish,    EpilogueOp::sqrt,      EpilogueOp::rsqrt,     EpilogueOp::log,
    EpilogueOp::log,     EpilogueOp::reciprocal};

/// Every operation once, on x = accum / 8 and y = |x| + 1: two of one input an output, then one
/// output of those with more, and dropout.
inline EpilogueGraph every_op(EpilogueType type, Dtype out) {
  using Op = EpilogueOp;
  GraphBuilder b("every operation", type);
  const auto x = b.op(Op::mul, {GraphBuilder::kAccumulator, b.literal(0.125, type)});
  const auto y = b.op(Op::add, {b.op(Op::abs, {x}), b.literal(1, type)});
  constexpr std::size_t kCount = sizeof(kUnary) / sizeof(kUnary[0]);
  for (std::size_t i = 0; i < kCount; i += 2) {
    const bool positive = kUnary[i + 1] >= Op::sqrt && kUnary[i + 1] <= Op::reciprocal &&
                          kUnary[i + 1] != Op::exp && kUnary[i + 1] != Op::exp2;
    const auto from = positive ? y : x;
    b.store(
        b.op(Op::add, {b.op(kUnary[i], {i + 1 < kCount - 4 ? x : y}), b.op(kUnary[i + 1], {from})}),
        out);
  }
  auto value = b.op(Op::fma, {x, y, b.op(Op::sub, {y, x})});
  value = b.op(Op::maximum, {value, b.op(Op::div, {x, y})});
  value = b.op(Op::minimum, {value, b.op(Op::pow, {y, b.literal(1.5, type)})});
  value = b.op(Op::clamp, {value, b.literal(-3, type), b.literal(30, type)});
  value = b.op(Op::add, {value, b.op(Op::leaky_relu, {x, b.literal(0.5, type)})});
  value = b.op(Op::add, {value, b.op(Op::elu, {x, b.literal(2, type)})});
  const auto is = [&](Op op, std::uint16_t left, std::uint16_t right) {
    return b.op_of(EpilogueType::boolean, op, {left, right});
  };
  const auto zero = b.literal(0, type);
  const auto less = is(Op::less, x, y);
  const auto at_least = is(Op::greater_equal, x, zero);
  const auto first = is(Op::logical_and, less, at_least);
  const auto equal = is(Op::equal, x, zero);
  const auto greater = is(Op::greater, zero, y);
  const auto second = is(Op::logical_or, equal, greater);
  const auto different = is(Op::not_equal, x, y);
  const auto third = b.op_of(EpilogueType::boolean, Op::logical_not, {different});
  const auto later = is(Op::logical_or, second, third);
  const auto any = is(Op::logical_or, first, later);
  const auto at_most = is(Op::less_equal, x, y);
  const auto either = is(Op::logical_and, any, at_most);
  b.store(b.op(Op::select, {either, value, b.op_of(type, Op::cast, {x}, Dtype::bf16)}), out);
  b.store(b.op(Op::dropout, {x, b.literal(0.5, type), b.scalar(Dtype::i32, EpilogueType::i32),
                             b.literal(3, EpilogueType::i32)}),
          out);
  return b.build();
}

/// An element of the goldens in tests/golden/epilogues, and whether it is of a transposed kernel.
struct Golden {
  const char* name;
  EpilogueGraph graph;
  bool transposed;
};
inline std::vector<Golden> goldens() {
  return {{"linear", linear(Dtype::bf16, Dtype::bf16), false},
          {"gelu_tanh", bias(EpilogueOp::gelu_tanh, Dtype::bf16, Dtype::bf16), false},
          {"relu_aux", relu_aux(Dtype::bf16, Dtype::bf16), false},
          {"row_absmax", row_absmax(Dtype::e4m3), false},
          {"mixed", mixed(EpilogueType::f32, Dtype::f32), false},
          {"mixed_transposed", mixed(EpilogueType::f32, Dtype::f32), true},
          {"mixed_f64", mixed(EpilogueType::f64, Dtype::f64), false},
          {"every_op", every_op(EpilogueType::f32, Dtype::f32), false}};
}

}  // namespace estoc::epilogue_test
