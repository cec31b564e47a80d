// The operations of epilogues: their names, how many inputs they take, and of which types.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "estoc/epilogue_graph.hpp"

namespace estoc::epilogue {

/// Which type an operation computes in and what it gives.
enum class TypeRule : std::uint8_t {
  leaf,
  same,        ///< integers stay integers, else the floating type
  floating,    ///< the floating type
  comparison,  ///< inputs as for `same`; gives a boolean
  choice,      ///< a boolean, then as for `same`
  logical,     ///< booleans
  cast,
  dropout,  ///< two of the floating type, two integers
};

/// How the language spells an operation.
enum class Spelling : std::uint8_t { none, sign, function };

struct OpInfo {
  EpilogueOp op;
  std::string_view name;  ///< in canonical text; of functions, in programs and device code too
  std::uint8_t inputs;
  TypeRule rule;
  Spelling spelling;
  double instructions;  ///< of an element on a GPU: of the ordinary units
  double special;       ///< of the unit for powers, logarithms and reciprocals
  bool commutes;
};

inline constexpr std::size_t kOpCount = static_cast<std::size_t>(EpilogueOp::dropout) + 1;
inline constexpr int kReductionCount = 5;

const OpInfo& op_info(EpilogueOp op);

/// The operation of that name in canonical text.
std::optional<EpilogueOp> find_op(std::string_view name);
/// The operation that a call of that name stands for; not of casts and reductions.
std::optional<EpilogueOp> find_function(std::string_view name);
/// The default of a call's last input; nullopt where it must be given.
std::optional<double> default_input(EpilogueOp op);
std::optional<EpilogueReduction> find_reduction(std::string_view name);
/// The type that a call of that name rounds to.
std::optional<Dtype> find_cast(std::string_view name);
/// Whether tensors and scalars may be of the dtype.
bool is_operand_dtype(Dtype dtype);
bool is_cast_goal(Dtype dtype);

/// The dtype of the values that a type holds.
Dtype dtype_of(EpilogueType type);
/// The type in which an accumulator is held.
EpilogueType held_as(Dtype accumulator);
/// "Type::bf16": a dtype in device code.
std::string device_name(Dtype dtype);

/// The nearest name of a function, reduction or cast, for messages.
std::optional<std::string> nearest_function(std::string_view name);

}  // namespace estoc::epilogue
