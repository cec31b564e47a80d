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

/// In canonical text: the name of the row, but for one.
constexpr std::string_view text_of(Op op, std::string_view name) {
  return op == Op::accumulator ? "accum" : name;
}

constexpr std::array kOps{
#define ESTOC_EPILOGUE_OP(name, inputs, rule, spelling, instructions, special, commutes)    \
  OpInfo{Op::name, text_of(Op::name, #name), inputs, rule, spelling, instructions, special, \
         commutes},
#include "estoc/epilogue_ops.def"
};

static_assert(kOps.size() == kOpCount, "dropout is the last row");

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
