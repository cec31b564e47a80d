// The one table of operations that parsing, typing and printing share.
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

constexpr std::array<OpInfo, kOpCount> kOps{{
    {"accum", 0, leaf},
    {"tensor", 0, leaf},
    {"scalar", 0, leaf},
    {"literal", 0, leaf},
    {"add", 2, same, true},
    {"sub", 2, same},
    {"mul", 2, same, true},
    {"div", 2, floating},
    {"neg", 1, same},
    {"fma", 3, same},
    {"maximum", 2, same, true},
    {"minimum", 2, same, true},
    {"clamp", 3, same},
    {"abs", 1, same},
    {"sqrt", 1, floating},
    {"rsqrt", 1, floating},
    {"exp", 1, floating},
    {"exp2", 1, floating},
    {"log", 1, floating},
    {"pow", 2, floating},
    {"reciprocal", 1, floating},
    {"equal", 2, comparison, true},
    {"not_equal", 2, comparison, true},
    {"less", 2, comparison},
    {"less_equal", 2, comparison},
    {"greater", 2, comparison},
    {"greater_equal", 2, comparison},
    {"select", 3, choice},
    {"logical_and", 2, logical, true},
    {"logical_or", 2, logical, true},
    {"logical_not", 1, logical},
    {"relu", 1, same},
    {"leaky_relu", 2, floating},
    {"gelu", 1, floating},
    {"gelu_tanh", 1, floating},
    {"silu", 1, floating},
    {"sigmoid", 1, floating},
    {"tanh", 1, floating},
    {"softplus", 1, floating},
    {"hardswish", 1, floating},
    {"elu", 2, floating},
    {"mish", 1, floating},
    {"cast", 1, cast},
    {"dropout", 4, dropout},
}};
static_assert(kOps[static_cast<std::size_t>(EpilogueOp::select)].name == "select");
static_assert(kOps[static_cast<std::size_t>(EpilogueOp::relu)].name == "relu");
static_assert(kOps[static_cast<std::size_t>(EpilogueOp::dropout)].name == "dropout");

constexpr std::array<FunctionInfo, 36> kFunctions{{
    {"fma", EpilogueOp::fma, 3},           {"maximum", EpilogueOp::maximum, 2},
    {"minimum", EpilogueOp::minimum, 2},   {"max", EpilogueOp::maximum, 2},
    {"min", EpilogueOp::minimum, 2},       {"clamp", EpilogueOp::clamp, 3},
    {"abs", EpilogueOp::abs, 1},           {"sqrt", EpilogueOp::sqrt, 1},
    {"rsqrt", EpilogueOp::rsqrt, 1},       {"exp", EpilogueOp::exp, 1},
    {"exp2", EpilogueOp::exp2, 1},         {"log", EpilogueOp::log, 1},
    {"pow", EpilogueOp::pow, 2},           {"reciprocal", EpilogueOp::reciprocal, 1},
    {"equal", EpilogueOp::equal, 2},       {"not_equal", EpilogueOp::not_equal, 2},
    {"less", EpilogueOp::less, 2},         {"less_equal", EpilogueOp::less_equal, 2},
    {"greater", EpilogueOp::greater, 2},   {"greater_equal", EpilogueOp::greater_equal, 2},
    {"select", EpilogueOp::select, 3},     {"where", EpilogueOp::select, 3},
    {"relu", EpilogueOp::relu, 1},         {"leaky_relu", EpilogueOp::leaky_relu, 1, 0.01},
    {"gelu", EpilogueOp::gelu, 1},         {"gelu_tanh", EpilogueOp::gelu_tanh, 1},
    {"silu", EpilogueOp::silu, 1},         {"swish", EpilogueOp::silu, 1},
    {"sigmoid", EpilogueOp::sigmoid, 1},   {"tanh", EpilogueOp::tanh, 1},
    {"softplus", EpilogueOp::softplus, 1}, {"hardswish", EpilogueOp::hardswish, 1},
    {"elu", EpilogueOp::elu, 1, 1.0},      {"mish", EpilogueOp::mish, 1},
    {"dropout", EpilogueOp::dropout, 4},   {"neg", EpilogueOp::neg, 1},
}};

constexpr std::array<std::string_view, kReductionCount> kReductions{"sum", "max", "min", "absmax",
                                                                    "sum_of_squares"};
constexpr std::array<std::string_view, 3> kForms{"identity", "quantize", "dequantize"};
constexpr std::array<std::string_view, 4> kTypes{"bool", "i32", "f32", "f64"};

}  // namespace

const OpInfo& op_info(EpilogueOp op) {
  return kOps[static_cast<std::size_t>(op)];
}

const FunctionInfo* find_function(std::string_view name) {
  const auto* const found = std::ranges::find(kFunctions, name, &FunctionInfo::name);
  return found == kFunctions.end() ? nullptr : found;
}

std::optional<EpilogueReduction> find_reduction(std::string_view name) {
  const auto* const found = std::ranges::find(kReductions, name);
  if (found == kReductions.end()) return std::nullopt;
  return static_cast<EpilogueReduction>(found - kReductions.begin());
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

std::optional<std::string> nearest_function(std::string_view name) {
  std::vector<std::string_view> names(kForms.begin(), kForms.end());
  for (const FunctionInfo& function : kFunctions)
    names.push_back(function.name);
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
  return epilogue::kTypes[static_cast<std::size_t>(type)];
}

}  // namespace estoc
