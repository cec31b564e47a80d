// The one table of operations that parsing, typing, printing and emitting share.
#include "epilogue/op_table.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/text.h"
#include "estoc/epilogue.hpp"

namespace estoc {
namespace epilogue {
namespace {

using enum TypeRule;
using enum Spelling;
using Op = EpilogueOp;

constexpr std::array<OpInfo, kOpCount> kOps{{
    {Op::accumulator, "accum", 0, leaf, none, 0, 0},
    {Op::tensor, "tensor", 0, leaf, none, 1, 0},
    {Op::scalar, "scalar", 0, leaf, none, 0, 0},
    {Op::literal, "literal", 0, leaf, none, 0, 0},
    {Op::add, "add", 2, same, sign, 1, 0, true},
    {Op::sub, "sub", 2, same, sign, 1, 0},
    {Op::mul, "mul", 2, same, sign, 1, 0, true},
    {Op::div, "div", 2, floating, sign, 9, 1},
    {Op::neg, "neg", 1, same, function, 1, 0},
    {Op::fma, "fma", 3, same, function, 1, 0},
    {Op::maximum, "maximum", 2, same, function, 1, 0, true},
    {Op::minimum, "minimum", 2, same, function, 1, 0, true},
    {Op::clamp, "clamp", 3, same, function, 2, 0},
    {Op::abs, "abs", 1, same, function, 1, 0},
    {Op::sqrt, "sqrt", 1, floating, function, 8, 1},
    {Op::rsqrt, "rsqrt", 1, floating, function, 16, 2},
    {Op::exp, "exp", 1, floating, function, 7, 1},
    {Op::exp2, "exp2", 1, floating, function, 4, 1},
    {Op::log, "log", 1, floating, function, 18, 0},
    {Op::pow, "pow", 2, floating, function, 50, 2},
    {Op::reciprocal, "reciprocal", 1, floating, function, 7, 1},
    {Op::equal, "equal", 2, comparison, function, 1, 0, true},
    {Op::not_equal, "not_equal", 2, comparison, function, 1, 0, true},
    {Op::less, "less", 2, comparison, function, 1, 0},
    {Op::less_equal, "less_equal", 2, comparison, function, 1, 0},
    {Op::greater, "greater", 2, comparison, function, 1, 0},
    {Op::greater_equal, "greater_equal", 2, comparison, function, 1, 0},
    {Op::select, "select", 3, choice, function, 1, 0},
    {Op::logical_and, "logical_and", 2, logical, sign, 1, 0, true},
    {Op::logical_or, "logical_or", 2, logical, sign, 1, 0, true},
    {Op::logical_not, "logical_not", 1, logical, sign, 1, 0},
    {Op::relu, "relu", 1, same, function, 1, 0},
    {Op::leaky_relu, "leaky_relu", 2, floating, function, 3, 0},
    {Op::gelu, "gelu", 1, floating, function, 12, 1},
    {Op::gelu_tanh, "gelu_tanh", 1, floating, function, 8, 1.5},
    {Op::silu, "silu", 1, floating, function, 4, 2},
    {Op::sigmoid, "sigmoid", 1, floating, function, 4, 2},
    {Op::tanh, "tanh", 1, floating, function, 16, 2},
    {Op::softplus, "softplus", 1, floating, function, 30, 1},
    {Op::hardswish, "hardswish", 1, floating, function, 5, 0},
    {Op::elu, "elu", 2, floating, function, 18, 1},
    {Op::mish, "mish", 1, floating, function, 20, 2},
    {Op::cast, "cast", 1, cast, none, 4, 0},
    {Op::dropout, "dropout", 4, dropout, function, 90, 1},
}};
static_assert(
    [] {
      for (std::size_t i = 0; i < kOps.size(); ++i)
        if (kOps[i].op != static_cast<Op>(i)) return false;
      return true;
    }(),
    "rows are in the order of EpilogueOp");

/// Second names of functions.
struct Alias {
  std::string_view name;
  Op op;
};
constexpr std::array<Alias, 4> kAliases{
    {{"max", Op::maximum}, {"min", Op::minimum}, {"where", Op::select}, {"swish", Op::silu}}};

constexpr std::array<std::string_view, kReductionCount> kReductions{"sum", "max", "min", "absmax",
                                                                    "sum_of_squares"};
constexpr std::array<std::string_view, 3> kForms{"identity", "quantize", "dequantize"};
constexpr std::array<Dtype, 4> kHeld{Dtype::boolean, Dtype::i32, Dtype::f32, Dtype::f64};

}  // namespace

const OpInfo& op_info(EpilogueOp op) {
  return kOps[static_cast<std::size_t>(op)];
}

std::optional<EpilogueOp> find_op(std::string_view name) {
  const auto* const found = std::ranges::find(kOps, name, &OpInfo::name);
  return found == kOps.end() ? std::nullopt : std::optional(found->op);
}

std::optional<EpilogueOp> find_function(std::string_view name) {
  for (const OpInfo& info : kOps)
    if (info.spelling == function && info.name == name) return info.op;
  for (const Alias& alias : kAliases)
    if (alias.name == name) return alias.op;
  return std::nullopt;
}

std::optional<double> default_input(EpilogueOp op) {
  if (op == Op::leaky_relu) return 0.01;
  if (op == Op::elu) return 1.0;
  return std::nullopt;
}

std::optional<EpilogueReduction> find_reduction(std::string_view name) {
  const auto* const found = std::ranges::find(kReductions, name);
  if (found == kReductions.end()) return std::nullopt;
  return static_cast<EpilogueReduction>(found - kReductions.begin());
}

bool is_operand_dtype(Dtype dtype) {
  return dtype == Dtype::f64 || (is_cast_goal(dtype) && dtype != Dtype::tf32);
}

bool is_cast_goal(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
    case Dtype::tf32:
    case Dtype::f16:
    case Dtype::bf16:
    case Dtype::e4m3:
    case Dtype::e5m2:
    case Dtype::i32:
    case Dtype::i8:
    case Dtype::u8:
    case Dtype::boolean:
      return true;
    default:
      return false;
  }
}

std::optional<Dtype> find_cast(std::string_view name) {
  const std::optional<Dtype> dtype = parse_dtype(name);
  return dtype && is_cast_goal(*dtype) ? dtype : std::nullopt;
}

Dtype dtype_of(EpilogueType type) {
  return kHeld[static_cast<std::size_t>(type)];
}

EpilogueType held_as(Dtype accumulator) {
  if (accumulator == Dtype::f64) return EpilogueType::f64;
  return accumulator == Dtype::i32 ? EpilogueType::i32 : EpilogueType::f32;
}

std::string device_name(Dtype dtype) {
  return "Type::" + std::string(dtype == Dtype::boolean ? "boolean" : dtype_name(dtype));
}

std::optional<std::string> nearest_function(std::string_view name) {
  std::vector<std::string_view> names(kForms.begin(), kForms.end());
  for (const OpInfo& info : kOps)
    if (info.spelling == function) names.push_back(info.name);
  for (const Alias& alias : kAliases)
    names.push_back(alias.name);
  names.insert(names.end(), kReductions.begin(), kReductions.end());
  for (const Dtype dtype : all_dtypes()) {
    if (is_cast_goal(dtype)) names.push_back(dtype_name(dtype));
  }
  const auto nearest = core::nearest_name(name, names);
  if (!nearest) return std::nullopt;
  return std::string(*nearest);
}

}  // namespace epilogue

std::string_view epilogue_op_name(EpilogueOp op) {
  return epilogue::op_info(op).name;
}

std::string_view epilogue_reduction_name(EpilogueReduction reduction) {
  return epilogue::kReductions[static_cast<std::size_t>(reduction)];
}

std::string_view epilogue_type_name(EpilogueType type) {
  return dtype_name(epilogue::dtype_of(type));
}

}  // namespace estoc
