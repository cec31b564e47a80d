// The epilogues that cuBLASLt has, and which of ours they are.
#include "providers/cublaslt/lt_epilogue.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "epilogue/node_text.h"
#include "estoc/numeric.hpp"

namespace estoc::cublaslt {
namespace {

using Op = EpilogueOp;

Status refuse(std::string_view expected, const std::string& got) {
  return Status::fail(Reason::epilogue,
                      fmt::format("epilogue: expected {}, got {}", expected, got));
}

bool is_matrix(const Varies& varies) {
  return varies.m && varies.n;
}
bool is_vector(const Varies& varies) {
  return varies.m != varies.n;
}

/// Matches a graph against (alpha accum + beta C) + bias from the outside in. Sums are
/// taken in that order alone: another one would round differently.
class FormFinder {
 public:
  explicit FormFinder(const EpilogueGraph& graph) : graph_(graph) {}

  Status find() {
    if (graph_.accumulator != EpilogueType::f32 && graph_.accumulator != EpilogueType::f64) {
      return refuse("a floating-point accumulator", epilogue::node_text(graph_, 0));
    }
    if (graph_.stores.size() > 1) {
      return refuse("D alone as output (cuBLASLt stores others beside its relu and gelu alone)",
                    "a store of " + epilogue::node_text(graph_, graph_.stores[1].node));
    }
    if (!graph_.reduced.empty()) {
      return refuse("D alone as output", epilogue::reduction_text(graph_, 0));
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (node(i).op != Op::accumulator && node(i).type != graph_.accumulator) {
        return refuse("numbers of the accumulator's type alone", epilogue::node_text(graph_, i));
      }
    }
    const std::size_t last = graph_.stores[0].node;
    if (node(last).op == Op::relu) {
      return refuse("no activation (cuBLASLt's relu may make 0 of NaN)",
                    epilogue::node_text(graph_, last));
    }
    if (node(last).op == Op::gelu_tanh) {
      return refuse("no activation (cuBLASLt's gelu takes an approximate tanh)",
                    epilogue::node_text(graph_, last));
    }
    return with_bias(last);
  }

  const LtForm& form() const { return form_; }

 private:
  const EpilogueNode& node(std::size_t index) const { return graph_.nodes[index]; }

  Status with_bias(std::size_t index) {
    if (node(index).op == Op::add) {
      for (const std::size_t side : {0U, 1U}) {
        const EpilogueNode& vector = node(node(index).inputs[side]);
        if (vector.op != Op::tensor || !is_vector(vector.varies)) continue;
        form_.bias = vector.slot;
        return with_c(node(index).inputs[1 - side]);
      }
    }
    return with_c(index);
  }

  Status with_c(std::size_t index) {
    const EpilogueNode& sum = node(index);
    if (scaled_accumulator(index, form_)) return Status::success();
    if (sum.op == Op::add || sum.op == Op::sub) {
      for (const std::size_t side : {0U, 1U}) {
        LtForm found = form_;
        if (!scaled_accumulator(sum.inputs[side], found) ||
            !scaled_tensor(sum.inputs[1 - side], found.beta)) {
          continue;
        }
        if (sum.op == Op::sub) (side == 0 ? found.beta.negated : found.negated) = true;
        found.c = tensor_;
        form_ = found;
        return Status::success();
      }
    }
    return refuse("alpha * accum [+ beta * C] [+ a vector]", epilogue::node_text(graph_, index));
  }

  /// Whether a node is the accumulator times numbers and vectors, each multiplied after the other.
  bool scaled_accumulator(std::size_t index, LtForm& form) const {
    form.factor_count = 0;
    while (node(index).op == Op::mul && form.factor_count < form.factors.size()) {
      LtFactor& factor = form.factors[form.factor_count];
      const auto inputs = std::span(node(index).inputs).first(2);
      const bool second = is_factor(inputs[1], factor);
      if (!second && !is_factor(inputs[0], factor)) return false;
      index = inputs[second ? 0 : 1];
      ++form.factor_count;
    }
    std::reverse(form.factors.begin(), form.factors.begin() + form.factor_count);
    return node(index).op == Op::accumulator;
  }

  /// Whether a node is a matrix, itself or times a number.
  bool scaled_tensor(std::size_t index, LtFactor& factor) {
    if (is_matrix_leaf(index)) return true;
    if (node(index).op != Op::mul) return false;
    for (const std::size_t side : {0U, 1U}) {
      LtFactor number;
      if (!is_matrix_leaf(node(index).inputs[1 - side])) continue;
      if (!is_factor(node(index).inputs[side], number) || number.vector >= 0) continue;
      factor = number;
      return true;
    }
    return false;
  }

  bool is_factor(std::size_t index, LtFactor& factor) const {
    factor = {};
    const EpilogueNode& number = node(index);
    if (number.op == Op::scalar) factor.scalar = number.slot;
    if (number.op == Op::literal) factor.literal = number.value;
    const bool vector = number.op == Op::tensor && is_vector(number.varies);
    if (vector) factor.vector = number.slot;
    return vector || number.op == Op::scalar || number.op == Op::literal;
  }

  bool is_matrix_leaf(std::size_t index) {
    if (node(index).op != Op::tensor) return false;
    tensor_ = node(index).slot;
    return is_matrix(node(index).varies);
  }

  const EpilogueGraph& graph_;
  LtForm form_;
  int tensor_ = -1;
};

std::string slot_text(char kind, int slot) {
  return fmt::format("{}{}", kind, slot);
}

/// A factor's value. With a factor of 0 cuBLASLt does not read what it is multiplied with, so that
/// NaN and infinity there are lost: that must be known not to happen.
Status value_of(const LtFactor& factor, const EpilogueBinding& binding, double* value) {
  *value = factor.literal;
  const auto name = [&] {
    return factor.scalar >= 0 ? slot_text('s', factor.scalar) : std::string("a literal");
  };
  if (factor.scalar >= 0) {
    const auto slot = static_cast<std::size_t>(factor.scalar);
    const EpilogueScalarValue& scalar = binding.scalars[slot];
    if (scalar.data != nullptr) {
      return refuse("factors by value, which are known not to be 0", name() + " in memory");
    }
    *value = round_to(binding.graph->scalars[slot].dtype, scalar.value);
  }
  if (binding.graph->accumulator == EpilogueType::f32) *value = static_cast<float>(*value);
  if (factor.negated) *value = -*value;
  if (*value != 0) return Status::success();
  return refuse("factors other than 0, with which cuBLASLt does not read the matrix",
                name() + " = 0");
}

/// What is left of the accumulator's factors without its scales, which come first.
Status describe_alpha(const LtForm& form, int scales, const EpilogueBinding& binding,
                      double* alpha) {
  const auto count = static_cast<std::size_t>(scales);
  if (form.factor_count > count + 1 ||
      (form.factor_count > count && form.factors[count].vector >= 0)) {
    return refuse("alpha * accum [+ beta * C] [+ a vector]",
                  fmt::format("{} factors beside {} scales", form.factor_count - count, count));
  }
  LtFactor factor = form.factor_count > count ? form.factors[count] : LtFactor{};
  factor.negated = form.negated;
  return value_of(factor, binding, alpha);
}

/// The library documents one type of C and of the bias for each of D (cublasLtMatmul, table of
/// supported types).
bool takes_c(Dtype c, Dtype out) {
  if (out == Dtype::e4m3 || out == Dtype::e5m2) return c == Dtype::bf16 || c == Dtype::f16;
  return c == out;
}
bool takes_bias(Dtype bias, Dtype a, Dtype out) {
  const bool narrow = dtype_bits(a) == 8;
  if (narrow && out == Dtype::f32) return bias == Dtype::bf16;
  return takes_c(bias, out);
}

Status describe_bias(const GemmArguments& arguments, bool rows_are_columns, int slot,
                     LtBias* bias) {
  const EpilogueBinding& binding = *arguments.epilogue_binding();
  const auto index = static_cast<std::size_t>(slot);
  const EpilogueTensor& tensor = binding.graph->tensors[index];
  const EpilogueAddress& at = binding.tensors[index];
  const auto name = [&] { return slot_text('t', slot); };
  if (tensor.varies.n != rows_are_columns) {
    return refuse(rows_are_columns ? "a bias along N beside a row-major out"
                                   : "a bias along M beside a column-major out",
                  name() + " along " + (tensor.varies.n ? 'N' : 'M'));
  }
  const std::int64_t stride = rows_are_columns ? at.column_stride : at.row_stride;
  if (stride != 1) {
    return refuse("a bias whose elements are neighbours",
                  fmt::format("{} of stride {}", name(), stride));
  }
  if (!takes_bias(tensor.dtype, arguments.a_matrix().dtype, arguments.out_matrix().dtype)) {
    return refuse("a bias of the type that cuBLASLt has for this out",
                  fmt::format("{} {}", name(), dtype_name(tensor.dtype)));
  }
  *bias = {at.data, tensor.dtype, tensor.varies.l ? at.batch_stride : 0, at.alignment};
  return Status::success();
}

Status describe_c(const GemmArguments& arguments, int slot, MatrixView* c) {
  const EpilogueBinding& binding = *arguments.epilogue_binding();
  const auto index = static_cast<std::size_t>(slot);
  const EpilogueAddress& at = binding.tensors[index];
  const GemmExtents& e = arguments.extents();
  *c = {at.data,
        binding.graph->tensors[index].dtype,
        e.m,
        e.n,
        e.l,
        at.row_stride,
        at.column_stride,
        at.batch_stride,
        at.alignment};
  if (takes_c(c->dtype, arguments.out_matrix().dtype)) return Status::success();
  return refuse("a matrix of the type that cuBLASLt has for this out",
                fmt::format("{} {}", slot_text('t', slot), dtype_name(c->dtype)));
}

}  // namespace

Status find_lt_form(const EpilogueGraph& graph, LtForm* form) {
  FormFinder finder(graph);
  Status status = finder.find();
  if (status.ok()) *form = finder.form();
  return status;
}

Status describe_lt_epilogue(const GemmArguments& arguments, bool rows_are_columns,
                            LtEpilogue* epilogue) {
  *epilogue = {};
  Status status = describe_lt_scales(arguments, &epilogue->scales);
  const EpilogueBinding* binding = arguments.epilogue_binding();
  if (!status.ok() || binding == nullptr) return status;
  LtForm form;
  status = find_lt_form(*binding->graph, &form);
  if (status.ok()) {
    status = describe_alpha(form, scale_factors(arguments), *binding, &epilogue->alpha);
  }
  if (status.ok() && form.c >= 0) {
    status = value_of(form.beta, *binding, &epilogue->beta);
    if (status.ok()) status = describe_c(arguments, form.c, &epilogue->c.emplace());
  }
  if (status.ok() && form.bias >= 0) {
    status = describe_bias(arguments, rows_are_columns, form.bias, &epilogue->bias.emplace());
  }
  epilogue->mode = form.bias >= 0 ? Mode::bias : Mode::none;
  return status;
}

}  // namespace estoc::cublaslt
